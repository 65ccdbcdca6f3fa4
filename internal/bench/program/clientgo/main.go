// Command clientgo reads a token as in-cluster clients do.
package main

import "k8s.io/client-go/transport"

func main() { _, _ = transport.NewCachedFileTokenSource("token").Token() }
