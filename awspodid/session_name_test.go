package awspodid

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/tokenfile"
)

func TestRoleSessionNameFitsSTS(t *testing.T) {
	valid := regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
	long := strings.Repeat("n", 63)
	for name, c := range map[string]struct {
		kubernetes tokenfile.Kubernetes
		subject    string
		want       string
	}{
		"a pod's":           {tokenfile.Kubernetes{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"}, "", "shop.web.web-0"},
		"bound to no pod":   {tokenfile.Kubernetes{Namespace: "shop", ServiceAccount: "web"}, "", "shop.web"},
		"another issuer's":  {tokenfile.Kubernetes{}, "system:serviceaccount:shop:web", "shop.web"},
		"a subject of many": {tokenfile.Kubernetes{}, strings.Repeat("a:", 100), ""},
		"none":              {tokenfile.Kubernetes{}, "", "podtoken"},
		"a letter":          {tokenfile.Kubernetes{}, "x", "podtoken"},
		"other letters":     {tokenfile.Kubernetes{}, "müller/web", "m-ller-web"},
		"too long":          {tokenfile.Kubernetes{Namespace: long, ServiceAccount: long, Pod: "web-" + long + "-7d4b9c6f5-x2x4z"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := roleSessionName(c.kubernetes, c.subject)
			assert.Regexp(t, valid, got)
			if c.want != "" {
				assert.Equal(t, c.want, got)
			}
			if name == "too long" {
				assert.True(t, strings.HasSuffix(got, "f5-x2x4z"), got)
			}
		})
	}
}
