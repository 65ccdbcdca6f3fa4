// Command tokenfile reads a token, and watches it.
package main

import (
	"context"

	"github.com/podtoken/podtoken/tokenfile"
)

func main() {
	source := &tokenfile.Source{Path: "token", Audience: "openbao"}
	_, _ = source.Token(context.Background())
	for range source.Watch(context.Background()) {
		return
	}
}
