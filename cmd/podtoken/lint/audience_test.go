package lint

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokenfile knows the same audiences, and a published module cannot import what
// another does not export.
func TestTheAudiencesOfAPIServersAreThoseOfTokenfile(t *testing.T) {
	body := func(name, function string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		found := regexp.MustCompile(`(?s)\nfunc ` + function + `\(audience string\) bool \{\n(.*?)\n\}\n`).FindSubmatch(text)
		require.NotNil(t, found, function)
		return string(found[1])
	}
	assert.Equal(t, body("../../../tokenfile/hints.go", "isKnownAPIServer"), body("pod.go", "isAPIServer"))
}

func TestAudiencesOfAPIServers(t *testing.T) {
	for audience, want := range map[string]bool{
		"https://kubernetes.default.svc.cluster.local":                          true,
		"https://kubernetes.default.svc":                                        true,
		"https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF":       true,
		"https://container.googleapis.com/v1/projects/p/locations/l/clusters/c": true,
		"https://westeurope.oic.prod-aks.azure.com/a/b/":                        true,
		"k3s":                        true,
		"sts.amazonaws.com":          false,
		"api://AzureADTokenExchange": false,
		"pods.eks.amazonaws.com":     false,
		"istio-ca":                   false,
		"vault":                      false,
		"":                           false,
	} {
		assert.Equal(t, want, isAPIServer(audience), audience)
	}
}
