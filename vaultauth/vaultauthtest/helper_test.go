package vaultauthtest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// object is a JSON object.
type object = map[string]any

var products = []vaultauthtest.Product{vaultauthtest.OpenBao, vaultauthtest.Vault}

// eachProduct runs a test for both.
func eachProduct(t *testing.T, test func(t *testing.T, p vaultauthtest.Product)) {
	t.Helper()
	for _, p := range products {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

// fake is a server with an auth method of each type and a secret.
type fake struct {
	*vaultauthtest.Server
	t      *testing.T
	issuer *tokenfiletest.Issuer
}

// hour is the role of the same name at both mounts.
func hour() vaultauthtest.Role {
	return vaultauthtest.Role{
		BoundAudiences:                []string{"openbao"},
		BoundServiceAccountNames:      []string{"web"},
		BoundServiceAccountNamespaces: []string{"shop"},
		TokenTTL:                      time.Hour,
		TokenMaxTTL:                   3 * time.Hour,
		Policies:                      []string{"web"},
	}
}

// variant is the role hour with a change.
func variant(change func(*vaultauthtest.Role)) vaultauthtest.Role {
	r := hour()
	change(&r)
	return r
}

func newFake(t *testing.T, p vaultauthtest.Product) *fake {
	t.Helper()
	issuer := &tokenfiletest.Issuer{}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	f := &fake{vaultauthtest.New(issuer), t, issuer}
	f.Product = p
	f.Enable("jwt", vaultauthtest.Mount{Type: "jwt", BoundIssuer: tokenfiletest.DefaultIssuer})
	f.Enable("kubernetes", vaultauthtest.Mount{Type: "kubernetes"})
	f.SetRole("jwt", "hour", hour())
	f.SetRole("kubernetes", "hour", hour())
	f.SetPolicy("web", "secret/data/web/*")
	f.Put("web/database", object{"password": "swordfish"})
	return f
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	errors string // joined
	body   object
}

// auth is the part on the token.
func (r reply) auth() object {
	auth, _ := r.body["auth"].(object)
	return auth
}

func (r reply) token() string {
	text, _ := r.auth()["client_token"].(string)
	return text
}

// lease is in seconds.
func (r reply) lease() int {
	seconds, _ := r.auth()["lease_duration"].(float64)
	return int(seconds)
}

// try sends a request over the Transport. The body is sent as it is if it is
// a string, and else as JSON.
func (f *fake) try(token, method, path string, body any, header http.Header) (reply, error) {
	f.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		data, err := json.Marshal(body)
		require.NoError(f.t, err)
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(f.t.Context(), method, "http://server.test/v1/"+path, reader)
	require.NoError(f.t, err)
	maps.Copy(request.Header, header)
	if token != "" {
		request.Header.Set("X-Vault-Token", token)
	}
	response, err := (&http.Client{Transport: f.Transport()}).Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	r := reply{status: response.StatusCode, header: response.Header}
	if len(data) > 0 {
		require.NoError(f.t, json.Unmarshal(data, &r.body))
	}
	var texts []string
	list, _ := r.body["errors"].([]any)
	for _, text := range list {
		texts = append(texts, text.(string))
	}
	r.errors = strings.Join(texts, "; ")
	return r, nil
}

func (f *fake) ask(token, method, path string, body any) reply {
	f.t.Helper()
	r, err := f.try(token, method, path, body, nil)
	require.NoError(f.t, err)
	return r
}

func (f *fake) login(mount, role, jwt string) reply {
	f.t.Helper()
	return f.ask("", http.MethodPut, "auth/"+mount+"/login", object{"role": role, "jwt": jwt})
}

// granted logs in with a good token and must succeed.
func (f *fake) granted(mount, role string) reply {
	f.t.Helper()
	r := f.login(mount, role, f.jwt(nil))
	require.Equal(f.t, http.StatusOK, r.status, r.errors)
	return r
}

func (f *fake) read(token string) reply {
	f.t.Helper()
	return f.ask(token, http.MethodGet, "secret/data/web/database", nil)
}

func (f *fake) renew(token string) reply {
	f.t.Helper()
	return f.ask(token, http.MethodPut, "auth/token/renew-self", object{})
}

func (f *fake) lookup(token string) reply {
	f.t.Helper()
	return f.ask(token, http.MethodGet, "auth/token/lookup-self", nil)
}

// claims are those of a pod's token, with a change. A nil takes a claim away.
func claims(change object) object {
	now := time.Now().Unix()
	c := object{
		"aud": []string{"openbao"},
		"iss": tokenfiletest.DefaultIssuer,
		"sub": "system:serviceaccount:shop:web",
		"iat": now, "nbf": now, "exp": now + 600,
		"kubernetes.io": object{
			"namespace":      "shop",
			"serviceaccount": object{"name": "web", "uid": "0f3f7ca8"},
			"pod":            object{"name": "web-0", "uid": "7b2e90c1"},
		},
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// jwt signs claims with the issuer's key.
func (f *fake) jwt(change object) string {
	f.t.Helper()
	token, err := f.issuer.Sign(claims(change))
	require.NoError(f.t, err)
	return token
}

// forged signs them with another key.
func forged(t *testing.T) string {
	t.Helper()
	other := &tokenfiletest.Issuer{}
	require.NoError(t, other.RotateKey(tokenfiletest.ES256))
	token, err := other.Sign(claims(nil))
	require.NoError(t, err)
	return token
}

// unsigned is what libraries of old took for signed.
func unsigned(t *testing.T) string {
	t.Helper()
	payload, err := json.Marshal(claims(nil))
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
}

// ahead is a time claim.
func ahead(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// The texts of both servers.
const (
	denied    = "permission denied"
	forbidden = "1 error occurred:\n\t* permission denied\n\n"
)

// dead is what a token is told that is none, or none any more.
func dead(p vaultauthtest.Product) string {
	if p == vaultauthtest.OpenBao {
		return denied
	}
	return "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"
}
