package tokenfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

// failuresOf makes every kind of failure with a Source, most of them with raw
// or a part of it in the file.
func failuresOf(t *testing.T, raw string) map[string]error {
	t.Helper()
	read := func(content string, change func(*tokenfile.Source)) error {
		s := newSource(mount(t, content).Path())
		if change != nil {
			change(s)
		}
		_, err := s.Token(t.Context())
		return err
	}
	at := func(path string) error {
		_, err := newSource(path).Token(t.Context())
		return err
	}
	dir := newVolume(t).Dir()
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	_, gaveUp := newSource(mount(t, raw[:30]).Path()).Wait(waiting)
	_, canceled := newSource(mount(t, raw).Path()).Token(waiting)
	dangling := mount(t, raw)
	require.NoError(t, dangling.Dangle())
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(30*time.Minute).Unix()
	failures := map[string]error{
		"missing file":        at(dir + "/token"),
		"missing directory":   at(dir + "/none/token"),
		"dangling link":       at(dangling.Path()),
		"directory":           at(dir),
		"empty":               read("", nil),
		"torn":                read(raw[:len(raw)/2], nil),
		"two tokens":          read(raw+"\n"+raw, nil),
		"in quotes":           read(`"`+raw+`"`, nil),
		"claim twice":         read(forgeClaims(t, `"exp":1`), nil),
		"alg none":            read(forge(`{"alg":"none"}`, string(claimsJSON(t))), nil),
		"header of no JSON":   read("x"+raw, nil),
		"too large":           read(strings.Repeat(raw, 64<<10/len(raw)+1), nil),
		"no expiry":           read(sign(t, without("exp")), nil),
		"expired":             read(sign(t, map[string]any{"exp": past}), nil),
		"too little left":     read(raw, func(s *tokenfile.Source) { s.MinTTL = 2 * time.Hour }),
		"not yet valid":       read(sign(t, map[string]any{"nbf": future}), nil),
		"another audience":    read(raw, func(s *tokenfile.Source) { s.Audience = "vault" }),
		"API server's":        read(sign(t, map[string]any{"aud": "https://kubernetes.default.svc"}), nil),
		"no audience":         read(sign(t, without("aud")), nil),
		"another issuer":      read(raw, func(s *tokenfile.Source) { s.Issuer = "https://other" }),
		"another subject":     read(raw, func(s *tokenfile.Source) { s.Subject = "other" }),
		"lives too long":      read(raw, func(s *tokenfile.Source) { s.MaxLifetime = 10 * time.Minute }),
		"no audience wanted":  read(raw, func(s *tokenfile.Source) { s.Audience = "" }),
		"token for a path":    at(raw),
		"gave up waiting":     gaveUp,
		"context had ended":   canceled,
		"path through a file": at(mount(t, raw).Path() + "/token"),
	}
	for name, err := range failures {
		require.Error(t, err, name)
	}
	return failures
}

func TestEveryFailureIsAnErrorWithItsPath(t *testing.T) {
	for name, err := range failuresOf(t, sign(t)) {
		e := asType[*tokenfile.Error](t, err)
		assert.NotEmpty(t, e.Path, name)
		assert.Same(t, e, err, "%s: the outermost", name)
		assert.Same(t, e.Err, errors.Unwrap(err), name)
		var inner *tokenfile.Error
		assert.False(t, errors.As(e.Err, &inner), "%s: wrapped once", name)
		assert.True(t, strings.HasPrefix(err.Error(), "tokenfile: "+e.Path+": "), "%s: %v", name, err)
		oneLine(t, err.Error())
	}
}

// Each text says what to change, in the words of the manifest, of the API
// server or of this package, and where the runbook says more.
func TestEveryTextNamesAMendAndTheRunbook(t *testing.T) {
	want := map[string]struct{ mend, section string }{
		"missing file":        {"compare its name with serviceAccountToken.path", "token-file-missing"},
		"missing directory":   {"add the projected volume to the container's volumeMounts", "token-file-missing"},
		"dangling link":       {"recreate the pod", "token-file-missing"},
		"directory":           {"name the file in it", "token-file-not-regular"},
		"empty":               {"it is being written, or its writer failed", "token-malformed"},
		"torn":                {"a write in progress", "token-malformed"},
		"two tokens":          {"only one at the very end is tolerated", "token-malformed"},
		"in quotes":           {"not of the base64url alphabet", "token-malformed"},
		"claim twice":         {"a claim twice", "token-malformed"},
		"alg none":            {"nobody signed it", "token-malformed"},
		"header of no JSON":   {"not base64url-encoded JSON", "token-malformed"},
		"too large":           {"more than 64 KiB, which no token has", "token-malformed"},
		"no expiry":           {"declare a projected volume", "token-without-expiry"},
		"expired":             {"wrote a token that had expired: look there", "token-expired-when-written"},
		"too little left":     {"MinTTL", "token-below-minttl"},
		"not yet valid":       {"compare the clocks", "token-not-yet-valid"},
		"another audience":    {"set serviceAccountToken.audience", "token-audience"},
		"API server's":        {"declare a projected volume of your own", "token-audience"},
		"no audience":         {"declare a projected volume of your own", "token-audience"},
		"another issuer":      {"correct Source.Issuer", "token-issuer"},
		"another subject":     {"set serviceAccountName", "token-subject"},
		"lives too long":      {"set serviceAccountToken.expirationSeconds", "token-lifetime"},
		"no audience wanted":  {"name the relying party", "source-misconfigured"},
		"token for a path":    {"name of its file", "source-misconfigured"},
		"gave up waiting":     {"gave up waiting for a valid token", "token-malformed"},
		"context had ended":   {"context canceled", "context-ended"},
		"path through a file": {"compare it with mountPath", "token-file-not-read"},
	}
	failures := failuresOf(t, sign(t))
	for name, err := range failures {
		require.Contains(t, want, name)
		assert.ErrorContains(t, err, want[name].mend, name)
		assert.Equal(t, want[name].section, sectionOf(t, err.Error()), name)
	}
	assert.Len(t, failures, len(want))
}

// What a test as root, and without waiting for a token's end, cannot make.
func TestRunbookSections(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nothing known":                 {nil, "token-file-not-read"},
		"another user's file":           {fs.ErrPermission, "token-file-permission"},
		"I/O error":                     {syscall.EIO, "token-file-not-read"},
		"out of file descriptors":       {syscall.EMFILE, "token-file-not-read"},
		"the kubelet did not replace":   {&tokenfile.ExpiredError{Expiry: now, Now: now.Add(1), Modified: now.Add(-time.Hour)}, "token-expired"},
		"file's time not known":         {&tokenfile.ExpiredError{Expiry: now, Now: now}, "token-expired"},
		"zero":                          {&tokenfile.ExpiredError{}, "token-expired"},
		"claim of no name":              {&tokenfile.ClaimError{}, "token-issuer"},
		"deadline before a read":        {context.DeadlineExceeded, "context-ended"},
		"malformed and a deadline":      {errors.Join(tokenfile.ErrMalformed, context.DeadlineExceeded), "token-malformed"},
		"one of ours around one":        {&tokenfile.Error{Path: "/t", Err: tokenfile.ErrNoExpiry}, "token-without-expiry"},
		"one of ours around another's":  {fmt.Errorf("%w", &tokenfile.Error{Err: fs.ErrNotExist}), "token-file-missing"},
		"a path that is no file's name": {syscall.ENAMETOOLONG, "token-file-not-read"},
	} {
		err := &tokenfile.Error{Path: "/token", Err: c.err}
		assert.Equal(t, c.want, sectionOf(t, err.Error()), name)
	}
}

// What errors.Is finds behind each failure, and nothing else of the list.
func TestCausesForErrorsIs(t *testing.T) {
	targets := map[string]error{
		"ErrMalformed": tokenfile.ErrMalformed, "ErrNoExpiry": tokenfile.ErrNoExpiry, "fs.ErrNotExist": fs.ErrNotExist,
		"fs.ErrPermission": fs.ErrPermission, "fs.ErrInvalid": fs.ErrInvalid, "fs.ErrClosed": fs.ErrClosed,
		"context.Canceled": context.Canceled, "os.ErrDeadlineExceeded": os.ErrDeadlineExceeded,
	}
	want := map[string][]string{
		"missing file": {"fs.ErrNotExist"}, "missing directory": {"fs.ErrNotExist"}, "dangling link": {"fs.ErrNotExist"},
		"directory": {"fs.ErrInvalid"},
		"empty":     {"ErrMalformed"}, "torn": {"ErrMalformed"}, "two tokens": {"ErrMalformed"}, "in quotes": {"ErrMalformed"},
		"claim twice": {"ErrMalformed"}, "alg none": {"ErrMalformed"}, "header of no JSON": {"ErrMalformed"}, "too large": {"ErrMalformed"},
		"no expiry":         {"ErrNoExpiry"},
		"gave up waiting":   {"ErrMalformed", "context.Canceled"},
		"context had ended": {"context.Canceled"},
	}
	for name, err := range failuresOf(t, sign(t)) {
		var found []string
		for target, e := range targets {
			if errors.Is(err, e) {
				found = append(found, target)
			}
		}
		assert.ElementsMatch(t, want[name], found, "%s: %v", name, err)
	}
}

// What errors.As finds behind each failure: at most one of the types.
func TestCausesForErrorsAs(t *testing.T) {
	want := map[string]string{
		"expired": "*tokenfile.ExpiredError", "too little left": "*tokenfile.ExpiredError", "not yet valid": "*tokenfile.NotYetValidError",
		"another audience": "*tokenfile.AudienceError", "API server's": "*tokenfile.AudienceError", "no audience": "*tokenfile.AudienceError",
		"another issuer": "*tokenfile.ClaimError", "another subject": "*tokenfile.ClaimError", "lives too long": "*tokenfile.LifetimeError",
	}
	for name, err := range failuresOf(t, sign(t)) {
		found := ""
		for _, target := range []any{
			new(*tokenfile.ExpiredError), new(*tokenfile.NotYetValidError), new(*tokenfile.AudienceError),
			new(*tokenfile.ClaimError), new(*tokenfile.LifetimeError),
		} {
			if errors.As(err, target) {
				found += strings.TrimPrefix(fmt.Sprintf("%T", target), "*")
			}
		}
		assert.Equal(t, want[name], strings.TrimSpace(found), name)
	}
}

// oauth2.RetrieveError{} and auth.Error{} panic in Error.
func TestZeroErrorsHaveATextToo(t *testing.T) {
	for _, err := range []error{
		&tokenfile.Error{},
		&tokenfile.Error{Path: "/token"},
		&tokenfile.Error{Err: tokenfile.ErrMalformed},
		&tokenfile.Error{Err: &tokenfile.Error{}},
		&tokenfile.ExpiredError{},
		&tokenfile.ExpiredError{Now: time.Now()},
		&tokenfile.ExpiredError{Expiry: time.Now()},
		&tokenfile.ExpiredError{Modified: time.Now()},
		&tokenfile.ExpiredError{MinTTL: -1},
		&tokenfile.NotYetValidError{},
		&tokenfile.NotYetValidError{Now: time.Now()},
		&tokenfile.NotYetValidError{NotBefore: time.Unix(1<<60, 0)},
		&tokenfile.AudienceError{},
		&tokenfile.AudienceError{Got: []string{""}},
		&tokenfile.AudienceError{Want: tokenfile.AnyAudience},
		&tokenfile.ClaimError{},
		&tokenfile.ClaimError{Claim: "sub"},
		&tokenfile.LifetimeError{},
		&tokenfile.LifetimeError{Lifetime: -1, Max: -1},
	} {
		t.Run(fmt.Sprintf("%T", err), func(t *testing.T) {
			require.NotPanics(t, func() { _ = err.Error() })
			assert.NotEmpty(t, err.Error())
			oneLine(t, err.Error())
			require.NotPanics(t, func() {
				assert.False(t, errors.Is(err, fs.ErrNotExist))
				_ = errors.As(err, new(*fs.PathError))
				_ = fmt.Sprintf("%v %+v %#v", err, err, err)
			})
		})
	}
	assert.NoError(t, errors.Unwrap(&tokenfile.Error{}))
}

// A program copies what it shows of an error into a manifest.
func TestErrorTextsInFull(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1_000_000_000+seconds, 0) }
	for want, err := range map[string]error{
		"tokenfile: /t: malformed token; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#token-malformed": &tokenfile.Error{
			Path: "/t", Err: tokenfile.ErrMalformed},
		"tokenfile: malformed token; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#token-malformed": &tokenfile.Error{
			Err: tokenfile.ErrMalformed},
		"token expired 1m30s ago, at 2001-09-09T01:46:40Z; the kubelet did not replace it: ": &tokenfile.ExpiredError{
			Expiry: at(0), Now: at(90)},
		"token expires in 30s, at 2001-09-09T01:46:40Z, which is less than MinTTL 1m0s; the file was last written at 2001-09-09T01:36:40Z (9m30s ago); ": &tokenfile.ExpiredError{
			Expiry: at(0), Now: at(-30), MinTTL: time.Minute, Modified: at(-600)},
		"token is not valid before 2001-09-09T01:46:40Z, which is 30s ahead of this host's clock (2001-09-09T01:46:10Z); ": &tokenfile.NotYetValidError{
			NotBefore: at(0), Now: at(-30)},
		`token's audience is ["a", "b"], want "c"; set serviceAccountToken.audience of the projected volume`: &tokenfile.AudienceError{
			Want: "c", Got: []string{"a", "b"}},
		`token's sub is "a", want "b"; set serviceAccountName`: &tokenfile.ClaimError{Claim: "sub", Got: "a", Want: "b"},
		"token's lifetime is 8760h0m0s, more than MaxLifetime 2h0m0s; it was inherited and not declared": &tokenfile.LifetimeError{
			Lifetime: 8760 * time.Hour, Max: 2 * time.Hour},
	} {
		assert.True(t, strings.HasPrefix(err.Error(), want), "%s", err.Error())
	}
}
