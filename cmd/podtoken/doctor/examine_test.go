//go:build linux

package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// hidesTokens looks for parts of tokens in every form of a report.
func (p *pod) hidesTokens(r *doctor.Report) {
	p.t.Helper()
	text, err := json.Marshal(r)
	require.NoError(p.t, err)
	all := fmt.Sprintf("%s %v %+v %#v", text, r, r, r)
	for _, token := range p.secrets {
		for part := range strings.SplitSeq(token, ".") {
			assert.False(p.t, strings.Contains(all, part), "a part of a token is in the report")
		}
	}
}

// Each case has one thing wrong, and exactly that is found.
func TestFindings(t *testing.T) {
	const year = 365 * 24 * time.Hour
	tokens := func(audience string, l life) func(*pod) { return func(p *pod) { p.mount("/tokens", audience, l) } }
	for name, c := range map[string]struct {
		pod   func(*pod)
		rules string // found, errors first
		text  string // in the first finding
	}{
		"a healthy token":         {tokens("openbao", healthy), "", ""},
		"a healthy default token": {func(p *pod) { p.mount(defaultDir, apiServer, healthy) }, "", ""},
		"the default token that every pod gets": {
			func(p *pod) { p.mount(defaultDir, apiServer, life{10 * time.Minute, year, 3607 * time.Second}) },
			"PD012", "the token lives for 365d, though 1h was asked for",
		},
		"the default token of a platform with an issuer of its own": {
			func(p *pod) { p.mount(defaultDir, "https://container.googleapis.com/v1/projects/p", healthy) }, "", "",
		},
		"nothing is mounted": {func(*pod) {}, "PD001", "no service-account token is mounted"},
		"a named file is not there": {
			func(p *pod) { p.options.Paths = []string{"/tokens/token"} }, "PD002", "directory /tokens does not exist",
		},
		"a variable names a file that is not there": {
			func(p *pod) { p.setenv("AZURE_FEDERATED_TOKEN_FILE=/azure/token") }, "PD002", "directory /azure does not exist",
		},
		"a named file holds something else": {
			func(p *pod) {
				require.NoError(p.t, p.File("/pw", "a password"))
				p.options.Paths = []string{"/pw"}
			}, "PD004", "malformed token: byte 2 is white space",
		},
		"a named file is a directory": {
			func(p *pod) { p.mount("/tokens", "openbao", healthy); p.options.Paths = []string{"/tokens"} },
			"PD004", "it is a directory",
		},
		"a named file is a FIFO": {
			func(p *pod) {
				require.NoError(p.t, syscall.Mkfifo(filepath.Join(p.Root, "fifo"), 0o644))
				p.options.Paths = []string{"/fifo"}
			}, "PD004", "it is a FIFO",
		},
		"the default token is torn": {
			func(p *pod) { p.put(defaultDir, "torn", time.Minute) }, "PD004", "malformed token",
		},
		"expired": {tokens("openbao", life{2 * time.Hour, time.Hour, 0}), "PD005", "token expired 1h0m"},
		"of the future": {
			tokens("openbao", life{-time.Hour, time.Hour, 0}), "PD006", "ahead of this host's clock",
		},
		"the clock is some seconds behind": {
			tokens("openbao", life{-6 * time.Second, time.Hour, 0}), "PD007", "ahead of this host's clock",
		},
		"a rotation that is not yet overdue": {tokens("openbao", life{49 * time.Minute, time.Hour, 0}), "", ""},
		"a stuck kubelet": {
			tokens("openbao", life{50 * time.Minute, time.Hour, 0}), "PD008", "the kubelet should have replaced the token at ",
		},
		"a stuck kubelet, seen at the extended token": {
			func(p *pod) { p.mount(defaultDir, apiServer, life{50 * time.Minute, year, 3607 * time.Second}) },
			"PD008 PD012", "the kubelet should have replaced the token at ",
		},
		"subPath": {
			func(p *pod) { p.subPath("/token", p.sign("openbao", healthy)) }, "PD009", "the file is mounted by itself",
		},
		"subPath, and expired": {
			func(p *pod) { p.subPath("/token", p.sign("openbao", life{2 * time.Hour, time.Hour, 0})) }, "PD005 PD009", "token expired",
		},
		"a legacy Secret": {
			func(p *pod) {
				token, err := p.issuer.LegacyToken("shop", "web", "web-token-x")
				require.NoError(p.t, err)
				p.put("/secret", token, time.Hour)
			}, "PD010", "the token has no expiry: it is that of the Secret web-token-x",
		},
		"an extended token for somebody else": {
			tokens("openbao", life{time.Minute, year, time.Hour}), "PD011", "the token lives for 365d, though 1h was asked for",
		},
		"an extended token, even if what was asked for is what was declared": {
			func(p *pod) {
				p.mount("/tokens", "openbao", life{time.Minute, year, time.Hour})
				p.options.Lifetime = time.Hour
			}, "PD011", "the token lives for 365d, though 1h was asked for",
		},
		"the default token, a year that is all there is to it": {
			func(p *pod) { p.mount(defaultDir, apiServer, life{10 * time.Minute, year, 0}) }, "PD012", "the token lives for 365d; it is for",
		},
		"the default token of an image without /var/run": {
			func(p *pod) {
				p.mount("/run/secrets/kubernetes.io/serviceaccount", apiServer, life{10 * time.Minute, year, 3607 * time.Second})
			}, "PD012", "the token lives for 365d",
		},
		"two days that nobody declared": {
			tokens("openbao", life{time.Minute, 48 * time.Hour, 0}), "PD011", "the token lives for 2d",
		},
		"two days that were declared": {
			func(p *pod) {
				p.mount("/tokens", "openbao", life{time.Minute, 48 * time.Hour, 0})
				p.options.Lifetime = 48 * time.Hour
			},
			"PD014", "the token lives for 2d",
		},
		"a day, as AWS has it": {tokens("openbao", life{time.Minute, 24 * time.Hour, 0}), "", ""},
		"not the lifetime that was expected": {
			func(p *pod) { p.mount("/tokens", "openbao", healthy); p.options.Lifetime = 10 * time.Minute },
			"PD013", "the token lives for 1h, declared were 10m",
		},
		"the lifetime that was expected": {
			func(p *pod) { p.mount("/tokens", "openbao", healthy); p.options.Lifetime = time.Hour }, "", "",
		},
		"the lifetime that was expected of others than the default token": {
			func(p *pod) { p.mount(defaultDir, apiServer, healthy); p.options.Lifetime = 10 * time.Minute }, "", "",
		},
		"the lifetime that was expected of others than AWS's tokens": {
			func(p *pod) {
				p.inject(life{time.Hour, 24 * time.Hour, 0})
				p.setenv(agentVariable, fileVariable)
				p.options.Lifetime = time.Hour
			}, "", "",
		},
		"not the lifetime that the pod declares": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.options.Declared = func(path string) (time.Duration, bool) { return 2 * time.Hour, path == "/tokens/token" }
			}, "PD013", "declared were 2h",
		},
		"the API server's token where another belongs": {tokens(apiServer, healthy), "PD015", "the token is for the API server"},
		"the API server's token where it is expected": {
			func(p *pod) {
				p.mount("/tokens", apiServer, healthy)
				p.options.Expect = []doctor.Expectation{{Audience: apiServer}}
			}, "", "",
		},
		"the audience of this platform's API server, elsewhere": {
			func(p *pod) {
				p.mount(defaultDir, "https://x.hcp.region.azmk8s.io", healthy)
				p.mount("/tokens", "https://x.hcp.region.azmk8s.io", healthy)
			}, "PD015", `its audience is "https://x.hcp.region.azmk8s.io"`,
		},
		"the audience that is the issuer, as the API servers of some platforms have it": {
			func(p *pod) {
				p.put("/tokens", p.signBy("https://issuer.example/p", "https://issuer.example/p", healthy), 10*time.Minute)
			},
			"PD015", `its audience is "https://issuer.example/p"`,
		},
		"the API server's name of every cluster, where the issuer is another": {
			func(p *pod) {
				p.put("/tokens", p.signBy("https://issuer.example/p", "kubernetes.default.svc", healthy), 10*time.Minute)
			},
			"PD015", `its audience is "kubernetes.default.svc"`,
		},
		"somebody else's token at the default path": {
			func(p *pod) { p.mount(defaultDir, "openbao", healthy) }, "PD016", `the token is for "openbao", and not for the API server`,
		},
		"the default token of kOps, whose API server's audience is no URL": {
			func(p *pod) {
				p.mount(defaultDir, "kubernetes.svc.default", life{10 * time.Minute, year, 3607 * time.Second})
			},
			"PD012", "the token lives for 365d",
		},
		"the same where tokens are not extended": {
			func(p *pod) {
				p.mount(defaultDir, "kubernetes.svc.default", life{10 * time.Minute, 3607 * time.Second, 0})
			}, "", "",
		},
		"warned of before it was issued": {tokens("openbao", life{10 * time.Minute, time.Hour, -time.Hour}), "", ""},
		"torn": {
			func(p *pod) { p.put("/tokens", p.sign("openbao", healthy)[:100], time.Minute) }, "PD004", "malformed token",
		},
		"an audience that is there": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.options.Expect = []doctor.Expectation{{Audience: "openbao"}, {Path: "/tokens/token", Audience: "openbao"}}
			}, "", "",
		},
		"an audience that is not there": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.options.Expect = []doctor.Expectation{{Audience: "vault"}}
			},
			"PD017", `no token is for "vault"; found were tokens for "openbao"`,
		},
		"an audience at another path": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.mount("/other", "vault", healthy)
				p.options.Expect = []doctor.Expectation{{Path: "/tokens/token", Audience: "vault"}}
			}, "PD017", `the token is not for "vault"; found were tokens for "openbao"`,
		},
		"the container's start is not known": {
			func(p *pod) { p.mount("/tokens", "openbao", healthy); require.NoError(p.t, p.File("/proc/stat", "")) },
			"PD023", "when the system started",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			c.pod(p)
			r := p.examine()
			assert.Empty(t, r.Errors)
			require.Equal(t, c.rules, ruleIDs(r.Findings))
			if c.rules == "" {
				assert.True(t, r.Healthy())
				return
			}
			assert.Contains(t, r.Findings[0].Message, c.text)
			assert.NotContains(t, r.Findings[0].Message, p.Root, "paths are the container's")
		})
	}
}

// Root reads everything, so that a file is refused to it only by the tests that
// have other users.
func TestATokenThatMayNotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything; the end-to-end tests have other users")
	}
	p := newPod(t)
	volume := p.mount("/tokens", "openbao", healthy)
	require.NoError(t, volume.Chmod(0))
	r := p.examine()
	require.Equal(t, "PD003", ruleIDs(r.Findings))
	assert.False(t, r.Tokens[0].Readable)
}

func TestATokenIsDescribed(t *testing.T) {
	p := newPod(t)
	p.mount("/tokens", "openbao", healthy)
	p.options.Lifetime = time.Hour
	r := p.examine()
	require.Len(t, r.Tokens, 1)
	got := r.Tokens[0]
	assert.Equal(t, "/tokens/token", got.Path)
	assert.Equal(t, "/tokens", got.MountPoint)
	assert.Equal(t, []string{"openbao"}, got.Audience)
	assert.Equal(t, "system:serviceaccount:shop:web", got.Subject)
	assert.Equal(t, apiServer, got.Issuer)
	assert.Equal(t, time.Hour, time.Duration(got.Lifetime))
	assert.Equal(t, time.Hour, time.Duration(got.Declared))
	assert.InDelta(t, 10*time.Minute, time.Duration(got.Age), float64(time.Minute))
	assert.Equal(t, got.IssuedAt.Add(48*time.Minute), got.RotationAt)
	assert.Equal(t, got.IssuedAt.Add(time.Hour), got.Expiry)
	assert.Equal(t, "0644", got.Mode)
	assert.True(t, got.Readable)
	assert.Equal(t, doctor.RotationSeen, got.Rotation, "written ten minutes ago, twenty after the start")
	assert.Equal(t, "web-0", r.Container.Pod)
	assert.Equal(t, "n1", r.Container.Node)
	assert.InDelta(t, 30*time.Minute, time.Since(r.Container.Started), float64(time.Minute))
}

// The kubelet's rule, of what it asked for and not of what it was given.
func TestWhenTheNextRotationIsDue(t *testing.T) {
	for name, c := range map[string]struct {
		life life
		want time.Duration // after the token was issued
	}{
		"the shortest":               {life{time.Minute, 10 * time.Minute, 0}, 8 * time.Minute},
		"an hour":                    {life{time.Minute, time.Hour, 0}, 48 * time.Minute},
		"a day, as AWS has it":       {life{time.Minute, 24 * time.Hour, 0}, 19*time.Hour + 12*time.Minute},
		"a week":                     {life{time.Minute, 168 * time.Hour, 0}, 24 * time.Hour},
		"an hour, extended to years": {life{time.Minute, 8760 * time.Hour, time.Hour}, 48 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.mount("/tokens", "openbao", c.life)
			got := p.examine().Tokens[0]
			assert.Equal(t, c.want, got.RotationAt.Sub(got.IssuedAt))
		})
	}
}

func TestEvidenceOfRotations(t *testing.T) {
	for name, c := range map[string]struct {
		life life
		want doctor.Rotation
	}{
		"written after the start":          {life{29 * time.Minute, time.Hour, 0}, doctor.RotationSeen},
		"written before the start":         {life{31 * time.Minute, time.Hour, 0}, doctor.RotationAwaited},
		"of an extended token, after":      {life{10 * time.Minute, 8760 * time.Hour, time.Hour}, doctor.RotationSeen},
		"of an expired token, from before": {life{2 * time.Hour, time.Hour, 0}, doctor.RotationAwaited},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.mount("/tokens", "openbao", c.life)
			assert.Equal(t, c.want, p.examine().Tokens[0].Rotation)
		})
	}
	t.Run("a ConfigMap in the same volume changed, and the token was written again with it", func(t *testing.T) {
		// The start is not known to the second: a container that started at once may seem the older one.
		for _, age := range []time.Duration{31 * time.Minute, 30*time.Minute - time.Second} {
			p := newPod(t)
			p.put("/tokens", p.sign("openbao", life{age, time.Hour, 0}), 10*time.Minute)
			assert.Equal(t, doctor.RotationAwaited, p.examine().Tokens[0].Rotation, age)
		}
	})
	t.Run("of a token that cannot be read, only the file tells", func(t *testing.T) {
		p := newPod(t)
		p.put(defaultDir, "torn", 10*time.Minute)
		assert.Equal(t, doctor.RotationSeen, p.examine().Tokens[0].Rotation)
	})
	t.Run("of a token by subPath there is none", func(t *testing.T) {
		p := newPod(t)
		p.subPath("/token", p.sign("openbao", healthy))
		got := p.examine().Tokens[0]
		assert.Equal(t, doctor.RotationNever, got.Rotation)
		assert.Zero(t, got.RotationAt)
	})
}

// A Source hands out no token that cannot be used, and yet one wants to know
// what it says.
func TestTheClaimsOfAnExpiredTokenAreKnown(t *testing.T) {
	for name, l := range map[string]life{"expired": {2 * time.Hour, time.Hour, 0}, "not yet valid": {-2 * time.Hour, time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.mount("/tokens", "openbao", l)
			got := p.examine().Tokens[0]
			assert.Equal(t, []string{"openbao"}, got.Audience)
			assert.Equal(t, "system:serviceaccount:shop:web", got.Subject)
			assert.Equal(t, apiServer, got.Issuer)
			assert.Equal(t, time.Hour, time.Duration(got.Lifetime))
			assert.WithinDuration(t, time.Now().Add(-l.age), got.IssuedAt, 2*time.Second)
			assert.NotEmpty(t, got.Error)
		})
	}
}

func TestAFileIsListedOnceWhoeverNamesIt(t *testing.T) {
	p := newPod(t)
	p.mount("/run/tokens", "openbao", healthy)
	require.NoError(t, os.MkdirAll(filepath.Join(p.Root, "var"), 0o755))
	require.NoError(t, os.Symlink("/run", filepath.Join(p.Root, "var/run")))
	p.options.Paths = []string{"/run/tokens/token", "/var/run/tokens/token"}
	p.setenv("BAO_TOKEN_FILE=/var/run/tokens/token", "PATH=/bin", "GITHUB_TOKEN_FILE=/etc/none")
	r := p.examine()
	require.Len(t, r.Tokens, 1)
	assert.Equal(t, "BAO_TOKEN_FILE", r.Tokens[0].Variable)
}

// An API server's token is found by variables also outside of every volume.
func TestATokenThatOnlyAVariableNames(t *testing.T) {
	for _, variable := range []string{"APP_TOKEN_PATH", "APP_TOKEN_FILE", "APP_JWT_PATH", "APP_JWT_FILE", "AZURE_FEDERATED_TOKEN_FILE"} {
		t.Run(variable, func(t *testing.T) {
			p := newPod(t)
			require.NoError(t, p.File("/srv/app/token", p.sign("openbao", healthy)))
			p.setenv(variable + "=/srv/app/token")
			r := p.examine()
			require.Len(t, r.Tokens, 1)
			assert.Equal(t, "/srv/app/token", r.Tokens[0].Path)
			assert.Equal(t, variable, r.Tokens[0].Variable)
			assert.Empty(t, r.Tokens[0].MountPoint)
			assert.True(t, r.Healthy())
		})
	}
}

// Nothing is dropped in silence: what was not looked at makes the report
// unhealthy.
func TestWhatCannotBeLookedAtIsSaid(t *testing.T) {
	p := newPod(t)
	p.mount("/tokens", "openbao", healthy)
	require.NoError(t, os.Remove(filepath.Join(p.Root, "proc/self/mountinfo")))
	r := p.examine()
	require.Len(t, r.Errors, 1)
	assert.Contains(t, r.Errors[0], "mountinfo")
	assert.NotContains(t, r.Errors[0], p.Root)
	assert.Empty(t, r.Findings, "a token may well be there")
	assert.False(t, r.Healthy())
}

// Text from outside is on one line, bounded, and never a token.
func TestForeignText(t *testing.T) {
	p := newPod(t)
	odd := "a\x1b[31m\nb" + strings.Repeat("x", 10_000)
	p.mount("/tokens", odd, healthy)
	token := p.sign("openbao", healthy)
	require.NoError(t, p.File("/srv/token", p.sign("openbao", healthy)))
	p.setenv("AZURE_FEDERATED_TOKEN_FILE="+token, "AWS_ROLE_ARN="+token, "A\x1b[31m\nTOKEN_FILE=/srv/token")
	p.options.Paths = []string{token, "/no\nsuch\x00file"}
	p.options.Expect = []doctor.Expectation{{Audience: token}}
	text := fmt.Sprintf("%+v", *p.examine())
	assert.Less(t, len(text), 20_000)
	assert.NotRegexp(t, `[[:cntrl:]]`, text)
}

func TestLogins(t *testing.T) {
	refused, away := errors.New("role is not bound"), errors.New("connection refused")
	p := newPod(t)
	p.mount("/tokens", "openbao", healthy)
	p.options.Unreachable = func(err error) bool { return errors.Is(err, away) }
	p.options.Parties = []doctor.Prober{
		prober(func(context.Context) error { return nil }),
		prober(func(context.Context) error { return refused }),
		prober(func(context.Context) error { return away }),
		prober(func(context.Context) error { return errors.New("quotes " + p.secrets[0]) }),
	}
	r := p.examine()
	require.Len(t, r.Logins, 4)
	assert.True(t, r.Logins[0].OK)
	assert.Equal(t, "PD021 PD022 PD021", ruleIDs(r.Findings))
	assert.Equal(t, "the party", r.Findings[0].Party)
	assert.Equal(t, "role is not bound", r.Findings[0].Message)
	assert.Equal(t, "(a token)", r.Findings[2].Message)
}

func TestLoginsThatDoNotAnswerEndTogether(t *testing.T) {
	p := newPod(t)
	p.mount("/tokens", "openbao", life{0, 876_000 * time.Hour, 0})
	hang := prober(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := p.options
		o.Parties = []doctor.Prober{hang, hang, hang}
		r := doctor.Examine(t.Context(), o)
		assert.Equal(t, 30*time.Second, time.Since(start))
		require.Len(t, r.Logins, 3)
		assert.Contains(t, r.Logins[2].Error, "deadline exceeded")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start = time.Now()
		doctor.Examine(ctx, o)
		assert.Zero(t, time.Since(start))
	})
}

func TestFitting(t *testing.T) {
	p := newPod(t)
	p.mount(defaultDir, apiServer, healthy)
	p.mount("/a", "openbao", healthy)
	p.mount("/b", "payments", healthy)
	p.inject(healthy)
	p.setenv(agentVariable, fileVariable)
	p.options.Paths = []string{"/none/token"} // can be read by nobody
	assert.Equal(t, []string{"/a/token", "/b/token"}, doctor.Fitting(p.options, ""))
	assert.Equal(t, []string{"/b/token"}, doctor.Fitting(p.options, "payments"))
	assert.Equal(t, []string{defaultDir + "/token"}, doctor.Fitting(p.options, apiServer))
	assert.Empty(t, doctor.Fitting(p.options, "nobody"))
}

func TestReportInJSONAndBack(t *testing.T) {
	p := newPod(t)
	p.mount("/tokens", "openbao", life{2 * time.Hour, time.Hour, 0})
	r := p.examine()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back doctor.Report
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&back))
	again, err := json.Marshal(back)
	require.NoError(t, err)
	assert.JSONEq(t, string(text), string(again))
	assert.Contains(t, string(text), `"lifetimeSeconds":3600,`)
}

// Who reads the report knows that nobody was asked, and not that somebody refused.
func TestLoginsThatAreInterrupted(t *testing.T) {
	p := newPod(t)
	p.mount("/tokens", "openbao", healthy)
	ctx, cancel := context.WithCancel(t.Context())
	p.options.Parties = []doctor.Prober{prober(func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() })}
	r := doctor.Examine(ctx, p.options)
	assert.Empty(t, r.Findings)
	assert.Equal(t, []string{"interrupted before the party had answered"}, r.Errors)
}

// A variable that only EKS sets tells whose the token is, whatever else names it.
func TestATokenThatTwoVariablesName(t *testing.T) {
	p := newPod(t)
	p.inject(healthy)
	p.setenv("APP_TOKEN_FILE="+strings.TrimPrefix(fileVariable, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="), agentVariable, fileVariable)
	r := p.examine()
	require.Len(t, r.Tokens, 1)
	assert.Equal(t, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", r.Tokens[0].Variable)
}
