package httpclient_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/examples/httpclient"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// pod is a pod's volume and a client that uses it.
type pod struct {
	*tokenfiletest.Kubelet
	*http.Client
}

// newPod makes a client for one server. Its Source is one that holds on to
// its token, so that only a refusal makes it look again.
func newPod(t *testing.T, server *httptest.Server) *pod {
	issuer, err := tokenfiletest.NewIssuer("")
	require.NoError(t, err)
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	kubelet := &tokenfiletest.Kubelet{
		Issuer: issuer, Volume: volume,
		Request: tokenfiletest.Request{Audiences: []string{"api"}},
	}
	require.NoError(t, kubelet.Rotate())
	return &pod{kubelet, &http.Client{Transport: &httpclient.Transport{
		Source: &tokenfile.Source{Path: volume.Path(), Audience: "api", MaxAge: time.Hour},
		Origin: server.URL,
		Base:   server.Client().Transport,
	}}}
}

// seen is what a server was sent: one entry for each request.
type seen struct{ tokens, bodies []string }

// record serves with the status that decide returns for the request's number.
func record(s *seen, decide func(n int) int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.tokens = append(s.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		s.bodies = append(s.bodies, string(body))
		w.WriteHeader(decide(len(s.tokens)))
	}))
}

func refuseFirst(n int) int {
	if n == 1 {
		return http.StatusUnauthorized
	}
	return http.StatusOK
}

func TestEachRequestCarriesTheToken(t *testing.T) {
	var got seen
	server := record(&got, func(int) int { return http.StatusOK })
	defer server.Close()
	p := newPod(t, server)
	request, err := http.NewRequest(http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	response, err := p.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	_, err = p.Issuer.Verify(got.tokens[0], "api")
	assert.NoError(t, err)
	assert.Empty(t, request.Header, "the caller's request is as it was")
}

func TestRefusedTokenIsReplacedByANewerOne(t *testing.T) {
	var got seen
	var p *pod
	server := record(&got, func(n int) int {
		if n == 1 {
			assert.NoError(t, p.Rotate())
		}
		return refuseFirst(n)
	})
	defer server.Close()
	p = newPod(t, server)
	response, err := p.Post(server.URL, "text/plain", strings.NewReader("hello"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, []string{"hello", "hello"}, got.bodies)
	require.Len(t, got.tokens, 2)
	assert.NotEqual(t, got.tokens[0], got.tokens[1])
}

func TestRefusalStands(t *testing.T) {
	for name, test := range map[string]struct {
		rotates bool
		body    io.Reader
		asked   int
	}{
		"when the token is still the same":       {false, nil, 1},
		"when the newer one is refused too":      {true, nil, 2},
		"when the body cannot be sent once more": {true, io.NopCloser(strings.NewReader("hello")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got seen
			var p *pod
			server := record(&got, func(n int) int {
				if test.rotates {
					assert.NoError(t, p.Rotate())
				}
				return http.StatusUnauthorized
			})
			defer server.Close()
			p = newPod(t, server)
			response, err := p.Post(server.URL, "text/plain", test.body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
			assert.Len(t, got.tokens, test.asked)
		})
	}
}

func TestRedirectDoesNotTakeTheTokenAlong(t *testing.T) {
	var got seen
	elsewhere := record(&got, func(int) int { return http.StatusOK })
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	response, err := newPod(t, server).Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, []string{""}, got.tokens)
}

// closing tells whether a request's body was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestNothingIsSentWithoutAToken(t *testing.T) {
	var got seen
	server := record(&got, func(int) int { return http.StatusOK })
	defer server.Close()
	p := newPod(t, server)
	require.NoError(t, p.Volume.Remove())
	body := &closing{Reader: strings.NewReader("hello")}
	_, err := p.Post(server.URL, "text/plain", body)
	assert.True(t, errors.Is(err, fs.ErrNotExist), err)
	assert.True(t, body.closed)
	assert.Empty(t, got.tokens)
}
