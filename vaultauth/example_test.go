package vaultauth_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A program stays logged in for a week: the kubelet replaces its token every
// 48 minutes, each login is good for an hour, and one night the server is down.
func Example() {
	// A test passes its own t; an Example has none.
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "tokens")
		defer os.RemoveAll(dir)
		server, path := pod(t.Context(), dir)

		config := api.DefaultConfig() // a program passes nil to NewSession
		config.HttpClient = &http.Client{Transport: server.Transport()}
		session, err := vaultauth.NewSession(config, &vaultauth.Method{
			Role:   "web",
			Source: &tokenfile.Source{Path: path, Audience: "openbao"},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := session.Login(ctx); err != nil {
			fmt.Println(err)
			return
		}
		ended := make(chan error)
		go func() { ended <- session.Run(ctx) }()

		refused := 0
		for i := range 7 * 24 * 60 { // minutes
			server.SetDown(i/60 >= 100 && i/60 < 108)
			if _, err := session.Client.KVv2("secret").Get(ctx, "web"); err != nil {
				refused++
			}
			time.Sleep(time.Minute) // takes no time here
		}
		stop()
		fmt.Println(<-ended)
		fmt.Println("refused within the 480 minutes without a server and the three after:", refused >= 480 && refused <= 483)
	})
	// Output:
	// context canceled
	// refused within the 480 minutes without a server and the three after: true
}

// A login that cannot succeed says why, and what to change.
func ExampleLoginError() {
	err := error(&vaultauth.LoginError{
		Mount: "kubernetes", Role: "web", Reason: vaultauth.NotBound,
		Audience: []string{"openbao"}, Subject: "system:serviceaccount:shop:default",
		Err: &api.ResponseError{StatusCode: 403, Errors: []string{"service account name not authorized"}},
	})
	fmt.Println(err)
	// Output:
	// vaultauth: login as role "web" at auth/kubernetes: the server answered 403 "service account name not authorized"; the token that was sent claims aud ["openbao"], sub "system:serviceaccount:shop:default"; auth/kubernetes/role/web is for other pods: compare its bound_service_account_names and bound_service_account_namespaces (kubernetes), bound_subject and bound_claims (jwt) with sub; if they are right, the pod runs under the wrong service account; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#login-not-bound
}

// pod is what a pod has: a token file that the kubelet looks after, and a
// server that lets its service account in.
func pod(ctx context.Context, dir string) (*vaultauthtest.Server, string) {
	issuer := new(tokenfiletest.Issuer)
	issuer.RotateKey(tokenfiletest.ES256)
	volume, _ := tokenfiletest.NewVolume(dir)
	kubelet := &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: tokenfiletest.Request{
		Audiences: []string{"openbao"}, Namespace: "shop", ServiceAccount: "web",
	}}
	kubelet.Rotate()
	go kubelet.Run(ctx)

	server := vaultauthtest.New(issuer)
	server.Enable("kubernetes", vaultauthtest.Mount{})
	server.SetRole("kubernetes", "web", vaultauthtest.Role{
		BoundServiceAccountNames: []string{"web"}, BoundServiceAccountNamespaces: []string{"shop"},
		BoundAudiences: []string{"openbao"}, TokenTTL: time.Hour, TokenMaxTTL: 24 * time.Hour, Policies: []string{"web"},
	})
	server.SetPolicy("web", "secret/data/web")
	server.Put("web", map[string]any{"colour": "blue"})
	return server, volume.Path()
}
