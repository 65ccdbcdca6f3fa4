package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExchange(t *testing.T) {
	pairs := []pair{
		{"vault/api", "bao/api/v2"},
		{"vault/api/auth", "bao/api/auth/v2"},
		{"vaultauth", "baoauth"},
		{"a.b", "c"},
	}
	for name, texts := range map[string][2]string{
		"names only":                          {"vaultauth.Method", "baoauth.Method"},
		"part of a longer word":               {"vaultauthtest", "baoauthtest"},
		"every time":                          {"vaultauth: vaultauth", "baoauth: baoauth"},
		"a text that names both":              {"vaultauth, and baoauth for OpenBao", "baoauth, and vaultauth for OpenBao"},
		"the longer of two that begin alike":  {"vault/api/auth, vault/api", "bao/api/auth/v2, bao/api/v2"},
		"a dot is a dot":                      {"a.b aXb", "c aXb"},
		"a name that the table does not have": {"Vault's, X-Vault-Token, vault", "Vault's, X-Vault-Token, vault"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := newExchange(pairs)
			require.NoError(t, err)
			assert.Equal(t, texts[1], string(e.in([]byte(texts[0]))))
			assert.Equal(t, texts[0], string(e.in([]byte(texts[1]))), "and back")
		})
	}
}

func TestUselessPairIsAnError(t *testing.T) {
	e, err := newExchange([]pair{{"vaultauth", "baoauth"}, {"gone", "lost"}, {"left", "right"}})
	require.NoError(t, err)
	e.in([]byte("vaultauth right"))
	err = e.unmet()
	require.ErrorContains(t, err, `"gone" is nowhere in vaultauth any more`)
	require.ErrorContains(t, err, `"left" is nowhere in vaultauth any more`, "its other side alone is not what the table is for")
	assert.NotContains(t, err.Error(), "vaultauth\" is nowhere")

	e.in([]byte("gone left"))
	assert.NoError(t, e.unmet())
}

func TestTableIsUnambiguous(t *testing.T) {
	for name, c := range map[string]struct {
		pairs []pair
		says  string
	}{
		"two for one":       {[]pair{{"a", "b"}, {"a", "c"}}, `"a" more than once`},
		"one for two":       {[]pair{{"a", "c"}, {"b", "c"}}, `"c" more than once`},
		"in a circle":       {[]pair{{"a", "b"}, {"b", "a"}}, `"b" more than once`},
		"by itself":         {[]pair{{"a", "a"}}, `"a" more than once`},
		"nothing to find":   {[]pair{{"", "b"}}, "no text"},
		"nothing to put in": {[]pair{{"a", ""}}, "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newExchange(c.pairs)
			assert.ErrorContains(t, err, c.says)
		})
	}
}
