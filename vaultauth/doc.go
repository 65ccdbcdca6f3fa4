// Package vaultauth logs a pod in to OpenBao or HashiCorp Vault with its
// service-account token, and keeps it logged in, with Vault's Go client.
// (Package baoauth is the same for OpenBao's own client.)
//
// # Quick start
//
// A [Session] owns the login. It works for as long as its Run does:
//
//	session, err := vaultauth.NewSession(nil, &vaultauth.Method{
//		Role:   "web",
//		Source: &tokenfile.Source{Path: "/var/run/secrets/openbao/token", Audience: "openbao"},
//	})
//	if err != nil {
//		return err
//	}
//	if err := session.Login(ctx); err != nil {
//		return err // says what was refused, and what to change where
//	}
//	go session.Run(ctx)
//	secret, err := session.Client.KVv2("secret").Get(ctx, "web")
//
// # What Login and Run do
//
// Each login reads the token file anew and validates the token before it is
// sent: a token of the wrong audience, or one that has expired, never leaves
// the pod. A failure is a [LoginError], which keeps the chain to the client's
// *api.ResponseError and to the errors of tokenfile. Its text ends with the
// address of its section in docs/runbook.md, which has the commands for whoever
// is paged.
//
// Run renews the token around two thirds of its lease, at a moment that is
// drawn, so that pods which started together do not stay together. It logs in
// afresh, while the old token still works, when the max TTL comes near, when a
// renewal is refused, and for tokens that cannot be renewed. Outages, seals and
// restarts of the server end in a login, however long they took. Between
// attempts it pauses: a second at first, a minute and a half on average in the end;
// longer after a refusal that someone has to mend. A request waits for half a
// minute, or as the client does if that is shorter, and twice as long each time
// that no answer came, up to two and a half minutes. Run makes at most one
// request a second on average. Each reason of a failure is logged once.
//
// # Clients, clones and namespaces
//
// [NewSession] puts the session's own RoundTripper under its client. Every
// client that comes from it, by Clone or WithNamespace, sends the current
// token, also one made long ago. If a request is refused because its token was
// revoked, it is repeated once, after one new login that all callers share.
// A 403 for what the token may not do is returned as it is.
//
// Logins and renewals can go to another namespace than requests:
// Session.Namespace.
//
// # Which token
//
// Declare a projected volume whose audience is the server's alone, such as
// "openbao", and name it in the role: bound_audiences of a jwt role, audience
// of a kubernetes role. The token at the default path is for the API server,
// and another party rightly refuses it.
//
// # When it fails
//
// [Session.Ready] is for readiness probes, [Session.Stats] for metrics. A
// server answers a bare 403 "permission denied" for a mount that does not
// exist as well as for every fault of the API server's token review, so that
// no client can tell these apart; the error lists them.
//
// # Tests
//
// Package vaultauthtest is a server for tests of programs that use a session,
// and tokenfile/tokenfiletest plays the kubelet. In a testing/synctest bubble a
// month of rotations, renewals and outages takes a second.
package vaultauth
