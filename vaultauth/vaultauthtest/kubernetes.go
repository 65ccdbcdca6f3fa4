package vaultauthtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Reviewer plays the TokenReview of the API server that an auth method of type
// kubernetes asks. It returns nil to say that the token is good for one of the
// audiences, and an error to say that it is not or that there is no answer:
// the login is then refused with 403 "permission denied", whatever the error.
// It must respect ctx, and keep the token to itself.
type Reviewer func(ctx context.Context, token string, audiences []string) error

// The ways in which a TokenReview fails. To the client they all look alike.
var (
	errDenied       = errors.New("lookup failed: service account jwt not valid")
	errUnauthorized = errors.New("lookup failed: service account unauthorized")
	errThrottled    = errors.New("the server has received too many requests")
	errInternal     = errors.New("an error on the server has prevented the request from succeeding")
	errUnreachable  = errors.New("dial tcp 10.0.0.1:443: connect: connection refused")
)

// Denied is a Reviewer that finds no token good.
func Denied(context.Context, string, []string) error { return errDenied }

// Unauthorized is a Reviewer that answers 401: the server's own token for it
// has expired.
func Unauthorized(context.Context, string, []string) error { return errUnauthorized }

// Throttled is a Reviewer that answers 429.
func Throttled(context.Context, string, []string) error { return errThrottled }

// Failing is a Reviewer that answers 500.
func Failing(context.Context, string, []string) error { return errInternal }

// Unreachable is a Reviewer that cannot be reached.
func Unreachable(context.Context, string, []string) error { return errUnreachable }

// DeletePod makes the good Reviewer refuse, from now on, the tokens that are
// bound to a pod of this name.
func (s *Server) DeletePod(namespace, pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted[namespace+"/"+pod] = true
}

// identifyServiceAccount does what an auth method of type kubernetes does with
// a login, in its order. The signature is the last thing to be looked at, by
// the API server.
func (s *Server) identifyServiceAccount(ctx context.Context, a *attempt) (*identity, *answer) {
	role := a.role
	switch {
	case a.name == "":
		return nil, refusal(http.StatusBadRequest, "missing role")
	case a.jwt == "":
		return nil, refusal(http.StatusBadRequest, "missing jwt")
	case role == nil:
		return nil, refusal(http.StatusBadRequest, fmt.Sprintf("invalid role name %q", a.name))
	}
	parsed, err := parseJWT(a.jwt)
	if err != nil || !parsed.signed() {
		return nil, refusal(http.StatusForbidden, "permission denied")
	}
	audiences := role.BoundAudiences[:min(1, len(role.BoundAudiences))]
	if err := parsed.claims.check("", "", audiences, false); err != nil {
		return nil, refusal(http.StatusForbidden, err.Error())
	}
	account := parsed.claims.serviceAccount()
	_, single := parsed.claims["aud"].(string) // as Kubernetes never writes it
	switch {
	case single:
		return nil, refusal(http.StatusInternalServerError,
			"1 error(s) decoding:\n\n* 'aud': source data must be an array or slice, got string")
	case !globs(role.BoundServiceAccountNames, account.name):
		return nil, refusal(http.StatusForbidden, "service account name not authorized")
	case !globs(role.BoundServiceAccountNamespaces, account.namespace):
		return nil, refusal(http.StatusForbidden, "namespace not authorized")
	case account.uid == "":
		return nil, refusal(http.StatusInternalServerError, "could not parse UID from claims")
	}
	if len(audiences) == 0 {
		audiences = parsed.claims.audience()
	}
	review := a.method.Reviewer
	if review == nil {
		review = s.review
	}
	if review(ctx, parsed.text, audiences) != nil {
		return nil, refusal(http.StatusForbidden, "permission denied")
	}
	return account.identity(a.name), nil
}

// review is the good Reviewer.
func (s *Server) review(_ context.Context, token string, audiences []string) error {
	parsed, err := parseJWT(token)
	if err != nil {
		return errDenied
	}
	if parsed.claims.text("iss") == legacyIssuer { // good until its Secret is deleted
		_, err := s.verify(token, false)
		return err
	}
	var claims claims
	err = errDenied
	for _, audience := range audiences {
		if claims, err = s.issuer.Verify(token, audience); err == nil {
			break
		}
	}
	if err == nil && s.podDeleted(claims) {
		return errors.New("service account token has been invalidated")
	}
	return err
}

// legacyIssuer is the issuer of tokens from Secrets.
const legacyIssuer = "kubernetes/serviceaccount"

func (s *Server) podDeleted(c claims) bool {
	pod, _ := c.get("/kubernetes.io/pod/name").(string)
	namespace, _ := c.get("/kubernetes.io/namespace").(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleted[namespace+"/"+pod]
}

// serviceAccount is whom a token says that it is for.
type serviceAccount struct{ namespace, name, uid, secret string }

// serviceAccount reads the claims of projected tokens and of those of old.
func (c claims) serviceAccount() serviceAccount {
	const prefix = "kubernetes.io/serviceaccount/"
	account := serviceAccount{
		namespace: c.text(prefix + "namespace"),
		name:      c.text(prefix + "service-account.name"),
		uid:       c.text(prefix + "service-account.uid"),
		secret:    c.text(prefix + "secret.name"),
	}
	bound, ok := c["kubernetes.io"].(map[string]any)
	if !ok {
		return account
	}
	account.namespace = claims(bound).text("namespace")
	if reference, ok := bound["serviceaccount"].(map[string]any); ok {
		account.name = claims(reference).text("name")
		account.uid = claims(reference).text("uid")
	}
	return account
}

func (a serviceAccount) identity(role string) *identity {
	return &identity{
		alias:   a.uid,
		display: strings.Join([]string{a.namespace, a.name}, "-"),
		metadata: map[string]string{
			"role":                        role,
			"service_account_name":        a.name,
			"service_account_namespace":   a.namespace,
			"service_account_secret_name": a.secret,
			"service_account_uid":         a.uid,
		},
	}
}
