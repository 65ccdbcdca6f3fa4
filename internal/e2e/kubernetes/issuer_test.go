//go:build linux

package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// The fake issuer is worth something only if its tokens have the shape of the
// real ones: the names and the JSON types of the header and the claims.
func TestTheFakeIssuersTokensHaveTheRealShape(t *testing.T) {
	app := newAccount(t)
	pod := app.pod(t)
	fake, err := tokenfiletest.NewIssuer(apiAudience)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		real authv1.TokenRequestSpec
		fake tokenfiletest.Request
	}{
		"bound to nothing": {
			projected(),
			tokenfiletest.Request{Audiences: []string{openbao}, Lifetime: 10 * time.Minute},
		},
		"bound to a pod": {
			boundTo(pod, projected()),
			tokenfiletest.Request{Audiences: []string{openbao}, Lifetime: 10 * time.Minute, Pod: pod.Name, Node: nodeName},
		},
		"injected, and so extended": {
			boundTo(pod, injected()),
			tokenfiletest.Request{Lifetime: 3607 * time.Second, Pod: pod.Name, Node: nodeName},
		},
		"of the injected lifetime, but bound to nothing": {
			injected(),
			tokenfiletest.Request{Lifetime: 3607 * time.Second},
		},
		"of the injected lifetime, but for somebody else too": {
			boundTo(pod, both(injected())),
			tokenfiletest.Request{
				Audiences: []string{apiAudience, openbao}, Lifetime: 3607 * time.Second, Pod: pod.Name, Node: nodeName,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.fake.Namespace, c.fake.ServiceAccount = app.namespace, app.name
			token, err := fake.Token(c.fake)
			require.NoError(t, err)
			want, got := decode(t, app.token(t, c.real)), decode(t, token)
			assert.Equal(t, shape(want.header), shape(got.header))
			assert.Equal(t, shape(want.claims), shape(got.claims))
			assert.Equal(t, stable(want), stable(got))
		})
	}
}

// both asks for the API server's audience and another one.
func both(spec authv1.TokenRequestSpec) authv1.TokenRequestSpec {
	spec.Audiences = []string{apiAudience, openbao}
	return spec
}

func TestTheFakeIssuerRefusesTheSameLifetimeInTheSameWords(t *testing.T) {
	app := newAccount(t)
	fake, err := tokenfiletest.NewIssuer(apiAudience)
	require.NoError(t, err)
	spec := projected()
	*spec.ExpirationSeconds = 599

	_, real := app.request(t.Context(), spec)
	_, got := fake.Token(tokenfiletest.Request{Audiences: []string{openbao}, Lifetime: 599 * time.Second})
	require.Error(t, real)
	require.Error(t, got)
	words := `spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`
	assert.ErrorContains(t, real, words)
	assert.ErrorContains(t, got, words)
}

// A relying party that runs discovery against the fake meets what it would
// meet at the API server.
func TestTheFakeIssuerPublishesItsKeysLikeTheRealOne(t *testing.T) {
	server := requireAPIServer(t)
	fake, err := tokenfiletest.NewIssuer(apiAudience)
	require.NoError(t, err)
	for _, path := range []string{tokenfiletest.DiscoveryPath, tokenfiletest.JWKSPath} {
		t.Run(path, func(t *testing.T) {
			real := server.get(t, path)
			answer := httptest.NewRecorder()
			fake.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			require.Equal(t, http.StatusOK, answer.Code)
			assert.Equal(t, shape(object(t, real)), shape(object(t, answer.Body.Bytes())))
		})
	}
}

// get is what the API server has at path.
func (s *apiServer) get(t *testing.T, path string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	body, err := s.admin.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
	require.NoError(t, err)
	return body
}

// decoded is what a token says.
type decoded struct{ header, claims map[string]any }

func decode(t *testing.T, token string) decoded {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	part := func(i int) map[string]any {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		require.NoError(t, err)
		return object(t, text)
	}
	return decoded{part(0), part(1)}
}

func object(t *testing.T, text []byte) (o map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// shape gives for each path in a JSON value the type that is there.
func shape(value any) map[string]string {
	types := map[string]string{}
	addShape(types, "", value)
	return types
}

func addShape(types map[string]string, path string, value any) {
	types[path] = fmt.Sprintf("%T", value)
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			addShape(types, path+"/"+name, v)
		}
	case []any:
		for _, v := range value {
			addShape(types, path+"/*", v)
		}
	}
}

// stable is what two tokens for the same request have in common: what is left
// without the random and the current, and with times as durations.
func stable(d decoded) map[string]any {
	c := d.claims
	iat, _ := c["iat"].(float64)
	since := func(time any) any {
		if t, ok := time.(float64); ok {
			return t - iat
		}
		return time
	}
	k, _ := c["kubernetes.io"].(map[string]any)
	return map[string]any{
		"alg": d.header["alg"],
		"aud": c["aud"],
		"iss": c["iss"],
		"sub": c["sub"],
		"exp": since(c["exp"]),
		"nbf": since(c["nbf"]),

		"namespace":      k["namespace"],
		"serviceaccount": nameOf(k["serviceaccount"]),
		"pod":            nameOf(k["pod"]),
		"node":           nameOf(k["node"]),
		"warnafter":      since(k["warnafter"]),
	}
}

// nameOf is the name in a reference to an object, whose UID differs.
func nameOf(reference any) any {
	r, _ := reference.(map[string]any)
	return r["name"]
}
