package awspodid_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile"
)

// total counts the requests that reached anyone.
func (b *bed) total() int { return b.agent.Counts().Total() + b.sts.Counts().Total() }

// through are the ways in which programs use a provider.
var through = map[string]func(*awspodid.Provider) aws.CredentialsProvider{
	"directly": func(p *awspodid.Provider) aws.CredentialsProvider { return p },
	"through the SDK's cache": func(p *awspodid.Provider) aws.CredentialsProvider {
		return aws.NewCredentialsCache(p)
	},
	"through a cache with a window of its own": func(p *awspodid.Provider) aws.CredentialsProvider {
		return aws.NewCredentialsCache(p, func(o *aws.CredentialsCacheOptions) {
			o.ExpiryWindow, o.ExpiryWindowJitterFrac = 10*time.Minute, 0.5
		})
	},
}

func TestNobodyWaitsOrFailsForDays(t *testing.T) {
	for how, wrap := range through {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(b *bed) {
				b.run()
				slow := func(*http.Request) *awspodidtest.Fault { return &awspodidtest.Fault{Latency: 4 * time.Second} }
				p := b.provider()
				user := wrap(p)
				_, err := user.Retrieve(b.Context())
				require.NoError(b, err)
				b.agent.SetFault(slow)
				b.sts.SetFault(slow)
				const hours = 30 // more: Go 1.25.0 itself hangs now and then in a bubble of many timers
				b.use(user, hours*time.Hour, 61*time.Second)
				assert.Less(b, b.total(), hours*2, "refreshed with moderation")
				assert.Greater(b, b.total(), 4)
			})
		})
	}
}

// https://github.com/aws/aws-sdk-go-v2/issues/2868
func TestOutageIsNotSeenWhileCredentialsAreValid(t *testing.T) {
	for how, wrap := range through {
		t.Run(how, func(t *testing.T) {
			for outage, fault := range map[string]*awspodidtest.Fault{
				"hangs": {Hang: true}, "resets": {Reset: true}, "answers 500": {Status: 500, Body: "x"}, "answers 400": {Status: 400, Body: "x"},
			} {
				t.Run(outage, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := podIdentity(t)
						b.run()
						p := b.provider()
						user := wrap(p)
						_, err := user.Retrieve(t.Context())
						require.NoError(t, err)
						expiry := p.Stats().Expiry
						b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return fault })
						b.agent.ClearRequests()
						b.use(user, time.Until(expiry)-time.Second, time.Second)
						assert.Less(t, b.total(), 120, "in the last hour")
						assert.Positive(t, p.Stats().Failures)
						assert.LessOrEqual(t, b.log.lines(), 3, b.log)

						time.Sleep(2 * time.Second)
						_, err = user.Retrieve(t.Context())
						assert.ErrorAs(t, err, new(*awspodid.AgentError), "really expired")
						b.agent.SetFault(nil)
						time.Sleep(time.Minute)
						creds, err := user.Retrieve(t.Context())
						require.NoError(t, err)
						assert.True(t, b.good(creds))
					})
				})
			}
		})
	}
}

func TestFirstFetchIsSharedAndOutlivesACallerWhoLeaves(t *testing.T) {
	inBubble(t, func(b *bed) {
		slow := func(*http.Request) *awspodidtest.Fault { return &awspodidtest.Fault{Latency: 2 * time.Second} }
		b.agent.SetFault(slow)
		b.sts.SetFault(slow)
		p := b.provider()
		hasty, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			start := time.Now()
			_, err := p.Retrieve(hasty)
			assert.ErrorIs(b, err, context.DeadlineExceeded)
			assert.Equal(b, time.Second, time.Since(start))
		})
		for range 100 {
			callers.Go(func() {
				creds, err := p.Retrieve(b.Context())
				assert.NoError(b, err)
				assert.True(b, b.good(creds))
			})
		}
		callers.Wait()
		assert.Equal(b, 1, b.total())
	})
}

func TestDeadAgentIsATypedAnswerWithinSeconds(t *testing.T) {
	for name, fault := range map[string]*awspodidtest.Fault{"hangs": {Hang: true}, "resets": {Reset: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := podIdentity(t)
				b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return fault })
				p := b.provider()
				start := time.Now()
				_, err := p.Retrieve(context.Background())
				var refused *awspodid.AgentError
				require.ErrorAs(t, err, &refused)
				assert.Zero(t, refused.StatusCode)
				assert.ErrorContains(t, err, "does not answer on this node")
				assert.LessOrEqual(t, time.Since(start), 30*time.Second)
			})
		})
	}
}

func TestAgentThatTakesItsTimeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return &awspodidtest.Fault{Latency: 6 * time.Second} })
		_, err := b.provider().Retrieve(t.Context())
		assert.NoError(t, err)
	})
}

func TestLoopOfCallersDoesNotHammer(t *testing.T) {
	for name, c := range map[string]struct {
		upstream awspodidtest.Upstream
		most     int // requests in a minute
	}{
		"what cannot heal":      {awspodidtest.RoleDenied, 13},
		"what passes by itself": {awspodidtest.InternalError, 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := podIdentity(t)
				b.agent.SetUpstream(c.upstream)
				p := b.provider()
				for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
					_, err := p.Retrieve(t.Context())
					require.ErrorAs(t, err, new(*awspodid.AgentError))
				}
				assert.LessOrEqual(t, b.total(), c.most)
				assert.LessOrEqual(t, b.log.lines(), 2)
			})
		})
	}
}

// https://github.com/aws/aws-sdk-go-v2/issues/3192
func TestShortLivedCredentialsAreNotAskedForAtEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		b.agent.SetLifetime(2 * time.Minute)
		b.run()
		user := aws.NewCredentialsCache(b.provider())
		_, err := user.Retrieve(t.Context())
		require.NoError(t, err)
		b.agent.SetFault(nil)
		for range 600 {
			_, err := user.Retrieve(t.Context())
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		assert.Less(t, b.agent.Counts().Total(), 20)
	})
}

func TestMendedTokenFileIsUsedAtTheNextCall(t *testing.T) {
	inBubble(t, func(b *bed) {
		kubelet := b.pod.PodIdentity
		if kubelet == nil {
			kubelet = b.pod.WebIdentity
		}
		require.NoError(b, kubelet.Volume.Write("torn"))
		p := b.provider()
		_, err := p.Retrieve(b.Context())
		require.ErrorIs(b, err, tokenfile.ErrMalformed)
		require.NoError(b, kubelet.Rotate())
		_, err = p.Retrieve(b.Context())
		assert.NoError(b, err)
	})
}

func TestCallerWithAShortDeadlineIsToldOfTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		b.agent.SetUpstream(awspodidtest.InternalError)
		requests := 0 // one at a time
		b.agent.SetFault(func(*http.Request) *awspodidtest.Fault {
			requests++
			return &awspodidtest.Fault{Hang: requests > 1}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := b.provider().Retrieve(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "EKS Pod Identity")
		assert.ErrorContains(t, err, "InternalServerException")
		time.Sleep(time.Minute) // until the fetch, which goes on, has ended
	})
}

func TestEndpointsOfTheEnvironmentAreThoseOfSTS(t *testing.T) {
	for variable, host := range map[string]string{
		"AWS_USE_FIPS_ENDPOINT": "sts-fips.eu-central-1.amazonaws.com", "AWS_USE_DUALSTACK_ENDPOINT": "sts.eu-central-1.api.aws",
		"AWS_ENDPOINT_URL_STS": "sts.example.com",
	} {
		t.Run(variable, func(t *testing.T) {
			value := "true"
			if variable == "AWS_ENDPOINT_URL_STS" {
				value = "https://" + host
			}
			t.Setenv(variable, value)
			b := webIdentity(t)
			_, _ = b.provider().Retrieve(t.Context())
			require.NotEmpty(t, b.sts.Requests())
			assert.Equal(t, host, b.sts.Requests()[0].Host)
		})
	}
}

func TestInvalidateFetchesOthers(t *testing.T) {
	inBubble(t, func(b *bed) {
		p := b.provider()
		first, err := p.Retrieve(b.Context())
		require.NoError(b, err)
		p.Invalidate()
		same, err := p.Retrieve(b.Context())
		require.NoError(b, err)
		assert.Equal(b, first.AccessKeyID, same.AccessKeyID, "these were fetched just now")
		time.Sleep(time.Minute)
		for range 100 {
			p.Invalidate()
			_, err = p.Retrieve(b.Context())
			require.NoError(b, err)
		}
		assert.Equal(b, 2, b.total())
	})
}

func TestTokenThatIsReplacedDuringRetriesIsSent(t *testing.T) {
	inBubble(t, func(b *bed) {
		kubelet := b.pod.PodIdentity
		if kubelet == nil {
			kubelet = b.pod.WebIdentity
		}
		n := 0
		fault := func(*http.Request) *awspodidtest.Fault {
			if n++; n == 1 {
				assert.NoError(b, kubelet.Rotate())
				return &awspodidtest.Fault{Status: 500, Body: "x"}
			}
			return nil
		}
		b.agent.SetFault(fault)
		b.sts.SetFault(fault)
		creds, err := b.provider().Retrieve(b.Context())
		require.NoError(b, err)
		assert.True(b, b.good(creds))
		requests := append(b.agent.Requests(), b.sts.Requests()...)
		require.Len(b, requests, 2)
		assert.NotEqual(b, requests[0].TokenID, requests[1].TokenID)
	})
}

func TestRefusedTokenThatWasReplacedIsFollowedByTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		n := 0
		b.agent.SetFault(func(*http.Request) *awspodidtest.Fault {
			if n++; n == 1 {
				assert.NoError(t, b.pod.PodIdentity.Rotate())
				return &awspodidtest.Fault{Status: 400, Body: "Service account token failed basic claim validations: token is expired"}
			}
			return nil
		})
		_, err := b.provider().Retrieve(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	})
}

func TestFleetThatStartsTogetherDoesNotRefreshTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		var first, last time.Time
		for range 200 {
			p := b.provider()
			_, err := p.Retrieve(t.Context())
			require.NoError(t, err)
			refresh := p.Stats().Refresh
			if first.IsZero() || refresh.Before(first) {
				first = refresh
			}
			if refresh.After(last) {
				last = refresh
			}
		}
		assert.Greater(t, last.Sub(first), 25*time.Minute)
	})
}

// STS gives other credentials at each request, so the first ones can be
// refreshed at any time, and a fleet is spread after one period.
func TestFleetOfIRSASpreadsOverAWholePeriodAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := webIdentity(t)
		b.run()
		var providers []*awspodid.Provider
		for range 300 {
			providers = append(providers, b.provider())
		}
		var requests []int // in each ten minutes
		for range 3 * 6 {
			before := b.total()
			for range 10 {
				for _, p := range providers {
					_, err := p.Retrieve(t.Context())
					require.NoError(t, err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			requests = append(requests, b.total()-before)
		}
		// 300 of an hour, less the window, are 59 in ten minutes.
		for _, n := range requests[6:] {
			assert.InDelta(t, 59, n, 35, requests)
		}
	})
}

func TestSessionNameTellsWhoItWas(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*awspodid.Options)
		want string
	}{
		"from the token":       {func(*awspodid.Options) {}, "shop.web.web-7d4b9c6f5-x2x4z"},
		"from the options":     {func(o *awspodid.Options) { o.SessionName = "me" }, "me"},
		"from the environment": {nil, "env"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := webIdentity(t)
				if c.edit == nil {
					b.pod = b.pod.With("AWS_ROLE_SESSION_NAME", "env")
					c.edit = func(*awspodid.Options) {}
				}
				_, err := b.provider(c.edit).Retrieve(t.Context())
				require.NoError(t, err)
				assert.Equal(t, c.want, b.sts.Requests()[0].RoleSessionName)
			})
		})
	}
}

func TestNothingSecretIsLoggedOrPrinted(t *testing.T) {
	inBubble(t, func(b *bed) {
		p := b.provider()
		creds, err := p.Retrieve(b.Context())
		require.NoError(b, err)
		text := b.log.String() + sprint(p) + sprint(p.Stats()) + sprint(p.Injection())
		for _, secret := range []string{creds.SecretAccessKey, creds.SessionToken} {
			require.NotEmpty(b, secret)
			assert.False(b, strings.Contains(text, secret))
		}
	})
}

// A log handler that sends its records to AWS needs credentials itself.
func TestLoggerThatNeedsCredentialsDoesNotBlockThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		b.agent.SetUpstream(awspodidtest.RoleDenied)
		var user aws.CredentialsProvider
		p := b.provider(func(o *awspodid.Options) {
			o.Logger = slog.New(handler{slog.DiscardHandler, func() { user.Retrieve(context.Background()) }})
		})
		user = aws.NewCredentialsCache(p)
		start := time.Now()
		_, err := user.Retrieve(t.Context())
		assert.ErrorAs(t, err, new(*awspodid.AgentError))
		assert.Less(t, time.Since(start), time.Second)
		synctest.Wait()
	})
}

type handler struct {
	slog.Handler
	each func()
}

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) Handle(context.Context, slog.Record) error {
	h.each()
	return nil
}

// https://github.com/aws/eks-pod-identity-agent/issues/97
func TestThrottlingIsAnsweredByLongerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		b.agent.SetFault(func(*http.Request) *awspodidtest.Fault {
			return &awspodidtest.Fault{Status: 429, Body: "Too Many Requests"}
		})
		p := b.provider()
		for range 600 {
			_, err := p.Retrieve(t.Context())
			require.Error(t, err)
			time.Sleep(time.Second)
		}
		assert.Less(t, b.total(), 60)
	})
}

func TestFleetDoesNotComeBackInOneSecondAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		var fleet []*awspodid.Provider
		for range 100 {
			p := b.provider()
			_, err := p.Retrieve(t.Context())
			require.NoError(t, err)
			fleet = append(fleet, p)
		}
		b.agent.SetDown(true)
		for range 6*60 - 2 {
			time.Sleep(time.Minute)
			for _, p := range fleet {
				p.Retrieve(t.Context())
			}
		}
		synctest.Wait()
		seconds := map[int64]int{}
		for _, p := range fleet {
			seconds[p.Stats().Refresh.Unix()]++
		}
		most := 0
		for _, n := range seconds {
			most = max(most, n)
		}
		assert.Less(t, most, 50)
		time.Sleep(time.Minute)
	})
}

func TestClientThatPanicsIsAnError(t *testing.T) {
	b := podIdentity(t)
	p := b.provider(func(o *awspodid.Options) { o.HTTPClient = panics{} })
	_, err := p.Retrieve(t.Context())
	assert.ErrorContains(t, err, "panicked")
}

type panics struct{}

func (panics) Do(*http.Request) (*http.Response, error) { panic("boom") }

func TestTokenIsNotSentToAnSTSInClearText(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://minio.example.com")
	b := webIdentity(t)
	_, err := b.provider().Retrieve(t.Context())
	assert.ErrorContains(t, err, "not https")
	assert.Zero(t, b.total())
}

func TestInvalidateDuringAnOutageThrowsNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := podIdentity(t)
		p := b.provider()
		_, err := p.Retrieve(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Hour)
		b.agent.SetDown(true)
		p.Invalidate()
		for range 3 {
			creds, err := p.Retrieve(t.Context())
			require.NoError(t, err)
			assert.True(t, b.good(creds))
		}
	})
}
