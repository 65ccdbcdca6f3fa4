//go:build linux

package kubernetes

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
)

// A relyingParty lets in who has a token that the API server accepts for its
// audience, and keeps a book about them. Its callers name themselves in the
// URL's path.
type relyingParty struct {
	server *apiServer
	url    string

	mu   sync.Mutex
	book map[string]*visitor
}

// A visitor is what the relying party knows of one caller.
type visitor struct {
	credentials []string // the ids of its tokens, each time that it came with another one
	tokens      []string // the tokens themselves
}

func startRelyingParty(t *testing.T, server *apiServer) *relyingParty {
	t.Helper()
	p := &relyingParty{server: server, book: map[string]*visitor{}}
	listener := httptest.NewServer(p)
	t.Cleanup(listener.Close)
	p.url = listener.URL
	return p
}

func (p *relyingParty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	status, err := p.server.review(r.Context(), token, openbao)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !status.Authenticated:
		http.Error(w, status.Error, http.StatusUnauthorized)
	default:
		p.note(strings.TrimPrefix(r.URL.Path, "/"), token, credential(status))
	}
}

// credential is the id of the token that was reviewed.
func credential(status authv1.TokenReviewStatus) string {
	return strings.Join(status.User.Extra["authentication.kubernetes.io/credential-id"], " ")
}

func (p *relyingParty) note(caller, token, credential string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.book[caller]
	if v == nil {
		v = &visitor{}
		p.book[caller] = v
	}
	if n := len(v.credentials); n == 0 || v.credentials[n-1] != credential {
		v.credentials = append(v.credentials, credential)
		v.tokens = append(v.tokens, token)
	}
}

// visitor is what is known of a caller by now.
func (p *relyingParty) visitor(caller string) visitor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.book[caller]; v != nil {
		return visitor{slices.Clone(v.credentials), slices.Clone(v.tokens)}
	}
	return visitor{}
}

// secrets are parts of all tokens seen that nothing else may hold.
func (p *relyingParty) secrets() (parts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.book {
		for _, token := range v.tokens {
			parts = append(parts, strings.Split(token, ".")[1:]...)
		}
	}
	return parts
}
