package party

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	vault "github.com/hashicorp/vault/api"
	bao "github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

// VaultOptions say as whom to log in to an OpenBao or Vault server. The rest of
// its configuration is the environment's, as for its own command line:
// BAO_ADDR or VAULT_ADDR, certificates, a namespace.
type VaultOptions struct {
	Role      string // empty: the default role of a jwt mount
	Mount     string // path of the auth method, without "auth/"; empty: "kubernetes"
	Namespace string // empty: as the environment says
	Path      string // required: of the token file
	Audience  string // who the token must be for; empty: whatever it says

	// HTTPClient sends the requests. If nil, the server's client makes its own.
	HTTPClient *http.Client
}

// ErrNoServer says that the environment names no server to log in to.
var ErrNoServer = errors.New("no server to log in to: set BAO_ADDR for OpenBao or VAULT_ADDR for Vault, such as https://openbao.example:8200")

// Vault is an OpenBao or a Vault server. It is asked with Vault's client if
// VAULT_ADDR is set and BAO_ADDR is not, and else with OpenBao's.
//
// It fails with ErrNoServer, or if the configuration of the environment cannot
// be read. A wrong role or mount is seen at the first login.
func Vault(o VaultOptions) (Party, error) {
	if o.Path == "" {
		return nil, errNoPath
	}
	if o.Mount == "" {
		o.Mount = vaultauth.DefaultMount
	}
	s := &server{options: o, product: "OpenBao"}
	connect := s.bao
	switch {
	case set("BAO_ADDR", "BAO_AGENT_ADDR"):
	case set("VAULT_ADDR", "VAULT_AGENT_ADDR"):
		s.product, connect = "Vault", s.vault
	default:
		return nil, ErrNoServer
	}
	if err := connect(); err != nil {
		return nil, fmt.Errorf("%s's client: %w", s.product, withoutAddress(err))
	}
	return s, nil
}

// withoutAddress keeps a password out of the text: a URL's parser quotes all
// that it could not read.
func withoutAddress(err error) error {
	if errors.As(err, new(*url.Error)) {
		return errors.New("an address in its environment is no URL")
	}
	return errors.New(clean(err.Error()))
}

var errNoPath = errors.New("no token file is named")

func set(names ...string) bool {
	for _, name := range names {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// server is a Party.
type server struct {
	options VaultOptions
	product string
	address string
	login   func(context.Context) error
}

func (s *server) Audience() string                { return s.options.Audience }
func (s *server) Path() string                    { return s.options.Path }
func (s *server) Login(ctx context.Context) error { return s.login(ctx) }

func (s *server) String() string {
	text := fmt.Sprintf("%s at %s, auth/%s", s.product, s.address, s.mount())
	if s.options.Role != "" {
		text += ", role " + clean(s.options.Role)
	}
	if s.options.Namespace != "" {
		text += ", namespace " + clean(s.options.Namespace)
	}
	return text
}

// mount is the auth method's path as it can be shown, and pasted into a shell.
func (s *server) mount() string {
	return shellWord(strings.TrimPrefix(strings.Trim(s.options.Mount, "/"), "auth/"))
}

// source pins the audience where it is known.
func (s *server) source() *tokenfile.Source { return newSource(s.options.Path, s.options.Audience) }

func newSource(path, audience string) *tokenfile.Source {
	if audience == "" {
		audience = tokenfile.AnyAudience
	}
	return &tokenfile.Source{Path: path, Audience: audience}
}

// connected notes what the client made of the environment.
func (s *server) connected(address, namespace string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address is no URL")
	}
	s.address, s.options.Namespace = clean(u.Redacted()), namespace
	return nil
}

// revocation bounds the clean-up after a login.
const revocation = 5 * time.Second

func (s *server) vault() error {
	config := vault.DefaultConfig()
	if config.Error != nil {
		return config.Error
	}
	if s.options.HTTPClient != nil {
		config.HttpClient = s.options.HTTPClient
	}
	client, err := vault.NewClient(config)
	if err != nil {
		return err
	}
	if s.options.Namespace != "" {
		client.SetNamespace(s.options.Namespace)
	}
	client.SetMaxRetries(0) // what one attempt sees is what happened
	method := &vaultauth.Method{Role: s.options.Role, Mount: s.options.Mount, Source: s.source()}
	s.login = func(ctx context.Context) error {
		secret, err := method.Login(ctx, client)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, revocation)
		defer cancel()
		used := client.WithNamespace(client.Namespace())
		used.SetToken(secret.Auth.ClientToken)
		_ = used.Auth().Token().RevokeSelfWithContext(ctx, "") // it expires by itself
		return nil
	}
	return s.connected(client.Address(), client.Namespace())
}

// bao is vault with the types of OpenBao's client.
func (s *server) bao() error {
	config := bao.DefaultConfig()
	if config.Error != nil {
		return config.Error
	}
	if s.options.HTTPClient != nil {
		config.HttpClient = s.options.HTTPClient
	}
	client, err := bao.NewClient(config)
	if err != nil {
		return err
	}
	if s.options.Namespace != "" {
		client.SetNamespace(s.options.Namespace)
	}
	client.SetMaxRetries(0)
	method := &baoauth.Method{Role: s.options.Role, Mount: s.options.Mount, Source: s.source()}
	s.login = func(ctx context.Context) error {
		secret, err := method.Login(ctx, client)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, revocation)
		defer cancel()
		used := client.WithNamespace(client.Namespace())
		used.SetToken(secret.Auth.ClientToken)
		_ = used.Auth().Token().RevokeSelfWithContext(ctx, "")
		return nil
	}
	return s.connected(client.Address(), client.Namespace())
}
