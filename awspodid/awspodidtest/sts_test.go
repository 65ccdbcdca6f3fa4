package awspodidtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	notJWT    = "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)"
	notSigned = "The web identity token that was passed could not be validated by AWS"
	noKey     = "Couldn't retrieve verification key from your identity provider,  please reference " +
		"AssumeRoleWithWebIdentity documentation for requirements"
	notAuthorized = "Not authorized to perform sts:AssumeRoleWithWebIdentity"
	wrongAudience = "Incorrect token audience"
)

func TestSTSRefuses(t *testing.T) {
	with := func(change object) func(*bed) object {
		return func(b *bed) object { return object{"WebIdentityToken": b.webIdentity(change)} }
	}
	raw := func(token func(*bed) string) func(*bed) object {
		return func(b *bed) object { return object{"WebIdentityToken": token(b)} }
	}
	const otherRole = "arn:aws:iam::111122223333:role/nobody"
	cases := []struct {
		name    string
		change  func(b *bed) object
		status  int
		code    string
		message string
	}{
		{"not a JWT", raw(func(*bed) string { return "swordfish" }), 400, "InvalidIdentityToken", notJWT},
		{"newline at the end", raw(func(b *bed) string { return b.webIdentity(nil) + "\n" }), 400, "InvalidIdentityToken", notJWT},
		{"no iss", with(object{"iss": nil}), 400, "InvalidIdentityToken", "Missing a required claim: iss"},
		{"no sub", with(object{"sub": nil}), 400, "InvalidIdentityToken", "Missing a required claim: sub"},
		{"no aud, as legacy tokens", with(object{"aud": nil}), 400, "InvalidIdentityToken", "Missing a required claim: aud"},
		{"no exp", with(object{"exp": nil}), 400, "InvalidIdentityToken", "Missing a required claim: exp"},
		{"no iat", with(object{"iat": nil}), 400, "InvalidIdentityToken", "Missing a required claim: iat"},
		{"issuer is no provider", with(object{"iss": "https://oidc.test/id/1"}), 400, "InvalidIdentityToken",
			"No OpenIDConnect provider found in your account for https://oidc.test/id/1"},
		{"audience of Pod Identity", raw(func(b *bed) string { return b.jwt(nil) }), 400, "InvalidIdentityToken", wrongAudience},
		{"audience of the API server", with(object{"aud": []string{tokenfiletest.DefaultIssuer}}), 400, "InvalidIdentityToken", wrongAudience},
		{"expired", with(object{"exp": ahead0 - 10}), 400, "ExpiredTokenException",
			"Token expired: current date/time 946684800 must be before the expiration date/time 946684790"},
		{"expires now", with(object{"exp": ahead0}), 400, "ExpiredTokenException",
			"Token expired: current date/time 946684800 must be before the expiration date/time 946684800"},
		{"signed with an unknown key", raw(func(b *bed) string { return b.forged("sts.amazonaws.com") }), 400, "InvalidIdentityToken", noKey},
		{"signature of another token", raw(func(b *bed) string { return b.tampered(b.webIdentity(nil)) }), 400, "InvalidIdentityToken", notSigned},
		{"not signed", raw(func(b *bed) string { return unsigned(b.t, "sts.amazonaws.com") }), 400, "InvalidIdentityToken", notSigned},
		{"another service account", with(object{"sub": "system:serviceaccount:shop:other"}), 403, "AccessDenied", notAuthorized},
		{"unknown role", func(*bed) object { return object{"RoleArn": otherRole} }, 403, "AccessDenied", notAuthorized},
		{"longer than the role allows", func(*bed) object { return object{"DurationSeconds": "3601"} }, 400, "ValidationError",
			"The requested DurationSeconds exceeds the MaxSessionDuration set for this role."},
		{"unknown role is not told apart", func(*bed) object { return object{"RoleArn": otherRole, "DurationSeconds": "3601"} },
			403, "AccessDenied", notAuthorized},
		{"another action", func(*bed) object { return object{"Action": "GetCallerIdentity"} }, 400, "InvalidAction",
			"Could not find operation GetCallerIdentity for version 2011-06-15"},
		{"no action", func(*bed) object { return object{"Action": nil} }, 400, "MissingAction", "Missing Action"},
		{"no version", func(*bed) object { return object{"Version": nil} }, 400, "InvalidAction",
			"Could not find operation AssumeRoleWithWebIdentity for version NO_VERSION_SPECIFIED"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				r := b.assume(c.change(b))
				assert.Equal(t, c.status, r.status)
				refusal := r.refusal(t)
				assert.Equal(t, c.code, refusal.Error.Code)
				assert.Equal(t, c.message, refusal.Error.Message)
				assert.Equal(t, "Sender", refusal.Error.Type)
				assert.NotEmpty(t, refusal.RequestID)
				assert.Equal(t, refusal.RequestID, r.header.Get("X-Amzn-Requestid"))
				assert.Equal(t, "text/xml", r.header.Get("Content-Type"))
				assert.Equal(t, c.code, b.sts.Requests()[0].Code)
			})
		})
	}
}

// ahead0 is when the clock of a bubble starts.
var ahead0 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

func TestSTSGrants(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		r := b.assume(nil)
		result := r.assumed(t).Result
		c := result.Credentials
		assert.Regexp(t, `^ASIA[A-Z2-7]{16}$`, c.KeyID)
		assert.Regexp(t, `^[A-Za-z0-9+/]{40}$`, c.Secret)
		assert.Regexp(t, `^IQoJb3JpZ2luX2Vj[A-Za-z0-9+/]{684}$`, c.Token)
		assert.Equal(t, time.Hour, time.Until(c.Expiration))
		assert.Equal(t, "system:serviceaccount:shop:web", result.SubjectFromWebIdentityToken)
		assert.Equal(t, "sts.amazonaws.com", result.Audience)
		assert.Equal(t, "arn:aws:iam::111122223333:oidc-provider/kubernetes.default.svc.cluster.local", result.Provider)
		assert.Equal(t, "arn:aws:sts::111122223333:assumed-role/web/shop-web", result.AssumedRoleUser.ARN)
		assert.Regexp(t, `^AROA[A-Z2-7]{17}:shop-web$`, result.AssumedRoleUser.ID)
		assert.Equal(t, r.assumed(t).RequestID, r.header.Get("X-Amzn-Requestid"))
		again := b.assume(nil).assumed(t).Result
		assert.Equal(t, result.AssumedRoleUser, again.AssumedRoleUser)
		assert.NotEqual(t, c, again.Credentials, "nothing is cached")

		expiry, assumed, ok := b.sts.Valid(c.KeyID)
		assert.True(t, ok)
		assert.Equal(t, role, assumed)
		assert.True(t, c.Expiration.Equal(expiry))
		time.Sleep(time.Hour)
		_, _, ok = b.sts.Valid(c.KeyID)
		assert.False(t, ok)
	})
}

// The token's own life says nothing on how long the credentials live.
func TestSTSOutlivesTheToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.webIdentity(object{"exp": ahead(time.Minute)})
		c := b.assume(object{"WebIdentityToken": token}).assumed(t).Result.Credentials
		assert.Equal(t, time.Hour, time.Until(c.Expiration))
		c = b.assume(object{"WebIdentityToken": token, "DurationSeconds": "900"}).assumed(t).Result.Credentials
		assert.Equal(t, 15*time.Minute, time.Until(c.Expiration))
	})
}

func TestSTSByGET(t *testing.T) {
	b := newBed(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://sts.test/?"+b.parameters(nil).Encode(), nil)
	require.NoError(t, err)
	r, err := send(b.sts.Transport(), request)
	require.NoError(t, err)
	r.assumed(t)
	assert.Equal(t, "/", b.sts.Requests()[0].Path, "without the query, which holds the token")
}

func TestProviders(t *testing.T) {
	b := newBed(t)
	b.sts.DeleteProvider(tokenfiletest.DefaultIssuer)
	assert.Equal(t, "No OpenIDConnect provider found in your account for "+tokenfiletest.DefaultIssuer,
		b.assume(nil).refusal(t).Error.Message)

	b.sts.SetProvider(tokenfiletest.DefaultIssuer, "other", "sts.amazonaws.com.cn")
	assert.Equal(t, wrongAudience, b.assume(nil).refusal(t).Error.Message)
	china := b.webIdentity(object{"aud": []string{"x", "sts.amazonaws.com.cn"}})
	b.sts.SetRole(role, awspodidtest.TrustPolicy{})
	assert.Equal(t, "sts.amazonaws.com.cn", b.assume(object{"WebIdentityToken": china}).assumed(t).Result.Audience)

	// Registered, but its keys are not there.
	b.sts.SetProvider("https://other.test/id/1", "sts.amazonaws.com")
	foreign := b.webIdentity(object{"iss": "https://other.test/id/1"})
	assert.Equal(t, notSigned, b.assume(object{"WebIdentityToken": foreign}).refusal(t).Error.Message)
}

func TestIssuerOfAnEKSCluster(t *testing.T) {
	b := newBed(t)
	b.issuer.URL = "https://oidc.eks.eu-central-1.amazonaws.com/id/0123"
	b.sts = awspodidtest.NewSTS(b.issuer)
	b.sts.SetRole(role, awspodidtest.TrustPolicy{})
	own := object{"WebIdentityToken": b.webIdentity(object{"iss": b.issuer.URL})}
	assert.Equal(t, "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/0123",
		b.assume(own).assumed(t).Result.Provider)
	assert.Equal(t, 400, b.assume(nil).status)
}

func TestOtherPartition(t *testing.T) {
	b := newBed(t)
	const china = "arn:aws-cn:iam::111122223333:role/web"
	b.sts.SetRole(china, awspodidtest.TrustPolicy{})
	result := b.assume(object{"RoleArn": china}).assumed(t).Result
	assert.Equal(t, "arn:aws-cn:sts::111122223333:assumed-role/web/shop-web", result.AssumedRoleUser.ARN)
	assert.True(t, strings.HasPrefix(result.Provider, "arn:aws-cn:iam::"))
}

func TestDeleteRole(t *testing.T) {
	b := newBed(t)
	c := b.assume(nil).assumed(t).Result.Credentials
	b.sts.DeleteRole(role)
	assert.Equal(t, 403, b.assume(nil).status)
	_, _, ok := b.sts.Valid(c.KeyID)
	assert.True(t, ok)
}

// Weeks of sessions must not fill the memory.
func TestSTSForgets(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		for range 1000 {
			b.assume(nil).assumed(t)
		}
		assert.Equal(t, "awspodidtest.STS(1 roles, 1000 sessions)", fmt.Sprint(b.sts))
		time.Sleep(time.Hour)
		b.assume(nil).assumed(t)
		assert.Equal(t, "awspodidtest.STS(1 roles, 1 sessions)", fmt.Sprint(b.sts))
	})
}

// A rotation of the issuer's keys is no trouble while the old ones stand.
func TestIssuerRotatesKeys(t *testing.T) {
	b := newBed(t)
	before := object{"WebIdentityToken": b.webIdentity(nil)}
	podIdentity := b.jwt(nil)
	require.NoError(t, b.issuer.RotateKey(tokenfiletest.RS256))
	b.assume(before).assumed(t)
	b.assume(nil).assumed(t)
	b.ask(podIdentity).credentials(t)
	b.ask(b.jwt(nil)).credentials(t)
	b.issuer.DropOldKeys()
	assert.Equal(t, noKey, b.assume(before).refusal(t).Error.Message)
	b.assume(nil).assumed(t)
}
