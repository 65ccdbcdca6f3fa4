package peers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// https://github.com/aws/amazon-eks-pod-identity-webhook/issues/264
// https://github.com/aws/eks-pod-identity-agent/issues/153
func TestNothingWasInjectedAndTheNodeHasARole(t *testing.T) {
	inCluster(t, uninjected, func(c *cluster) {
		got := c.retrieve(c.chain().Credentials)
		asReported(c.T, got.err == nil && got.creds.AccessKeyID == "ASIANODE", "it takes the role of the node: %v", got.err)
	})
	inCluster(t, uninjected, func(c *cluster) {
		_, err := c.tryOurs()
		assert.ErrorIs(c, err, awspodid.ErrNotInjected)
		assert.Zero(c, c.imds.requests())
	})
	row(t, "nothing was injected", "takes the node's role", "an error at start that says so")
}

// https://github.com/aws/aws-sdk-go-v2/issues/2708
func TestNothingWasInjectedAndTheNodeDoesNotAnswer(t *testing.T) {
	// named says whether a text leads to the reason.
	named := func(err error) bool {
		for _, word := range []string{awspodidtest.FullURI, awspodidtest.RoleARN, "webhook", "ubernetes", " pod "} {
			if strings.Contains(err.Error(), word) {
				return true
			}
		}
		return false
	}
	var took time.Duration
	inCluster(t, uninjected, func(c *cluster) {
		c.imds.hop = true
		cfg := c.chain()
		got := c.retrieve(cfg.Credentials)
		require.Error(c, got.err)
		took = got.took
		asReported(c.T, strings.Contains(got.err.Error(), "no EC2 IMDS role found") && !named(got.err),
			"it speaks of IMDS, and of nothing that a pod lacks: %v", got.err)
		asReported(c.T, took > time.Second, "that takes it a while: %v", took)
		asReported(c.T, c.imds.requests() > 1, "IMDS is asked: %d times", c.imds.requests())
	})
	inCluster(t, uninjected, func(c *cluster) {
		c.imds.hop = true
		start := time.Now()
		_, err := c.tryOurs()
		require.ErrorIs(c, err, awspodid.ErrNotInjected)
		assert.True(c, named(err))
		assert.ErrorContains(c, err, awspodidtest.FullURI)
		assert.Zero(c, time.Since(start))
		assert.Zero(c, c.imds.requests())
	})
	row(t, "nothing was injected, and the node is out of reach", "no EC2 IMDS role found, after "+took.Round(time.Second/10).String(),
		"the same error, at once")
}

// Half of a pair is what the webhook leaves when a variable is in the manifest.
func TestTokenFileWithoutTheURI(t *testing.T) {
	inCluster(t, podIdentity, func(c *cluster) {
		c.pod = c.pod.Without(awspodidtest.FullURI)
		got := c.retrieve(c.chain().Credentials)
		asReported(c.T, got.err == nil && got.creds.AccessKeyID == "ASIANODE", "it ignores the token file and takes the role of the node: %v", got.err)
	})
	inCluster(t, podIdentity, func(c *cluster) {
		c.pod = c.pod.Without(awspodidtest.FullURI)
		_, err := c.tryOurs()
		var half *awspodid.InjectionError
		require.ErrorAs(c, err, &half)
		assert.Equal(c, awspodidtest.FullURI, half.Variable)
		assert.Zero(c, c.imds.requests())
	})
	row(t, "a token file without the agent's URI", "takes the node's role", "an error at start that names the variable")
}
