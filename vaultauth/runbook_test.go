package vaultauth_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// sectionOf returns the section of the runbook that an error's text ends with,
// and fails if it names none, or more than one.
func sectionOf(t testing.TB, err error) string {
	t.Helper()
	require.Error(t, err)
	const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"
	text := err.Error()
	assert.Equal(t, 1, strings.Count(text, "runbook"), "the runbook is named once: %s", text)
	_, section, _ := strings.Cut(text, "; see "+runbook)
	assert.Regexp(t, `^[a-z]+(-[a-z]+)+$`, section, "the text ends with a section of the runbook: %s", text)
	return section
}

func TestEachReasonHasItsSectionOfTheRunbook(t *testing.T) {
	for reason, want := range map[vaultauth.Reason]string{
		vaultauth.Misconfigured:    "login-misconfigured",
		vaultauth.AudienceRefused:  "login-audience-refused",
		vaultauth.NotBound:         "login-not-bound",
		vaultauth.NoSuchRole:       "login-no-such-role",
		vaultauth.IssuerRefused:    "login-issuer-refused",
		vaultauth.SignatureRefused: "login-signature-refused",
		vaultauth.ClockRefused:     "login-clock-refused",
		vaultauth.PermissionDenied: "login-permission-denied",
		vaultauth.NoSuchPath:       "login-no-such-path",
		vaultauth.KeysUnreachable:  "login-keys-unreachable",
		vaultauth.RateLimited:      "login-rate-limited",
		vaultauth.Sealed:           "login-sealed",
		vaultauth.Standby:          "login-standby",
		vaultauth.ServerFailed:     "login-server-failed",
		vaultauth.Unreachable:      "login-unreachable",
		vaultauth.BadAnswer:        "login-bad-answer",
		vaultauth.Refused:          "login-refused",
		vaultauth.Canceled:         "context-ended",
		vaultauth.TokenDead:        "login-token-dead",
		vaultauth.NotRenewable:     "login-not-renewable",
		"of a later version":       "login-refused",
		"":                         "login-refused",
	} {
		assert.Equal(t, want, sectionOf(t, &vaultauth.LoginError{Reason: reason, Role: "web", Mount: "jwt"}), reason)
		long := &api.ResponseError{StatusCode: 400, Errors: []string{strings.Repeat("no ", 10_000)}}
		assert.Equal(t, want, sectionOf(t, &vaultauth.LoginError{Reason: reason, Err: long}), "%s, and a text that is cut", reason)
	}
}

// What the token file's error names is not named again, however that error is
// wrapped and however much of its text is shown.
func TestATokenFilesSectionIsNamedOnce(t *testing.T) {
	file := &tokenfile.Error{Path: "/token", Err: fs.ErrNotExist}
	for name, cause := range map[string]error{
		"as it is":            file,
		"in another's text":   fmt.Errorf("reading: %w (in a hurry)", file),
		"in one of ours":      &vaultauth.LoginError{Reason: vaultauth.TokenFile, Err: file},
		"too long to be seen": fmt.Errorf("%s: %w", strings.Repeat("x", 10_000), file),
		"not one line":        fmt.Errorf("%s\n: %w", strings.Repeat("x", 10_000), file),
		"beside a refusal":    errors.Join(&api.ResponseError{StatusCode: 400}, file),
	} {
		err := &vaultauth.LoginError{Mount: "jwt", Reason: vaultauth.TokenFile, Err: cause}
		assert.Equal(t, "token-file-missing", sectionOf(t, err), name)
		assert.Less(t, len(err.Error()), 3000, name)
	}
}

func TestLoginWithoutAGoodTokenNamesTheTokensSection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.method.Source.Audience = "vault"
		_, err := b.method.Login(t.Context(), b.client())
		assert.Equal(t, "token-audience", sectionOf(t, err))

		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = b.method.Login(canceled, b.client())
		assert.Equal(t, "context-ended", sectionOf(t, err))
	})
}

func TestWrongFieldsNameTheirSection(t *testing.T) {
	_, noAddress := vaultauth.NewSession(&api.Config{Address: "http://[::1"}, nil)
	_, noMethod := (*vaultauth.Method)(nil).Login(t.Context(), nil)
	_, noClient := new(vaultauth.Method).Login(t.Context(), nil)
	for name, err := range map[string]error{
		"an address that is none": noAddress,
		"no method":               noMethod,
		"no client":               noClient,
		"a session of nothing":    new(vaultauth.Session).Login(t.Context()),
		"Run of nothing":          new(vaultauth.Session).Run(t.Context()),
	} {
		assert.Equal(t, "login-misconfigured", sectionOf(t, err), name)
	}
}

func TestWhatIsNotReadyNamesItsSection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		assert.Equal(t, "not-logged-in", sectionOf(t, b.session.Ready(t.Context())), "before the first login")

		require.NoError(t, b.session.Login(t.Context()))
		require.NoError(t, b.session.Ready(t.Context()))
		time.Sleep(2 * time.Hour)
		assert.Equal(t, "not-logged-in", sectionOf(t, b.session.Ready(t.Context())), "without Run")

		require.NoError(t, b.kubelet.Rotate())
		b.server.Seal()
		assert.Equal(t, "login-sealed", sectionOf(t, b.session.Login(t.Context())))
		assert.Equal(t, "login-sealed", sectionOf(t, b.session.Ready(t.Context())), "after a failure")

		b.session.Method = elsewhere{}
		require.Error(t, b.session.Login(t.Context()))
		assert.Equal(t, "not-logged-in", sectionOf(t, b.session.Ready(t.Context())), "after another package's failure")
	})
}

// elsewhere is a method of another package.
type elsewhere struct{}

func (elsewhere) Login(context.Context, *api.Client) (*api.Secret, error) {
	return nil, errors.New("no card in the reader")
}

func TestARefusedRenewalNamesItsSection(t *testing.T) {
	for name, c := range map[string]struct {
		answer vaultauthtest.Fault
		want   string
		told   int
	}{
		"the policy has no renew-self": {vaultauthtest.Fault{Status: 403, Body: `{"errors":["1 error occurred:\n\t* permission denied\n\n"]}`}, "login-not-renewable", 1},
		"revoked":                      {vaultauthtest.Fault{Status: 403, Body: `{"errors":["permission denied"]}`}, "login-token-dead", 2},
		"sealed":                       {vaultauthtest.Fault{Status: 503, Body: `{"errors":["Vault is sealed"]}`}, "login-sealed", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.session.KeepToken = true
				require.NoError(t, b.session.Login(t.Context()))
				b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
					if strings.HasSuffix(r.URL.Path, "renew-self") {
						return &c.answer
					}
					return &vaultauthtest.Fault{Status: 418, Body: `{"errors":["no login in this test"]}`}
				})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- b.session.Run(ctx) }()
				for b.session.Stats().LastError == nil {
					time.Sleep(time.Second)
				}
				cancel()
				<-ended
				assert.Equal(t, sectionOf(t, b.session.Stats().LastError), sectionOf(t, b.session.Ready(t.Context())))
				told := 0
				for line := range strings.Lines(b.log.String()) {
					if strings.Contains(line, "renew failed") || strings.Contains(line, "the token is dead") {
						told++
						assert.Contains(t, line, "runbook.md#"+c.want+`"`)
					}
				}
				assert.Equal(t, c.told, told)
			})
		})
	}
}
