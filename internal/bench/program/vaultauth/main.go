// Command vaultauth stays logged in to Vault.
package main

import (
	"context"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

func main() {
	source := &tokenfile.Source{Path: "token", Audience: "openbao"}
	session, _ := vaultauth.NewSession(nil, &vaultauth.Method{Role: "web", Source: source})
	_ = session.Run(context.Background())
}
