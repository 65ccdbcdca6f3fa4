// Command baoauth stays logged in to OpenBao.
package main

import (
	"context"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
)

func main() {
	source := &tokenfile.Source{Path: "token", Audience: "openbao"}
	session, _ := baoauth.NewSession(nil, &baoauth.Method{Role: "web", Source: source})
	_ = session.Run(context.Background())
}
