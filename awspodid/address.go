package awspodid

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Times that bound a request to the agent. It may take six seconds for its
// own retries before it answers.
const (
	dialTimeout   = 2 * time.Second
	answerTimeout = 10 * time.Second
)

// allowed are the addresses, beside those of loopback, to which the token goes
// in clear text: the agent's own, and that of ECS.
var allowed = []netip.Addr{
	netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("fd00:ec2::23"),
	netip.MustParseAddr("169.254.170.2"),
}

var errAddress = errors.New("is no address of an agent: only 169.254.170.23, fd00:ec2::23, 169.254.170.2, loopback, or https")

func isAllowed(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, a := range allowed {
		if addr == a {
			return true
		}
	}
	return addr.IsLoopback()
}

// checkURI refuses what can be refused without a name server.
func checkURI(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("is no URL") // the parser's own text quotes it all
	}
	switch {
	case u.Host == "" || u.Hostname() == "":
		return errors.New("is a URL without a host")
	case u.User != nil:
		return errors.New("is a URL with credentials in it")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("has the scheme %s", quote(u.Scheme))
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !isAllowed(addr) {
		return fmt.Errorf("%s %w", quote(u.Hostname()), errAddress)
	}
	return nil
}

// dial resolves a name once, and connects to one of the addresses that it
// checked.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if !isAllowed(addr) {
			return nil, fmt.Errorf("%s %w", addr, errAddress)
		}
	}
	var dialer net.Dialer
	for _, addr := range addrs {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// newHTTPClient is the client for the agent at uri. No proxy is ever asked:
// it would get the token.
func newHTTPClient(uri string) *http.Client {
	transport := &http.Transport{
		DisableKeepAlives:      true, // one request in hours; an idle connection has goroutines
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  answerTimeout,
		MaxResponseHeaderBytes: maxAnswer,
		DialContext:            dial,
	}
	if u, err := url.Parse(uri); err == nil && u.Scheme == "https" {
		transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &http.Client{Transport: transport}
}
