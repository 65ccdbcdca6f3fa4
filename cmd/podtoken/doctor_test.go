package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/container/containertest"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// patient is a container with one token, which is good.
type patient struct {
	*containertest.Container
	issuer *tokenfiletest.Issuer
	volume *tokenfiletest.Volume
	token  string
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("mounts are seen on Linux only")
	}
	c, err := containertest.New(t.TempDir(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	p := &patient{Container: c, issuer: new(tokenfiletest.Issuer)}
	require.NoError(t, p.File("/proc/self/environ", "PATH=/bin\x00"))
	require.NoError(t, p.issuer.RotateKey(tokenfiletest.ES256))
	p.volume, err = p.Volume("/var/run/secrets/tokens/openbao")
	require.NoError(t, err)
	p.token, err = p.issuer.Token(tokenfiletest.Request{
		Audiences: []string{"openbao"}, Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Node: "n1",
	})
	require.NoError(t, err)
	require.NoError(t, p.volume.Write(p.token))
	return p
}

// doctor runs the command on the container, and looks for parts of the token in
// what it prints.
func (p *patient) doctor(t *testing.T, args ...string) result {
	t.Helper()
	got := podtoken("", append([]string{"doctor", "--root", p.Root}, args...)...)
	for part := range strings.SplitSeq(p.token, ".") {
		assert.False(t, strings.Contains(got.stdout+got.stderr, part), "a part of the token is printed")
	}
	return got
}

func TestDoctorExitStatus(t *testing.T) {
	p := newPatient(t)
	for name, c := range map[string]struct {
		args           []string
		status         int
		stdout, stderr string // what must be there
	}{
		"healthy":                        {nil, 0, "healthy\n", ""},
		"an expected audience":           {[]string{"--expect=openbao"}, 0, "healthy\n", ""},
		"an expected audience and place": {[]string{"--expect=/var/run/secrets/tokens/openbao/token=openbao"}, 0, "healthy\n", ""},
		"an audience with = and , in it": {[]string{"--expect=a=b,c"}, 1, `no token is for "a=b,c"`, ""},
		"an audience that is not there":  {[]string{"--expect=vault"}, 1, "error PD017", ""},
		"another lifetime":               {[]string{"--expect-lifetime=10m"}, 1, "error PD013", ""},
		"no AWS identity":                {[]string{"--expect-aws"}, 1, "error PD018", ""},
		"AWS credentials, for real":      {[]string{"--probe"}, 1, "error PD018", ""},
		"a file that is not there":       {[]string{"/none"}, 1, "error PD002 /none", ""},
		"rules":                          {[]string{"--rules"}, 0, "PD001 no token is mounted (error)\n", ""},
		"a process and a root":           {[]string{"--pid=1"}, 2, "", "give one of them"},
		"rotations without --watch":      {[]string{"--rotations=1"}, 2, "", "--rotations ends --watch"},
		"a login while watching":         {[]string{"--watch", "--url=http://127.0.0.1"}, 2, "", "podtoken soak"},
		"a mount without a role":         {[]string{"--vault-mount=jwt"}, 2, "", "--vault-role"},
		"a token without a login":        {[]string{"--token=/x"}, 2, "", "--vault-role or --url"},
		"no server":                      {[]string{"--vault-role=web"}, 2, "", "BAO_ADDR"},
		"a token in clear text":          {[]string{"--url=http://example.com"}, 2, "", "not https"},
		"a login without a token":        {[]string{"--url=http://127.0.0.1", "--audience=none"}, 2, "", "no token fits"},
		"a negative timeout":             {[]string{"--timeout=-1s"}, 2, "", "not negative"},
		"an expectation of --watch":      {[]string{"--watch", "--expect=vault"}, 2, "", "--watch expects nothing"},
		"no API server":                  {[]string{"--cluster"}, 2, "", "not in a cluster"},
		"an unknown output":              {[]string{"-o", "sarif"}, 2, "", "--output"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"BAO_ADDR", "VAULT_ADDR", "KUBERNETES_SERVICE_HOST"} {
				t.Setenv(name, "")
			}
			got := p.doctor(t, c.args...)
			assert.Equal(t, c.status, got.status, got.stdout+got.stderr)
			assert.Contains(t, got.stdout, c.stdout)
			assert.Contains(t, got.stderr, c.stderr)
			assert.NotContains(t, got.stdout, "\x1b")
		})
	}
}

// What was not looked at is neither good nor a finding.
func TestDoctorThatCannotLook(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, os.Remove(filepath.Join(p.Root, "proc/self/mountinfo")))
	got := p.doctor(t)
	assert.Equal(t, exitUnreadable, got.status)
	assert.Contains(t, got.stderr, "mountinfo: no such file or directory")
	assert.NotContains(t, got.stdout, "healthy")
}

// Scripts say themselves how bad is too bad.
func TestDoctorFailOn(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, p.File("/proc/stat", "")) // a note
	for level, status := range map[string]int{"error": 0, "warning": 0, "note": 1} {
		got := p.doctor(t, "--fail-on="+level)
		assert.Equal(t, status, got.status, level)
		assert.Contains(t, got.stdout, "note PD023")
	}
	var err error
	p.token, err = p.issuer.Token(tokenfiletest.Request{Audiences: []string{"https://kubernetes.default.svc.cluster.local"}}) // a warning
	require.NoError(t, err)
	require.NoError(t, p.volume.Write(p.token))
	for level, status := range map[string]int{"error": 0, "warning": 1, "note": 1} {
		assert.Equal(t, status, p.doctor(t, "--fail-on="+level).status, level)
	}
}

func TestDoctorForAPerson(t *testing.T) {
	p := newPatient(t)
	apiServer, err := p.Volume("/var/run/secrets/kubernetes.io/serviceaccount")
	require.NoError(t, err)
	token, err := p.issuer.Token(tokenfiletest.Request{
		Lifetime: 3607 * time.Second, Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Node: "n1",
	})
	require.NoError(t, err)
	require.NoError(t, apiServer.Write(token))
	got := p.doctor(t, "--expect=vault")
	assert.Equal(t, exitFindings, got.status)
	for _, text := range []string{
		"pod shop/web-0, service account web, node n1, ", "openbao", "\n/var/run/secrets/kubernetes.io/serviceaccount/token\n", "\n    mend: declare a projected volume", "365d (1h)", "in 48m", "0644",
		"error PD017\n    no token is for \"vault\"", "#token-audience\n", "note PD012 /var/run/secrets/kubernetes.io/serviceaccount/token\n",
	} {
		assert.Contains(t, got.stdout, text)
	}
	for line := range strings.Lines(got.stdout) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "    see https://") { // which is for clicking
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
		assert.Equal(t, strings.TrimRight(line, " "), line)
	}
	var coloured bytes.Buffer
	run([]string{"doctor", "--root", p.Root, "--expect=vault"}, system{stdout: &coloured, stderr: &bytes.Buffer{}, colours: true})
	assert.Contains(t, coloured.String(), "\x1b[31merror\x1b[0m PD017")
}

func TestDoctorJSON(t *testing.T) {
	p := newPatient(t)
	var r doctor.Report
	require.NoError(t, json.Unmarshal([]byte(p.doctor(t, "-o", "json").stdout), &r))
	require.Len(t, r.Tokens, 1)
	assert.Equal(t, "/var/run/secrets/tokens/openbao/token", r.Tokens[0].Path)
	assert.Equal(t, doctor.RotationSeen, r.Tokens[0].Rotation)
	var rules []doctor.Rule
	require.NoError(t, json.Unmarshal([]byte(p.doctor(t, "--rules", "-o", "json").stdout), &rules))
	assert.Len(t, rules, len(doctor.Rules()))
}

func TestDoctorLogsIn(t *testing.T) {
	p := newPatient(t)
	accept := true
	party := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := p.issuer.Verify(bearer, "openbao"); err != nil || !accept {
			http.Error(w, "role is not bound: "+bearer, http.StatusForbidden)
		}
	}))
	defer party.Close()
	got := p.doctor(t, "--url="+party.URL+"/login")
	assert.Equal(t, exitGood, got.status, got.stdout+got.stderr)
	assert.Contains(t, got.stdout, "login ok after ")

	accept = false
	got = p.doctor(t, "--url="+party.URL+"/login")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "error PD021 "+party.URL+"/login\n")
	assert.Contains(t, got.stdout, "role is not bound")

	party.Close()
	got = p.doctor(t, "--url="+party.URL+"/login")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "error PD022")
}

func TestDoctorTerminationMessage(t *testing.T) {
	p := newPatient(t)
	file := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(file, []byte("from before"), 0o600))
	got := p.doctor(t, "--termination-message="+file, "--expect=vault")
	assert.Equal(t, exitFindings, got.status)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), `PD017 no token is for "vault"`), string(text))

	got = p.doctor(t, "--termination-message="+file)
	assert.Equal(t, exitGood, got.status)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Empty(t, text, "nothing is wrong any more")

	got = p.doctor(t, "--termination-message="+file+"none")
	assert.Equal(t, exitUnreadable, got.status)
	assert.Contains(t, got.stderr, "--termination-message: open ")
	assert.NoFileExists(t, file+"none")

	got = p.doctor(t, "--termination-message="+file, "--url=http://127.0.0.1", "--audience=none")
	assert.Equal(t, exitUnreadable, got.status)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "could not look: no token fits this login")
}

// A reader of stdout that went away does not take the message with it.
func TestDoctorWritesTheTerminationMessageFirst(t *testing.T) {
	p := newPatient(t)
	file := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var before string
	run([]string{"doctor", "--root", p.Root, "--expect=vault", "--termination-message=" + file}, system{
		stdout: writer(func([]byte) {
			if text, err := os.ReadFile(file); err == nil && before == "" {
				before = string(text)
			}
		}), stderr: &bytes.Buffer{},
	})
	assert.Contains(t, before, "PD017")
}

type writer func([]byte)

func (w writer) Write(text []byte) (int, error) { w(text); return len(text), nil }

// The tokens to choose from are named.
func TestDoctorCannotChooseAToken(t *testing.T) {
	p := newPatient(t)
	other, err := p.Volume("/other")
	require.NoError(t, err)
	require.NoError(t, other.Write(p.token))
	got := p.doctor(t, "--url=http://127.0.0.1")
	assert.Equal(t, exitUnreadable, got.status)
	assert.Contains(t, got.stderr, "2 tokens fit this login")
	assert.Contains(t, got.stderr, "/other/token, /var/run/secrets/tokens/openbao/token")
}

func TestDoctorHelp(t *testing.T) {
	got := podtoken("", "doctor", "--help")
	assert.Equal(t, exitGood, got.status)
	assert.Contains(t, got.stdout, "Exit status: 0 healthy, 1 findings, 2 ")
}

func TestAgeForAPerson(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for want, token := range map[string]doctor.Token{
		"10m 17 %":     {Age: doctor.Seconds(10 * time.Minute), Rotated: doctor.Seconds(time.Hour)},
		"18250d 100 %": {Age: doctor.Seconds(50 * year), Rotated: doctor.Seconds(50 * year)},
		"-5m":          {Age: doctor.Seconds(-5 * time.Minute), Rotated: doctor.Seconds(time.Hour)},
		"-":            {},
	} {
		assert.Equal(t, want, age(token))
	}
}

func TestRotationsForAPerson(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		token         doctor.Token
		rotated, next string
	}{
		{doctor.Token{Rotation: doctor.RotationAwaited, RotationAt: now.Add(48 * time.Minute)}, "not yet", "in 48m"},
		{doctor.Token{Rotation: doctor.RotationSeen, RotationAt: now.Add(-time.Second)}, "yes", "due"},
		{doctor.Token{Rotation: doctor.RotationNever}, "never", "-"},
		{doctor.Token{Rotation: doctor.RotationUnknown}, "unknown", "-"},
	} {
		assert.Equal(t, c.rotated, rotated(c.token))
		assert.Equal(t, c.next, next(c.token, now), c.rotated)
	}
}

func TestMessagesFit(t *testing.T) {
	finding := func(n int) doctor.Finding {
		return doctor.Finding{Rule: "PD001", Level: doctor.LevelError, Message: strings.Repeat("ä", n), Mend: "mend"}
	}
	for name, c := range map[string]struct {
		findings []doctor.Finding
		kept     int // whole ones
		more     string
	}{
		"one":                    {[]doctor.Finding{finding(10)}, 1, ""},
		"exactly full":           {[]doctor.Finding{finding((4096 - len("and 1000 more, see podtoken doctor\n") - len("PD001 : mend\n")) / 2)}, 1, ""},
		"one that is longer":     {[]doctor.Finding{finding(5000)}, 0, ""},
		"two that do not fit":    {[]doctor.Finding{finding(1000), finding(1500)}, 1, "and 1 more, see podtoken doctor\n"},
		"a long one, and others": {[]doctor.Finding{finding(5000), finding(1), finding(2)}, 0, "and 2 more, see podtoken doctor\n"},
		"a thousand":             {slices.Repeat([]doctor.Finding{finding(10)}, 1000), 0, " more, see podtoken doctor\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := messageOf(&doctor.Report{Findings: c.findings})
			assert.LessOrEqual(t, len(text), 4096)
			assert.True(t, utf8.ValidString(text), "cut in the middle of a letter")
			assert.True(t, strings.HasSuffix(text, "\n"))
			if c.kept > 0 {
				assert.Equal(t, c.kept, strings.Count(text, ": mend\n"))
			}
			assert.True(t, strings.HasSuffix(text, c.more), text[max(0, len(text)-100):])
			assert.Equal(t, c.more != "", strings.Contains(text, " more, see"))
		})
	}
	note := doctor.Finding{Level: doctor.LevelNote}
	assert.Empty(t, messageOf(&doctor.Report{Findings: []doctor.Finding{note}}))
	assert.Equal(t, "could not look: x\n", messageOf(&doctor.Report{Errors: []string{"x"}}))
}

// A real login, to a server that is as strict as the real one.
func TestDoctorLogsInToVault(t *testing.T) {
	p := newPatient(t)
	server := vaultauthtest.New(p.issuer)
	server.Product = vaultauthtest.Vault
	server.Enable("jwt", vaultauthtest.Mount{Type: "jwt"})
	server.SetRole("jwt", "web", vaultauthtest.Role{BoundAudiences: []string{"openbao"}})
	url, stop := server.Start()
	defer stop()
	t.Setenv("VAULT_ADDR", url)
	t.Setenv("BAO_ADDR", "")
	got := p.doctor(t, "--vault-role=web", "--vault-mount=jwt")
	assert.Equal(t, exitGood, got.status, got.stdout+got.stderr)
	assert.Contains(t, got.stdout, "login ok after ")
	assert.Zero(t, server.Tokens(), "what the login gave is revoked")
	got = p.doctor(t, "--vault-role=none", "--vault-mount=jwt")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "error PD021 Vault at "+url)
}

var errBroken = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestDoctorOutputThatFails(t *testing.T) {
	p := newPatient(t)
	for _, output := range []string{"text", "json"} {
		var stderr bytes.Buffer
		status := run([]string{"doctor", "--root", p.Root, "-o", output}, system{
			stdout: brokenPipe{}, stderr: &stderr,
			interrupt: func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		})
		assert.Equal(t, exitUnreadable, status)
		assert.Contains(t, stderr.String(), "broken pipe")
	}
}
