package vaultauth_test

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

// Users compile against these names and types: see the root's contract_test.go.
var (
	_ api.AuthMethod                                                             = (*vaultauth.Method)(nil)
	_ func(*vaultauth.Method, context.Context, *api.Client) (*api.Secret, error) = (*vaultauth.Method).Login
	_ func(*api.Config, api.AuthMethod) (*vaultauth.Session, error)              = vaultauth.NewSession
	_ func(*vaultauth.Session, context.Context) error                            = (*vaultauth.Session).Login
	_ func(*vaultauth.Session, context.Context) error                            = (*vaultauth.Session).Run
	_ func(*vaultauth.Session, context.Context) error                            = (*vaultauth.Session).Ready
	_ func(*vaultauth.Session, context.Context, func(*api.Client) error) error   = (*vaultauth.Session).Do
	_ func(*vaultauth.Session, http.RoundTripper) http.RoundTripper              = (*vaultauth.Session).Transport
	_ func(*vaultauth.Session) vaultauth.Stats                                   = (*vaultauth.Session).Stats
	_ error                                                                      = (*vaultauth.LoginError)(nil)
	_ func(*vaultauth.LoginError) error                                          = (*vaultauth.LoginError).Unwrap
	_ error                                                                      = vaultauth.ErrNotLoggedIn
)

func field[T any](*T) {}

// The fields' types, exactly.
func _() {
	var method vaultauth.Method
	field[string](&method.Role)
	field[string](&method.Mount)
	field[*tokenfile.Source](&method.Source)

	var session vaultauth.Session
	field[*api.Client](&session.Client)
	field[api.AuthMethod](&session.Method)
	field[string](&session.Namespace)
	field[time.Duration](&session.Splay)
	field[bool](&session.KeepToken)
	field[bool](&session.RevokeAtEnd)
	field[func(*api.Secret)](&session.OnLogin)
	field[*slog.Logger](&session.Logger)

	var failed vaultauth.LoginError
	field[string](&failed.Mount)
	field[string](&failed.Role)
	field[error](&failed.Err)
	field[vaultauth.Reason](&failed.Reason)
}
