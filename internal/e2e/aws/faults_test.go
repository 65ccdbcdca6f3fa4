//go:build linux

package aws

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A fault is what is wrong with a pod. The same is done to two of them.
type fault struct {
	name string
	do   func(*testing.T, *pod) *process

	ours func(*testing.T, outcome)
	peer func(*testing.T, outcome) // where it does the same each time
}

// A pod is one program's: its token, and its way to STS.
type pod struct {
	program string
	cluster *cluster
	front   *front
	volume  *tokenfiletest.Volume
	secrets *secrets
}

// An outcome is what became of a program in a fault.
type outcome struct {
	program  string
	reply    reply // the last
	failed   int   // orders
	done     int
	longest  time.Duration // that an order took
	late     time.Duration // after what was wrong was mended
	requests int           // to STS
	refused  int           // of those
	imds     int           // requests
}

var faults = []fault{
	{
		name: "nothing is wrong",
		do:   func(t *testing.T, p *pod) *process { p.write(t, p.token(t)); return p.run(t, p.injected()...) },
		ours: func(t *testing.T, o outcome) {
			o.worked(t, "podtoken")
			assert.Equal(t, 1, o.requests, "requests to STS")
		},
		peer: func(t *testing.T, o outcome) { o.worked(t, "WebIdentityCredentials") },
	}, {
		name: "nothing was injected",
		do:   func(t *testing.T, p *pod) *process { return p.run(t) },
		ours: func(t *testing.T, o outcome) { o.refusedToStart(t, "NotInjectedError") },
		peer: func(t *testing.T, o outcome) { o.becameTheNode(t) },
	}, {
		name: "half a pair: the token's file is missing",
		do:   func(t *testing.T, p *pod) *process { return p.run(t, p.injected()[0]) },
		ours: func(t *testing.T, o outcome) { o.refusedToStart(t, "InjectionError") },
		peer: func(t *testing.T, o outcome) { o.becameTheNode(t) },
	}, {
		name: "half a pair: the role is missing",
		do:   func(t *testing.T, p *pod) *process { p.write(t, p.token(t)); return p.run(t, p.injected()[1]) },
		ours: func(t *testing.T, o outcome) { o.refusedToStart(t, "InjectionError") },
		peer: func(t *testing.T, o outcome) { o.refusedToStart(t) },
	}, {
		name: "the volume is not mounted",
		do:   func(t *testing.T, p *pod) *process { return p.run(t, p.injected()...) },
		ours: func(t *testing.T, o outcome) { o.refusedToStart(t, "InjectionError", "ErrNotExist") },
		peer: func(t *testing.T, o outcome) { o.failedLater(t) },
	}, {
		name: "wrong audience",
		do: func(t *testing.T, p *pod) *process {
			token, err := p.cluster.request(t.Context(), "app", bed.APIAudience)
			require.NoError(t, err)
			p.write(t, token)
			return p.run(t, p.injected()...)
		},
		ours: func(t *testing.T, o outcome) { o.refusedToStart(t, "InjectionError", "AudienceError") },
		peer: func(t *testing.T, o outcome) { o.failedLater(t, "code InvalidParameterValue") },
	}, {
		name: "expired",
		do: func(t *testing.T, p *pod) *process {
			p.write(t, p.short(t, -2*time.Minute))
			return p.run(t, p.injected()...)
		},
		ours: func(t *testing.T, o outcome) { o.failedLater(t, "STSError", "ExpiredError"); o.sentNothing(t) },
		peer: func(t *testing.T, o outcome) { o.failedLater(t, "code ExpiredTokenException") },
	}, {
		name: "expired, and mended after that",
		do: func(t *testing.T, p *pod) *process {
			p.write(t, p.short(t, -2*time.Minute))
			proc := p.run(t, p.injected()...)
			require.NotEmpty(t, proc.use(t).Error)
			p.write(t, p.token(t))
			proc.recover(t)
			return proc
		},
		ours: func(t *testing.T, o outcome) {
			o.worked(t, "podtoken")
			assert.Zero(t, o.refused, "refused by STS")
		},
		peer: func(t *testing.T, o outcome) { o.worked(t, "WebIdentityCredentials") },
	}, {
		name: "empty file",
		do:   func(t *testing.T, p *pod) *process { p.write(t, ""); return p.run(t, p.injected()...) },
		ours: func(t *testing.T, o outcome) { o.failedLater(t, "STSError", "ErrMalformed"); o.sentNothing(t) },
		peer: func(t *testing.T, o outcome) { o.failedLater(t, "code MissingParameter") },
	}, {
		name: "trailing newline",
		do:   func(t *testing.T, p *pod) *process { p.write(t, p.token(t)+"\n"); return p.run(t, p.injected()...) },
		ours: func(t *testing.T, o outcome) { o.worked(t, "podtoken") },
		peer: func(t *testing.T, o outcome) { assert.Positive(t, o.requests, "requests to STS") },
	}, {
		name: "the token ends and is replaced while STS is busy",
		do:   replacedDuringRetries,
		ours: func(t *testing.T, o outcome) {
			o.worked(t, "podtoken")
			// An order that comes while the file holds the token that has ended
			// is told so, and nothing is sent for it.
			assert.LessOrEqual(t, o.failed, 1, "failed orders")
			assert.LessOrEqual(t, o.requests, 3, "requests to STS")
			assert.Zero(t, o.refused, "requests with a token that had ended")
		},
		peer: func(t *testing.T, o outcome) { assert.Positive(t, o.refused, "requests with a token that had ended") },
	}, {
		name: "STS is not https, and behind HTTP_PROXY",
		do: func(t *testing.T, p *pod) *process {
			p.write(t, p.token(t))
			return p.run(t, append(p.injected(), "HTTP_PROXY="+p.front.url, stsVar+"=http://sts.podtoken.invalid")...)
		},
		// A proxy would read the token.
		ours: func(t *testing.T, o outcome) { assert.Zero(t, o.requests, "requests to STS") },
		peer: func(t *testing.T, o outcome) { o.worked(t, "WebIdentityCredentials") },
	}, {
		name: "STS takes three seconds to answer",
		do: func(t *testing.T, p *pod) *process {
			p.front.delay = slow
			return p.lifetimes(t)
		},
		// The first one has to wait.
		ours: func(t *testing.T, o outcome) {
			assert.Zero(t, o.failed)
			assert.Less(t, o.longest, slow, "the longest order")
		},
		peer: func(t *testing.T, o outcome) { assert.GreaterOrEqual(t, o.longest, slow, "the longest order") },
	}, {
		name: "the pod's clock is three seconds behind",
		do: func(t *testing.T, p *pod) *process {
			p.front.ahead = slow
			return p.lifetimes(t)
		},
		// It refreshes in time, but the SDK's cache keeps what it had for up to
		// five seconds more: much of 20 s, and nothing of a quarter of an hour.
		ours: func(t *testing.T, o outcome) { o.worked(t, "podtoken") },
		peer: func(t *testing.T, o outcome) { assert.Positive(t, o.failed, "orders that failed") },
	}, {
		name: "STS is down near the credentials' end",
		do:   downNearTheEnd,
		ours: func(t *testing.T, o outcome) {
			assert.Zero(t, o.failed, "orders that failed")
			assert.Positive(t, o.done, "orders")
		},
		peer: func(t *testing.T, o outcome) { assert.Positive(t, o.done, "orders") },
	}, {
		name: "STS is down beyond the credentials' end, and back",
		do:   downBeyondTheEnd,
		ours: func(t *testing.T, o outcome) { o.worked(t, "podtoken") },
		peer: func(t *testing.T, o outcome) { o.worked(t, "WebIdentityCredentials") },
	},
}

// What happens to pods happens to one with podtoken and to one without. The
// table that is printed says what each did.
func TestEachFaultBesideTheSDKsOwnChain(t *testing.T) {
	c, w := requireCluster(t), requireWeed(t)
	lines := make([]string, len(faults))
	// Most of the time is waited away, so several cases run at once; not all,
	// since starting a program is work.
	slots := make(chan struct{}, 6)
	var running sync.WaitGroup
	for i, f := range faults {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			t.Run(f.name, func(t *testing.T) { lines[i] = f.compare(t, c, w) })
		})
	}
	running.Wait()
	t.Logf("with credentials of %v:\n| fault | podtoken | %s |\n|---|---|---|\n%s", lifetime, control, strings.Join(lines, ""))
}

// compare does it to both, and returns a line of the table.
func (f *fault) compare(t *testing.T, c *cluster, w *weed) string {
	var both sync.WaitGroup
	outcomes := make([]outcome, 2)
	for i, program := range []string{ours, control} {
		p := &pod{program: program, cluster: c, front: newFront(t, w), secrets: new(secrets)}
		var err error
		p.volume, err = tokenfiletest.NewVolume(filepath.Join(t.TempDir(), "aws"))
		require.NoError(t, err)
		// In subtests, whose goroutines may be ended by what they require.
		both.Go(func() { t.Run(program, func(t *testing.T) { outcomes[i] = p.suffer(t, f) }) })
	}
	both.Wait()
	if t.Failed() {
		return ""
	}
	assert.Zero(t, outcomes[0].imds, "podtoken's requests to the instance's metadata service")
	f.ours(t, outcomes[0])
	f.peer(t, outcomes[1])
	return fmt.Sprintf("| %s | %v | %v |\n", f.name, outcomes[0], outcomes[1])
}

// suffer does to a program what is wrong, and gives it an order after that.
func (p *pod) suffer(t *testing.T, f *fault) outcome {
	proc := f.do(t, p)
	last := proc.use(t)
	o := outcome{
		program: p.program, reply: last, failed: proc.failed, done: proc.done,
		longest: proc.longest, late: proc.late, imds: proc.imds.count(),
	}
	o.requests, o.refused, _ = p.front.counts()
	for _, text := range proc.said {
		p.secrets.requireAbsent(t, text)
	}
	return o
}

// injected is what the webhook gives a pod: the role first.
func (p *pod) injected() []string {
	return []string{"AWS_ROLE_ARN=" + appRole, "AWS_WEB_IDENTITY_TOKEN_FILE=" + p.volume.Path()}
}

func (p *pod) run(t *testing.T, environment ...string) *process {
	t.Helper()
	return newProcess(t, p.program, p.front, environment...)
}

// token is a good one.
func (p *pod) token(t *testing.T) string {
	t.Helper()
	token, err := p.cluster.request(t.Context(), "app", awspodidtest.STSAudience)
	require.NoError(t, err)
	return token
}

func (p *pod) short(t *testing.T, lifetime time.Duration) string {
	t.Helper()
	token, err := p.cluster.short(t.Context(), lifetime)
	require.NoError(t, err)
	return token
}

func (p *pod) write(t *testing.T, token string) {
	t.Helper()
	p.secrets.add(token)
	require.NoError(t, p.volume.Write(token))
}

// replacedDuringRetries lets STS answer "not now" to the first request, after
// its token has ended and was replaced.
func replacedDuringRetries(t *testing.T, p *pod) *process {
	const left = 10 * time.Second
	next := p.token(t)
	p.secrets.add(next)
	written := make(chan error, 1)
	p.front.first = func(rw http.ResponseWriter) {
		time.Sleep(left + time.Second) // the time of which the case tells
		written <- p.volume.Write(next)
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
	p.write(t, p.short(t, left))
	proc := p.run(t, p.injected()...)
	proc.use(t)
	require.NoError(t, <-written)
	return proc
}

// slow is how long STS takes, or how far a clock is off.
const slow = 3 * time.Second

// lifetimes gives orders all the time, until the credentials have ended once
// and been replaced.
func (p *pod) lifetimes(t *testing.T) *process {
	p.write(t, p.token(t))
	proc := p.run(t, p.injected()...)
	require.Empty(t, proc.use(t).Error)
	proc.reset()
	for end := time.Now().Add(lifetime + 2*slow); time.Now().Before(end); {
		proc.use(t)
		time.Sleep(soakTick)
	}
	return proc
}

// downNearTheEnd lets a program work while STS cannot be reached, to the end of
// the credentials that it has.
func downNearTheEnd(t *testing.T, p *pod) *process {
	p.write(t, p.token(t))
	proc := p.run(t, p.injected()...)
	require.Empty(t, proc.use(t).Error)
	_, _, expiry := p.front.counts()
	p.front.set(true)
	proc.reset()
	// The last order is the caller's.
	for time.Until(expiry) > 8*time.Second {
		proc.use(t)
		time.Sleep(250 * time.Millisecond)
	}
	return proc
}

// downBeyondTheEnd has no orders while STS cannot be reached but one, when the
// credentials have ended.
func downBeyondTheEnd(t *testing.T, p *pod) *process {
	p.write(t, p.token(t))
	proc := p.run(t, p.injected()...)
	require.Empty(t, proc.use(t).Error)
	_, _, expiry := p.front.counts()
	p.front.set(true)
	time.Sleep(time.Until(expiry) + time.Second)
	down := proc.use(t)
	require.NotEmpty(t, down.Error)
	if p.program == ours {
		require.True(t, down.is("STSError"), down.Error)
	}
	p.front.set(false)
	proc.recover(t)
	return proc
}

func (o outcome) worked(t *testing.T, source string) {
	t.Helper()
	assert.Empty(t, o.reply.Error, o.program)
	assert.Equal(t, source, o.reply.Source, o.program)
}

// becameTheNode says that the program works, with a role that nobody gave it.
func (o outcome) becameTheNode(t *testing.T) {
	t.Helper()
	o.worked(t, "EC2RoleProvider")
	assert.Positive(t, o.imds, "requests to the instance's metadata service")
}

func (o outcome) refusedToStart(t *testing.T, kinds ...string) {
	t.Helper()
	assert.Zero(t, o.done+o.failed, "%s got orders", o.program)
	assert.NotEmpty(t, o.reply.Error, o.program)
	assert.Subset(t, o.reply.Kinds, kinds, "%s: %s", o.program, o.reply.Error)
	o.sentNothing(t)
}

func (o outcome) failedLater(t *testing.T, kinds ...string) {
	t.Helper()
	assert.Positive(t, o.failed, "%s: failed orders", o.program)
	assert.NotEmpty(t, o.reply.Error, o.program)
	assert.Subset(t, o.reply.Kinds, kinds, "%s: %s", o.program, o.reply.Error)
}

func (o outcome) sentNothing(t *testing.T) {
	t.Helper()
	assert.Zero(t, o.requests, "%s: requests to STS", o.program)
}

// String is a cell of the table.
func (o outcome) String() string {
	var b strings.Builder
	r := o.reply
	switch {
	case r.Error == "" && r.Source == "EC2RoleProvider":
		b.WriteString("works **as the node**")
	case r.Error == "":
		b.WriteString("works")
	case o.done+o.failed == 0:
		b.WriteString("refuses to start")
	default:
		b.WriteString("fails")
	}
	if len(r.Kinds) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(r.Kinds, ", "))
	}
	if o.late > 0 {
		fmt.Fprintf(&b, " %v after it was mended", o.late.Round(100*time.Millisecond))
	}
	if o.done+o.failed > 5 {
		fmt.Fprintf(&b, "; %d of %d orders failed, the longest took %v", o.failed, o.done+o.failed, o.longest.Round(100*time.Millisecond))
	}
	if o.requests > 0 {
		fmt.Fprintf(&b, "; requests to STS: %d", o.requests)
	}
	if o.refused > 0 {
		fmt.Fprintf(&b, ", %d refused", o.refused)
	}
	if o.imds > 0 {
		fmt.Fprintf(&b, "; to IMDS: %d", o.imds)
	}
	return b.String()
}

// secrets are what no text may hold.
type secrets struct {
	mu   sync.Mutex
	list []string
}

// add adds a token's parts but the first, which all tokens have alike and which
// is no secret.
func (s *secrets) add(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, part := range strings.Split(strings.TrimSpace(token), ".") {
		if i > 0 {
			s.list = append(s.list, part)
		}
	}
}

func (s *secrets) requireAbsent(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.list {
		require.False(t, strings.Contains(text, secret), "a text holds a part of a token")
	}
}
