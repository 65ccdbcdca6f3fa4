package vaultauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/vault/api"
	"golang.org/x/time/rate"
)

// Session keeps a client logged in for as long as Run runs: it renews the
// token, and logs in afresh when that is not possible any more, while the old
// token still works.
//
// [NewSession] makes one whose client, and every client that comes from it by
// Clone or WithNamespace, always sends the current token. A Session may also
// be made by hand around a client that exists: then only that client gets each
// new token, unless its transport is [Session.Transport].
//
// Call Login once at start, so that a program that cannot log in says so, and
// then Run in a goroutine. The fields are set before first use and not changed
// after. All methods may be called by many goroutines.
type Session struct {
	// Client is required, and its token belongs to the session. That of
	// NewSession carries the token of the first login, in place of which its
	// transport sends the current one.
	Client *api.Client
	Method api.AuthMethod // required; usually a *Method

	// Namespace is where logins and renewals go if that is not the Client's
	// own namespace; "/" is the root.
	Namespace string

	// Splay delays the first login of a Run that was not preceded by Login: by
	// a part of it, drawn uniformly. A fleet that starts in the same second
	// spreads so. If zero, Run logs in at once.
	Splay time.Duration

	// KeepToken keeps a token for as long as it can be renewed. Without it, one
	// in six renewals of a token that was had at a start or after an outage is
	// a login instead, until there was one, so that the tokens of a fleet do
	// not all reach their max TTL in the same hour.
	KeepToken bool

	// RevokeAtEnd makes Run revoke the token when its ctx has ended, within
	// five seconds. Leases of secrets that were read with it end as well; the
	// tokens before it end by themselves.
	RevokeAtEnd bool

	// OnLogin, if set, is called after each login, with the server's answer,
	// once requests get the new token; the one before it works on until its own
	// lease ends, and with it the leases of dynamic secrets that were read
	// with it. It is called by one goroutine at a time and delays the session
	// while it runs; it must not call the session's own Login.
	OnLogin func(*api.Secret)

	Logger *slog.Logger // if nil, the session is silent

	bare    bareCache
	limit   *rate.Limiter
	current atomic.Pointer[lease] // nil: no token, or one that is known to be dead
	server  atomic.Pointer[serverURL]
	turn    chan struct{} // holds one while someone logs in
	doubted chan struct{} // to Run: there is a suspect
	changed chan struct{} // to Run: Login was called
	prepare sync.Once
	random  func() float64 // for tests; nil: math/rand/v2
	wired   bool           // Client's transport is the session's

	mu       sync.Mutex // what follows
	running  bool
	suspect  uint64        // the last token that got a 403, as formerTokens knows it
	settled  chan struct{} // closed at the end of each login and of each examination of a suspect
	lookedUp time.Time     // when a look-up last found the token alive, or nothing out
	waiting  bool          // Run pauses before the next login
	telling  int           // how many are in OnLogin
	surely   bool          // the suspect's 403 said that it is dead
	doubtful bool          // that was untrue once
	former   formerTokens
	stats    Stats
	last     error           // why the last attempt failed, nil after one that did not
	told     map[string]bool // the failures that were logged since the last success
}

// NewSession makes a client from config, nil for api.DefaultConfig, and a
// session for it. The client's transport is the session's, so that clients
// made from it by Clone or WithNamespace, earlier or later, send the current
// token, and a request that is refused because its token was revoked is
// repeated once, after one new login that all callers share.
//
// A client of such a session that is given another token sends that one,
// unless it is the environment's. The token goes to the client's server only:
// a clone with another address sends none but its own. Set what belongs to the
// http.Transport (idle connections, TLS) on config before: the client's own
// methods for it do not know the session's transport. config is not changed.
func NewSession(config *api.Config, method api.AuthMethod) (*Session, error) {
	if config == nil {
		config = api.DefaultConfig()
	}
	plain, err := api.NewClient(config) // reads the environment, fills in the transport
	if err != nil {
		return nil, fmt.Errorf("vaultauth: %w"+wrongFields, err)
	}
	s := &Session{Method: method, wired: true}
	// Another configuration, with another http.Client: the caller's may be used
	// for other things, or for another session.
	own := plain.CloneConfig()
	own.DisableRedirects, own.CloneTLSConfig = config.DisableRedirects, config.CloneTLSConfig
	// A clone parses the address again. That of a socket has become part of
	// the transport by now, and could not be set on the session's.
	own.Address, own.AgentAddress = plain.Address(), ""
	own.HttpClient.Transport = s.Transport(own.HttpClient.Transport)
	if s.Client, err = api.NewClient(own); err != nil {
		return nil, fmt.Errorf("vaultauth: %w"+wrongFields, err)
	}
	s.Client.SetHeaders(plain.Headers())
	s.Client.SetToken(plain.Token())
	// A clone reads the environment again, even where the client did not.
	if clone, err := s.Client.Clone(); err == nil {
		s.former.add(clone.Token())
	}
	return s, nil
}

// Login logs in and gives the token to Client. It is meant for a program's
// start, where a failure should be loud: it is a *LoginError if Method is a
// *Method, and only what passes soon is tried again, a few times.
//
// It may also be called at any later time, to have a new token: policies, for
// one, are those of the time of the login. Run then goes on with that token.
// Those who call it while another Login runs share one more login.
func (s *Session) Login(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	asked := time.Now()
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.done()
	if l := s.current.Load(); l != nil && l.born.After(asked) {
		return nil // someone else was asked for the same, and did it meanwhile
	}
	start := time.Now()
	var a answer
	var err error
	if m, ok := s.Method.(*Method); ok {
		a, err = m.login(ctx, s.loginClient())
	} else {
		a, err = s.loginOther(ctx)
	}
	if err != nil {
		s.failed(ctx, login, err)
		return err
	}
	s.loggedIn(a, start, "asked for")
	signal(s.changed)
	return nil
}

// begin waits until nobody else logs in.
func (s *Session) begin(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) done() { <-s.turn }

// loginOther logs in by a method of another package.
func (s *Session) loginOther(ctx context.Context) (answer, error) {
	client, err := s.bare.get(s.loginClient()) // without hidden retries
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := within(context.WithValue(ctx, ownRequest{}, true), s.Client)
	defer cancel()
	secret, err := s.Method.Login(ctx, client)
	if err == nil {
		err = checkAuth(secret)
	}
	return answer{secret: secret}, err
}

// allow waits until another request may be sent.
func (s *Session) allow(ctx context.Context) error { return sleep(ctx, s.limit.Reserve().Delay()) }

// signal wakes whoever reads c, now or later.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

var errNotSet = errors.New("vaultauth: Session.Client and Session.Method must be set" + wrongFields)

// check is called first by everything that sends something.
func (s *Session) check() error {
	if s.Client == nil || s.Method == nil {
		return errNotSet
	}
	if m, ok := s.Method.(*Method); ok {
		if err := m.check(s.Client); err != nil {
			return err
		}
	}
	s.prepare.Do(func() {
		s.turn = make(chan struct{}, 1)
		s.doubted = make(chan struct{}, 1)
		s.changed = make(chan struct{}, 1)
		s.limit = rate.NewLimiter(rate.Every(floor), 3)
		s.mu.Lock()
		s.settled = make(chan struct{})
		s.mu.Unlock()
	})
	return nil
}

// loginClient is Client in the namespace of logins and renewals, and without a
// token for methods that would send it.
func (s *Session) loginClient() *api.Client {
	s.mu.Lock() // the library copies a client, its token too, without a lock
	defer s.mu.Unlock()
	client := s.Client
	switch s.Namespace {
	case "":
		client = client.WithNamespace(client.Namespace())
	case "/":
		client = client.WithNamespace("")
	default:
		client = client.WithNamespace(s.Namespace)
	}
	client.ClearToken()
	return client
}

// loggedIn makes a login's token the current one.
func (s *Session) loggedIn(a answer, start time.Time, why string) {
	l := newLease(a, start)
	s.mu.Lock()
	s.current.Store(l)
	s.former.add(s.Client.Token()) // from the environment, or from before the session
	s.former.add(l.token)
	if !s.wired || s.stats.Logins == 0 {
		s.Client.SetToken(l.token)
	}
	s.waiting, s.doubtful, s.lookedUp = false, false, time.Time{}
	if s.OnLogin != nil {
		s.telling++
	}
	s.stats.loggedIn(l)
	s.succeeded()
	s.settle()
	s.mu.Unlock()

	s.log(slog.LevelInfo, "logged in", "lease", l.ttl.String(), "renewable", l.renewable, "why", why)
	if a.numUses > 0 {
		s.log(slog.LevelWarn, "the role's tokens end after a number of uses: set its token_num_uses to 0", "uses", a.numUses)
	}
	if s.OnLogin != nil {
		defer func() { // also after a panic
			s.mu.Lock()
			s.telling--
			s.mu.Unlock()
		}()
		s.OnLogin(a.secret)
	}
}

// Ready says whether there is a token whose lease has not ended. Its error
// wraps ErrNotLoggedIn and, if there was a failure, why. It sends nothing and
// returns at once: a readiness probe may call it as often as it likes.
func (s *Session) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l := s.current.Load()
	if l != nil && time.Now().Before(l.end()) {
		return nil
	}
	s.mu.Lock()
	last, running, logins := s.last, s.running, s.stats.Logins
	s.mu.Unlock()
	switch {
	case last != nil:
		if namedBy(last) == "" { // by a method of another package
			return notReady(": %w", last)
		}
		return fmt.Errorf("vaultauth: %w: %w", ErrNotLoggedIn, last)
	case l != nil && !running:
		return notReady(": the lease ended at %s and Run is not running", l.end().UTC().Format(time.RFC3339))
	case l != nil:
		return notReady(": the lease ended at %s", l.end().UTC().Format(time.RFC3339))
	case logins > 0 && running:
		return notReady(": the token is dead, and a login is due")
	case logins > 0:
		return notReady(": Run has ended")
	}
	return notReady(" yet")
}

// Format writes whether the session is logged in, whatever the verb. What fmt
// would write by itself shows the client's token.
func (s *Session) Format(f fmt.State, _ rune) {
	if s == nil {
		io.WriteString(f, "vaultauth.Session(nil)")
		return
	}
	state := "not logged in"
	if l := s.current.Load(); l != nil {
		state = "lease ends " + l.end().UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(f, "vaultauth.Session(%s)", state)
}

func (s *Session) uniform() float64 {
	if s.random != nil {
		return s.random()
	}
	return rand.Float64()
}
