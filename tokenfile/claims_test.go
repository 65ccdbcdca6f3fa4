package tokenfile_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// claimsTest is one token, with claims as a person would write them into it.
type claimsTest struct {
	name    string
	members string         // added to newClaims as they are written
	changes map[string]any // made to newClaims before
	want    string         // part of the error's text, "" if the token is good
}

// without drops claims, to make room for another spelling of them.
func without(names ...string) map[string]any {
	changes := map[string]any{}
	for _, n := range names {
		changes[n] = nil
	}
	return changes
}

// run reads the token within a bubble, whose clock stands at the beginning of
// the year 2000. What is refused is ErrMalformed, and what is accepted says to
// golang-jwt what it says to us.
func (tt claimsTest) run(t *testing.T, check func(t *testing.T, token *tokenfile.Token)) {
	t.Helper()
	inBubble(t, tt.name, func(t *testing.T) {
		raw := forgeClaims(t, tt.members, tt.changes)
		s := newSource(mount(t, raw).Path())
		s.Audience = tokenfile.AnyAudience
		if tt.want != "" {
			err := refused(t, s, []string{raw}, "malformed token", tt.want)
			assert.ErrorIs(t, err, tokenfile.ErrMalformed)
			assert.EqualValues(t, 1, s.Stats().Failures.Malformed)
			return
		}
		token := good(t, s, raw)
		sameAsJWT(t, token)
		if check != nil {
			check(t, token)
		}
	})
}

// golang-jwt/jwt#307, CVE-2020-26160, int128/kubelogin#238: aud as a string
// and as a list, and as what it must not be.
func TestAudienceAsStringAndAsList(t *testing.T) {
	const bad = "its claim aud is neither a string nor a list of strings"
	tests := []struct {
		claimsTest
		got []string
	}{
		{claimsTest{name: "string", members: `"aud":"openbao"`}, []string{"openbao"}},
		{claimsTest{name: "list of one", members: `"aud":["openbao"]`}, []string{"openbao"}},
		{claimsTest{name: "list of two", members: `"aud":["a" , "openbao"]`}, []string{"a", "openbao"}},
		{claimsTest{name: "the same twice", members: `"aud":["a","a"]`}, []string{"a", "a"}},
		{claimsTest{name: "empty list", members: `"aud":[ ]`}, []string{}},
		{claimsTest{name: "empty string", members: `"aud":""`}, []string{""}},
		{claimsTest{name: "absent", members: `"x":1`}, nil},
		{claimsTest{name: "with an escape", members: `"aud":"open\u0062ao"`}, []string{"openbao"}},
		{claimsTest{name: "with a comma and brackets", members: `"aud":["a,b","]","}"]`}, []string{"a,b", "]", "}"}},
		{claimsTest{name: "with quotes", members: `"aud":["a\"b","\\"]`}, []string{`a"b`, `\`}},
		{claimsTest{name: "outside of Latin", members: `"aud":["日本","\ud83d\ude00"]`}, []string{"日本", "😀"}},
		{claimsTest{name: "number", members: `"aud":1`, want: bad}, nil},
		{claimsTest{name: "boolean", members: `"aud":true`, want: bad}, nil},
		{claimsTest{name: "null", members: `"aud":null`, want: bad}, nil},
		{claimsTest{name: "object", members: `"aud":{"openbao":true}`, want: bad}, nil},
		{claimsTest{name: "list with a number", members: `"aud":["openbao",1]`, want: bad}, nil},
		{claimsTest{name: "list with null", members: `"aud":[null]`, want: bad}, nil},
		{claimsTest{name: "list of lists", members: `"aud":[["openbao"]]`, want: bad}, nil},
	}
	for _, tt := range tests {
		tt.changes = without("aud")
		tt.run(t, func(t *testing.T, token *tokenfile.Token) {
			assert.Equal(t, tt.got, token.Audience())
			if got := token.Audience(); len(got) > 0 {
				got[0] = "changed by the caller"
				assert.Equal(t, tt.got, token.Audience())
			}
		})
	}
}

// The members of aud are compared whole: neither a part of one, nor another
// case of it, nor the list as one string.
func TestAudienceIsComparedWhole(t *testing.T) {
	for name, got := range map[string]any{
		"longer":            []string{"openbao2"},
		"shorter":           []string{"openba"},
		"upper case":        []string{"OPENBAO"},
		"with a slash":      []string{"openbao/"},
		"with white space":  []string{" openbao"},
		"joined by a comma": "vault,openbao",
		"JSON in a string":  `["openbao"]`,
		"the asterisk":      "*",
		"full-width":        "ｏpenbao",
	} {
		inBubble(t, name, func(t *testing.T) {
			raw := sign(t, map[string]any{"aud": got})
			asType[*tokenfile.AudienceError](t, refused(t, newSource(mount(t, raw).Path()), []string{raw}))
		})
	}
	inBubble(t, "second of the list", func(t *testing.T) {
		raw := sign(t, map[string]any{"aud": []string{"vault", audience}})
		good(t, newSource(mount(t, raw).Path()), raw)
	})
}

// bubbleStart is when the clock of testing/synctest begins.
const bubbleStart = 946684800

// JWT libraries take a string for a number, and wrap a huge one to the past.
func TestTimes(t *testing.T) {
	const (
		noNumber = "its claim exp is not a number"
		noTime   = "its claim exp is no time between the years 1970 and 9999"
	)
	tests := []struct {
		exp    string // as written
		name   string
		want   string
		expiry time.Time
	}{
		{name: "integer", exp: "946688400", expiry: time.Unix(946688400, 0)},
		{name: "float", exp: "946688400.0", expiry: time.Unix(946688400, 0)},
		{name: "float with a fraction", exp: "946688400.5", expiry: time.Unix(946688400, 5e8)},
		{name: "exponent", exp: "9.466884e8", expiry: time.Unix(946688400, 0)},
		{name: "exponent in upper case with sign", exp: "9.466884E+8", expiry: time.Unix(946688400, 0)},
		{name: "negative exponent", exp: "94668840000e-2", expiry: time.Unix(946688400, 0)},
		{name: "long fraction", exp: "946688400.000000000000000000000000000", expiry: time.Unix(946688400, 0)},
		{name: "end of the year 9999", exp: "253402300799", expiry: time.Unix(253402300799, 0)},
		{name: "end of the year 9999 as a float", exp: "2.53402300799e11", expiry: time.Unix(253402300799, 0)},
		{name: "year 10000", exp: "253402300800", want: noTime},
		{name: "half a second beyond the year 9999", exp: "253402300799.5", want: noTime},
		{name: "milliseconds", exp: "946688400000", want: noTime},
		{name: "2^63-1", exp: "9223372036854775807", want: noTime},
		{name: "2^63", exp: "9223372036854775808", want: noTime},
		{name: "2^64", exp: "18446744073709551616", want: noTime},
		{name: "1e19", exp: "1e19", want: noTime},
		{name: "1e300", exp: "1e300", want: noTime},
		{name: "1e400, which no float holds", exp: "1e400", want: noTime},
		{name: "a thousand digits", exp: strings.Repeat("9", 1000), want: noTime},
		{name: "negative", exp: "-1", want: noTime},
		{name: "negative and huge", exp: "-1e300", want: noTime},
		{name: "negative float", exp: "-0.5", want: noTime},
		{name: "string", exp: `"946688400"`, want: noNumber},
		{name: "empty string", exp: `""`, want: noNumber},
		{name: "null", exp: "null", want: noNumber},
		{name: "true", exp: "true", want: noNumber},
		{name: "list", exp: "[946688400]", want: noNumber},
		{name: "object", exp: "{}", want: noNumber},
		{name: "date", exp: `"2000-01-01T01:00:00Z"`, want: noNumber},
	}
	for _, tt := range tests {
		claimsTest{name: tt.name, members: `"exp":` + tt.exp, changes: without("exp"), want: tt.want}.run(t,
			func(t *testing.T, token *tokenfile.Token) {
				assert.True(t, token.Expiry().Equal(tt.expiry), "%v", token.Expiry())
			})
		for _, name := range []string{"nbf", "iat"} {
			if tt.want == "" {
				continue
			}
			claimsTest{
				name: tt.name + " as " + name, members: fmt.Sprintf(`"%s":%s`, name, tt.exp), changes: without(name),
				want: strings.Replace(tt.want, "exp", name, 1),
			}.run(t, nil)
		}
	}
	for name, exp := range map[string]string{"the zero": "0", "minus zero": "-0", "zero as a float": "0.0", "too small for a float": "1e-400", "1": "1"} {
		inBubble(t, name, func(t *testing.T) {
			raw := forgeClaims(t, `"exp":`+exp, without("exp"))
			err := refused(t, newSource(mount(t, raw).Path()), []string{raw}, "expired", "1970-01-01T00:00:0")
			asType[*tokenfile.ExpiredError](t, err)
		})
	}
	inBubble(t, "nbf and iat as floats", func(t *testing.T) {
		raw := forgeClaims(t, `"nbf":9.466848e8,"iat":946684800.25`, without("nbf", "iat"))
		token := good(t, newSource(mount(t, raw).Path()), raw)
		assert.True(t, token.NotBefore().Equal(time.Unix(bubbleStart, 0)))
		assert.True(t, token.IssuedAt().Equal(time.Unix(bubbleStart, 25e7)))
	})
}

// A token is refused from the instant of exp on, and not a nanosecond before.
func TestExpiryToTheNanosecond(t *testing.T) {
	for _, rereads := range []bool{false, true} {
		name := map[bool]string{false: "first read", true: "unchanged file"}[rereads]
		inBubble(t, name, func(t *testing.T) {
			raw := sign(t)
			path := mount(t, raw).Path()
			known := newSource(path)
			if rereads {
				good(t, known, raw)
			}
			source := func() *tokenfile.Source {
				if rereads {
					return known
				}
				return newSource(path)
			}
			time.Sleep(time.Hour - time.Second)
			good(t, source(), raw)
			time.Sleep(time.Second - time.Nanosecond)
			good(t, source(), raw)
			time.Sleep(time.Nanosecond)
			e := asType[*tokenfile.ExpiredError](t, refused(t, source(), []string{raw}, "token expired 0s ago"))
			assert.True(t, e.Now.Equal(e.Expiry))
			time.Sleep(time.Nanosecond)
			asType[*tokenfile.ExpiredError](t, refused(t, source(), []string{raw}))
		})
	}
}

// cockroachdb/cockroach PR 169764: a token that expires under way.
func TestMinTTLToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := sign(t)
		s := newSource(mount(t, raw).Path())
		s.MinTTL = 5 * time.Minute
		good(t, s, raw)
		time.Sleep(55 * time.Minute)
		good(t, s, raw) // exactly MinTTL is left
		time.Sleep(time.Nanosecond)
		e := asType[*tokenfile.ExpiredError](t, refused(t, s, []string{raw}, "token expires in", "less than MinTTL 5m0s", "2000-01-01T01:00:00Z"))
		assert.Equal(t, 5*time.Minute, e.MinTTL)
		assert.True(t, e.Expiry.Equal(time.Unix(bubbleStart+3600, 0)), "exp itself")
		time.Sleep(5*time.Minute - time.Nanosecond)
		refused(t, s, []string{raw}, "token expired 0s ago")
	})
}

func TestMinTTLDoesNotApplyToATokenWithoutExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := sign(t, without("exp"))
		s := newSource(mount(t, raw).Path())
		s.MinTTL, s.AllowNoExpiry = time.Hour, true
		good(t, s, raw)
		time.Sleep(100 * 365 * 24 * time.Hour)
		good(t, s, raw)
	})
}

// kubernetes/kubernetes#124022, #132993: a token from the future, after a
// clock jumped.
func TestTokenFromTheFuture(t *testing.T) {
	for _, claim := range []string{"nbf", "iat"} {
		for _, tt := range []struct {
			name  string
			ahead time.Duration
			wait  time.Duration
		}{
			{"within the allowance", 9 * time.Second, 0},
			{"exactly the allowance", 10 * time.Second, 0},
			{"a second beyond", 11 * time.Second, time.Second},
			{"a day beyond", 24 * time.Hour, 24*time.Hour - 10*time.Second},
		} {
			inBubble(t, claim+" "+tt.name, func(t *testing.T) {
				begin := time.Now().Add(tt.ahead)
				raw := sign(t, map[string]any{claim: begin.Unix(), "exp": begin.Add(time.Hour).Unix()})
				s := newSource(mount(t, raw).Path())
				if tt.wait > 0 {
					e := asType[*tokenfile.NotYetValidError](t, refused(t, s, []string{raw},
						"not valid before "+begin.UTC().Format(time.RFC3339), tt.ahead.String()+" ahead of this host's clock", "time synchronisation"))
					assert.True(t, e.NotBefore.Equal(begin))
					assert.True(t, e.Now.Equal(time.Now()))
					time.Sleep(tt.wait - time.Nanosecond)
					asType[*tokenfile.NotYetValidError](t, refused(t, s, []string{raw}))
					assert.EqualValues(t, 2, s.Stats().Failures.NotYetValid)
					time.Sleep(time.Nanosecond)
				}
				sameAsJWT(t, good(t, s, raw))
			})
		}
	}
	inBubble(t, "the later of the two counts", func(t *testing.T) {
		raw := sign(t, map[string]any{"nbf": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Add(2 * time.Minute).Unix()})
		s := newSource(mount(t, raw).Path())
		e := asType[*tokenfile.NotYetValidError](t, refused(t, s, []string{raw}, "2m0s ahead"))
		assert.True(t, e.NotBefore.Equal(time.Now().Add(2*time.Minute)))
	})
	inBubble(t, "neither of the two is there", func(t *testing.T) {
		raw := sign(t, without("nbf", "iat"))
		token := good(t, newSource(mount(t, raw).Path()), raw)
		assert.True(t, token.NotBefore().IsZero())
		assert.True(t, token.IssuedAt().IsZero())
	})
}

// Two readers of one token may differ by which of two claims they take, or by
// whether they mind the case of its name.
func TestClaimsThatTwoReadersTakeDifferently(t *testing.T) {
	const future = "946688400"
	for _, tt := range []claimsTest{
		{name: "exp twice", members: `"exp":` + future, want: `it has a claim twice: "exp"`},
		{name: "exp twice with the same value", members: `"exp":1,"exp":1`, changes: without("exp"), want: `it has a claim twice: "exp"`},
		{name: "aud twice", members: `"aud":"openbao"`, want: `it has a claim twice: "aud"`},
		{name: "exp twice, once with an escape", members: `"\u0065xp":` + future, want: `it has a claim twice: "exp"`},
		{name: "sub twice, all of it escaped", members: `"\u0073\u0075\u0062":"x"`, want: `it has a claim twice: "sub"`},
		{name: "an unknown claim twice", members: `"x":1,"x":2`, want: `it has a claim twice: "x"`},
		{name: "the empty name twice", members: `"":1,"":2`, want: `it has a claim twice: ""`},
		{name: "twice within kubernetes.io", members: `"kubernetes.io":{"namespace":"a","namespace":"b"}`, want: `it has a claim twice: "namespace"`},
		{name: "twice within kubernetes.io.pod", members: `"kubernetes.io":{"pod":{"name":"a","name":"b"}}`, want: `it has a claim twice: "name"`},
		{name: "twice within an unknown claim", members: `"x":{"y":[1,{"z":1,"z":2}]}`, want: `it has a claim twice: "z"`},
		{name: "twice within a list", members: `"x":[[{"z":1,"\u007a":2}]]`, want: `it has a claim twice: "z"`},
		{name: "the same name at two levels", members: `"x":{"exp":1,"y":{"exp":2}}`},
		{name: "the same name in two objects of a list", members: `"x":[{"a":1},{"a":1}]`},
		{name: "names that look alike at an escape", members: `"a\\":1,"a\\\\":2,"a\"":3`},

		{name: "EXP for exp", members: `"EXP":` + future, changes: without("exp"), want: "its claim exp is spelt in another case"},
		{name: "EXP beside exp", members: `"EXP":` + future, want: "its claim exp is spelt in another case"},
		{name: "Aud beside aud", members: `"Aud":"openbao"`, want: "its claim aud is spelt in another case"},
		{name: "Iss with an escape", members: `"\u0049ss":"x"`, want: "its claim iss is spelt in another case"},
		{name: "ſub, with the long s of U+017F", members: `"ſub":"admin"`, want: "its claim sub is spelt in another case"},
		{name: "ſub with an escape", members: `"\u017fub":"admin"`, want: "its claim sub is spelt in another case"},
		{name: "ISs, nbF and iAt", members: `"nbF":1,"iAt":1`, want: "is spelt in another case"},
		{name: "Kubernetes.io", members: `"Kubernetes.io":{}`, want: "its claim kubernetes.io is spelt in another case"},
		{name: "Kelvin sign for k", members: `"` + "\u212a" + `ubernetes.io":{}`, want: "its claim kubernetes.io is spelt in another case"},
		{name: "Namespace within kubernetes.io", members: `"kubernetes.io":{"Namespace":"x"}`, want: "its claim namespace is spelt in another case"},
		{name: "warnAfter within kubernetes.io", members: `"kubernetes.io":{"warnAfter":1}`, want: "its claim warnafter is spelt in another case"},
		{name: "UID within kubernetes.io.pod", members: `"kubernetes.io":{"pod":{"name":"a","UID":"b"}}`, want: "its claim uid is spelt in another case"},
		{name: "an unknown claim in upper case", members: `"FOO":1,"foo":1`},
		{name: "EXP within an unknown claim", members: `"x":{"EXP":1}`},
		{name: "exp with a space", members: `"exp ":1`},
	} {
		tt.run(t, nil)
	}
}

func TestClaimsOfAnotherType(t *testing.T) {
	for _, tt := range []claimsTest{
		{name: "iss as a number", members: `"iss":1`, changes: without("iss"), want: "its claim iss is not a string"},
		{name: "iss as null", members: `"iss":null`, changes: without("iss"), want: "its claim iss is not a string"},
		{name: "jti as a number", members: `"jti":444`, changes: without("jti"), want: "its claim jti is not a string"},
		{name: "sub as a list", members: `"sub":["x"]`, changes: without("sub"), want: "its claim sub is not a string"},
		{name: "kubernetes.io as a string", members: `"kubernetes.io":"x"`, want: "its claim kubernetes.io is not an object"},
		{name: "kubernetes.io as null", members: `"kubernetes.io":null`, want: "its claim kubernetes.io is not an object"},
		{name: "kubernetes.io as a list", members: `"kubernetes.io":[]`, want: "its claim kubernetes.io is not an object"},
		{name: "namespace as a number", members: `"kubernetes.io":{"namespace":1}`, want: "its claim namespace is not a string"},
		{name: "pod as a string", members: `"kubernetes.io":{"pod":"web-0"}`, want: "its claim pod is not an object"},
		{name: "pod's name as a number", members: `"kubernetes.io":{"pod":{"name":0}}`, want: "its claim name is not a string"},
		{name: "node's uid as a boolean", members: `"kubernetes.io":{"node":{"uid":true}}`, want: "its claim uid is not a string"},
		{name: "warnafter as a string", members: `"kubernetes.io":{"warnafter":"946688400"}`, want: "its claim warnafter is not a number"},
		{name: "warnafter of the year 10000", members: `"kubernetes.io":{"warnafter":253402300800}`, want: "its claim warnafter is no time"},
		{name: "empty kubernetes.io", members: `"kubernetes.io":{}`},
		{name: "iss and sub empty", members: `"iss":"","sub":""`, changes: without("iss", "sub")},
		{name: "iss and sub absent", changes: without("iss", "sub")},
	} {
		tt.run(t, nil)
	}
}

// Content that is no JSON object, or not quite JSON.
func TestPayloads(t *testing.T) {
	const noObject = "its claims are not a JSON object"
	const noJSON = "one of its three parts is not base64url-encoded JSON"
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name    string
		payload func(claims string) string // of newClaims
		want    string
	}{
		{"null", func(string) string { return "null" }, noObject},
		{"null with white space", func(string) string { return " null\n" }, noObject},
		{"list", func(c string) string { return "[" + c + "]" }, noObject},
		{"empty list", func(string) string { return "[]" }, noObject},
		{"string", func(string) string { return `"exp"` }, noObject},
		{"JSON within a string", func(c string) string { b, _ := json.Marshal(c); return string(b) }, noObject},
		{"number", func(string) string { return "946688400" }, noObject},
		{"true", func(string) string { return "true" }, noObject},
		{"no JSON", func(string) string { return "exp=946688400" }, noJSON},
		{"white space", func(string) string { return "  " }, noJSON},
		{"cut short", func(c string) string { return c[:len(c)-1] }, noJSON},
		{"cut in a name", func(c string) string { return c[:4] }, noJSON},
		{"two objects", func(c string) string { return c + c }, noJSON},
		{"text behind the object", func(c string) string { return c + "x" }, noJSON},
		{"NUL behind the object", func(c string) string { return c + "\x00" }, noJSON},
		{"byte-order mark before the object", func(c string) string { return "\xef\xbb\xbf" + c }, noJSON},
		{"trailing comma", func(c string) string { return c[:len(c)-1] + ",}" }, noJSON},
		{"single quotes", func(c string) string { return strings.ReplaceAll(c, `"`, `'`) }, noJSON},
		{"comment", func(c string) string { return "/**/" + c }, noJSON},
		{"number with a leading zero", func(c string) string { return `{"x":01,` + c[1:] }, noJSON},
		{"number in hex", func(c string) string { return `{"x":0x1,` + c[1:] }, noJSON},
		{"NaN", func(c string) string { return `{"x":NaN,` + c[1:] }, noJSON},
		{"invalid UTF-8 in a claim", func(c string) string { return `{"x":"` + "\xff" + `",` + c[1:] }, "its claims are not UTF-8"},
		{"invalid UTF-8 in aud", func(c string) string { return strings.Replace(c, "openbao", "openbao\xc0\xaf", 1) }, "its claims are not UTF-8"},
		{"invalid UTF-8 in a name", func(c string) string { return `{"ex` + "\xed\xa0\x80" + `p":1,` + c[1:] }, "its claims are not UTF-8"},
		{"10,001 levels deep", func(c string) string { return `{"x":` + nested(10_000) + "," + c[1:] }, noJSON},
		{"20,000 levels deep", func(c string) string { return `{"x":` + nested(20_000) + "," + c[1:] }, noJSON},
		{"10,000 levels deep", func(c string) string { return `{"x":` + nested(9_999) + "," + c[1:] }, ""},
		{"1,001 members", func(c string) string { return manyMembers(1_001-7, c) }, "more than 1000 members"},
		{"1,000 members", func(c string) string { return manyMembers(1_000-7, c) }, ""},
		{"white space everywhere", func(c string) string {
			return " \t\r\n" + strings.NewReplacer("{", "{ ", "[", "[\n", "]", "\t]", ":", " : ", `",`, `" , `).Replace(
				strings.ReplaceAll(c, "system:serviceaccount:shop:cart", "s")) + "\n "
		}, ""},
		{"values of every kind", func(c string) string {
			return `{"a":null,"b":true,"c":false,"d":-1.5e-3,"e":"\u00e9\n\"\\","f":[],"g":{},"h":[{},[],"]",null,{"i":[1]}],` + c[1:]
		}, ""},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			raw := forge(es256Header, tt.payload(string(claimsJSON(t))))
			s := newSource(mount(t, raw).Path())
			if tt.want != "" {
				err := refused(t, s, []string{raw[:min(len(raw), 2000)]}, "malformed token", tt.want)
				assert.ErrorIs(t, err, tokenfile.ErrMalformed)
				return
			}
			token := good(t, s, raw)
			sameAsJWT(t, token)
			assert.Equal(t, []string{audience}, token.Audience())
			assert.True(t, token.Expiry().Equal(time.Unix(bubbleStart+3600, 0)))
		})
	}
}

// manyMembers adds n members to claims, of which newClaims has seven.
func manyMembers(n int, claims string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"m%d":0,`, i)
	}
	return b.String() + claims[1:]
}

// The header says what the signature would be; nobody checks it here, but a
// token that nobody signed is none.
func TestHeaders(t *testing.T) {
	const unknown = "its header names no signature algorithm, or an unknown one"
	const noJSON = "one of its three parts is not base64url-encoded JSON"
	for _, tt := range []struct{ name, header, want string }{
		{"without alg", `{"typ":"JWT"}`, unknown},
		{"empty", `{}`, unknown},
		{"null", `null`, unknown},
		{"alg null", `{"alg":null}`, unknown},
		{"alg as a number", `{"alg":256}`, unknown},
		{"alg as a list", `{"alg":["ES256"]}`, unknown},
		{"alg empty", `{"alg":""}`, unknown},
		{"alg none", `{"alg":"none"}`, "its alg is none"},
		{"alg None", `{"alg":"None"}`, unknown},
		{"alg NONE", `{"alg":"NONE"}`, unknown},
		{"alg none with an escape", `{"alg":"n\u006fne"}`, "its alg is none"},
		{"alg in lower case", `{"alg":"es256"}`, unknown},
		{"unknown alg", `{"alg":"ES1024"}`, unknown},
		{"ALG for alg", `{"ALG":"ES256"}`, unknown},
		{"list", `["alg","ES256"]`, noJSON},
		{"string", `"ES256"`, noJSON},
		{"number", `256`, noJSON},
		{"no JSON", `alg=ES256`, noJSON},
		{"text behind", `{"alg":"ES256"}x`, noJSON},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			raw := forge(tt.header, string(claimsJSON(t)))
			err := refused(t, newSource(mount(t, raw).Path()), []string{raw}, "malformed token", tt.want)
			assert.ErrorIs(t, err, tokenfile.ErrMalformed)
		})
	}
	for _, header := range []string{es256Header, `{"alg":"ES256","typ":"JWT"}`, ` { "typ" : "at+jwt" , "alg" : "ES256" } `} {
		inBubble(t, "good: "+header, func(t *testing.T) {
			raw := forge(header, string(claimsJSON(t)))
			sameAsJWT(t, good(t, newSource(mount(t, raw).Path()), raw))
		})
	}
}

// Two encodings of the same bytes are two tokens with one meaning.
func TestEncodings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := sign(t) // its signature has 64 bytes, so the last character has four spare bits
		last := strings.IndexByte(alphabet, raw[len(raw)-1])
		require.Zero(t, last%16)
		accepted := 0
		for c := range len(alphabet) {
			other := raw[:len(raw)-1] + alphabet[c:c+1]
			s := newSource(mount(t, other).Path())
			if c%16 == 0 {
				accepted++
				good(t, s, other)
				continue
			}
			assert.ErrorIs(t, refused(t, s, []string{raw}, "base64url"), tokenfile.ErrMalformed)
		}
		assert.Equal(t, 4, accepted)

		parts := strings.Split(raw, ".")
		for i := range parts {
			odd := append([]string{}, parts...)
			for len(odd[i])%4 != 1 { // no bytes have such a length
				odd[i] = odd[i][:len(odd[i])-1]
			}
			torn := strings.Join(odd, ".")
			assert.ErrorIs(t, refused(t, newSource(mount(t, torn).Path()), []string{torn}, "base64url"), tokenfile.ErrMalformed)
		}
	})
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestIssuerAndSubjectMismatch(t *testing.T) {
	const foreign = "https://oidc.example.com/other"
	tests := []struct {
		name    string
		changes map[string]any
		source  func(*tokenfile.Source)
		want    tokenfile.ClaimError
		words   []string
	}{
		{
			"another issuer", map[string]any{"iss": foreign},
			func(s *tokenfile.Source) { s.Issuer = tokenfiletest.DefaultIssuer },
			tokenfile.ClaimError{Claim: "iss", Want: tokenfiletest.DefaultIssuer, Got: foreign},
			[]string{`token's iss is "` + foreign + `", want "` + tokenfiletest.DefaultIssuer + `"`, "--service-account-issuer", "Source.Issuer"},
		},
		{
			"issuer with a slash more", map[string]any{"iss": tokenfiletest.DefaultIssuer + "/"},
			func(s *tokenfile.Source) { s.Issuer = tokenfiletest.DefaultIssuer },
			tokenfile.ClaimError{Claim: "iss", Want: tokenfiletest.DefaultIssuer, Got: tokenfiletest.DefaultIssuer + "/"}, nil,
		},
		{
			"no issuer", without("iss"),
			func(s *tokenfile.Source) { s.Issuer = foreign },
			tokenfile.ClaimError{Claim: "iss", Want: foreign}, []string{`token's iss is ""`},
		},
		{
			"another subject", nil,
			func(s *tokenfile.Source) { s.Subject = "system:serviceaccount:shop:checkout" },
			tokenfile.ClaimError{Claim: "sub", Want: "system:serviceaccount:shop:checkout", Got: subject},
			[]string{`token's sub is "` + subject + `", want "system:serviceaccount:shop:checkout"`, "serviceAccountName", "Source.Subject"},
		},
		{
			"no subject", without("sub"),
			func(s *tokenfile.Source) { s.Subject = subject },
			tokenfile.ClaimError{Claim: "sub", Want: subject}, nil,
		},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			raw := sign(t, tt.changes)
			s := newSource(mount(t, raw).Path())
			tt.source(s)
			err := refused(t, s, []string{raw}, tt.words...)
			assert.Equal(t, tt.want, *asType[*tokenfile.ClaimError](t, err))
			assert.NotErrorIs(t, err, tokenfile.ErrMalformed)
			assert.EqualValues(t, 1, s.Stats().Failures.Claim)
		})
	}
	inBubble(t, "as wanted", func(t *testing.T) {
		raw := sign(t)
		s := newSource(mount(t, raw).Path())
		s.Issuer, s.Subject = tokenfiletest.DefaultIssuer, subject
		token := good(t, s, raw)
		assert.Equal(t, tokenfiletest.DefaultIssuer, token.Issuer())
		assert.Equal(t, subject, token.Subject())
	})
}

func TestMaxLifetime(t *testing.T) {
	const start = bubbleStart - 600 // the token is ten minutes old
	tests := []struct {
		name     string
		changes  map[string]any
		max      time.Duration
		lifetime time.Duration // in the error, zero if the token is good
	}{
		{"exactly", map[string]any{"iat": start, "exp": start + 3600}, time.Hour, 0},
		{"a second over", map[string]any{"iat": start, "exp": start + 3601}, time.Hour, time.Hour + time.Second},
		{"not set", map[string]any{"iat": start, "exp": start + 1e8}, 0, 0},
		{"without iat, from nbf", map[string]any{"iat": nil, "nbf": start, "exp": start + 3601}, time.Hour, time.Hour + time.Second},
		{"without iat, from nbf, exactly", map[string]any{"iat": nil, "nbf": start, "exp": start + 3600}, time.Hour, 0},
		{"without iat and nbf, from now", map[string]any{"iat": nil, "nbf": nil, "exp": bubbleStart + 3601}, time.Hour, time.Hour + time.Second},
		{"without iat and nbf, from now, exactly", map[string]any{"iat": nil, "nbf": nil, "exp": bubbleStart + 3600}, time.Hour, 0},
		{"iat counts, not nbf", map[string]any{"iat": start, "nbf": start + 600, "exp": start + 3601}, time.Hour, time.Hour + time.Second},
		{"a year", map[string]any{"iat": start, "exp": start + 365*86400}, 24 * time.Hour, 365 * 24 * time.Hour},
		{"longer than a Duration", map[string]any{"iat": 0, "exp": int64(253402300799)}, 24 * time.Hour, 1<<63 - 1},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			raw := sign(t, tt.changes)
			s := newSource(mount(t, raw).Path())
			s.MaxLifetime = tt.max
			if tt.lifetime == 0 {
				good(t, s, raw)
				return
			}
			err := refused(t, s, []string{raw}, "token's lifetime is "+tt.lifetime.String(), "more than MaxLifetime "+tt.max.String(),
				"expirationSeconds", fmt.Sprintf("to %d or less", tt.max/time.Second))
			assert.Equal(t, tokenfile.LifetimeError{Lifetime: tt.lifetime, Max: tt.max}, *asType[*tokenfile.LifetimeError](t, err))
			assert.EqualValues(t, 1, s.Stats().Failures.Lifetime)
		})
	}
	inBubble(t, "does not apply to a token without exp", func(t *testing.T) {
		raw := sign(t, without("exp"))
		s := newSource(mount(t, raw).Path())
		s.MaxLifetime, s.AllowNoExpiry = time.Hour, true
		good(t, s, raw)
	})
	inBubble(t, "refuses the extended token that the pod inherited", func(t *testing.T) {
		iss := newIssuer(t)
		raw, err := iss.Token(tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second})
		require.NoError(t, err)
		s := newSource(mount(t, raw).Path())
		s.Audience, s.MaxLifetime = tokenfiletest.DefaultIssuer, 2*time.Hour
		assert.Equal(t, 365*24*time.Hour, asType[*tokenfile.LifetimeError](t, refused(t, s, []string{raw}, "extends to a year")).Lifetime)
	})
}

// mlflow-oidc/mlflow-oidc-auth#356, kubernetes/kubernetes#81136: a token
// without exp, good for ever.
func TestNoExpiry(t *testing.T) {
	inBubble(t, "refused", func(t *testing.T) {
		raw := sign(t, without("exp"))
		s := newSource(mount(t, raw).Path())
		err := refused(t, s, []string{raw}, "token has no expiry", "legacy", "projected", `audience: "openbao"`, "Source.AllowNoExpiry")
		assert.ErrorIs(t, err, tokenfile.ErrNoExpiry)
		assert.NotErrorIs(t, err, tokenfile.ErrMalformed)
		assert.EqualValues(t, 1, s.Stats().Failures.NoExpiry)
	})
	inBubble(t, "allowed", func(t *testing.T) {
		raw := sign(t, without("exp"))
		s := newSource(mount(t, raw).Path())
		s.AllowNoExpiry = true
		token := good(t, s, raw)
		assert.True(t, token.Expiry().IsZero())
		sameAsJWT(t, token)
		time.Sleep(20 * 365 * 24 * time.Hour)
		good(t, s, raw)
	})
	inBubble(t, "allowed, and its nbf still counts", func(t *testing.T) {
		raw := sign(t, map[string]any{"exp": nil, "nbf": bubbleStart + 3600})
		s := newSource(mount(t, raw).Path())
		s.AllowNoExpiry = true
		asType[*tokenfile.NotYetValidError](t, refused(t, s, []string{raw}))
	})
	inBubble(t, "allowed, and another token's exp still counts", func(t *testing.T) {
		raw := sign(t)
		s := newSource(mount(t, raw).Path())
		s.AllowNoExpiry = true
		time.Sleep(time.Hour)
		asType[*tokenfile.ExpiredError](t, refused(t, s, []string{raw}))
	})
}

func TestLegacySecretToken(t *testing.T) {
	legacy := func(t *testing.T) string {
		raw, err := newIssuer(t).LegacyToken("shop", "cart", "cart-token-x7k2p")
		require.NoError(t, err)
		return raw
	}
	inBubble(t, "refused", func(t *testing.T) {
		raw := legacy(t)
		err := refused(t, newSource(mount(t, raw).Path()), []string{raw}, "legacy service-account Secret token", "never rotated")
		assert.ErrorIs(t, err, tokenfile.ErrNoExpiry)
	})
	inBubble(t, "allowed without expiry, but it has no audience either", func(t *testing.T) {
		raw := legacy(t)
		s := newSource(mount(t, raw).Path())
		s.AllowNoExpiry = true
		e := asType[*tokenfile.AudienceError](t, refused(t, s, []string{raw}, "token's audience is []", "legacy Secret token", `audience: "openbao"`))
		assert.Empty(t, e.Got)
		assert.Equal(t, audience, e.Want)
	})
	inBubble(t, "allowed for any audience", func(t *testing.T) {
		raw := legacy(t)
		s := newSource(mount(t, raw).Path())
		s.AllowNoExpiry, s.Audience = true, tokenfile.AnyAudience
		token := good(t, s, raw)
		sameAsJWT(t, token)
		assert.Equal(t, subject, token.Subject())
		k := token.Kubernetes()
		assert.NotEmpty(t, k.ServiceAccountUID)
		k.ServiceAccountUID = ""
		assert.Equal(t, tokenfile.Kubernetes{Namespace: "shop", ServiceAccount: "cart", Secret: "cart-token-x7k2p"}, k)
	})
	inBubble(t, "refused for any audience, with a volume to fill in", func(t *testing.T) {
		raw := legacy(t)
		s := newSource(mount(t, raw).Path())
		s.Audience = tokenfile.AnyAudience
		refused(t, s, []string{raw}, `audience: "AUDIENCE"`)
	})
}

func TestKubernetesClaims(t *testing.T) {
	inBubble(t, "bound to a pod on a node", func(t *testing.T) {
		raw := issue(t, tokenfiletest.Request{
			Namespace: "shop", ServiceAccount: "cart", Pod: "web-0", Node: "node-1",
			ServiceAccountUID: "sa-uid", PodUID: "pod-uid", NodeUID: "node-uid",
		})
		token := good(t, newSource(mount(t, raw).Path()), raw)
		assert.Equal(t, tokenfile.Kubernetes{
			Namespace: "shop", ServiceAccount: "cart", ServiceAccountUID: "sa-uid",
			Pod: "web-0", PodUID: "pod-uid", Node: "node-1", NodeUID: "node-uid",
		}, token.Kubernetes())
		sameAsJWT(t, token)
	})
	claimsTest{name: "bound to a secret", members: `"kubernetes.io":{"namespace":"shop","secret":{"name":"s","uid":"u"}}`}.run(t,
		func(t *testing.T, token *tokenfile.Token) {
			assert.Equal(t, tokenfile.Kubernetes{Namespace: "shop", Secret: "s"}, token.Kubernetes())
		})
	claimsTest{name: "of another issuer, with none of them"}.run(t,
		func(t *testing.T, token *tokenfile.Token) { assert.Zero(t, token.Kubernetes()) })
	claimsTest{name: "legacy and bound claims in one", members: `"kubernetes.io":{"namespace":"new"},"kubernetes.io/serviceaccount/namespace":"old"`}.run(t,
		func(t *testing.T, token *tokenfile.Token) { assert.Equal(t, "new", token.Kubernetes().Namespace) })
}

// kubernetes/kubernetes#105654: an hour was asked for and a year is in exp.
func TestExtendedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, err := newIssuer(t).Token(tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second})
		require.NoError(t, err)
		s := newSource(mount(t, raw).Path())
		s.Audience = tokenfiletest.DefaultIssuer
		token := good(t, s, raw)
		assert.True(t, token.Kubernetes().WarnAfter.Equal(time.Unix(bubbleStart+3607, 0)))
		assert.True(t, token.Expiry().Equal(time.Unix(bubbleStart+365*86400, 0)))
		sameAsJWT(t, token)
		assert.False(t, s.Stats().Stale)
		time.Sleep(3607 * time.Second)
		good(t, s, raw)
		assert.False(t, s.Stats().Stale, "at warnafter itself")
		time.Sleep(time.Nanosecond)
		good(t, s, raw)
		assert.True(t, s.Stats().Stale)
	})
}

// kubernetes/kubernetes#67359 and incident 3 of the design: the token at the
// default path is the API server's.
func TestAPIServersAudience(t *testing.T) {
	const mistake = "this is the default token, which is meant for the API server"
	const eks = "https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
	tests := []struct {
		name string
		iss  string
		aud  any
		api  bool
	}{
		{"upstream", tokenfiletest.DefaultIssuer, "https://kubernetes.default.svc.cluster.local", true},
		{"without the cluster's domain", "https://other", "https://kubernetes.default.svc", true},
		{"another cluster domain", "https://other", "https://kubernetes.default.svc.prod.example", true},
		{"k3s", tokenfiletest.DefaultIssuer, []string{"https://kubernetes.default.svc.cluster.local", "k3s"}, true},
		{"k3s alone", "https://other", "k3s", true},
		{"EKS", eks, "https://kubernetes.default.svc", true},
		{"EKS issuer as audience", "https://other", eks, true},
		{"EKS in China", "https://other", "https://oidc.eks.cn-north-1.amazonaws.com.cn/id/0123", true},
		{"GKE", "https://other", "https://container.googleapis.com/v1/projects/p/locations/l/clusters/c", true},
		{"AKS", "https://other", "https://westeurope.oic.prod-aks.azure.com/tenant/id/", true},
		{"aud is iss", "https://api.cluster.example:6443", "https://api.cluster.example:6443", true},
		{"aud holds iss", "https://api.cluster.example", []string{"x", "https://api.cluster.example"}, true},
		{"API server's among others", "https://other", []string{"vault", "https://kubernetes.default.svc"}, true},
		{"another relying party", tokenfiletest.DefaultIssuer, "vault", false},
		{"STS", eks, "sts.amazonaws.com", false},
		{"empty", "", "", false},
		{"API server's name in the middle", tokenfiletest.DefaultIssuer, "https://vault.example/kubernetes.default.svc", false},
		{"k3s as part of a name", tokenfiletest.DefaultIssuer, "k3s-vault", false},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			raw := sign(t, map[string]any{"iss": tt.iss, "aud": tt.aud})
			s := newSource(mount(t, raw).Path())
			err := refused(t, s, []string{raw}, `want "openbao"`)
			e := asType[*tokenfile.AudienceError](t, err)
			assert.Equal(t, audience, e.Want)
			want, _ := tt.aud.([]string)
			if want == nil {
				want = []string{tt.aud.(string)}
			}
			assert.Equal(t, want, e.Got)
			assert.NotErrorIs(t, err, tokenfile.ErrMalformed)
			assert.EqualValues(t, 1, s.Stats().Failures.Audience)
			if tt.api {
				assert.Contains(t, err.Error(), mistake)
				assert.Contains(t, err.Error(), "projected volume of your own")
				assert.Contains(t, err.Error(), `serviceAccountToken: {audience: "openbao", expirationSeconds: 3600, path: token}`)
			} else {
				assert.NotContains(t, err.Error(), mistake)
				assert.Contains(t, err.Error(), "set serviceAccountToken.audience")
				assert.Contains(t, err.Error(), "Source.Audience")
			}
		})
	}
}

// What is in a claim was written by somebody else, and ends in logs and on
// terminals.
func TestClaimsCannotForgeLogLines(t *testing.T) {
	hostile := map[string]string{
		"line break":        "x\nlevel=ERROR msg=\"root logged in\"",
		"Windows line end":  "x\r\nlevel=ERROR",
		"terminal escape":   "\x1b[2J\x1b[31mowned",
		"C1 escape":         "\u009b2J",
		"NUL":               "a\x00b",
		"backspaces":        "openbao\b\b\bx",
		"right-to-left":     "openbao\u202egpj.exe",
		"line separator":    "a\u2028b",
		"zero-width space":  "open\u200bbao",
		"quotes":            `x", want "openbao`,
		"byte-order mark":   "\ufeffopenbao",
		"no character":      "a\uffffb",
		"escape at the cut": strings.Repeat("a", 199) + "\x1b[31m" + strings.Repeat("\n", 100),
	}
	for name, text := range hostile {
		inBubble(t, name+" in aud", func(t *testing.T) {
			raw := sign(t, map[string]any{"aud": []string{"first", text}})
			err := refused(t, newSource(mount(t, raw).Path()), []string{raw})
			assert.Equal(t, text, asType[*tokenfile.AudienceError](t, err).Got[1], "the field has it as it is")
			assert.NotContains(t, err.Error(), text)
		})
		inBubble(t, name+" in iss and sub", func(t *testing.T) {
			raw := sign(t, map[string]any{"iss": text, "sub": text})
			s := newSource(mount(t, raw).Path())
			s.Issuer = "wanted"
			assert.NotContains(t, refused(t, s, []string{raw}).Error(), text)
			s.Issuer, s.Subject = "", "wanted"
			assert.NotContains(t, refused(t, s, []string{raw}).Error(), text)
			s.Subject = ""
			shown := good(t, s, raw).String()
			assert.NotContains(t, shown, text)
			oneLine(t, shown)
		})
		inBubble(t, name+" as the name of a claim", func(t *testing.T) {
			quoted, err := json.Marshal(text)
			require.NoError(t, err)
			raw := forgeClaims(t, fmt.Sprintf("%s:1,%s:2", quoted, quoted))
			refusal := refused(t, newSource(mount(t, raw).Path()), []string{raw}, "a claim twice")
			assert.NotContains(t, refusal.Error(), text)
		})
	}
}

func TestLongClaimsAreClipped(t *testing.T) {
	const most = 4000 // bytes of a message
	inBubble(t, "an audience of 40,000 bytes", func(t *testing.T) {
		raw := sign(t, map[string]any{"aud": strings.Repeat("a", 40_000)})
		text := refused(t, newSource(mount(t, raw).Path()), nil, `aaa"...`).Error()
		assert.Less(t, len(text), most)
		assert.NotContains(t, text, strings.Repeat("a", 201))
		assert.Contains(t, text, strings.Repeat("a", 200))
	})
	inBubble(t, "an audience of 200 bytes is shown whole", func(t *testing.T) {
		aud := strings.Repeat("b", 200)
		raw := sign(t, map[string]any{"aud": aud})
		refused(t, newSource(mount(t, raw).Path()), nil, `"`+aud+`"`+"]")
	})
	inBubble(t, "500 audiences", func(t *testing.T) {
		var many []string
		for i := range 500 {
			many = append(many, fmt.Sprintf("audience-%03d", i))
		}
		raw := sign(t, map[string]any{"aud": many})
		err := refused(t, newSource(mount(t, raw).Path()), []string{raw}, `"audience-007", and 492 more]`)
		assert.Less(t, len(err.Error()), most)
		assert.NotContains(t, err.Error(), "audience-008")
		assert.Len(t, asType[*tokenfile.AudienceError](t, err).Got, 500)
	})
	inBubble(t, "8 audiences are shown whole", func(t *testing.T) {
		raw := sign(t, map[string]any{"aud": []string{"1", "2", "3", "4", "5", "6", "7", "8"}})
		refused(t, newSource(mount(t, raw).Path()), nil, `"7", "8"]`)
	})
	inBubble(t, "issuer, subject and a claim's name", func(t *testing.T) {
		long := strings.Repeat("c", 20_000)
		raw := sign(t, map[string]any{"iss": long, "sub": long})
		s := newSource(mount(t, raw).Path())
		assert.Less(t, len(good(t, s, raw).String()), most)
		s.Issuer = "x"
		assert.Less(t, len(refused(t, newSourceLike(s), nil).Error()), most)
		s.Issuer, s.Subject = "", "x"
		assert.Less(t, len(refused(t, newSourceLike(s), nil).Error()), most)
		raw = forgeClaims(t, fmt.Sprintf(`"%s":1,"%s":2`, long, long))
		assert.Less(t, len(refused(t, newSource(mount(t, raw).Path()), nil, "a claim twice").Error()), most)
	})
}

// newSourceLike returns an unused Source with s's fields.
func newSourceLike(s *tokenfile.Source) *tokenfile.Source {
	return &tokenfile.Source{Path: s.Path, Audience: s.Audience, Issuer: s.Issuer, Subject: s.Subject}
}

// The signature says nothing to this package but that it is there, and that
// it is as long as its algorithm makes it: a write that was torn within it
// leaves everything else in order.
func TestSignatureOfAnotherLength(t *testing.T) {
	for _, tt := range []struct {
		alg        string
		good, torn []int // bytes
	}{
		{"ES256", []int{64}, []int{1, 2, 3, 32, 63, 65, 128, 256}},
		{"ES384", []int{96}, []int{64, 95}},
		{"ES512", []int{132}, []int{64, 128, 131}},
		{"EdDSA", []int{64}, []int{32, 63}},
		{"HS256", []int{32}, []int{16, 31}},
		{"RS256", []int{256, 384, 512}, []int{1, 64, 100, 255, 257}},
		{"PS256", []int{256, 384, 512}, []int{1, 64, 100, 255, 257}},
	} {
		read := func(t *testing.T, length int) (*tokenfile.Source, string) {
			parts := strings.Split(forge(fmt.Sprintf(`{"alg":%q}`, tt.alg), string(claimsJSON(t))), ".")
			signature := make([]byte, length)
			_, _ = rand.Read(signature)
			raw := parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(signature)
			return newSource(mount(t, raw).Path()), raw
		}
		for _, n := range tt.good {
			inBubble(t, fmt.Sprintf("%s of %d bytes", tt.alg, n), func(t *testing.T) {
				s, raw := read(t, n)
				good(t, s, raw)
			})
		}
		for _, n := range tt.torn {
			inBubble(t, fmt.Sprintf("%s torn to %d bytes", tt.alg, n), func(t *testing.T) {
				s, raw := read(t, n)
				assert.ErrorIs(t, refused(t, s, []string{raw}), tokenfile.ErrMalformed)
			})
		}
	}
}
