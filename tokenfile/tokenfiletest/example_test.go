package tokenfiletest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A Volume by itself: what a program sees of a rotation, and of a mishap.
func ExampleVolume() {
	dir, _ := os.MkdirTemp("", "tokens")
	defer os.RemoveAll(dir)
	volume, err := tokenfiletest.NewVolume(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func() {
		data, err := os.ReadFile(volume.Path())
		fmt.Printf("%q %t\n", data, errors.Is(err, os.ErrNotExist))
	}
	volume.Write("first")
	show()
	volume.Write("second")
	show()
	link, _ := os.Readlink(volume.Path())
	fmt.Println("token ->", link)

	finish, _ := volume.WriteTorn([]byte("third"), 2)
	show()
	finish()
	show()
	volume.Dangle()
	show()
	volume.Write("fourth")
	show()
	// Output:
	// "first" false
	// "second" false
	// token -> ..data/token
	// "th" false
	// "third" false
	// "" true
	// "fourth" false
}

// A relying party that runs OpenID Connect discovery needs an issuer at the
// server's own URL, which is known before the server starts.
func ExampleIssuer_ServeHTTP() {
	server := httptest.NewUnstartedServer(nil)
	issuer, err := tokenfiletest.NewIssuer("http://" + server.Listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	server.Config.Handler = issuer
	server.Start()
	defer server.Close()

	response, err := http.Get(issuer.URL + tokenfiletest.DiscoveryPath)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	var document map[string]any
	json.NewDecoder(response.Body).Decode(&document)
	fmt.Println(document["issuer"] == issuer.URL)
	fmt.Println(document["jwks_uri"] == issuer.URL+tokenfiletest.JWKSPath)
	fmt.Println(document["id_token_signing_alg_values_supported"])
	// Output:
	// true
	// true
	// [RS256]
}

// Tokens that a real API server never issues come from Sign.
func ExampleIssuer_Sign() {
	issuer, err := tokenfiletest.NewIssuer("")
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := issuer.Sign(map[string]any{
		"iss": issuer.URL,
		"aud": "openbao",
		"exp": time.Now().Add(-time.Minute).Unix(),
	})
	_, err = issuer.Verify(token, "openbao")
	fmt.Println(errors.Is(err, jwt.ErrTokenExpired))
	fmt.Println(err)
	// Output:
	// true
	// tokenfiletest: refused: token is expired
}

// A kubelet that hangs leaves the token in its place beyond its expiry. The
// program should say so rather than send it.
func ExampleKubelet_Stall() {
	// A test passes its own t; an Example has none.
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "tokens")
		defer os.RemoveAll(dir)
		issuer := &tokenfiletest.Issuer{}
		issuer.RotateKey(tokenfiletest.ES256)
		volume, _ := tokenfiletest.NewVolume(dir)
		kubelet := &tokenfiletest.Kubelet{
			Issuer:  issuer,
			Volume:  volume,
			Request: tokenfiletest.Request{Audiences: []string{"openbao"}},
		}
		kubelet.Rotate()
		go kubelet.Run(t.Context())
		source := &tokenfile.Source{Path: volume.Path(), Audience: "openbao"}

		kubelet.Stall(true)
		time.Sleep(time.Hour)
		_, err := source.Token(context.Background())
		var expired *tokenfile.ExpiredError
		fmt.Println("expired:", errors.As(err, &expired))

		kubelet.Stall(false)
		time.Sleep(90 * time.Second)
		_, err = source.Token(context.Background())
		fmt.Println("recovered:", err == nil)
	})
	// Output:
	// expired: true
	// recovered: true
}
