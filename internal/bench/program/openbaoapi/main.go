// Command openbaoapi logs in to OpenBao by hand, and renews.
package main

import (
	"os"

	"github.com/openbao/openbao/api/v2"
)

func main() {
	client, _ := api.NewClient(nil)
	token, _ := os.ReadFile("token")
	secret, _ := client.Logical().Write("auth/kubernetes/login", map[string]any{"role": "web", "jwt": string(token)})
	watcher, _ := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret})
	watcher.Start()
}
