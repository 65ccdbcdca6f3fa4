package peers

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile"
)

// https://github.com/boto/botocore/issues/3117
//
// The peers read the file once for a retrieval, so a token that is replaced
// while the agent or STS is in trouble is not seen until all attempts failed.
func TestAttemptsWhileTheTokenIsReplaced(t *testing.T) {
	for _, m := range mechanisms {
		t.Run(m.name, func(t *testing.T) {
			type outcome struct{ attempts, tokens int }
			peer, ours := bySides(t, m.admit, func(c *cluster, isPeer bool) outcome {
				left := 2
				rotate := func(*http.Request) *awspodidtest.Fault {
					assert.NoError(c, c.kubelet().Rotate())
					if left--; left >= 0 {
						return &awspodidtest.Fault{Status: http.StatusServiceUnavailable, Body: "<ErrorResponse/>"}
					}
					return nil
				}
				c.agent.SetFault(rotate)
				c.sts.SetFault(rotate)
				require.NoError(c, c.retrieve(c.side(isPeer)).err)
				different := make(map[string]bool)
				for _, r := range c.requests() {
					different[r.TokenID] = true
				}
				return outcome{len(c.requests()), len(different)}
			})
			asReported(t, peer == outcome{attempts: 3, tokens: 1}, "its attempts send the same token: %v", peer)
			assert.Equal(t, outcome{attempts: 3, tokens: 3}, ours)
			row(t, m.name+": different tokens in three attempts, the file replaced before each", peer.tokens, ours.tokens)
		})
	}
}

// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3410
func TestTokenForAnotherAudience(t *testing.T) {
	for _, m := range mechanisms {
		t.Run(m.name, func(t *testing.T) {
			foreign := func(c *cluster) {
				c.kubelet().Request.Audiences = []string{"https://kubernetes.default.svc"}
				require.NoError(c, c.kubelet().Rotate())
			}
			inCluster(t, m.admit, func(c *cluster) {
				foreign(c)
				require.Error(c, c.retrieve(c.side(true)).err)
				asReported(c.T, len(c.requests()) > 0, "the API server's token is sent")
			})
			inCluster(t, m.admit, func(c *cluster) {
				foreign(c)
				_, err := c.tryOurs()
				var wrong *tokenfile.AudienceError
				require.ErrorAs(c, err, &wrong)
				assert.Equal(c, []string{"https://kubernetes.default.svc"}, wrong.Got)
				assert.Empty(c, c.requests())
			})
			row(t, m.name+": the file holds the API server's token", "is sent", "an error at start, nothing is sent")
		})
	}
}

// https://github.com/kubernetes/kubernetes/issues/138689
// https://github.com/aws/aws-sdk-js-v3/issues/7913
func TestExpiredToken(t *testing.T) {
	for _, m := range mechanisms {
		t.Run(m.name, func(t *testing.T) {
			peer, ours := bySides(t, m.admit, func(c *cluster, isPeer bool) int {
				time.Sleep(24*time.Hour + time.Minute) // and no kubelet
				got := c.retrieve(c.side(isPeer))
				require.Error(c, got.err)
				if !isPeer {
					c.refused(got)
					assert.ErrorAs(c, got.err, new(*tokenfile.ExpiredError))
				}
				return len(c.requests())
			})
			asReported(t, peer > 0, "an expired token is sent")
			assert.Zero(t, ours)
			row(t, m.name+": requests with a token that has expired", peer, ours)
		})
	}
}

func TestEmptyTokenFile(t *testing.T) {
	type outcome struct{ requests, withToken int }
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) (o outcome) {
		side := c.side(isPeer)
		require.NoError(c, c.kubelet().Volume.WriteInPlace(nil))
		got := c.retrieve(side)
		require.Error(c, got.err)
		if !isPeer {
			c.refused(got)
			assert.ErrorIs(c, got.err, tokenfile.ErrMalformed)
		}
		for _, r := range c.requests() {
			o.requests++
			if r.HadToken {
				o.withToken++
			}
		}
		return o
	})
	asReported(t, peer.requests > 0 && peer.withToken == 0, "it sends a request without the header: %v", peer)
	assert.Zero(t, ours)
	row(t, "the file is empty", "a request without a token", "an error, nothing is sent")
}

// https://github.com/mongodb/mongo-go-driver/pull/1965
func TestNewlineAfterTheToken(t *testing.T) {
	// sent returns how often the token ended in a newline, of how many requests.
	type outcome struct {
		requests, newlines int
		failed             bool
	}
	for _, m := range mechanisms {
		t.Run(m.name, func(t *testing.T) {
			peer, ours := bySides(t, m.admit, func(c *cluster, isPeer bool) (o outcome) {
				raw, err := os.ReadFile(c.kubelet().Volume.Path())
				require.NoError(c, err)
				require.NoError(c, c.kubelet().Volume.Write(string(raw)+"\n"))
				look := func(r *http.Request) *awspodidtest.Fault {
					o.requests++
					token := r.Header.Get("Authorization")
					if token == "" {
						body, _ := io.ReadAll(r.Body)
						form, _ := url.ParseQuery(string(body))
						token = form.Get("WebIdentityToken")
					}
					if strings.HasSuffix(token, "\n") {
						o.newlines++
					}
					return nil
				}
				c.agent.SetFault(look)
				c.sts.SetFault(look)
				o.failed = c.retrieve(c.side(isPeer)).err != nil
				return o
			})
			if m.name == "IRSA" {
				asReported(t, peer.requests > 0 && peer.newlines == peer.requests, "it sends the newline: %v", peer)
				row(t, m.name+": a newline at the end of the file", "is sent", "is not sent")
			} else {
				asReported(t, peer == outcome{failed: true}, "it refuses the token: %v", peer)
				row(t, m.name+": a newline at the end of the file", "an error", "is not sent")
			}
			assert.Equal(t, outcome{requests: 1}, ours)
		})
	}
}

// hook is a source of tokens that fails.
type hook struct{ err error }

func (h hook) GetToken() (string, error)         { return "", h.err }
func (h hook) GetIdentityToken() ([]byte, error) { return nil, h.err }

// An error's type is what a program acts on: wait for a file that is not there
// yet, give up on one that is not readable.
func TestTypeOfTheErrorOfTheTokenFile(t *testing.T) {
	inCluster(t, podIdentity, func(c *cluster) {
		failing := hook{&tokenfile.Error{Path: "token", Err: tokenfile.ErrMalformed}}
		_, err := endpointcreds.New(awspodidtest.AgentURL, func(o *endpointcreds.Options) { o.AuthorizationTokenProvider = failing }).Retrieve(c.Context())
		require.ErrorContains(c, err, "token")
		asReported(c.T, !errors.As(err, new(*tokenfile.Error)), "endpointcreds loses the type of its hook's error: %v", err)
		_, err = stscreds.NewWebIdentityRoleProvider(nil, awsRole, failing).Retrieve(c.Context())
		assert.ErrorIs(c, err, tokenfile.ErrMalformed, "stscreds keeps it")
	})
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) error {
		side := c.side(isPeer)
		require.NoError(c, c.kubelet().Volume.RemoveAll())
		return c.retrieve(side).err
	})
	require.Error(t, peer)
	asReported(t, !errors.Is(peer, fs.ErrNotExist), "and so does the chain: %v", peer)
	assert.ErrorIs(t, ours, fs.ErrNotExist)
	assert.ErrorAs(t, ours, new(*awspodid.AgentError))
	row(t, "errors.Is(err, fs.ErrNotExist) once the file is gone", errors.Is(peer, fs.ErrNotExist), errors.Is(ours, fs.ErrNotExist))
}
