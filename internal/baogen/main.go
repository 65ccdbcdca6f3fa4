// Command baogen writes module baoauth, tests included, from module vaultauth:
//
//	go run ./internal/baogen        from the root of the repository
//
// Run it after each change of vaultauth; its own test fails until then. What
// the two modules have different is the table in this file. A comment that
// names both products holds in both modules; one that is about the module's own
// says "the client", or the words of the table.
//
// # Why it is generated
//
// The other way is one core on an interface that both clients satisfy. Of
// Vault's client, v1.23.0, vaultauth calls 13 methods. Nine have one signature
// in OpenBao's, v2.7.1, too. Four, and AuthMethod's Login, have types of the
// library in theirs: Clone and WithNamespace return *Client, NewRequest a
// *Request, RawRequestWithContext a *Response. An interface needs a type
// parameter for each of these, and for the 17 fields of 6 structs that are read
// or set an accessor; 3 functions come as values. Session.Client and the
// parameters of Do, OnLogin and Login are the client's types, so users would
// read aliases of generic types, or a second set of types around the core. The
// core itself would be a third published module: what is internal has no
// releases, and the root module no such dependencies. Its tests prove one client
// only. The text, in turn, compiles with either client: of 1,834 lines (31 name
// the library) none needs another change than the import's path.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// The folders that are read and written.
const (
	source = "vaultauth"
	target = "baoauth"
)

// table is all that differs between the two modules.
var table = []pair{
	{"vaultauth", "baoauth"}, // packages, their paths, and the first word of errors
	{"github.com/hashicorp/vault/api", "github.com/openbao/openbao/api/v2"},
	{"Vault's Go client", "OpenBao's own client"},
	{"CloneTLSConfig", "DisableEnvironment"}, // what one has and CloneConfig leaves out
	{"defaultProduct = Vault", "defaultProduct = OpenBao"},
	{"//lint:ignore SA1019 see above", "// deprecated in Vault's client only"},
}

func main() {
	if err := run(".", table); err != nil {
		fmt.Fprintln(os.Stderr, "baogen:", err)
		os.Exit(1)
	}
}

// run makes the target's files what they should be; if that cannot be said, none changes.
func run(root string, pairs []pair) error {
	changes, err := plan(os.DirFS(root), pairs)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.make(root); err != nil {
			return err
		}
		fmt.Println(c)
	}
	return nil
}

func (c change) make(root string) error {
	name := filepath.Join(root, filepath.FromSlash(c.name))
	if c.text == nil {
		return os.Remove(name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, c.text, 0o644)
}
