// Command vault-kv logs a pod in to Vault, reads one secret, and stays logged
// in. The ten lines that it takes are at the beginning of run, and the same
// with OpenBao's client: import podtoken's baoauth in place of vaultauth.
//
//	go run ./examples/vault-kv
//
// Unless VAULT_ADDR is set, server and kubelet are embedded, and it ends after
// a quarter of a minute. With VAULT_ADDR and the other variables of Vault's
// client it logs in as role "web" of auth/kubernetes with the token in
// TOKEN_FILE, whose audience is "openbao", reads secret/web, and stays until it
// is interrupted.
//
// It exits with 1 if it could not log in, or not read the secret.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile"
	auth "github.com/podtoken/podtoken/vaultauth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(start(ctx, os.Stdout, os.Stderr))
}

// start is main with everything that a test needs to hold in its hands.
func start(ctx context.Context, stdout, stderr io.Writer) int {
	var err error
	if os.Getenv(api.EnvVaultAddress) == "" && os.Getenv(api.EnvVaultAgentAddr) == "" {
		err = embedded(ctx, stdout)
	} else {
		err = run(ctx, nil, cmp.Or(os.Getenv("TOKEN_FILE"), "/var/run/secrets/openbao/token"), stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "vault-kv:", err)
		return 1
	}
	return 0
}

// run returns an error if it cannot log in or read, and nil when ctx ends.
func run(ctx context.Context, config *api.Config, path string, stdout io.Writer) error {
	method := &auth.Method{Role: "web", Source: &tokenfile.Source{Path: path, Audience: "openbao"}}
	session, err := auth.NewSession(config, method) // nil: as the client's environment says
	if err != nil {
		return err
	}
	if err := session.Login(ctx); err != nil {
		return err // says what was refused, and what to change where
	}
	go session.Run(ctx) // renews, and logs in afresh in time, until ctx ends
	secret, err := session.Client.KVv2("secret").Get(ctx, "web")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "read version %d of secret/web\n", secret.VersionMetadata.Version)
	<-ctx.Done() // session.Client is logged in until here
	did := session.Stats()
	fmt.Fprintf(stdout, "logins: %d, renewals: %d, failures: %d\n", did.Logins, did.Renewals, len(did.Failures))
	return nil
}
