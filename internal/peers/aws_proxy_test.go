package peers

import (
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// https://github.com/awsdocs/amazon-eks-user-guide/pull/878
//
// Package http reads HTTP_PROXY once, so each side is a program of its own. It
// exempts loopback, but goes by the text: LOCALHOST is a name like any other
// there, and leads to this machine.
func TestProxyInTheEnvironment(t *testing.T) {
	// behind runs a side with a proxy that answers itself, and with the agent,
	// and returns how many tokens reached either.
	behind := func(t *testing.T, side, agentURL string) (throughProxy, direct int) {
		proxy := &answering{body: strangers}
		server := httptest.NewServer(proxy)
		defer server.Close()
		c := newCluster(t, podIdentity)
		c.agent.Hosts = []string{"LOCALHOST"}
		own, stop := c.agent.Start()
		defer stop()
		if agentURL == "" {
			u, err := url.Parse(own)
			require.NoError(t, err)
			agentURL = "http://LOCALHOST:" + u.Port() + "/v1/credentials"
		}
		c.pod = c.pod.With(awspodidtest.FullURI, agentURL)
		c.container()
		output, err := child(t, side, "HTTP_PROXY="+server.URL, "http_proxy="+server.URL)
		require.NoError(t, err, output)
		for _, token := range proxy.all() {
			if token == held(c) {
				throughProxy++
			}
		}
		return throughProxy, c.agent.Counts().OK
	}
	peer, _ := behind(t, "chain", awspodidtest.AgentURL)
	asReported(t, peer == 1, "the proxy gets the request for the agent's own address, and the token with it")
	peer, direct := behind(t, "chain", "")
	asReported(t, peer == 1 && direct == 0, "the proxy gets the request, and the token with it")
	ours, direct := behind(t, "provider", "")
	assert.Zero(t, ours)
	assert.Equal(t, 1, direct)
	row(t, "HTTP_PROXY is set", "the proxy gets the token", "the agent is asked directly")
}

// held is what the pod's file holds.
func held(c *cluster) string {
	content, err := os.ReadFile(c.kubelet().Volume.Path())
	require.NoError(c, err)
	return string(content)
}

// Both sides as programs have them, with nothing of the test's in between.
func init() {
	retrieve := func(t *testing.T, p aws.CredentialsProvider) {
		_, err := p.Retrieve(t.Context())
		require.NoError(t, err)
	}
	children["chain"] = func(t *testing.T) {
		cfg, err := config.LoadDefaultConfig(t.Context())
		require.NoError(t, err)
		retrieve(t, cfg.Credentials)
	}
	children["provider"] = func(t *testing.T) {
		p, err := awspodid.New()
		require.NoError(t, err)
		retrieve(t, p)
	}
}
