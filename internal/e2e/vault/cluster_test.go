//go:build linux

package vault

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// kubernetesModule is where the versions of the API server and etcd are pinned.
const kubernetesModule = "../kubernetes"

// openbao is the audience of the server under test, whichever that is.
const openbao = "openbao"

// A cluster is a real API server with what a login server needs there.
type cluster struct {
	*bed.APIServer
	ca       string // its certificate authority, PEM
	reviewer string // the token of an account that may review tokens
	admin    *http.Client

	// issuer is the fake's, whose key the API server accepts beside its own,
	// so that one token can be shown to a real server and to the fake.
	issuer *tokenfiletest.Issuer
}

// startedCluster is the one that all tests share.
var startedCluster = sync.OnceValues(startCluster)

func requireCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := startedCluster()
	require.NoError(t, err)
	c.Process.ShowIfFailed(t)
	return c
}

func startCluster() (*cluster, error) {
	dir, err := folder("apiserver")
	if err != nil {
		return nil, err
	}
	c := &cluster{}
	if c.issuer, err = tokenfiletest.NewIssuer(bed.APIAudience); err != nil {
		return nil, err
	}
	keys, err := publicKeys(c.issuer)
	if err != nil {
		return nil, err
	}
	keyFile := filepath.Join(dir, "issuer.pub")
	if err := os.WriteFile(keyFile, []byte(keys), 0o600); err != nil {
		return nil, err
	}
	if c.APIServer, err = bed.StartAPIServer(kubernetesModule, dir, keyFile); err != nil {
		return nil, err
	}
	certificate, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	c.ca = string(certificate)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	c.admin = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return c, c.prepare(context.Background())
}

// prepare makes the reviewer, as the documentation of the kubernetes auth
// method has it, lets everybody see the API server's keys, as that of the jwt
// method has it, and makes the node that pods are bound to.
func (c *cluster) prepare(ctx context.Context) error {
	for path, o := range map[string]object{
		"/api/v1/namespaces": named("vault"),
		"/api/v1/nodes":      named(bed.NodeName),
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": binding("reviewer", "system:auth-delegator",
			object{"kind": "ServiceAccount", "name": "vault", "namespace": "vault"}),
	} {
		if _, err := c.do(ctx, http.MethodPost, path, o); err != nil {
			return err
		}
	}
	if _, err := c.do(ctx, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		binding("keys", "system:service-account-issuer-discovery", object{
			"kind": "Group", "name": "system:unauthenticated", "apiGroup": "rbac.authorization.k8s.io",
		})); err != nil {
		return err
	}
	if _, err := c.do(ctx, http.MethodPost, "/api/v1/namespaces/vault/serviceaccounts", named("vault")); err != nil {
		return err
	}
	reviewer := &account{cluster: c, namespace: "vault", name: "vault"}
	var err error
	c.reviewer, err = reviewer.request(ctx, object{"expirationSeconds": 3600})
	return err
}

func named(name string) object { return object{"metadata": object{"name": name}} }

func binding(name, role string, subject object) object {
	o := named(name)
	o["roleRef"] = object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
	o["subjects"] = []object{subject}
	return o
}

// do asks the API server as its administrator.
func (c *cluster) do(ctx context.Context, method, path string, body any) (object, error) {
	a, err := call(ctx, c.admin, http.Header{"Authorization": {"Bearer " + c.Admin}}, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	if err := a.failure(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a.object(), nil
}

// must is do for what cannot fail in a test.
func (c *cluster) must(t *testing.T, method, path string, body any) object {
	t.Helper()
	o, err := c.do(t.Context(), method, path, body)
	require.NoError(t, err)
	return o
}

// An account is a service account in a namespace of its own.
type account struct {
	*cluster
	namespace string
	name      string
	uid       string
}

func newAccount(t *testing.T) *account {
	t.Helper()
	c := requireCluster(t)
	a := &account{cluster: c, namespace: "e2e-" + strings.ToLower(rand.Text()[:8]), name: "app"}
	c.must(t, http.MethodPost, "/api/v1/namespaces", named(a.namespace))
	made := c.must(t, http.MethodPost, "/api/v1/namespaces/"+a.namespace+"/serviceaccounts", named(a.name))
	a.uid = text(made, "metadata", "uid")
	return a
}

func (a *account) subject() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// request asks the API server for a token with TokenRequest.
func (a *account) request(ctx context.Context, spec object) (string, error) {
	path := "/api/v1/namespaces/" + a.namespace + "/serviceaccounts/" + a.name + "/token"
	o, err := a.do(ctx, http.MethodPost, path, object{"spec": spec})
	return text(o, "status", "token"), err
}

// token is a token that the API server issued for the given audience.
func (a *account) token(t *testing.T, audience string) string {
	t.Helper()
	token, err := a.request(t.Context(), projected(audience))
	require.NoError(t, err)
	return token
}

func projected(audience string) object {
	return object{"audiences": []string{audience}, "expirationSeconds": 600}
}

// pod makes a pod of the account, to which tokens can be bound, and returns its
// UID. No kubelet runs it.
func (a *account) pod(t *testing.T, name string) (uid string) {
	t.Helper()
	o := named(name)
	o["spec"] = object{
		"serviceAccountName":           a.name,
		"automountServiceAccountToken": false,
		"nodeName":                     bed.NodeName,
		"containers":                   []object{{"name": "app", "image": "app"}},
	}
	made := a.must(t, http.MethodPost, "/api/v1/namespaces/"+a.namespace+"/pods", o)
	return text(made, "metadata", "uid")
}

// boundToken is a token that dies with a pod.
func (a *account) boundToken(t *testing.T, pod, uid string) string {
	t.Helper()
	spec := projected(openbao)
	spec["boundObjectRef"] = object{"kind": "Pod", "apiVersion": "v1", "name": pod, "uid": uid}
	token, err := a.request(t.Context(), spec)
	require.NoError(t, err)
	return token
}

// deletePod deletes a pod without a grace period.
func (a *account) deletePod(t *testing.T, pod string) {
	t.Helper()
	a.must(t, http.MethodDelete, "/api/v1/namespaces/"+a.namespace+"/pods/"+pod, object{"gracePeriodSeconds": 0})
}

// short is a token that the API server accepts as its own, with a lifetime for
// which TokenRequest has a minimum of ten minutes: a real one, signed once more
// with the API server's key. A negative lifetime makes an expired one.
func (a *account) short(ctx context.Context, lifetime time.Duration) (string, error) {
	token, err := a.request(ctx, projected(openbao))
	if err != nil {
		return "", err
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		return "", err
	}
	iat := time.Now().Truncate(time.Second)
	expiry := iat.Add(lifetime)
	if lifetime < 0 {
		iat = expiry.Add(-10 * time.Minute)
	}
	claims["iat"], claims["nbf"], claims["exp"] = iat.Unix(), iat.Unix(), expiry.Unix()
	again := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	again.Header = parsed.Header
	return again.SignedString(a.SigningKey)
}

// signingKeys is the API server's public key, PEM.
func (c *cluster) signingKeys(t *testing.T) string {
	t.Helper()
	key, err := publicPEM(&c.SigningKey.PublicKey)
	require.NoError(t, err)
	return key
}

func publicPEM(key any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), err
}
