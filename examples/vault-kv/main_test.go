package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	auth "github.com/podtoken/podtoken/vaultauth"
)

// config reaches the stage's server without a socket, which a synctest bubble
// cannot have.
func (s *stage) config() *api.Config {
	config := api.DefaultConfig()
	config.HttpClient = &http.Client{Transport: s.server.Transport()}
	return config
}

// stopping ends a context when something is written.
type stopping struct {
	bytes.Buffer
	stop func()
}

func (w *stopping) Write(b []byte) (int, error) {
	w.stop()
	return w.Buffer.Write(b)
}

// The program reads its secret, and is told to stop.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "vault-kv")
		defer os.RemoveAll(dir)
		s, err := newStage(dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		ctx, stop := context.WithCancel(t.Context())
		out := &stopping{stop: stop}
		err = s.play(ctx, s.config(), out)
		fmt.Print(out)
		fmt.Println("error:", err)
	})
	// Output:
	// read version 1 of secret/web
	// logins: 1, renewals: 0, failures: 0
	// error: <nil>
}

func TestStaysLoggedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newStage(t.TempDir())
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, s.play(t.Context(), s.config(), &out))
		assert.Regexp(t, `^read version 1 of secret/web\nlogins: [2-9], renewals: [1-9], failures: 0\n$`, out.String())
		assert.GreaterOrEqual(t, s.kubelet.Rotations(), 2)
	})
}

func TestLoginThatCannotSucceedIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage) error
		want   string
		cause  any
	}{
		"no token file": {
			func(s *stage) error { return s.kubelet.Volume.Remove() },
			`vaultauth: login as role "web" at auth/kubernetes: tokenfile: `, new(*tokenfile.Error),
		},
		"token for somebody else": {
			func(s *stage) error {
				s.kubelet.Request.Audiences = []string{"vault"}
				return s.kubelet.Rotate()
			},
			`token's audience is ["vault"], want "openbao"`, new(*tokenfile.AudienceError),
		},
		"role for another audience": {
			func(s *stage) error { s.role("vault"); return nil },
			"make the audience of the pod's projected volume (and Source.Audience) and that of auth/kubernetes/role/web the same",
			new(*auth.LoginError),
		},
		"secret that is not for this pod": {
			func(s *stage) error { s.server.SetPolicy("web"); return nil },
			"permission denied", new(*api.ResponseError),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := newStage(t.TempDir())
				require.NoError(t, err)
				require.NoError(t, test.change(s))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var out bytes.Buffer
				err = run(ctx, s.config(), s.kubelet.Volume.Path(), &out)
				require.ErrorAs(t, err, test.cause)
				assert.Contains(t, err.Error(), test.want)
				assert.Empty(t, out.String())
			})
		})
	}
}

// withoutServer makes an environment that names none.
func withoutServer(t *testing.T) {
	for _, name := range []string{"VAULT_ADDR", "VAULT_AGENT_ADDR", "VAULT_NAMESPACE", "VAULT_TOKEN"} {
		t.Setenv(name, "")
	}
}

// The command as it is, over a socket, as far as the first read.
func TestExitStatus(t *testing.T) {
	interrupted := func(t *testing.T) (code int, stdout, stderr string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &stopping{stop: cancel}
		var failure bytes.Buffer
		code = start(ctx, out, &failure)
		return code, out.String(), failure.String()
	}
	s, err := newStage(t.TempDir())
	require.NoError(t, err)
	url, stop := s.server.Start()
	defer stop()

	t.Run("embedded", func(t *testing.T) {
		withoutServer(t)
		code, stdout, stderr := interrupted(t)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "read version 1 of secret/web\n")
		assert.Zero(t, s.server.Counts().Total(), "no other server was asked")
	})
	t.Run("against a server", func(t *testing.T) {
		withoutServer(t)
		t.Setenv("VAULT_ADDR", url)
		t.Setenv("TOKEN_FILE", s.kubelet.Volume.Path())
		code, stdout, stderr := interrupted(t)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "read version 1 of secret/web\n")
		assert.Equal(t, 1, s.server.Counts().Reads.OK)
	})
	t.Run("no token file", func(t *testing.T) {
		withoutServer(t)
		t.Setenv("VAULT_ADDR", url)
		t.Setenv("TOKEN_FILE", filepath.Join(t.TempDir(), "token"))
		code, stdout, stderr := interrupted(t)
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "vault-kv: vaultauth: login as role \"web\" at auth/kubernetes: tokenfile: ")
		assert.Empty(t, stdout)
	})
}
