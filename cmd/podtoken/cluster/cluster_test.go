package cluster_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/cluster"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// apiServer answers what a test says, and keeps what it was asked.
type apiServer struct {
	status int
	pages  []any // one answer after the other
	asked  []*http.Request
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r)
	page := s.pages[0]
	if len(s.pages) > 1 {
		s.pages = s.pages[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.status)
	_ = json.NewEncoder(w).Encode(page)
}

type object = map[string]any

func refusal(status int, reason, message string) object {
	return object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": message}
}

func names(token string, list ...string) object {
	items := []object{}
	for _, name := range list {
		items = append(items, object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object{"name": name}})
	}
	return object{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": object{"continue": token}, "items": items}
}

// inPod is a client whose API server is the test's, with the pod's token.
func inPod(t *testing.T, s *apiServer) (*cluster.Client, string) {
	t.Helper()
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	t.Setenv("KUBERNETES_SERVICE_HOST", u.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", u.Port())
	root := t.TempDir()
	dir := filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o600))
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	token, err := issuer.Token(tokenfiletest.Request{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600))
	client, err := cluster.New(root)
	require.NoError(t, err)
	return client, token
}

func TestLegacySecrets(t *testing.T) {
	s := &apiServer{status: 200, pages: []any{names("next", "one", "two"), names("", "three")}}
	client, token := inPod(t, s)
	got, err := client.LegacySecrets(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three"}, got)

	require.Len(t, s.asked, 2)
	assert.Equal(t, "/api/v1/namespaces/shop/secrets", s.asked[0].URL.Path)
	assert.Equal(t, "type=kubernetes.io/service-account-token", s.asked[0].URL.Query().Get("fieldSelector"))
	assert.Equal(t, "next", s.asked[1].URL.Query().Get("continue"))
	assert.Contains(t, s.asked[0].Header.Get("Accept"), "as=PartialObjectMetadataList", "a Secret's data is not asked for")
	assert.True(t, s.asked[0].Header.Get("Authorization") == "Bearer "+token)
}

func TestLegacySecretsThatNeverEnd(t *testing.T) {
	page := []string{}
	for range 500 {
		page = append(page, "name")
	}
	s := &apiServer{status: 200, pages: []any{names("next", page...)}}
	client, _ := inPod(t, s)
	got, err := client.LegacySecrets(t.Context(), "shop")
	require.NoError(t, err)
	assert.Len(t, got, 10_000)
}

func TestForbidden(t *testing.T) {
	s := &apiServer{status: 403, pages: []any{refusal(403, "Forbidden", `secrets is forbidden: User "system:serviceaccount:shop:web" cannot list`)}}
	client, _ := inPod(t, s)
	_, err := client.LegacySecrets(t.Context(), "shop")
	require.ErrorIs(t, err, cluster.ErrForbidden)
	assert.Contains(t, err.Error(), "kubectl -n shop get secrets --field-selector type=kubernetes.io/service-account-token")
	assert.Contains(t, err.Error(), `{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}`)

	_, err = client.Pod(t.Context(), "shop", "web-0")
	require.ErrorIs(t, err, cluster.ErrForbidden)
	assert.Contains(t, err.Error(), "kubectl -n shop get pods web-0 -o yaml")
}

func TestAnAPIServerInTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer any
		text   string
	}{
		"the token is refused":   {401, refusal(401, "Unauthorized", "Unauthorized"), "refused the pod's own token"},
		"it fails":               {500, refusal(500, "InternalError", "etcd\nis away"), `could not get pods of namespace shop`},
		"no pod of this name":    {404, refusal(404, "NotFound", "not found"), "could not get pods"},
		"its answer is no pod":   {200, "nonsense", "could not get pods"},
		"its answer is a secret": {200, object{"kind": "Secret", "apiVersion": "v1"}, "could not get pods"},
	} {
		t.Run(name, func(t *testing.T) {
			client, token := inPod(t, &apiServer{status: c.status, pages: []any{c.answer}})
			_, err := client.Pod(t.Context(), "shop", "web-0")
			require.ErrorContains(t, err, c.text)
			assert.NotErrorIs(t, err, cluster.ErrForbidden)
			assert.NotContains(t, err.Error(), "\n")
			assert.False(t, strings.Contains(err.Error(), token), "the token is in the error")
			assert.Less(t, len(err.Error()), 900)
		})
	}
}

func TestWhereThereIsNoAPIServer(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := cluster.New("/")
	require.ErrorIs(t, err, cluster.ErrNotInCluster)

	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	_, err = cluster.New(t.TempDir())
	require.ErrorIs(t, err, cluster.ErrNoToken)
}

func TestDeclared(t *testing.T) {
	const pod = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web-0"}, "spec": {
		"containers": [{"name": "app", "volumeMounts": [
			{"name": "data", "mountPath": "/data"},
			{"name": "token", "mountPath": "/tokens/"},
			{"name": "kube-api-access-x2v4b", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
			{"name": "token", "mountPath": "/frozen", "subPath": "openbao"},
			{"name": "token", "mountPath": "/folder", "subPath": "deep"},
			{"name": "token", "mountPath": "/var/run/secrets/tokens"},
			{"name": "token", "mountPath": "/same"}, {"name": "token", "mountPath": "/other"}]},
			{"name": "proxy", "volumeMounts": [
				{"name": "token", "mountPath": "/same"}, {"name": "proxy", "mountPath": "/other"}]}],
		"initContainers": [{"name": "init", "volumeMounts": [{"name": "token", "mountPath": "/early"}]}],
		"volumes": [
			{"name": "data", "emptyDir": {}},
			{"name": "proxy", "projected": {"sources": [{"serviceAccountToken": {"audience": "openbao", "expirationSeconds": 7200, "path": "openbao"}}]}},
			{"name": "kube-api-access-x2v4b", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]}},
			{"name": "token", "projected": {"sources": [
				{"configMap": {"name": "ca"}},
				{"serviceAccountToken": {"audience": "openbao", "expirationSeconds": 600, "path": "openbao"}},
				{"serviceAccountToken": {"audience": "sts", "path": "deep/sts"}},
				{"serviceAccountToken": {"path": "api"}}]}}]}}`
	client, _ := inPod(t, &apiServer{status: 200, pages: []any{json.RawMessage(pod)}})
	got, err := client.Pod(t.Context(), "shop", "web-0")
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/tokens/openbao":   `{"Audience":"openbao","Lifetime":600000000000,"SubPath":false}`,
		"/tokens//deep/sts": `{"Audience":"sts","Lifetime":3600000000000,"SubPath":false}`,
		"/tokens/api":       `{"Audience":"","Lifetime":3600000000000,"SubPath":false}`,
		"/early/openbao":    `{"Audience":"openbao","Lifetime":600000000000,"SubPath":false}`,
		"/frozen":           `{"Audience":"openbao","Lifetime":600000000000,"SubPath":true}`,
		"/folder/sts":       `{"Audience":"sts","Lifetime":3600000000000,"SubPath":true}`,
		"/var/run/secrets/kubernetes.io/serviceaccount/token": `{"Audience":"","Lifetime":3607000000000,"SubPath":false,"Injected":true}`,
		"/var/run/secrets/tokens/openbao":                     `{"Audience":"openbao","Lifetime":600000000000,"SubPath":false}`,
		"/run/secrets/tokens/openbao":                         `{"Audience":"openbao","Lifetime":600000000000,"SubPath":false}`,
		"/same/openbao":                                       `{"Audience":"openbao","Lifetime":600000000000,"SubPath":false}`,
		"/other/openbao":                                      "",
		"/tokens/other":                                       "",
		"/tokens":                                             "",
		"/tokensopenbao":                                      "",
		"/data/openbao":                                       "",
	} {
		p, ok := cluster.Declared(got, path)
		assert.Equal(t, want != "", ok, path)
		if ok {
			text, err := json.Marshal(p)
			require.NoError(t, err)
			assert.Equal(t, want, string(text), path)
		}
	}
}
