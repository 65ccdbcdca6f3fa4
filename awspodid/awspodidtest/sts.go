package awspodidtest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// STSAudience is the audience that the EKS webhook asks for in the tokens of
// IRSA, and the client ID under which the issuer is registered.
const STSAudience = "sts.amazonaws.com"

// STS is AWS's Security Token Service, as far as AssumeRoleWithWebIdentity
// goes, with the part of IAM that it needs: roles that trust an identity
// provider. Reach it through Transport, which needs no socket and works in a
// testing/synctest bubble; through Start, by other programs; or mount it as an
// http.Handler.
//
// NewSTS makes one; then SetRole gives it a role. The methods are safe for
// concurrent use, and all that changes the service may be called while
// requests run. No goroutine and no timer belongs to it.
//
// Printing an STS shows how much it holds, and no token or key.
type STS struct {
	endpoint

	issuer    *tokenfiletest.Issuer
	roles     map[string]TrustPolicy
	providers map[string][]string // client IDs, by issuer URL
}

var _ http.Handler = (*STS)(nil)

// NewSTS makes a service in an account that has the issuer registered as an
// OpenID Connect provider, with STSAudience. There is no role yet.
func NewSTS(issuer *tokenfiletest.Issuer) *STS {
	s := &STS{
		issuer:    issuer,
		roles:     make(map[string]TrustPolicy),
		providers: map[string][]string{issuerURL(issuer): {STSAudience}},
	}
	s.endpoint.waiting = make(map[chan struct{}]struct{})
	s.endpoint.recall = recallAssumption
	s.endpoint.serve = s.answer
	s.endpoint.contentType = func(int) string { return xmlType }
	return s
}

func issuerURL(issuer *tokenfiletest.Issuer) string {
	if issuer.URL == "" {
		return tokenfiletest.DefaultIssuer
	}
	return issuer.URL
}

// SetRole makes or changes a role. The ARN must look like
// "arn:aws:iam::111122223333:role/web", with or without a path before the name.
func (s *STS) SetRole(roleARN string, trust TrustPolicy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles[roleARN] = trust
}

// DeleteRole deletes a role. Credentials that it has given stay as they are.
func (s *STS) DeleteRole(roleARN string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.roles, roleARN)
}

// SetProvider registers an OpenID Connect provider, or changes its audiences,
// which IAM calls client IDs. The signatures of its tokens are verified with
// the keys that the STS was made with, so that tokens of another issuer are
// good for being refused.
func (s *STS) SetProvider(issuerURL string, clientIDs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.providers[issuerURL] = slices.Clone(clientIDs)
}

// DeleteProvider unregisters an OpenID Connect provider.
func (s *STS) DeleteProvider(issuerURL string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.providers, issuerURL)
}

// Format writes how much there is of what, whatever the verb.
func (s *STS) Format(f fmt.State, _ rune) {
	if s == nil {
		fmt.Fprintf(f, "%s.STS(nil)", name)
		return
	}
	s.mu.Lock()
	roles, sessions := len(s.roles), len(s.ledger.sessions)
	s.mu.Unlock()
	fmt.Fprintf(f, "%s.STS(%d roles, %d sessions)", name, roles, sessions)
}
