package vaultauthtest_test

import (
	"fmt"
	"net/http"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A client logs in with a service-account token and reads a secret. There is
// no network between it and the server.
func Example() {
	issuer := &tokenfiletest.Issuer{}
	issuer.RotateKey(tokenfiletest.ES256)

	server := vaultauthtest.New(issuer)
	server.Enable("jwt", vaultauthtest.Mount{Type: "jwt"})
	server.SetRole("jwt", "web", vaultauthtest.Role{
		BoundAudiences: []string{"openbao"},
		BoundSubject:   "system:serviceaccount:shop:web",
		Policies:       []string{"web"},
	})
	server.SetPolicy("web", "secret/data/web/*")
	server.Put("web/database", map[string]any{"password": "swordfish"})

	config := api.DefaultConfig()
	config.HttpClient = &http.Client{Transport: server.Transport()}
	client, err := api.NewClient(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	jwt, _ := issuer.Token(tokenfiletest.Request{
		Audiences: []string{"openbao"}, Namespace: "shop", ServiceAccount: "web",
	})
	login, err := client.Logical().Write("auth/jwt/login", map[string]any{"role": "web", "jwt": jwt})
	if err != nil {
		fmt.Println(err)
		return
	}
	client.SetToken(login.Auth.ClientToken)
	secret, err := client.Logical().Read("secret/data/web/database")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(login.Auth.Policies, login.Auth.LeaseDuration, login.Auth.Renewable)
	fmt.Println(secret.Data["data"])

	_, err = client.Logical().Read("secret/data/other")
	fmt.Println(err.(*api.ResponseError).StatusCode)
	for _, r := range server.Requests() {
		fmt.Println(r.Method, r.Path, r.Status)
	}
	// Output:
	// [default web] 2764800 true
	// map[password:swordfish]
	// 403
	// PUT auth/jwt/login 200
	// GET secret/data/web/database 200
	// GET secret/data/other 403
}
