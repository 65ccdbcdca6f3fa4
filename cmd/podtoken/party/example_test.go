package party_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func ExampleHTTP() {
	payments := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := newIssuer().Verify(bearer, "payments"); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer payments.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, audience := range []string{"payments", "billing"} {
		volume, err := tokenfiletest.NewVolume(dir)
		if err != nil {
			panic(err)
		}
		token, err := newIssuer().Token(tokenfiletest.Request{Audiences: []string{audience}})
		if err != nil {
			panic(err)
		}
		if err := volume.Write(token); err != nil {
			panic(err)
		}
		p, err := party.HTTP(party.HTTPOptions{URL: payments.URL + "/whoami", Path: volume.Path()})
		if err != nil {
			panic(err)
		}
		fmt.Printf("a token for %s is %s\n", audience, party.Judge(p.Login(context.Background())))
	}
	// Output:
	// a token for payments is accepted
	// a token for billing is rejected
}
