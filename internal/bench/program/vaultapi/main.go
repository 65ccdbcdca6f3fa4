// Command vaultapi logs in to Vault with its own method, and renews.
package main

import (
	"context"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"
)

func main() {
	client, _ := api.NewClient(nil)
	method, _ := kubernetes.NewKubernetesAuth("web")
	secret, _ := client.Auth().Login(context.Background(), method)
	watcher, _ := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret})
	watcher.Start()
}
