//go:build linux

package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// The variables that name a server which runs already, for the tests to use
// instead of one of their own. Without the key, what seals it is left out;
// what restarts it always is.
const (
	addressVar = "PODTOKEN_E2E_ADDR"
	tokenVar   = "PODTOKEN_E2E_TOKEN"
	unsealVar  = "PODTOKEN_E2E_UNSEAL_KEY"
)

// A server is a real one of the Vault family, unsealed.
type server struct {
	url    string
	root   string // its root token
	unseal string // the key that unseals it, or ""

	// Those of a server that the tests started.
	process *bed.Process
	program string
	dir     string
}

// startedServer is the one that all tests share.
var startedServer = sync.OnceValues(startServer)

func requireServer(t *testing.T) *server {
	t.Helper()
	s, err := startedServer()
	require.NoError(t, err)
	if s.process != nil {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the end of the server's output:\n%s", s.process.Tail())
			}
		})
	}
	return s
}

func startServer() (*server, error) {
	if address := os.Getenv(addressVar); address != "" {
		s := &server{url: strings.TrimSuffix(address, "/"), root: os.Getenv(tokenVar), unseal: os.Getenv(unsealVar)}
		return s, s.prepare(context.Background())
	}
	program, err := bed.Build(".", "./server", "vault-server")
	if err != nil {
		return nil, err
	}
	dir, err := folder("vault")
	if err != nil {
		return nil, err
	}
	s := &server{program: program, dir: dir}
	if s.url, err = bed.LoopbackURL("http"); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := s.initialize(context.Background()); err != nil {
		return nil, err
	}
	return s, s.prepare(context.Background())
}

// start starts the program, for the first time or again. It is sealed then.
func (s *server) start() (err error) {
	s.process, err = bed.Start(s.dir, s.program, "-dir="+s.dir, "-address="+strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return err
	}
	return s.process.Until(func() error { return bed.Healthy(http.DefaultClient, s.url+"/v1/sys/seal-status") })
}

func (s *server) initialize(ctx context.Context) error {
	made, err := s.do(ctx, http.MethodPut, "sys/init", object{"secret_shares": 1, "secret_threshold": 1})
	if err != nil {
		return err
	}
	keys, _ := made["keys"].([]any)
	if len(keys) != 1 {
		return errors.New("the server initialised itself without a key")
	}
	s.unseal, _ = keys[0].(string)
	s.root = text(made, "root_token")
	return s.unsealNow(ctx)
}

// prepare mounts what holds the secrets, and waits for it: version 2 of kv
// upgrades itself at first.
func (s *server) prepare(ctx context.Context) error {
	a, err := s.ask(ctx, s.root, http.MethodPost, "sys/mounts/"+kvMount, object{"type": "kv", "options": object{"version": "2"}})
	if err != nil {
		return err
	}
	if err := a.failure(); err != nil && !strings.Contains(err.Error(), "path is already in use") {
		return err
	}
	return eventually(func() error {
		_, err := s.do(ctx, http.MethodPost, kvMount+"/data/podtoken", object{"data": object{"ready": "yes"}})
		return err
	})
}

// kvMount is where the secrets are.
const kvMount = "secret"

// ask sends a request, without a token if that is empty.
func (s *server) ask(ctx context.Context, token, method, path string, body any) (*answer, error) {
	return call(ctx, http.DefaultClient, tokenHeader(token), method, s.url+"/v1/"+path, body)
}

func tokenHeader(token string) http.Header {
	if token == "" {
		return nil
	}
	return http.Header{"X-Vault-Token": {token}}
}

// do asks as the administrator.
func (s *server) do(ctx context.Context, method, path string, body any) (object, error) {
	a, err := s.ask(ctx, s.root, method, path, body)
	if err != nil {
		return nil, err
	}
	if err := a.failure(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a.object(), nil
}

// must is do for what cannot fail in a test.
func (s *server) must(t *testing.T, method, path string, body any) object {
	t.Helper()
	o, err := s.do(t.Context(), method, path, body)
	require.NoError(t, err)
	return o
}

// sealNow seals the server. Its tokens survive that.
func (s *server) sealNow(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPut, "sys/seal", nil)
	return err
}

// unsealNow unseals the server and returns once it serves requests.
func (s *server) unsealNow(ctx context.Context) error {
	if err := eventually(func() error {
		_, err := s.do(ctx, http.MethodPut, "sys/unseal", object{"key": s.unseal})
		return err
	}); err != nil {
		return err
	}
	return eventually(func() error {
		_, err := s.do(ctx, http.MethodGet, "auth/token/lookup-self", nil)
		return err
	})
}

// restart ends the server as a crash does, starts it again on what it stored,
// and unseals it.
func (s *server) restart(ctx context.Context) error {
	s.process.Kill()
	if err := s.start(); err != nil {
		return err
	}
	return s.unsealNow(ctx)
}

// skipUnlessSealable leaves out what seals a server that the tests could not
// unseal.
func (s *server) skipUnlessSealable(t *testing.T) {
	t.Helper()
	if s.unseal == "" {
		t.Skipf("SKIPPED: the server of %s is never sealed without %s", addressVar, unsealVar)
	}
}

// eventually waits, with patience, until ready returns nil.
func eventually(ready func() error) error {
	deadline := time.Now().Add(bed.Patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", bed.Patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// skipUnlessRestartable leaves out what the tests can only do to a process of
// their own.
func (s *server) skipUnlessRestartable(t *testing.T) {
	t.Helper()
	if s.process == nil {
		t.Skipf("SKIPPED: the server of %s is never restarted", addressVar)
	}
}
