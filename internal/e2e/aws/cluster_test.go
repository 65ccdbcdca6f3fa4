//go:build linux

package aws

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// kubernetesModule is where the versions of the API server and etcd are pinned.
const kubernetesModule = "../kubernetes"

// namespace is where the service accounts are.
const namespace = "web"

type object = map[string]any

// A cluster is a real API server with two service accounts.
type cluster struct {
	*bed.APIServer
	admin *http.Client

	// issuer is the fake's, whose key the API server accepts and publishes
	// beside its own, so that one token can be shown to a real STS and to the
	// fake.
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
	c.issuer.AllowShort = true // expired ones are waited for
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
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	c.admin = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return c, c.prepare(context.Background())
}

// prepare makes the service accounts, and lets everybody see the API server's
// keys, as a cluster with IRSA does.
func (c *cluster) prepare(ctx context.Context) error {
	named := func(name string) object { return object{"metadata": object{"name": name}} }
	keys := named("keys")
	keys["roleRef"] = object{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:service-account-issuer-discovery",
	}
	keys["subjects"] = []object{{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated",
	}}
	for _, o := range []struct {
		path string
		body object
	}{
		{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", keys},
		{"/api/v1/namespaces", named(namespace)},
		{"/api/v1/namespaces/" + namespace + "/serviceaccounts", named("app")},
		{"/api/v1/namespaces/" + namespace + "/serviceaccounts", named("other")},
	} {
		if _, err := c.post(ctx, o.path, o.body); err != nil {
			return err
		}
	}
	return nil
}

// post asks the API server as its administrator.
func (c *cluster) post(ctx context.Context, path string, body any) (object, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Admin)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.admin.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("POST %s: %s: %s", path, resp.Status, text)
	}
	var made object
	return made, json.Unmarshal(text, &made)
}

// subject is the sub claim of a service account's tokens.
func subject(account string) string { return "system:serviceaccount:" + namespace + ":" + account }

// request asks the API server for a token with TokenRequest, for ten minutes,
// which is its minimum.
func (c *cluster) request(ctx context.Context, account, audience string) (string, error) {
	made, err := c.post(ctx, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		object{"spec": object{"audiences": []string{audience}, "expirationSeconds": 600}})
	if err != nil {
		return "", err
	}
	status, _ := made["status"].(object)
	token, _ := status["token"].(string)
	if token == "" {
		return "", fmt.Errorf("the API server's answer to a TokenRequest has no token")
	}
	return token, nil
}

// short is a token of the account "app" with a lifetime that TokenRequest does
// not grant: a real one, signed once more with the API server's key. A
// negative lifetime makes an expired one.
func (c *cluster) short(ctx context.Context, lifetime time.Duration) (string, error) {
	token, err := c.request(ctx, "app", awspodidtest.STSAudience)
	if err != nil {
		return "", err
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		return "", err
	}
	issued := time.Now().Truncate(time.Second)
	expiry := issued.Add(lifetime)
	if lifetime < 0 {
		issued = expiry.Add(-10 * time.Minute)
	}
	claims["iat"], claims["nbf"], claims["exp"] = issued.Unix(), issued.Unix(), expiry.Unix()
	again := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	again.Header = parsed.Header
	return again.SignedString(c.SigningKey)
}

// publicKeys is what an issuer publishes, as PEM: the form in which the API
// server takes them.
func publicKeys(issuer *tokenfiletest.Issuer) (string, error) {
	published := httptest.NewRecorder()
	issuer.ServeHTTP(published, httptest.NewRequest(http.MethodGet, tokenfiletest.JWKSPath, nil))
	var set struct{ Keys []struct{ N, E string } }
	if err := json.Unmarshal(published.Body.Bytes(), &set); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, key := range set.Keys {
		n, err := base64.RawURLEncoding.DecodeString(key.N)
		if err != nil {
			return "", err
		}
		e, err := base64.RawURLEncoding.DecodeString(key.E)
		if err != nil {
			return "", err
		}
		der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())})
		if err != nil {
			return "", err
		}
		if err := pem.Encode(&all, &pem.Block{Type: "PUBLIC KEY", Bytes: der}); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}
