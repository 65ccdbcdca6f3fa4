package vaultauthtest

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// packageName begins the texts of panics.
const packageName = "vaultauthtest"

// Server is a login server in memory. Reach it through Transport, which needs
// no socket and works in a testing/synctest bubble; through Start, by other
// programs; or mount it as an http.Handler.
//
// New makes one; then enable an auth method, give it a role, and let the role
// have a policy, as the example does. The exported fields are set before first
// use and not changed after. The methods are safe for concurrent use, and all
// that changes the server may be called while requests run. No goroutine and
// no timer belongs to it: whatever expires is seen to have expired when it is
// next used.
//
// Printing a Server shows how much it holds, and no token.
type Server struct {
	// Product is the server to imitate where the two differ.
	Product Product

	// LogSize is how many requests Requests remembers. If zero, 10,000; if
	// negative, none.
	LogSize int

	issuer  *tokenfiletest.Issuer
	keys    keySet
	cluster string // its ID

	mu         sync.Mutex
	sealed     bool
	standby    bool
	down       bool
	waiting    map[chan struct{}]struct{} // requests that a restart cuts
	methods    map[string]*method         // by namespace and path
	namespaces map[string]string          // IDs by path, without the root
	policies   map[string][]rule
	tokens     map[digest]*token
	accessors  map[string]digest
	sweepAt    int               // how many tokens there may be before the expired go
	entities   map[string]string // IDs by auth method and alias
	living     map[string]bool   // the IDs of entities that were not deleted
	deleted    map[string]bool   // pods, by namespace and name
	secrets    map[string]*secret
	limiter    *rate.Limiter
	retryAfter bool
	latency    func(*http.Request) time.Duration
	fault      func(*http.Request) *Fault
	log        requestLog
}

var _ http.Handler = (*Server)(nil)

// New makes a server that trusts the issuer's tokens. It is unsealed, and has
// no auth method yet.
func New(issuer *tokenfiletest.Issuer) *Server {
	return &Server{
		Product:    defaultProduct,
		issuer:     issuer,
		cluster:    uuid(),
		waiting:    make(map[chan struct{}]struct{}),
		methods:    make(map[string]*method),
		namespaces: make(map[string]string),
		policies:   builtinPolicies(),
		tokens:     make(map[digest]*token),
		accessors:  make(map[string]digest),
		entities:   make(map[string]string),
		living:     make(map[string]bool),
		deleted:    make(map[string]bool),
		secrets:    make(map[string]*secret),
	}
}

// Format writes the product and how much there is of what, whatever the verb.
func (s *Server) Format(f fmt.State, _ rune) {
	if s == nil {
		fmt.Fprintf(f, "%s.Server(nil)", packageName)
		return
	}
	s.mu.Lock()
	methods, tokens := len(s.methods), len(s.tokens)
	s.mu.Unlock()
	fmt.Fprintf(f, "%s.Server(%s, %d auth methods, %d tokens)", packageName, s.Product, methods, tokens)
}
