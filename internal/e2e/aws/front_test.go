//go:build linux

package aws

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A front is where one program reaches STS. It counts, and can be cut.
type front struct {
	url  string
	weed *weed

	mu       sync.Mutex
	requests int       // to STS
	refused  int       // of those
	cut      bool      // connections break
	expiry   time.Time // of the credentials that were last given

	// Set before use. The first request is answered by first, if it is not nil;
	// each other takes delay; credentials last, as they say, for ahead longer.
	first        func(http.ResponseWriter)
	delay, ahead time.Duration
}

func newFront(t *testing.T, w *weed) *front {
	t.Helper()
	target, err := url.Parse(w.url)
	require.NoError(t, err)
	f := &front{weed: w}
	forward := &httputil.ReverseProxy{
		// Also if it is addressed as a proxy, with any other host.
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: f.look,
		Transport:      &http.Transport{Proxy: nil},
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests++
		first, cut := f.requests == 1 && f.first != nil, f.cut
		f.mu.Unlock()
		switch {
		case cut:
			panic(http.ErrAbortHandler)
		case first:
			_, _ = io.Copy(io.Discard, r.Body)
			f.first(rw)
		default:
			time.Sleep(f.delay)
			forward.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(forward.Transport.(*http.Transport).CloseIdleConnections)
	f.url = server.URL
	return f
}

// look notes what STS answered.
func (f *front) look(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body.Close()
	var given struct {
		Expiration string `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if resp.StatusCode != http.StatusOK {
		f.refused++
	} else if xml.Unmarshal(body, &given) == nil {
		if f.expiry, err = time.Parse(time.RFC3339, given.Expiration); err != nil {
			return err
		}
		f.expiry = f.expiry.Add(f.ahead)
		body = bytes.Replace(body, []byte(given.Expiration), []byte(f.expiry.Format(time.RFC3339)), 1)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// set cuts the way to STS, or mends it.
func (f *front) set(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = cut
}

func (f *front) counts() (requests, refused int, expiry time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests, f.refused, f.expiry
}

// An imds is an instance's metadata service, which gives to whoever asks the
// credentials of the node's role.
type imds struct {
	url string

	mu       sync.Mutex
	requests []string // paths
}

func newIMDS(t *testing.T, w *weed) *imds {
	t.Helper()
	i := new(imds)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.requests = append(i.requests, r.Method+" "+r.URL.Path)
		i.mu.Unlock()
		const ttl = 6 * time.Hour
		rw.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", strconv.Itoa(int(ttl.Seconds())))
		switch {
		case r.URL.Path == "/latest/api/token":
			_, _ = io.WriteString(rw, "metadata")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			_, _ = io.WriteString(rw, "node")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/node"):
			_ = json.NewEncoder(rw).Encode(object{
				"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": time.Now().UTC(), "Expiration": time.Now().UTC().Add(ttl),
				"AccessKeyId": w.node.AccessKeyID, "SecretAccessKey": w.node.SecretAccessKey, "Token": "",
			})
		default:
			http.NotFound(rw, r)
		}
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *imds) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.requests)
}
