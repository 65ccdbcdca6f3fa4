package tokenfiletest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestVerifyReturnsTheClaims(t *testing.T) {
	iss := newIssuer(t)
	token, err := iss.Token(tokenfiletest.Request{Audiences: []string{"vault", "openbao"}})
	require.NoError(t, err)
	claims, err := iss.Verify(token, "openbao")
	require.NoError(t, err)
	_, want := decode(t, token)
	assert.Equal(t, want, claims)
}

func TestVerifyRefuses(t *testing.T) {
	iss := newIssuer(t)
	now := time.Now()
	good := func() map[string]any {
		return map[string]any{
			"iss": tokenfiletest.DefaultIssuer,
			"aud": []string{"openbao"},
			"exp": now.Add(time.Hour).Unix(),
		}
	}
	signed := func(t *testing.T, change func(map[string]any)) string {
		claims := good()
		change(claims)
		token, err := iss.Sign(claims)
		require.NoError(t, err)
		return token
	}
	with := func(name string, value any) func(*testing.T) string {
		return func(t *testing.T) string {
			return signed(t, func(claims map[string]any) { claims[name] = value })
		}
	}
	without := func(name string) func(*testing.T) string {
		return func(t *testing.T) string {
			return signed(t, func(claims map[string]any) { delete(claims, name) })
		}
	}
	tests := []struct {
		name  string
		token func(*testing.T) string
		want  error
	}{
		{"nothing at all", func(*testing.T) string { return "" }, jwt.ErrTokenMalformed},
		{"no token", func(*testing.T) string { return "s3cr3t.s3cr3t.s3cr3t" }, jwt.ErrTokenMalformed},
		{"another issuer's key", func(t *testing.T) string { return mustSign(t, newIssuer(t), good()) }, jwt.ErrTokenUnverifiable},
		{"broken signature", func(t *testing.T) string { return breakSignature(mustSign(t, iss, good())) }, jwt.ErrTokenSignatureInvalid},
		{"stray bits behind the signature", func(t *testing.T) string { return strayBits(mustSign(t, iss, good())) }, jwt.ErrTokenMalformed},
		{"alg none", func(t *testing.T) string { return unsigned(t, good()) }, jwt.ErrTokenSignatureInvalid},
		{"no kid and a foreign key", func(t *testing.T) string { return foreign(t, good()) }, jwt.ErrTokenSignatureInvalid},
		{"another issuer's URL", with("iss", "https://example.com"), jwt.ErrTokenInvalidIssuer},
		{"no issuer", without("iss"), jwt.ErrTokenRequiredClaimMissing},
		{"another audience", with("aud", []string{"vault"}), jwt.ErrTokenInvalidAudience},
		{"no audience", without("aud"), jwt.ErrTokenRequiredClaimMissing},
		{"expired", with("exp", now.Unix()-1), jwt.ErrTokenExpired},
		{"no expiry", without("exp"), jwt.ErrTokenRequiredClaimMissing},
		{"expiry that is no number", with("exp", "tomorrow"), jwt.ErrTokenInvalidClaims},
		{"not valid yet", with("nbf", now.Unix()+60), jwt.ErrTokenNotValidYet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			token := tt.token(t)
			claims, err := iss.Verify(token, "openbao")
			require.ErrorIs(t, err, tt.want)
			assert.Nil(t, claims)
			assert.Equal(t, "tokenfiletest: refused: "+tt.want.Error(), err.Error(), "no byte of the token")
		})
	}

	t.Run("and accepts the same token unchanged", func(t *testing.T) {
		_, err := iss.Verify(mustSign(t, iss, good()), "openbao")
		assert.NoError(t, err)
	})
	t.Run("no audience asked for", func(t *testing.T) {
		_, err := iss.Verify(mustSign(t, iss, good()), "")
		assert.ErrorIs(t, err, jwt.ErrTokenInvalidAudience)
	})
	t.Run("legacy token", func(t *testing.T) {
		token, err := iss.LegacyToken("", "", "")
		require.NoError(t, err)
		_, err = iss.Verify(token, tokenfiletest.DefaultIssuer)
		assert.Error(t, err)
	})
}

func TestVerifyHasNoLeeway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iss := newIssuer(t)
		token, err := iss.Token(tokenfiletest.Request{Audiences: []string{"openbao"}})
		require.NoError(t, err)
		time.Sleep(time.Hour - time.Nanosecond)
		_, err = iss.Verify(token, "openbao")
		assert.NoError(t, err)
		time.Sleep(time.Nanosecond)
		_, err = iss.Verify(token, "openbao")
		assert.ErrorIs(t, err, jwt.ErrTokenExpired)
	})
}

func mustSign(t *testing.T, iss *tokenfiletest.Issuer, claims map[string]any) string {
	t.Helper()
	token, err := iss.Sign(claims)
	require.NoError(t, err)
	return token
}

// breakSignature changes the signature's first byte.
func breakSignature(token string) string {
	b := []byte(token)
	last := len(b) - 86 // base64url of the 64 bytes of ES256
	if b[last] == 'A' {
		b[last] = 'B'
	} else {
		b[last] = 'A'
	}
	return string(b)
}

// strayBits sets the bits of the last character that carry no signature.
func strayBits(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	return token[:last] + string(alphabet[strings.IndexByte(alphabet, token[last])|1])
}

func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims(claims)).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	return token
}

func foreign(t *testing.T, claims map[string]any) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	token, err := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims(claims)).SignedString(private)
	require.NoError(t, err)
	return token
}
