package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/podtoken/podtoken/awspodid"
)

// firstCredentials sets up work whose ops each make what use makes, and get
// its first credentials, from an agent on the loopback interface. The
// connection is kept: what differs is what is done around the request.
func firstCredentials(use awsUse) func(*volume) (*subject, error) {
	return overAgent(func(transport *http.Transport, path string) (func() error, error) {
		client, ctx := &http.Client{Transport: transport}, context.Background()
		return func() error {
			provider, err := use(client, path)
			if err != nil {
				return err
			}
			_, err = provider.Retrieve(ctx)
			return err
		}, nil
	})
}

// bareCredentials asks the agent with a token that was read once, and leaves
// the answer alone.
func bareCredentials(transport *http.Transport, path string) (func() error, error) {
	token, err := os.ReadFile(path)
	header := http.Header{"Authorization": {string(token)}}
	return (&roundTrip{transport, http.MethodGet, agentURL, header, nil}).send, err
}

// overAgent sets up work whose ops reach an agent of its own.
func overAgent(work func(transport *http.Transport, path string) (func() error, error)) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		agent := newAgent(6 * time.Hour)
		server, err := newServer(agent)
		if err != nil {
			return nil, err
		}
		transport := &http.Transport{DialContext: server.dial}
		send, err := work(transport, v.path())
		if err != nil {
			server.close()
			return nil, err
		}
		s := shared(func() (struct{}, error) { return struct{}{}, send() }, func(struct{}) string { return agent.token() })
		s.close = func() { transport.CloseIdleConnections(); server.close() }
		return s, nil
	}
}

// dial reaches the server whatever the address that was asked for.
func (s *server) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.address)
}

var (
	_ aws.CredentialsProvider = (*loaded)(nil)
	_ awspodid.HTTPClient     = (*agent)(nil)
)
