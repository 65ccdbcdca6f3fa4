package awspodidtest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A soak of a fleet sends some hundred thousand requests, so what one costs
// here is what the soak costs.
func BenchmarkRequests(b *testing.B) {
	issuer := &tokenfiletest.Issuer{}
	require.NoError(b, issuer.RotateKey(tokenfiletest.ES256))
	sign := func(audience string) string {
		token, err := issuer.Sign(claims(audience, object{"exp": ahead(1e15)}))
		require.NoError(b, err)
		return token
	}
	send := func(b *testing.B, transport http.RoundTripper, request *http.Request) {
		response, err := transport.RoundTrip(request)
		require.NoError(b, err)
		require.Equal(b, 200, response.StatusCode)
		require.NoError(b, response.Body.Close())
	}
	b.Run("agent, cached", func(b *testing.B) {
		agent := awspodidtest.NewAgent(issuer)
		agent.Associate("shop", "web", role)
		agent.RequestRate = 1e9
		request, err := http.NewRequest(http.MethodGet, awspodidtest.AgentURL, nil)
		require.NoError(b, err)
		request.Header.Set("Authorization", sign("pods.eks.amazonaws.com"))
		b.ReportAllocs()
		for b.Loop() {
			send(b, agent.Transport(), request)
		}
	})
	b.Run("STS", func(b *testing.B) {
		service := awspodidtest.NewSTS(issuer)
		service.SetRole(role, awspodidtest.TrustPolicy{})
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
			"RoleSessionName": {"shop-web"}, "WebIdentityToken": {sign("sts.amazonaws.com")},
		}.Encode()
		b.ReportAllocs()
		for b.Loop() {
			request, err := http.NewRequest(http.MethodPost, "https://sts.test/", strings.NewReader(form))
			require.NoError(b, err)
			send(b, service.Transport(), request)
		}
	})
}
