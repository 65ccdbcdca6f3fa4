package tokenfiletest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// traces are the forms in which a number or bytes may show up in a text.
func traces(secret []byte) []string {
	list := strings.Trim(fmt.Sprint(secret[:8]), "[]")
	return []string{
		new(big.Int).SetBytes(secret).String(),
		hex.EncodeToString(secret),
		strings.ToUpper(hex.EncodeToString(secret)),
		base64.RawURLEncoding.EncodeToString(secret)[:20],
		base64.StdEncoding.EncodeToString(secret)[:20],
		list,
		strings.ReplaceAll(list, " ", ","),
	}
}

// privateBytes returns the numbers that a private key consists of.
func privateBytes(t *testing.T, private crypto.Signer) [][]byte {
	t.Helper()
	switch private := private.(type) {
	case *rsa.PrivateKey:
		return [][]byte{private.D.Bytes(), private.Primes[0].Bytes(), private.Primes[1].Bytes()}
	case *ecdsa.PrivateKey:
		scalar, err := private.Bytes()
		require.NoError(t, err)
		return [][]byte{scalar}
	}
	require.Fail(t, "unknown key")
	return nil
}

// printed writes a value in every way that a program might.
func printed(value any) string {
	var text bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%T", "%p"} {
		fmt.Fprintf(&text, format+"\n", value)
	}
	data, err := json.Marshal(value)
	fmt.Fprintln(&text, string(data), err)
	slog.New(slog.NewTextHandler(&text, nil)).Info("", "value", value)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("", "value", value)
	return text.String()
}

func TestPrintingShowsNeitherKeysNorTokens(t *testing.T) {
	for _, alg := range []Algorithm{RS256, ES256} {
		private, err := generate(alg)
		require.NoError(t, err)
		k, err := wrap(alg, private)
		require.NoError(t, err)
		iss := &Issuer{keys: []*key{k}}
		vol, err := NewVolume(t.TempDir())
		require.NoError(t, err)
		kubelet := &Kubelet{Issuer: iss, Volume: vol}
		require.NoError(t, kubelet.Rotate())
		token := kubelet.token.reveal()
		secrets := append(privateBytes(t, private), []byte(token[:40]), []byte(token[len(token)-40:]))

		values := map[string]any{
			"issuer":                        iss,
			"issuer's fields":               reflect.ValueOf(iss).Elem(),
			"key":                           k,
			"key's fields":                  *k,
			"issued token":                  kubelet.token,
			"issued token's fields":         *kubelet.token,
			"kubelet":                       kubelet,
			"kubelet's fields":              reflect.ValueOf(kubelet).Elem(),
			"volume":                        vol,
			"slice":                         []any{iss, kubelet, vol, k},
			"map":                           map[string]any{"issuer": iss, "kubelet": kubelet},
			"unexported field":              struct{ secret *Issuer }{iss},
			"exported field of a copy":      struct{ Kubelet any }{kubelet},
			"nil issuer inside a structure": struct{ Issuer *Issuer }{},
		}
		for name, value := range values {
			t.Run(string(alg)+" "+name, func(t *testing.T) {
				text := printed(value)
				for _, secret := range secrets {
					for _, trace := range append(traces(secret), token[:40]) {
						assert.NotContains(t, text, trace)
					}
				}
			})
		}
		t.Run(string(alg)+" in the clear would be found", func(t *testing.T) {
			assert.Contains(t, printed(private), traces(secrets[0])[0])
			assert.Contains(t, printed(token), token[:40])
		})
	}
}

func TestIssuerPrintsAsItsURLAndKeys(t *testing.T) {
	iss := &Issuer{URL: "https://example.com"}
	require.NoError(t, iss.RotateKey(ES256))
	want := "tokenfiletest.Issuer(https://example.com ES256:" + iss.keys[0].id + ")"
	assert.Equal(t, want, fmt.Sprintf("%v", iss))
	assert.Equal(t, want, fmt.Sprintf("%#v", iss))
}
