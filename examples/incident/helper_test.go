package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const lifetime = 5 * time.Second // of tokens in these tests

// inProcess answers requests by calling the handler of their host: the play
// without sockets, which a synctest bubble cannot have.
type inProcess map[string]http.Handler

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p[r.URL.Host].ServeHTTP(w, r)
	return w.Result(), nil
}

func newTestStage(t *testing.T) *stage {
	web := inProcess{}
	s, err := newStage(lifetime, t.TempDir(), "http://issuer.test", "http://party.test", &http.Client{Transport: web})
	require.NoError(t, err)
	s.noNotify = true
	web["issuer.test"], web["party.test"] = s.issuer, s.party
	return s
}

// sample is a timeline in which everything happened that can be shown.
func sample() timeline {
	t := timeline{
		lifetime: lifetime, length: 18 * time.Second, now: 18 * time.Second, expiry: lifetime,
		rotations: []time.Duration{4050 * time.Millisecond, 8 * time.Second, 12 * time.Second, 16 * time.Second},
		diagnosis: "this is the default token",
		lanes: []lane{
			{name: "reads <once> & for ever", how: "a mistake"},
			{name: "the default token", how: "another"},
			{name: "podtoken, every call", how: "no mistake", podtoken: true},
		},
	}
	for at := time.Duration(0); at < t.length; at += 100 * time.Millisecond {
		t.lanes[0].logins = append(t.lanes[0].logins, login{at: at, reason: when(at >= t.expiry, "token is expired")})
		t.lanes[1].logins = append(t.lanes[1].logins, login{at: at, reason: "wrong audience"})
		t.lanes[2].logins = append(t.lanes[2].logins, login{at: at, newer: at == 4100*time.Millisecond || at == 8*time.Second || at == 12*time.Second || at == 16*time.Second})
	}
	return t
}

func when(condition bool, s string) string {
	if condition {
		return s
	}
	return ""
}
