//go:build linux

package vault

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// The fake is worth something only if it answers as the real servers do. The
// table says what those answer; where the fake differs, the fake is wrong.
func TestTheFakeAnswersAsTheRealServer(t *testing.T) {
	app := newAccount(t)
	suffix := strings.TrimPrefix(app.namespace, "e2e-")
	f := &fixture{
		app: app, issuer: app.issuer,
		jwt: "jwt-" + suffix, kubernetes: "kubernetes-" + suffix, policy: "app-" + suffix,
	}
	real := newRealTarget(t, app.cluster)
	fake := newFakeTarget(t, app.cluster, real.openBao())
	f.furnish(t, real)
	f.furnish(t, fake)
	compare := func(cases []tableCase) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.compare(t, f, real, fake) })
		}
	}
	compare(loginCases)
	compare(tokenCases)
	t.Run("sealing", func(t *testing.T) {
		real.skipUnlessSealable(t)
		compare(sealedCases)
	})
}

func (c *tableCase) compare(t *testing.T, f *fixture, real *realTarget, fake target) {
	answers := c.hold(t, f, real)
	require.Len(t, answers, len(c.want), "answers of the real server")
	for i, want := range c.want {
		if want.bao != nil && real.openBao() {
			want = *want.bao
		}
		assert.Equal(t, want.status, answers[i].status, "status of the real server's answer %d", i+1)
		got := strings.NewReplacer(f.jwt, "JWT", f.kubernetes, "KUBERNETES").Replace(strings.Join(answers[i].errors(), "\n"))
		assert.Equal(t, want.text, withoutCause(got), "errors in the real server's answer %d", i+1)
	}
	also := c.hold(t, f, fake)
	require.Len(t, also, len(answers), "answers of the fake")
	for i := range answers {
		assert.Equal(t, answers[i].comparable(), also[i].comparable(), "the fake's answer %d", i+1)
	}
}

// hold holds the dialogue with one target.
func (c *tableCase) hold(t *testing.T, f *fixture, with target) []*answer {
	d := &dialogue{fixture: f, t: t, target: with}
	c.talk(d)
	return d.answers
}

// A dialogue is a case's requests to one target, and the answers to them.
type dialogue struct {
	*fixture
	t       *testing.T
	target  target
	answers []*answer
	last    *answer // also that of a request that is no part of the comparison
}

func (d *dialogue) send(header http.Header, method, path string, body any) {
	d.t.Helper()
	d.sendQuietly(header, method, path, body)
	d.answers = append(d.answers, d.last)
}

func (d *dialogue) sendQuietly(header http.Header, method, path string, body any) {
	d.t.Helper()
	var err error
	d.last, err = d.target.ask(d.t.Context(), header, method, path, body)
	require.NoError(d.t, err)
}

func (d *dialogue) get(token, path string) {
	d.t.Helper()
	d.send(tokenHeader(token), http.MethodGet, path, nil)
}

func (d *dialogue) post(token, path string, body any) {
	d.t.Helper()
	d.send(tokenHeader(token), http.MethodPut, path, body)
}

func (d *dialogue) login(mount, role, jwt string) {
	d.t.Helper()
	d.post("", "auth/"+mount+"/login", object{"role": role, "jwt": jwt})
}

// token logs in and returns the client token.
func (d *dialogue) token(mount, role string) string {
	d.t.Helper()
	d.sendQuietly(nil, http.MethodPut, "auth/"+mount+"/login", object{"role": role, "jwt": d.good()})
	require.NoError(d.t, d.last.failure())
	return text(d.last.object(), "auth", "client_token")
}

func (d *dialogue) whileReview(f fault) {
	d.t.Helper()
	d.target.review(d.t, f)
	defer d.target.review(d.t, noFault)
	// One that the API server has not seen before, and so not remembered.
	d.login(d.kubernetes, "app", d.good())
}

func (d *dialogue) whileSealed(talk func()) {
	d.t.Helper()
	d.target.seal(d.t)
	defer d.target.unseal(d.t)
	talk()
}

// limited logs in three times where two are granted in a minute.
func (d *dialogue) limited() {
	d.t.Helper()
	d.target.limit(d.t, "auth/"+d.jwt+"/login", 2)
	for range 3 {
		d.login(d.jwt, "app", d.good())
	}
}

func (d *dialogue) sign(claims object) string {
	d.t.Helper()
	token, err := d.issuer.Sign(claims)
	require.NoError(d.t, err)
	return token
}

func (d *dialogue) good() string { return d.with(object{"jti": rand.Text()}) }

// with is a token with some claims changed, and those left out that are nil.
func (d *dialogue) with(change object) string { return d.sign(d.claims(change)) }

// aged is a token of ten minutes that has so much left.
func (d *dialogue) aged(left time.Duration) string {
	issued := in(left - 10*time.Minute)
	return d.with(object{"iat": issued, "nbf": issued, "exp": in(left)})
}

// bound is a token of a pod.
func (d *dialogue) bound(pod string) string {
	return d.with(object{"kubernetes.io": object{
		"namespace":      d.app.namespace,
		"serviceaccount": object{"name": d.app.name, "uid": d.app.uid},
		"pod":            object{"name": pod, "uid": "0d9dd1a5-62b7-4b7e-8f38-3e9a5c0fd6c5"},
	}})
}

// forged is a token that another issuer signed, of the same name and claims.
func (d *dialogue) forged() string {
	another, err := tokenfiletest.NewIssuer(bed.APIAudience)
	require.NoError(d.t, err)
	token, err := another.Sign(d.claims(nil))
	require.NoError(d.t, err)
	return token
}

// unsigned is a token that says it needs no signature.
func (d *dialogue) unsigned() string {
	claims, err := json.Marshal(d.claims(nil))
	require.NoError(d.t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + "."
}

// comparable is what two answers to the same request have in common: without
// what is random, or the time, or a secret.
func (a *answer) comparable() object {
	o := object{
		"status":        a.status,
		"Content-Type":  a.header.Get("Content-Type"),
		"Cache-Control": a.header.Get("Cache-Control"),
		"Retry-After":   a.header.Get("Retry-After") != "",
	}
	if body := a.object(); body != nil {
		o["body"] = stable("", body)
	} else {
		o["body"] = strings.TrimSpace(string(a.text))
	}
	return o
}

// volatile are the names of what differs from one answer to the next: it is
// compared by its type, and by whether there is any.
var volatile = regexp.MustCompile(`^(request_id|client_token|accessor|wrapped_accessor|token|entity_id|id|ttl|` +
	`creation_time|expire_time|issue_time|last_renewal|last_renewal_time|created_time|server_time_utc|` +
	`cluster_id|cluster_name|build_date|version|nonce|clock_skew_ms|echo_duration_ms|` +
	`replication_primary_canary_age_ms)$`)

// fetching begins what a server says of keys that it cannot fetch. What follows
// comes from its network.
var fetching = regexp.MustCompile(`(?s)(fetching keys).*`)

func withoutCause(text string) string { return fetching.ReplaceAllString(text, "$1") }

func stable(name string, value any) any {
	if volatile.MatchString(name) {
		if value == "" {
			return ""
		}
		return fmt.Sprintf("a %T", value)
	}
	switch value := value.(type) {
	case object:
		o := object{}
		for name, v := range value {
			if name != "storage_type" { // configuration
				o[name] = stable(name, v)
			}
		}
		return o
	case []any:
		list := []any{}
		for _, v := range value {
			list = append(list, stable("", v))
		}
		return list
	case string:
		return withoutCause(value)
	}
	return value
}

// openBao tells which of the two products the server is, by its tokens.
func (s *server) openBao() bool { return !strings.HasPrefix(s.root, "hvs.") }
