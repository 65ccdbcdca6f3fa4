package tokenfile_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// subject is whom newClaims are about.
const subject = "system:serviceaccount:shop:cart"

// newIssuer makes a DefaultIssuer with a key that costs no time.
func newIssuer(t testing.TB) *tokenfiletest.Issuer {
	t.Helper()
	iss := &tokenfiletest.Issuer{AllowShort: true}
	require.NoError(t, iss.RotateKey(tokenfiletest.ES256))
	return iss
}

// issue returns a token in the shape of Kubernetes, for audience unless r
// says otherwise.
func issue(t testing.TB, r tokenfiletest.Request) string {
	t.Helper()
	if r.Audiences == nil {
		r.Audiences = []string{audience}
	}
	token, err := newIssuer(t).Token(r)
	require.NoError(t, err)
	return token
}

// newClaims are the claims of a token that is good for an hour. Each change
// overrides some of them; a nil value takes a claim away.
func newClaims(changes ...map[string]any) map[string]any {
	now := time.Now().Truncate(time.Second)
	claims := map[string]any{
		"iss": tokenfiletest.DefaultIssuer,
		"sub": subject,
		"aud": []string{audience},
		"iat": now.Unix(),
		"nbf": now.Unix(),
		"exp": now.Add(time.Hour).Unix(),
		"jti": "canary-of-the-jti-claim",
	}
	for _, c := range changes {
		maps.Copy(claims, c)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// sign returns a token with newClaims and changes.
func sign(t testing.TB, changes ...map[string]any) string {
	t.Helper()
	token, err := newIssuer(t).Sign(newClaims(changes...))
	require.NoError(t, err)
	return token
}

// es256Header is the header that most forged tokens have.
const es256Header = `{"alg":"ES256","kid":"canary-of-the-key-id"}`

// forge encodes a header and claims of any text at all. The signature is made
// up, and as long as one of ES256.
func forge(header, claims string) string {
	enc := base64.RawURLEncoding
	signature := bytes.Repeat([]byte{0x5a, 0x91, 0xc3, 0x0f, 0x77, 0xe8, 0x2b, 0xd4}, 8)
	return enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims)) + "." + enc.EncodeToString(signature)
}

// forgeClaims is newClaims as JSON text, with members added as they are
// written: `"exp":1e300` leads to a second exp unless changes drop the first.
func forgeClaims(t testing.TB, members string, changes ...map[string]any) string {
	t.Helper()
	data := claimsJSON(t, changes...)
	if members != "" {
		members += ","
	}
	return forge(es256Header, "{"+members+string(data[1:]))
}

// claimsJSON is newClaims as JSON.
func claimsJSON(t testing.TB, changes ...map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(newClaims(changes...))
	require.NoError(t, err)
	return data
}

// newVolume returns an empty volume.
func newVolume(t testing.TB) *tokenfiletest.Volume {
	t.Helper()
	vol, err := tokenfiletest.NewVolume(t.TempDir() + "/tokens")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, vol.Close()) })
	return vol
}

// mount returns a volume with content as its token.
func mount(t testing.TB, content string) *tokenfiletest.Volume {
	t.Helper()
	vol := newVolume(t)
	require.NoError(t, vol.Write(content))
	return vol
}

// newSource returns a Source for the file at path, made for audience. It
// reads at every call.
func newSource(path string) *tokenfile.Source {
	return &tokenfile.Source{Path: path, Audience: audience}
}

// inBubble runs a test whose clock is testing/synctest's.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// good reads a token that must be good, and that must be raw.
func good(t testing.TB, s *tokenfile.Source, raw string) *tokenfile.Token {
	t.Helper()
	token, err := s.Token(context.Background())
	require.NoError(t, err)
	require.True(t, token.Raw() == raw, "another token than the file's") // not Equal, whose failure prints it
	return token
}

// refused reads a token that must be refused and returns the error, once it
// has what every error has: the type, the path, and nothing of the secrets in
// its text or in what the Logger and Stats say of it. words are parts of the
// text that a user needs.
func refused(t testing.TB, s *tokenfile.Source, secrets []string, words ...string) *tokenfile.Error {
	t.Helper()
	var log journal
	if s.Logger == nil {
		s.Logger = log.logger()
		defer func() { s.Logger = nil }()
	}
	token, err := s.Token(context.Background())
	require.Error(t, err)
	require.Nil(t, token)
	var e *tokenfile.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, s.Path, e.Path)
	text := err.Error()
	for _, w := range words {
		assert.Contains(t, text, w)
	}
	assert.Contains(t, text, s.Path)
	assert.Equal(t, 1, strings.Count(text, s.Path+": "), "the path is said once: %s", text)
	assert.NotEmpty(t, sectionOf(t, text))
	if errors.Is(err, tokenfile.ErrMalformed) {
		assert.Equal(t, 1, strings.Count(text, "malformed token"), "that is said once: %s", text)
		assert.Contains(t, text, s.Path+": malformed token: ")
	}
	oneLine(t, text)
	noSecret(t, fmt.Sprintf("%s %v %+v %#v %q", err, err, err, err, err), secrets...)
	noSecret(t, fmt.Sprintf("%+v", s.Stats()), secrets...)
	noSecret(t, log.written(), secrets...)
	return e
}

// sectionOf returns the section of the runbook that a text ends with, and
// fails if it names none, or more than one.
func sectionOf(t testing.TB, text string) string {
	t.Helper()
	const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"
	assert.Equal(t, 1, strings.Count(text, "runbook"), "the runbook is named once: %s", text)
	_, section, _ := strings.Cut(text, "; see "+runbook)
	assert.Regexp(t, `^[a-z]+(-[a-z]+)+$`, section, "the text ends with a section of the runbook: %s", text)
	return section
}

// oneLine fails if a text could break a log or a terminal.
func oneLine(t testing.TB, text string) {
	t.Helper()
	for i, r := range text {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u202e' || r == 0x9b {
			assert.Failf(t, "control character", "%U at byte %d of %q", r, i, text)
			return
		}
	}
}

// window is how many bytes of a secret in a row are too many.
const window = 8

// noSecret fails if text holds a run of bytes of one of the secrets: of a
// token's own text, of its decoded signature, or of header and claims that no
// message has a reason to show (see shown).
func noSecret(t testing.TB, text string, secrets ...string) {
	t.Helper()
	if run := leak(text, secrets...); run != "" {
		assert.Fail(t, "secret in the text", "%q holds %q", text, run)
	}
}

// leak returns the first run of bytes that noSecret looks for.
func leak(text string, secrets ...string) string {
	for _, secret := range secrets {
		if run := newFinder(secret)(text); run != "" {
			return run
		}
	}
	return ""
}

// canaries are in the tokens that sign and forge make, in claims that no
// message has a reason to show.
var canaries = []string{"canary-of-the-jti-claim", "canary-of-the-key-id"}

// newFinder returns leak for one secret and many texts: its runs are looked
// for as they are, and as a verb for bytes would write them.
func newFinder(secret string) func(text string) string {
	var plain, hexed, decimal []string
	add := func(bytes string) {
		for i := 0; i+window <= len(bytes); i++ {
			run := bytes[i : i+window]
			plain = append(plain, run)
			hexed = append(hexed, hex.EncodeToString([]byte(run)))
			decimal = append(decimal, strings.Trim(fmt.Sprint([]byte(run)), "[]"))
		}
	}
	add(secret)
	if parts := strings.Split(strings.TrimSpace(secret), "."); len(parts) == 3 {
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		add(string(signature))
		plain = append(plain, base64.StdEncoding.EncodeToString([]byte(secret))[:16])
		for _, c := range canaries {
			add(c)
		}
	}
	return func(text string) string {
		for _, form := range []struct {
			text string
			runs []string
		}{
			{text, plain},
			{strings.ReplaceAll(strings.ToLower(text), " ", ""), hexed},
			{strings.NewReplacer(", ", " ", ",", " ").Replace(text), decimal},
		} {
			for _, run := range form.runs {
				if strings.Contains(form.text, run) {
					return run
				}
			}
		}
		return ""
	}
}

// written returns all that a journal holds.
func (j *journal) written() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// asType is errors.As as an expression.
func asType[T error](t testing.TB, err error) T {
	t.Helper()
	var target T
	require.True(t, errors.As(err, &target), "%T in the chain of %v", target, err)
	return target
}

// TestSecretsWouldBeFound is the control of noSecret: what it searches for is
// found where it is.
func TestSecretsWouldBeFound(t *testing.T) {
	raw := sign(t)
	parts := strings.Split(raw, ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	require.NoError(t, err)
	for name, text := range map[string]string{
		"whole":                    raw,
		"eight bytes":              "say " + raw[40:48] + "!",
		"end of the signature":     raw[len(raw)-8:],
		"hex":                      fmt.Sprintf("%x", raw),
		"upper-case hex":           fmt.Sprintf("%X", raw),
		"list of bytes":            fmt.Sprintf("%v", []byte(raw)),
		"list of bytes in JSON":    strings.ReplaceAll(fmt.Sprint([]byte(raw)), " ", ","),
		"hex with spaces":          fmt.Sprintf("% x", raw),
		"decoded signature":        string(signature),
		"decoded signature as hex": fmt.Sprintf("%x", signature),
		"a claim not to be shown":  `{"jti":"canary-of-the-jti-claim"}`,
		"base64 of the whole":      base64.StdEncoding.EncodeToString([]byte(raw)),
	} {
		t.Run(name, func(t *testing.T) { assert.NotEmpty(t, leak(text, raw)) })
	}
	assert.Empty(t, leak("seven "+raw[40:47]+" of its bytes", raw))
}
