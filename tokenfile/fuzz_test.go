package tokenfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

// fuzzSeeds are good tokens of each kind, and what is wrong with a file in
// some way. Their times are those of a bubble.
func fuzzSeeds(t testing.TB) (seeds []string) {
	now := map[string]any{"iat": bubbleStart, "nbf": bubbleStart, "exp": bubbleStart + 3600}
	ref := func(name string) map[string]any { return map[string]any{"name": name, "uid": "uid-of-" + name} }
	bound := map[string]any{"namespace": "shop", "serviceaccount": ref("cart"), "pod": ref("web-0"), "node": ref("node-1")}
	extended := map[string]any{"namespace": "shop", "serviceaccount": ref("cart"), "pod": ref("web-0"), "warnafter": bubbleStart + 3607}
	legacy, err := newIssuer(t).LegacyToken("shop", "cart", "cart-token")
	require.NoError(t, err)
	good := sign(t, now)
	seeds = append(seeds, legacy, good, good+"\n", good+"\r\n", " "+good, "\xef\xbb\xbf"+good, good+"\x00", "", "\n", "..", good[:len(good)-3],
		sign(t, now, map[string]any{"aud": []string{"a", audience}, "kubernetes.io": bound}),
		sign(t, now, map[string]any{"exp": bubbleStart + 365*86400, "kubernetes.io": extended}),
		sign(t, now, map[string]any{"aud": audience}))
	parts := strings.Split(sign(t, map[string]any{"exp": bubbleStart - 3600}), ".")
	seeds = append(seeds, parts[0]+"."+parts[1]+"."+parts[1]) // the issuer's address is in the signature too
	for _, members := range []string{
		`"exp":1`, `"\u0065xp":1`, `"EXP":1`, `"ſub":""`, `"x":[{"a":1,"a":2}]`, `"kubernetes.io":{"pod":{"name":"a","uid":"b"},"warnafter":1e9}`,
		`"a":"\ud800\"\\","b":-1.5e-3,"c":[true,false,null]`,
	} {
		seeds = append(seeds, forgeClaims(t, members, now))
	}
	for _, exp := range []string{`"946688400"`, "9.466884e8", "946688400.5", "1e300", "-1", "9223372036854775808", "253402300800", "null"} {
		seeds = append(seeds, forgeClaims(t, `"exp":`+exp, now, without("exp")))
	}
	for _, aud := range []string{`"openbao"`, `[]`, `["a",1]`, `{}`, "null", `["\n\u001b[31m"]`} {
		seeds = append(seeds, forgeClaims(t, `"aud":`+aud, now, without("aud")))
	}
	for _, header := range []string{`{}`, `{"alg":"none"}`, `{"alg":"ES256","alg":"none"}`, `null`, `[]`, `{"alg":1}`} {
		seeds = append(seeds, forge(header, string(claimsJSON(t, now))))
	}
	for _, payload := range []string{"null", "[]", `""`, "1", "{", "{}{}", "\xff", strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		seeds = append(seeds, forge(es256Header, payload))
	}
	return seeds
}

// FuzzToken puts data into the file, once as it is and once as the claims of
// a token, and reads it.
//
// Reading neither panics nor hangs, a refusal is an *Error without a byte of
// the file, and what is accepted says to golang-jwt what it says to us.
func FuzzToken(f *testing.F) {
	f.Add("", false)
	f.Add(`{"iss":"i","sub":"s","aud":["openbao","b"],"exp":946688400,"iat":946684800,"nbf":946684800,"jti":"j","kubernetes.io":{"namespace":"n"}}`, true)
	f.Add(`{"aud":"a","exp":946688400.5,"\u0065xp":1}`, true)
	f.Add(`{"exp":1e300,"EXP":1}`, true)
	f.Add(`{"x":[[{"a":{}}]],"exp":9.46688400e8}`, true)
	f.Add(`{"aud":["\ud83d\ude00","\\\""],"exp":2e9,"iat":null}`, true)
	f.Add(`{"jti":444}`, true)
	f.Add("null", true)
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed, false)
	}
	path := filepath.Join(f.TempDir(), "token")
	f.Fuzz(func(t *testing.T, data string, claims bool) {
		content := data
		if claims {
			content = forge(es256Header, data)
		}
		require.NoError(t, put(path, content))
		synctest.Test(t, func(t *testing.T) { readFuzzed(t, path, content) })
	})
}

// put makes a new file, which costs less than to truncate the old one.
func put(path, content string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

func readFuzzed(t *testing.T, path, content string) {
	s := &tokenfile.Source{Path: path, Audience: tokenfile.AnyAudience, AllowNoExpiry: true}
	token, err := s.Token(context.Background())
	if err != nil {
		var e *tokenfile.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, path, e.Path)
		text := strings.ReplaceAll(err.Error(), path, "")
		oneLine(t, text)
		require.Less(t, len(text), 2000)
		if len(content) >= 40 && isOneWord(content) {
			// Each part as it is written, and not decoded: a fuzzer copies the claims, of which a message
			// shows some, into the signature.
			require.Empty(t, leak(text, strings.Split(content, ".")...))
		}
		return
	}
	require.True(t, token.Raw() == strings.TrimSuffix(content, "\n"))
	sameAsJWT(t, token)
	oneLine(t, token.String())
	again, err := s.Token(context.Background())
	require.NoError(t, err)
	require.Same(t, token, again)
	remarshal(t, path, token)
}

// isOneWord reports whether content is of a token's characters only, so that
// it has nothing in common with a message but by chance.
func isOneWord(content string) bool {
	return !strings.ContainsFunc(content, func(r rune) bool { return r != '.' && !strings.ContainsRune(alphabet, r) })
}

// remarshal writes the claims anew as encoding/json understands them. That
// token must be taken in the same way.
func remarshal(t *testing.T, path string, token *tokenfile.Token) {
	var claims map[string]any
	payload, err := jwt.NewParser().DecodeSegment(strings.Split(token.Raw(), ".")[1])
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	require.NoError(t, d.Decode(&claims))
	canonical, err := json.Marshal(claims)
	require.NoError(t, err)
	raw := forge(es256Header, string(canonical))
	if len(raw) > 64<<10 {
		return
	}
	require.NoError(t, put(path, raw))
	other, err := (&tokenfile.Source{Path: path, Audience: tokenfile.AnyAudience, AllowNoExpiry: true}).Token(context.Background())
	require.NoError(t, err)
	require.NoError(t, sameClaims(token, other))
}

func sameClaims(a, b *tokenfile.Token) error {
	for name, same := range map[string]bool{
		"iss": a.Issuer() == b.Issuer(), "sub": a.Subject() == b.Subject(), "aud": slices.Equal(a.Audience(), b.Audience()),
		"exp": a.Expiry().Equal(b.Expiry()), "nbf": a.NotBefore().Equal(b.NotBefore()), "iat": a.IssuedAt().Equal(b.IssuedAt()),
		"kubernetes.io": a.Kubernetes() == b.Kubernetes(),
	} {
		if !same {
			return fmt.Errorf("%s: %v and %v", name, a, b)
		}
	}
	return nil
}

// TestFuzzSeeds reads the seeds, of which some are accepted and some are not.
func TestFuzzSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "token")
		accepted, refused := 0, 0
		for _, seed := range fuzzSeeds(t) {
			require.NoError(t, put(path, seed))
			readFuzzed(t, path, seed)
			require.NoError(t, put(path, seed))
			_, err := (&tokenfile.Source{Path: path, Audience: audience}).Token(context.Background())
			if err == nil {
				accepted++
			} else {
				refused++
			}
		}
		require.Greater(t, accepted, 5)
		require.Greater(t, refused, 20)
	})
}
