// Command server is Vault's own core and HTTP interface with the backends that
// the tests use and no more: the whole program takes half an hour to compile.
// It stores in a folder and starts sealed, as a production server does, so a
// restart is a real one. It listens on the loopback interface, in plain text.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	jwt "github.com/hashicorp/vault-plugin-auth-jwt"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/vault"
)

func main() {
	dir := flag.String("dir", "", "folder of the storage")
	address := flag.String("address", "", "host:port on the loopback interface")
	flag.Parse()
	if err := run(*dir, *address); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(dir, address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	core, err := newCore(dir)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: vaulthttp.Handler.Handler(&vault.HandlerProperties{
		Core:           core,
		ListenerConfig: &configutil.Listener{Address: address},
	})}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// As the whole program does: first the listener, then the core.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = server.Shutdown(ctx)
	return core.ShutdownWait()
}

func newCore(dir string) (*vault.Core, error) {
	logger := hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Error})
	storage, err := file.NewFileBackend(map[string]string{"path": dir}, logger)
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		Physical:        storage,
		StorageType:     "file",
		LogicalBackends: map[string]logical.Factory{"kv": kv.Factory},
		CredentialBackends: map[string]logical.Factory{
			"jwt":        jwt.Factory,
			"kubernetes": kubernetes.Factory,
		},
		BuiltinRegistry: builtins{},
		DisableMlock:    true,
		Logger:          logger,
	})
}

// builtins is an empty registry: the factories above are all there is. Without
// one, listing the mounts panics.
type builtins struct{}

func (builtins) Contains(string, consts.PluginType) bool { return false }

func (builtins) Get(string, consts.PluginType) (func() (any, error), bool) { return nil, false }

func (builtins) Keys(consts.PluginType) []string { return nil }

func (builtins) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, true
}

func (builtins) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
