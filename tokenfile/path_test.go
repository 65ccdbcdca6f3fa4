package tokenfile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/tokenfile"
)

func TestAFileNameThatOnlyLooksLikeATokenIsAFileName(t *testing.T) {
	for _, path := range []string{
		"/etc/keycloak-service-account.production-cluster-token",
		"/keys/eyJzaG9ydA.token",
		"/eyeyeyeyeyeyeyeyeyeyeyeyeyey.eyeyeyeyeyeyeyeyeyey.ey",
	} {
		_, err := (&tokenfile.Source{Path: path, Audience: audience}).Token(t.Context())
		assert.ErrorContains(t, err, path)
		assert.NotContains(t, err.Error(), "Source.Path holds a token")
	}
}

func TestATokenInAnotherFieldIsNotPrinted(t *testing.T) {
	raw := sign(t)
	vol := mount(t, raw)
	for name, s := range map[string]*tokenfile.Source{
		"audience": {Path: vol.Path(), Audience: raw},
		"issuer":   {Path: vol.Path(), Audience: audience, Issuer: raw},
		"subject":  {Path: vol.Path(), Audience: audience, Subject: "Bearer " + raw},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, s, []string{raw}, "want (a token)")
		})
	}
	t.Run("audience of a token", func(t *testing.T) {
		other := sign(t, map[string]any{"aud": raw})
		refused(t, newSource(mount(t, other).Path()), []string{raw}, "token's audience is [(a token)]")
	})
}

func TestAFileNameThatWouldBreakALineIsQuoted(t *testing.T) {
	_, err := (&tokenfile.Source{Path: "/run/a\x1b[31m\nb/token\n", Audience: audience}).Token(t.Context())
	oneLine(t, err.Error())
	assert.ErrorContains(t, err, `"/run/a\x1b[31m\nb/token\n"`)
}
