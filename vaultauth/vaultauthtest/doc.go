// Package vaultauthtest is an OpenBao or Vault server for tests, as far as
// logging in and staying logged in go. It runs in the test's own process, and
// months of leases pass in a second.
//
// Logins work in every test against a mock, and fail in production when the
// first lease reaches its max TTL, when the server is sealed for an hour, or
// when an administrator revokes the token. The server here does all that, and
// answers as the real ones do: with the same status codes, texts and JSON.
//
// # Setting up
//
// A [Server] trusts one issuer of service-account tokens, from package
// tokenfiletest. It starts with nothing but the policy "default":
//
//	server := vaultauthtest.New(issuer)
//	server.Enable("jwt", vaultauthtest.Mount{Type: "jwt"})
//	server.SetRole("jwt", "web", vaultauthtest.Role{
//		BoundAudiences: []string{"openbao"},
//		TokenTTL:       time.Hour,
//		TokenMaxTTL:    24 * time.Hour,
//		Policies:       []string{"web"},
//	})
//	server.SetPolicy("web", "secret/data/web/*")
//	server.Put("web/database", map[string]any{"password": "swordfish"})
//
// [Server.Product] chooses whom to imitate where the two differ.
//
// # Reaching it
//
// [Server.Transport] is for clients in the test. It is a function call under
// the guise of a network, so that client and server may live in a bubble of
// testing/synctest, where time passes as fast as everybody sleeps:
//
//	config := api.DefaultConfig()
//	config.HttpClient = &http.Client{Transport: server.Transport()}
//	client, err := api.NewClient(config)
//
// [Server.Start] listens on the loopback interface, for other programs. A
// Server is an http.Handler, too.
//
// # Making trouble
//
//   - [Server.Seal], [Server.SetStandby], [Server.SetDown] and
//     [Server.Restart] are what happens to servers.
//   - [Server.Revoke], [Server.RevokeAll], [Server.DeleteRole],
//     [Server.DeleteEntities] and [Server.SetPolicy] are what administrators
//     do.
//   - [Server.DeletePod] and a [Reviewer] of one's own are what happens to
//     Kubernetes behind an auth method of type kubernetes.
//   - [Server.SetLatency], [Server.SetRateLimit] and [Server.SetFault] are
//     what happens to requests: they take time, they are too many, they are
//     lost on the way there or back.
//
// # Seeing what happened
//
// [Server.Requests] is a log of the last requests, [Server.Counts] counts all
// of them by kind and outcome, and [Server.Tokens] tells how many tokens a
// program has left behind.
//
// # What is faithful
//
// The order in which a login is judged, with what leeway, and in which words
// it is refused; the leases of each kind of token with their warnings, cut to
// whole seconds; what renewals, lookups and revocations of a token answer,
// and in which words a dead one is refused; policies; limited uses; wrapped
// answers; OpenBao's namespaces and Vault's indifference to them. The endpoints
// are the login of each auth method, auth/token/renew-self, lookup-self and
// revoke-self, sys/wrapping/unwrap, sys/health, sys/seal-status and the secrets
// under secret/data.
//
// # What is not
//
// Nothing is configured over HTTP. A policy's paths permit every method, and
// one policy of a name serves all namespaces. There are no child tokens and no
// leases of secrets. The API server behind the kubernetes type allows no
// leeway for expired tokens, has no cache, and knows of no pods but the deleted
// ones. A rate limit counts all clients as one. A standby knows of no active
// server. Batch tokens are remembered as service tokens are, so that RevokeAll
// ends them, too.
//
// Nothing here is for production: tokens live in memory, and whoever can call
// the methods is the administrator.
package vaultauthtest
