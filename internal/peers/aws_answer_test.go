package peers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// answered is a first call for credentials while the agent has a fault.
func answered(t *testing.T, f *awspodidtest.Fault) (peer, ours attempt) {
	t.Helper()
	return bySides(t, podIdentity, func(c *cluster, isPeer bool) attempt {
		c.fault(f)
		got := c.retrieve(c.side(isPeer))
		if !isPeer {
			c.refused(got)
		}
		return got
	})
}

// https://github.com/aws/eks-pod-identity-agent/issues/26
//
// A second caller joins after a minute, and the agent is restarted after an
// hour so that the test ends.
func TestAgentHangs(t *testing.T) {
	const joins, restarts = time.Minute, time.Hour
	type outcome struct{ first, second time.Duration }
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) (o outcome) {
		c.fault(&awspodidtest.Fault{Hang: true})
		side := c.side(isPeer)
		time.AfterFunc(restarts, func() {
			c.fault(nil)
			c.agent.Restart()
		})
		second := make(chan time.Duration)
		go func() {
			time.Sleep(joins)
			second <- c.retrieve(side).took
		}()
		o.first = c.retrieve(side).took
		o.second = <-second
		return o
	})
	asReported(t, peer.first >= restarts, "a caller without a deadline waits until the agent is restarted: %v", peer.first)
	asReported(t, peer.second >= restarts-joins, "and so does one who joins: %v", peer.second)
	assert.LessOrEqual(t, ours.first, 30*time.Second)
	assert.LessOrEqual(t, ours.second, 30*time.Second)
	row(t, "the agent hangs; a caller without a deadline waits for", "as long as it does", ours.first)
}

// The redirect takes no token along, but the answer is taken for credentials.
func TestRedirectToAnotherHost(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			type outcome struct {
				key   string
				asked int
			}
			peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) outcome {
				c.fault(awspodidtest.Redirect(status, "http://"+elsewhere+"/"))
				got := c.retrieve(c.side(isPeer))
				if !isPeer {
					var refused *awspodid.AgentError
					require.ErrorAs(c, got.err, &refused)
					assert.Equal(c, status, refused.StatusCode)
				}
				return outcome{got.creds.AccessKeyID, len(c.other.all())}
			})
			asReported(t, peer == outcome{"ASIASTRANGER", 1}, "it takes the other host's credentials: %v", peer)
			assert.Zero(t, ours)
		})
	}
	row(t, "a 307 or 308 to another host", "takes that one's credentials", "an error, the host is not asked")
}

// Of any size, that is: this one keeps the test small.
func TestRefusalOf16MiB(t *testing.T) {
	const size = 16 << 20
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) int {
		c.fault(&awspodidtest.Fault{Status: http.StatusForbidden, Body: "x", Pad: size})
		got := c.retrieve(c.side(isPeer))
		require.Error(c, got.err)
		return len(got.err.Error())
	})
	asReported(t, peer > size, "all of it is the text of the error: %d bytes", peer)
	assert.Less(t, ours, 4<<10)
	row(t, "bytes of the error's text when the agent's has 16 MiB", peer, ours)
}

// signed returns the Authorization with which the SDK signs a request.
func (c *cluster) signed(p aws.CredentialsProvider) string {
	var authorization string
	client := sts.New(sts.Options{Region: "eu-central-1", Credentials: p, HTTPClient: client(func(r *http.Request) (*http.Response, error) {
		authorization = r.Header.Get("Authorization")
		return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<ErrorResponse/>"))}, nil
	})})
	client.GetCallerIdentity(c.Context(), nil) // refused, and so what
	return authorization
}

type client func(*http.Request) (*http.Response, error)

func (f client) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnswerIsAnEmptyObject(t *testing.T) {
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) (authorization string) {
		c.fault(awspodidtest.Body("{}"))
		side := c.side(isPeer)
		got := c.retrieve(side)
		if isPeer {
			asReported(c.T, got.err == nil && !got.creds.HasKeys(), "that is no error: %v", got.err)
		} else {
			c.refused(got)
		}
		return c.signed(side)
	})
	asReported(t, strings.Contains(peer, "Credential=/"), "requests are signed with an empty key: %s", peer)
	assert.Empty(t, ours, "nothing is signed or sent")
	row(t, "the answer is {}", "requests are signed with an empty key", "an error")
}

func TestAnswerWithoutExpiration(t *testing.T) {
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) (valid bool) {
		c.fault(awspodidtest.Without("Expiration"))
		side := c.side(isPeer)
		first := c.retrieve(side)
		if !isPeer {
			c.refused(first)
			return false
		}
		asReported(c.T, first.err == nil, "it takes them: %v", first.err)
		c.fault(nil)
		time.Sleep(365 * 24 * time.Hour)
		last := c.retrieve(side)
		require.NoError(c, last.err)
		asReported(c.T, last.creds.AccessKeyID == first.creds.AccessKeyID && !c.good(last.creds), "the same credentials a year later")
		return true
	})
	assert.True(t, peer)
	assert.False(t, ours)
	row(t, "an answer without an Expiration is used for", "ever", "nothing: an error")
}

func TestAnswerThatHasExpired(t *testing.T) {
	peer, ours := answered(t, awspodidtest.AlreadyExpired(time.Hour))
	asReported(t, peer.err == nil && peer.creds.Expired(), "the caller gets them: %v", peer.err)
	assert.ErrorContains(t, ours.err, "expired")
	row(t, "the answer's credentials expired an hour ago", "the caller gets them", "an error")
}

// A panic in the goroutine of the SDK's cache is nobody's to recover, so this
// takes place in a program of its own.
func TestAnswerIsNull(t *testing.T) {
	output, err := child(t, "null")
	asReported(t, err != nil && strings.Contains(output, "nil pointer dereference") && strings.Contains(output, "endpointcreds.(*Provider).Retrieve"),
		"it ends the program: %v", err)
	inCluster(t, podIdentity, func(c *cluster) {
		c.fault(awspodidtest.Body("null"))
		c.refused(c.retrieve(c.side(false)))
	})
	row(t, "the answer is null", "the program ends: nil pointer dereference", "an error")
}

func init() {
	children["null"] = func(t *testing.T) {
		inCluster(t, podIdentity, func(c *cluster) {
			c.fault(awspodidtest.Body("null"))
			c.retrieve(c.side(true))
		})
	}
}
