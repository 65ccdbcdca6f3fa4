//go:build linux

package doctor_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

const (
	podIdentityDir = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
	webIdentityDir = "/var/run/secrets/eks.amazonaws.com/serviceaccount"
	agentVariable  = "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials"
	fileVariable   = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" + podIdentityDir + "/eks-pod-identity-token"
)

// inject does what the webhook of Pod Identity does.
func (p *pod) inject(l life) {
	p.t.Helper()
	volume, err := p.Volume(podIdentityDir)
	require.NoError(p.t, err)
	volume.FileName = "eks-pod-identity-token"
	require.NoError(p.t, volume.Write(p.sign(awspodidtest.PodIdentityAudience, l)))
	written := time.Now().Add(-l.age)
	require.NoError(p.t, os.Chtimes(volume.Path(), written, written))
}

func TestAWS(t *testing.T) {
	day := life{time.Hour, 24 * time.Hour, 0}
	for name, c := range map[string]struct {
		pod       func(*pod)
		rules     string
		level     string
		variable  string // of the first finding
		mechanism string // "-": AWS is not in the report
	}{
		"a pod that never wanted AWS": {func(p *pod) {}, "", "", "", "-"},
		"Pod Identity": {
			func(p *pod) { p.inject(day); p.setenv(agentVariable, fileVariable) }, "", "", "", "EKS Pod Identity",
		},
		"IRSA": {
			func(p *pod) {
				p.mount(webIdentityDir, "sts.amazonaws.com", day)
				p.setenv("AWS_WEB_IDENTITY_TOKEN_FILE="+webIdentityDir+"/token", "AWS_ROLE_ARN=arn:aws:iam::111122223333:role/web", "AWS_REGION=eu-central-1")
			}, "", "", "", "IRSA",
		},
		"expected and not injected":  {func(p *pod) { p.options.ExpectAWS = true }, "PD018", "error", "", ""},
		"a region, and nothing else": {func(p *pod) { p.setenv("AWS_REGION=eu-central-1") }, "PD018", "note", "", ""},
		"a region, and keys that do not rotate": {
			func(p *pod) { p.setenv("AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s") }, "", "", "", "-",
		},
		"a mount whose variables are gone": {func(p *pod) { p.inject(day) }, "PD018", "error", "", ""},
		"half injected": {
			func(p *pod) { p.setenv(agentVariable) }, "PD019", "error", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "",
		},
		"a file that is not there, said once": {
			func(p *pod) { p.setenv(agentVariable, fileVariable) }, "PD002", "error", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "",
		},
		"an expired token, said once": {
			func(p *pod) { p.inject(life{48 * time.Hour, 24 * time.Hour, 0}); p.setenv(agentVariable, fileVariable) },
			"PD005", "error", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "EKS Pod Identity",
		},
		"a token for somebody else": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.setenv(agentVariable, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/tokens/token")
			}, "PD019", "error", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "",
		},
		"a token for somebody else, which a slow clock makes worse": {
			func(p *pod) {
				p.mount("/tokens", "openbao", life{-6 * time.Second, time.Hour, 0})
				p.setenv(agentVariable, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/tokens/token")
			}, "PD019 PD007", "error", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "",
		},
		"keys in place of what is expected": {
			func(p *pod) {
				p.options.ExpectAWS = true
				p.setenv("AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s")
			}, "PD018 PD020", "error", "", "",
		},
		"a mount whose variables are gone, and keys": {
			func(p *pod) { p.inject(day); p.setenv("AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s") }, "PD018", "error", "", "",
		},
		"keys before Pod Identity": {
			func(p *pod) {
				p.inject(day)
				p.setenv(agentVariable, fileVariable, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s")
			}, "PD020", "warning", "AWS_ACCESS_KEY_ID", "EKS Pod Identity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.mount("/other", "payments", healthy) // so that there is a token in every case
			c.pod(p)
			r := p.examine()
			require.Equal(t, c.rules, ruleIDs(r.Findings), "%v", r.Findings)
			if c.rules != "" {
				assert.Equal(t, c.level, string(r.Findings[0].Level))
				assert.Equal(t, c.variable, r.Findings[0].Variable)
				assert.NotContains(t, r.Findings[0].Message, p.Root)
			}
			if c.mechanism == "-" {
				assert.Nil(t, r.AWS)
				return
			}
			require.NotNil(t, r.AWS)
			assert.Equal(t, c.mechanism, r.AWS.Mechanism)
			for _, v := range r.AWS.Variables {
				assert.NotContains(t, v.Value, p.Root)
				assert.NotContains(t, v.Value, "AKIA")
			}
		})
	}
}
