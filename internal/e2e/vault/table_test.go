//go:build linux

package vault

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A fixture is what the table's cases talk about, the same for each target.
type fixture struct {
	app    *account
	issuer *tokenfiletest.Issuer

	jwt, kubernetes string // the mounts
	policy          string
}

// claims are those of a token that TokenRequest would give to the account, but
// signed by the fake's issuer, and changed.
func (f *fixture) claims(change object) object {
	now := time.Now()
	claims := object{
		"aud": []string{openbao},
		"exp": now.Add(10 * time.Minute).Unix(),
		"iat": now.Unix(),
		"iss": f.issuer.URL,
		"nbf": now.Unix(),
		"sub": f.app.subject(),
		"kubernetes.io": object{
			"namespace":      f.app.namespace,
			"serviceaccount": object{"name": f.app.name, "uid": f.app.uid},
		},
	}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// A want is what a real server of the Vault family answers.
type want struct {
	status int
	text   string // of the errors, joined; "" if there are none
	bao    *want  // what OpenBao answers, where it differs
}

func granted(status int) want               { return want{status: status} }
func refused(status int, text string) want  { return want{status: status, text: text} }
func (w want) butOpenBao(answers want) want { w.bao = &answers; return w }

// What both servers say in several cases.
const (
	denied       = "permission denied"
	forbidden    = "1 error occurred:\n\t* permission denied\n\n"
	deadVault    = "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"
	badJWT       = "error validating token: "
	noKey        = badJWT + "error verifying token signature: no known key successfully validated the token signature"
	wrongAud     = "invalid audience (aud) claim: audience claim does not match any expected audience"
	badIncrement = `Field validation failed: error converting input for field "increment": `
	expired      = "invalid expiration time (exp) claim: token is expired"
)

// notJSON is the answer to a form.
var notJSON = refused(400, "error parsing JSON: failed to parse JSON input: invalid character 'r' looking for beginning of value").
	butOpenBao(refused(400, "failed to parse JSON input: invalid character 'r' looking for beginning of value"))

// noRole is the answer to the renewal of a token whose role was deleted.
var noRole = refused(500, "1 error occurred:\n\t* failed to renew entry: role leaving does not exist during renewal\n\n")

// dead is the answer to a token that is none, or none any more.
var dead = refused(http.StatusForbidden, deadVault).butOpenBao(refused(http.StatusForbidden, denied))

// A tableCase is a dialogue with a server, and what it answers to each request.
type tableCase struct {
	name string
	talk func(d *dialogue)
	want []want
}

// loginCases are those of the login paths: nothing but a request.
var loginCases = []tableCase{
	{"jwt: good token", func(d *dialogue) { d.login(d.jwt, "app", d.good()) }, []want{granted(200)}},
	{"jwt: wrong audience", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"aud": []string{"vault"}})) },
		[]want{refused(400, badJWT+wrongAud)}},
	{"jwt: the API server's audience", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"aud": []string{d.issuer.URL}})) },
		[]want{refused(400, badJWT+wrongAud)}},
	{"jwt: no audience", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"aud": nil})) },
		[]want{refused(400, badJWT+wrongAud)}},
	{"jwt: role without audiences", func(d *dialogue) { d.login(d.jwt, "noaudience", d.good()) },
		[]want{refused(400, "audience claim found in JWT but no audiences bound to the role")}},
	{"jwt: role and token without audiences", func(d *dialogue) { d.login(d.jwt, "noaudience", d.with(object{"aud": nil})) },
		[]want{granted(200)}},
	{"jwt: expired an hour ago", func(d *dialogue) { d.login(d.jwt, "app", d.aged(-time.Hour)) },
		[]want{refused(400, badJWT+expired)}},
	{"jwt: expired two minutes ago", func(d *dialogue) { d.login(d.jwt, "app", d.aged(-2*time.Minute)) },
		[]want{refused(400, badJWT+expired)}},
	{"jwt: expired thirty seconds ago", func(d *dialogue) { d.login(d.jwt, "app", d.aged(-30*time.Second)) },
		[]want{granted(200)}},
	{"jwt: without exp", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"exp": nil})) }, []want{granted(200)}},
	{"jwt: without iat and nbf", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"iat": nil, "nbf": nil})) },
		[]want{refused(400, badJWT+"invalid not before (nbf) claim: token not yet valid")}}, // it is reckoned from exp
	{"jwt: exp is a text", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"exp": "tomorrow"})) },
		[]want{refused(400, badJWT+"go-jose/go-jose/jwt: expected number value to unmarshal NumericDate")}},
	{"jwt: aud is a text", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"aud": openbao})) }, []want{granted(200)}},
	{"jwt: one audience of two", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"aud": []string{"vault", openbao}})) },
		[]want{granted(200)}},
	{"jwt: not valid before thirty seconds from now", func(d *dialogue) {
		d.login(d.jwt, "app", d.with(object{"nbf": in(30 * time.Second)}))
	}, []want{granted(200)}},
	{"jwt: issued thirty seconds from now", func(d *dialogue) {
		d.login(d.jwt, "app", d.with(object{"iat": in(30 * time.Second)}))
	}, []want{granted(200)}},
	{"jwt: not valid before an hour from now", func(d *dialogue) {
		d.login(d.jwt, "app", d.with(object{"nbf": in(time.Hour), "exp": in(2 * time.Hour)}))
	}, []want{refused(400, badJWT+"invalid not before (nbf) claim: token not yet valid")}},
	{"jwt: issued an hour from now", func(d *dialogue) {
		d.login(d.jwt, "app", d.with(object{"iat": in(time.Hour), "exp": in(2 * time.Hour)}))
	}, []want{refused(400, badJWT+"invalid issued at (iat) claim: token issued in the future")}},
	{"jwt: without times", func(d *dialogue) {
		d.login(d.jwt, "app", d.with(object{"iat": nil, "exp": nil, "nbf": nil}))
	}, []want{refused(400, badJWT+"no issued at (iat), not before (nbf), or expiration time (exp) claims in token")}},
	{"jwt: wrong issuer", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"iss": "https://another.test"})) },
		[]want{refused(400, badJWT+"invalid issuer (iss) claim")}},
	{"jwt: wrong subject", func(d *dialogue) { d.login(d.jwt, "subject", d.good()) },
		[]want{refused(400, badJWT+"invalid subject (sub) claim")}},
	{"jwt: bound claim differs", func(d *dialogue) { d.login(d.jwt, "claims", d.good()) },
		[]want{refused(400, `error validating claims: claim "/kubernetes.io/namespace" does not match any associated bound claim values`)}},
	{"jwt: bound claim is missing", func(d *dialogue) { d.login(d.jwt, "claims", d.with(object{"kubernetes.io": nil})) },
		[]want{refused(400, `error validating claims: claim "/kubernetes.io/namespace" is missing`)}},
	{"jwt: no user claim", func(d *dialogue) { d.login(d.jwt, "app", d.with(object{"sub": nil})) },
		[]want{refused(400, `claim "sub" not found in token`)}},
	{"jwt: signed by another key", func(d *dialogue) { d.login(d.jwt, "app", d.forged()) }, []want{refused(400, noKey)}},
	{"jwt: alg none", func(d *dialogue) { d.login(d.jwt, "app", d.unsigned()) },
		[]want{refused(400, badJWT+"error verifying token signature: no known key successfully validated the token signature")}},
	{"jwt: no role", func(d *dialogue) { d.login(d.jwt, "", d.good()) }, []want{refused(400, "missing role")}},
	{"jwt: unknown role", func(d *dialogue) { d.login(d.jwt, "nobody", d.good()) },
		[]want{refused(400, `role "nobody" could not be found`)}},
	{"jwt: empty jwt", func(d *dialogue) { d.login(d.jwt, "app", "") }, []want{refused(400, "missing token")}},
	{"jwt: no field jwt", func(d *dialogue) { d.post("", "auth/"+d.jwt+"/login", object{"role": "app"}) },
		[]want{refused(400, "missing token")}},
	{"jwt: neither role nor jwt", func(d *dialogue) { d.post("", "auth/"+d.jwt+"/login", object{}) },
		[]want{refused(400, "missing role")}},
	{"jwt: no JWT at all", func(d *dialogue) { d.login(d.jwt, "app", "x") },
		[]want{refused(400, badJWT+"error verifying token signature: go-jose/go-jose: compact JWS format must have three parts")}},
	{"jwt: newline at the end", func(d *dialogue) { d.login(d.jwt, "app", d.good()+"\n") }, []want{granted(200)}},
	{"jwt: a blank in front", func(d *dialogue) { d.login(d.jwt, "app", " "+d.good()) }, []want{granted(200)}},
	{"jwt: role in upper case", func(d *dialogue) { d.login(d.jwt, "APP", d.good()) }, []want{granted(200)}},
	{"jwt: body not JSON", func(d *dialogue) { d.post("", "auth/"+d.jwt+"/login", "role=app") },
		[]want{notJSON}},
	{"jwt: JSON cut short", func(d *dialogue) { d.post("", "auth/"+d.jwt+"/login", `{"role": "app"`) },
		[]want{refused(500, "malformed JSON, unclosed containers").
			butOpenBao(refused(400, "failed to parse JSON input: unexpected EOF"))}},
	{"jwt: empty body", func(d *dialogue) { d.post("", "auth/"+d.jwt+"/login", "") }, []want{refused(400, "missing role")}},
	{"jwt: login by POST", func(d *dialogue) {
		d.send(nil, http.MethodPost, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
	}, []want{granted(200)}},
	{"jwt: a slash at the end of the path", func(d *dialogue) {
		d.post("", "auth/"+d.jwt+"/login/", object{"role": "app", "jwt": d.good()})
	}, []want{refused(400, "cannot write to a path ending in '/'")}},
	{"jwt: a field too many", func(d *dialogue) {
		d.post("", "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good(), "audience": openbao})
	}, []want{granted(200)}},
	{"jwt: a namespace that does not exist", func(d *dialogue) {
		d.send(http.Header{"X-Vault-Namespace": {"nowhere"}}, http.MethodPut, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
	}, []want{granted(200).butOpenBao(refused(404, "namespace not found"))}},
	{"jwt: a living token goes with the login", func(d *dialogue) {
		d.send(tokenHeader(d.token(d.jwt, "app")), http.MethodPut, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
	}, []want{granted(200)}},
	{"jwt: login by GET", func(d *dialogue) { d.send(nil, http.MethodGet, "auth/"+d.jwt+"/login", nil) },
		[]want{refused(405, "unsupported operation")}},
	{"jwt: a dead token goes with the login", func(d *dialogue) {
		d.send(tokenHeader("hvs.none"), http.MethodPut, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
	}, []want{granted(200)}},
	{"jwt: the token of a deleted entity goes with the login", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.target.deleteEntity(d.t, text(d.last.object(), "auth", "entity_id"))
		d.send(tokenHeader(token), http.MethodPut, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
		d.login(d.jwt, "app", d.good())
	}, []want{refused(403, denied), granted(200)}},
	{"jwt: the answer wrapped", func(d *dialogue) {
		d.send(http.Header{"X-Vault-Wrap-Ttl": {"60"}}, http.MethodPut, "auth/"+d.jwt+"/login", object{"role": "app", "jwt": d.good()})
	}, []want{granted(200)}},
	{"jwt: batch role", func(d *dialogue) { d.login(d.jwt, "batch", d.good()) }, []want{granted(200)}},
	{"jwt: periodic role", func(d *dialogue) { d.login(d.jwt, "periodic", d.good()) }, []want{granted(200)}},
	{"jwt: role of limited uses", func(d *dialogue) { d.login(d.jwt, "twice", d.good()) }, []want{granted(200)}},
	{"jwt: TTL over max TTL", func(d *dialogue) { d.login(d.jwt, "over", d.good()) }, []want{granted(200)}},
	{"jwt: explicit max TTL", func(d *dialogue) { d.login(d.jwt, "explicit", d.good()) }, []want{granted(200)}},
	{"jwt: the keys are unreachable", func(d *dialogue) {
		d.target.enableUnreachable(d.t, d.jwt+"-unreachable")
		d.target.setRole(d.t, d.jwt+"-unreachable", "app", d.roles()["app"])
		d.login(d.jwt+"-unreachable", "app", d.good())
	}, []want{refused(400, badJWT+"error verifying token signature: fetching keys")}},
	{"mount missing", func(d *dialogue) { d.login("podtoken-e2e-none", "app", d.good()) }, []want{refused(403, denied)}},

	{"kubernetes: good token", func(d *dialogue) { d.login(d.kubernetes, "app", d.good()) }, []want{granted(200)}},
	{"kubernetes: wrong audience", func(d *dialogue) { d.login(d.kubernetes, "app", d.with(object{"aud": []string{"vault"}})) },
		[]want{refused(403, wrongAud)}},
	{"kubernetes: role without audience, another one's token", func(d *dialogue) {
		d.login(d.kubernetes, "anyaudience", d.with(object{"aud": []string{"vault"}}))
	}, []want{granted(200)}},
	{"kubernetes: expired an hour ago", func(d *dialogue) { d.login(d.kubernetes, "app", d.aged(-time.Hour)) },
		[]want{refused(403, expired)}},
	{"kubernetes: not valid before an hour from now", func(d *dialogue) {
		d.login(d.kubernetes, "app", d.with(object{"nbf": in(time.Hour), "exp": in(2 * time.Hour)}))
	}, []want{refused(403, "invalid not before (nbf) claim: token not yet valid")}},
	{"kubernetes: issued an hour from now", func(d *dialogue) {
		d.login(d.kubernetes, "app", d.with(object{"iat": in(time.Hour), "exp": in(2 * time.Hour)}))
	}, []want{refused(403, "invalid issued at (iat) claim: token issued in the future")}},
	{"kubernetes: wrong issuer", func(d *dialogue) {
		d.login(d.kubernetes, "app", d.with(object{"iss": "https://another.test"}))
	}, []want{refused(403, denied)}},
	{"kubernetes: signed by another key", func(d *dialogue) { d.login(d.kubernetes, "app", d.forged()) },
		[]want{refused(403, denied)}},
	{"kubernetes: alg none", func(d *dialogue) { d.login(d.kubernetes, "app", d.unsigned()) }, []want{refused(403, denied)}},
	{"kubernetes: no role", func(d *dialogue) { d.login(d.kubernetes, "", d.good()) }, []want{refused(400, "missing role")}},
	{"kubernetes: unknown role", func(d *dialogue) { d.login(d.kubernetes, "nobody", d.good()) },
		[]want{refused(400, `invalid role name "nobody"`)}},
	{"kubernetes: empty jwt", func(d *dialogue) { d.login(d.kubernetes, "app", "") }, []want{refused(400, "missing jwt")}},
	{"kubernetes: no JWT at all", func(d *dialogue) { d.login(d.kubernetes, "app", "x") }, []want{refused(403, denied)}},
	{"kubernetes: newline at the end", func(d *dialogue) { d.login(d.kubernetes, "app", d.good()+"\n") }, []want{granted(200)}},
	{"kubernetes: role in upper case", func(d *dialogue) { d.login(d.kubernetes, "APP", d.good()) }, []want{granted(200)}},
	{"kubernetes: aud is a text", func(d *dialogue) { d.login(d.kubernetes, "app", d.with(object{"aud": openbao})) },
		[]want{refused(500, "1 error(s) decoding:\n\n* 'aud': source data must be an array or slice, got string")}},
	{"kubernetes: body not JSON", func(d *dialogue) { d.post("", "auth/"+d.kubernetes+"/login", "role=app") },
		[]want{notJSON}},
	{"kubernetes: service account not bound", func(d *dialogue) { d.login(d.kubernetes, "othername", d.good()) },
		[]want{refused(403, "service account name not authorized")}},
	{"kubernetes: namespace not bound", func(d *dialogue) { d.login(d.kubernetes, "othernamespace", d.good()) },
		[]want{refused(403, "namespace not authorized")}},
	{"kubernetes: JWT without kubernetes.io", func(d *dialogue) {
		d.login(d.kubernetes, "app", d.with(object{"kubernetes.io": nil}))
	}, []want{refused(403, "service account name not authorized")}},
	{"kubernetes: TokenReview is denied", func(d *dialogue) {
		d.target.gone(d.app.namespace, "gone")
		d.login(d.kubernetes, "app", d.bound("gone"))
	}, []want{refused(403, denied)}},
	{"kubernetes: TokenReview answers 401", func(d *dialogue) { d.whileReview(unauthorized) }, []want{refused(403, denied)}},
	{"kubernetes: TokenReview answers 429", func(d *dialogue) { d.whileReview(throttled) }, []want{refused(403, denied)}},
	{"kubernetes: TokenReview answers 500", func(d *dialogue) { d.whileReview(broken) }, []want{refused(403, denied)}},
	{"kubernetes: TokenReview is unreachable", func(d *dialogue) { d.whileReview(unreachable) }, []want{refused(403, denied)}},
}

// tokenCases are about what a login gave.
var tokenCases = []tableCase{
	{"read", func(d *dialogue) { d.get(d.token(d.jwt, "app"), d.secret()) }, []want{granted(200)}},
	{"read by the kubernetes method's token", func(d *dialogue) { d.get(d.token(d.kubernetes, "app"), d.secret()) },
		[]want{granted(200)}},
	{"read with the token in Authorization", func(d *dialogue) {
		d.send(http.Header{"Authorization": {"Bearer " + d.token(d.jwt, "app")}}, http.MethodGet, d.secret(), nil)
	}, []want{granted(200)}},
	{"read what is not there", func(d *dialogue) { d.get(d.token(d.jwt, "app"), d.secret()+"/none") },
		[]want{refused(404, "")}},
	{"read without a token", func(d *dialogue) { d.get("", d.secret()) }, []want{refused(403, denied)}},
	{"read with a dead token", func(d *dialogue) { d.get("hvs.none", d.secret()) }, []want{dead}},
	{"read is denied by policy", func(d *dialogue) { d.get(d.token(d.jwt, "app"), "secret/data/forbidden") },
		[]want{refused(403, forbidden)}},
	{"read is denied by policy, to a batch token", func(d *dialogue) {
		d.get(d.token(d.jwt, "batch"), "secret/data/forbidden")
	}, []want{refused(403, forbidden)}},
	{"read where nothing is mounted", func(d *dialogue) { d.get(d.token(d.jwt, "app"), "podtoken-e2e-none/x") },
		[]want{refused(403, forbidden)}},
	{"write", func(d *dialogue) {
		d.post(d.token(d.jwt, "app"), d.secret()+"/written", object{"data": object{"a": "b"}})
	}, []want{granted(200)}},

	{"lookup-self", func(d *dialogue) { d.get(d.token(d.jwt, "app"), "auth/token/lookup-self") }, []want{granted(200)}},
	{"lookup-self of the kubernetes method's token", func(d *dialogue) {
		d.get(d.token(d.kubernetes, "app"), "auth/token/lookup-self")
	}, []want{granted(200)}},
	{"lookup-self of a batch token", func(d *dialogue) { d.get(d.token(d.jwt, "batch"), "auth/token/lookup-self") },
		[]want{granted(200)}},
	{"lookup-self of a periodic token", func(d *dialogue) { d.get(d.token(d.jwt, "periodic"), "auth/token/lookup-self") },
		[]want{granted(200)}},
	{"lookup-self after a renewal", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.post(token, "auth/token/renew-self", object{})
		d.get(token, "auth/token/lookup-self")
	}, []want{granted(200), granted(200)}},
	{"lookup-self of a dead token", func(d *dialogue) { d.get("hvs.none", "auth/token/lookup-self") }, []want{dead}},
	{"lookup-self is denied by policy", func(d *dialogue) { d.get(d.token(d.jwt, "mute"), "auth/token/lookup-self") },
		[]want{refused(403, forbidden)}},

	{"renew-self", func(d *dialogue) { d.post(d.token(d.jwt, "app"), "auth/token/renew-self", object{}) },
		[]want{granted(200)}},
	{"renew-self without a body", func(d *dialogue) { d.post(d.token(d.jwt, "app"), "auth/token/renew-self", nil) },
		[]want{granted(200)}},
	{"renew-self of the kubernetes method's token", func(d *dialogue) {
		d.post(d.token(d.kubernetes, "app"), "auth/token/renew-self", object{})
	}, []want{granted(200)}},
	{"renew-self with an increment", func(d *dialogue) {
		d.post(d.token(d.jwt, "app"), "auth/token/renew-self", object{"increment": 60})
		d.post(d.token(d.jwt, "app"), "auth/token/renew-self", object{"increment": "90s"})
	}, []want{granted(200), granted(200)}},
	{"renew-self with an increment beyond the max TTL", func(d *dialogue) {
		d.post(d.token(d.jwt, "over"), "auth/token/renew-self", object{"increment": 36000})
	}, []want{granted(200)}},
	{"renew-self with a negative increment", func(d *dialogue) {
		d.post(d.token(d.jwt, "app"), "auth/token/renew-self", object{"increment": -1})
	}, []want{refused(400, badIncrement+"cannot provide negative value '-1'")}},
	{"renew-self with an increment that is no duration", func(d *dialogue) {
		d.post(d.token(d.jwt, "app"), "auth/token/renew-self", object{"increment": "x"})
	}, []want{refused(400, badIncrement+`time: invalid duration "x"`)}},
	{"renew-self of a periodic token", func(d *dialogue) {
		d.post(d.token(d.jwt, "periodic"), "auth/token/renew-self", object{})
	}, []want{granted(200)}},
	{"renew-self of a dead token", func(d *dialogue) { d.post("hvs.none", "auth/token/renew-self", object{}) }, []want{dead}},
	{"renew-self of a batch token", func(d *dialogue) {
		d.post(d.token(d.jwt, "batch"), "auth/token/renew-self", object{})
	}, []want{refused(400, "batch tokens cannot be renewed")}},
	{"renew-self is denied by policy", func(d *dialogue) {
		d.post(d.token(d.jwt, "mute"), "auth/token/renew-self", object{})
	}, []want{refused(403, forbidden)}},
	{"renew-self after the role's deletion", func(d *dialogue) {
		d.target.setRole(d.t, d.jwt, "leaving", d.roles()["app"])
		token := d.token(d.jwt, "leaving")
		d.target.deleteRole(d.t, d.jwt, "leaving")
		d.post(token, "auth/token/renew-self", object{})
		d.get(token, d.secret())
		d.login(d.jwt, "leaving", d.good())
	}, []want{noRole, granted(200), refused(400, `role "leaving" could not be found`)}},
	{"renew-self after the kubernetes role's deletion", func(d *dialogue) {
		d.target.setRole(d.t, d.kubernetes, "leaving", d.kubernetesRoles()["app"])
		token := d.token(d.kubernetes, "leaving")
		d.target.deleteRole(d.t, d.kubernetes, "leaving")
		d.post(token, "auth/token/renew-self", object{})
		d.get(token, d.secret())
	}, []want{noRole, granted(200)}},
	{"renew-self after the role's TTL was changed", func(d *dialogue) {
		d.target.setRole(d.t, d.jwt, "changing", d.roles()["app"])
		token := d.token(d.jwt, "changing")
		changed := d.roles()["app"]
		changed.TokenTTL = 10 * time.Minute
		d.target.setRole(d.t, d.jwt, "changing", changed)
		d.post(token, "auth/token/renew-self", object{})
	}, []want{granted(200)}},
	{"renew-self by GET", func(d *dialogue) { d.get(d.token(d.jwt, "app"), "auth/token/renew-self") },
		[]want{refused(403, forbidden)}},

	{"a token of two uses is used up", func(d *dialogue) {
		token := d.token(d.jwt, "twice")
		d.get(token, "auth/token/lookup-self")
		d.get(token, d.secret())
		d.get(token, d.secret())
	}, []want{granted(200), granted(200), dead}},
	{"renew-self of a token of two uses", func(d *dialogue) {
		token := d.token(d.jwt, "twice")
		d.post(token, "auth/token/renew-self", object{})
		d.post(token, "auth/token/renew-self", object{})
		d.post(token, "auth/token/renew-self", object{})
	}, []want{granted(200), refused(400, "token not found"), dead}},
	{"a denied request uses a token too", func(d *dialogue) {
		token := d.token(d.jwt, "twice")
		d.get(token, "secret/data/forbidden")
		d.get(token, "secret/data/forbidden")
		d.get(token, d.secret())
	}, []want{refused(403, forbidden), refused(403, forbidden), dead}},

	{"revoke-self", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.post(token, "auth/token/revoke-self", nil)
		d.get(token, d.secret())
		d.get(token, "auth/token/lookup-self")
		d.post(token, "auth/token/renew-self", object{})
		d.post(token, "auth/token/revoke-self", nil)
	}, []want{granted(204), dead, dead, dead, dead}},
	{"revoke-self of a batch token", func(d *dialogue) { d.post(d.token(d.jwt, "batch"), "auth/token/revoke-self", nil) },
		[]want{refused(400, "batch tokens cannot be revoked")}},
	{"revoked by the administrator", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.target.revoke(d.t, text(d.last.object(), "auth", "accessor"))
		d.get(token, d.secret())
		d.get(token, "auth/token/lookup-self")
		d.post(token, "auth/token/renew-self", object{})
	}, []want{dead, dead, dead}},
	{"the entity was deleted", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.target.deleteEntity(d.t, text(d.last.object(), "auth", "entity_id"))
		d.get(token, d.secret())
		d.get(token, "auth/token/lookup-self")
		d.post(token, "auth/token/renew-self", object{})
	}, []want{refused(403, denied), refused(403, denied), refused(403, denied)}},

	{"a quota of two logins in a minute", func(d *dialogue) { d.limited() },
		[]want{granted(200), granted(200), refused(429, `request path "auth/JWT/login": rate limit quota exceeded`)}},
}

// sealedCases are those in which the server is sealed for a while.
var sealedCases = []tableCase{
	{"sealed", func(d *dialogue) {
		token := d.token(d.jwt, "app")
		d.whileSealed(func() {
			d.login(d.jwt, "app", d.good())
			d.login(d.kubernetes, "app", d.good())
			d.login("podtoken-e2e-none", "app", d.good())
			d.get(token, d.secret())
			d.post(token, "auth/token/renew-self", object{})
			d.get(token, "auth/token/lookup-self")
			d.get("hvs.none", d.secret())
			d.get("", "sys/health")
			d.get("", "sys/seal-status")
		})
		d.get(token, d.secret())
		d.post(token, "auth/token/renew-self", object{})
		d.get("", "sys/health")
		d.get("", "sys/seal-status")
	}, []want{
		sealed, sealed, sealed, sealed, sealed, sealed, sealed, granted(503), granted(200),
		granted(200), granted(200), granted(200), granted(200),
	}},
}

var sealed = refused(503, "Vault is sealed")

func in(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// roles are those of the jwt mount.
func (f *fixture) roles() map[string]vaultauthtest.Role {
	app := vaultauthtest.Role{
		BoundAudiences: []string{openbao}, Policies: []string{f.policy},
		TokenTTL: time.Hour, TokenMaxTTL: 2 * time.Hour,
	}
	return variants(app, map[string]func(*vaultauthtest.Role){
		"app":        func(*vaultauthtest.Role) {},
		"noaudience": func(r *vaultauthtest.Role) { r.BoundAudiences, r.BoundSubject = nil, f.app.subject() },
		"subject":    func(r *vaultauthtest.Role) { r.BoundSubject = "system:serviceaccount:other:other" },
		"claims":     func(r *vaultauthtest.Role) { r.BoundClaims = object{"/kubernetes.io/namespace": "other"} },
		"batch":      func(r *vaultauthtest.Role) { r.Batch = true },
		"periodic":   func(r *vaultauthtest.Role) { r.TokenPeriod, r.TokenTTL, r.TokenMaxTTL = time.Hour, 0, 0 },
		"twice":      func(r *vaultauthtest.Role) { r.NumUses = 2 },
		"mute":       func(r *vaultauthtest.Role) { r.NoDefaultPolicy = true },
		"over":       func(r *vaultauthtest.Role) { r.TokenExplicitMaxTTL = 30 * time.Minute },
		"explicit":   func(r *vaultauthtest.Role) { r.TokenExplicitMaxTTL = 90 * time.Minute },
	})
}

// kubernetesRoles are those of the kubernetes mount.
func (f *fixture) kubernetesRoles() map[string]vaultauthtest.Role {
	app := vaultauthtest.Role{
		BoundServiceAccountNames: []string{f.app.name}, BoundServiceAccountNamespaces: []string{f.app.namespace},
		BoundAudiences: []string{openbao}, Policies: []string{f.policy}, TokenTTL: time.Hour, TokenMaxTTL: 2 * time.Hour,
	}
	return variants(app, map[string]func(*vaultauthtest.Role){
		"app":            func(*vaultauthtest.Role) {},
		"anyaudience":    func(r *vaultauthtest.Role) { r.BoundAudiences = nil },
		"othername":      func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = []string{"other"} },
		"othernamespace": func(r *vaultauthtest.Role) { r.BoundServiceAccountNamespaces = []string{"other"} },
	})
}

func variants(base vaultauthtest.Role, changes map[string]func(*vaultauthtest.Role)) map[string]vaultauthtest.Role {
	roles := map[string]vaultauthtest.Role{}
	for name, change := range changes {
		role := base
		change(&role)
		roles[name] = role
	}
	return roles
}

// furnish gives a target what the cases talk about.
func (f *fixture) furnish(t *testing.T, to target) {
	t.Helper()
	to.enable(t, "jwt", f.jwt)
	to.enable(t, "kubernetes", f.kubernetes)
	to.setPolicy(t, f.policy, f.secret(), f.secret()+"/*")
	to.put(t, strings.TrimPrefix(f.secret(), "secret/data/"), object{"user": "app"})
	for name, role := range f.roles() {
		to.setRole(t, f.jwt, name, role)
	}
	for name, role := range f.kubernetesRoles() {
		to.setRole(t, f.kubernetes, name, role)
	}
}

// secret is the path of the one secret that the policy lets the tokens read.
func (f *fixture) secret() string { return fmt.Sprintf("secret/data/%s", f.app.namespace) }
