package awspodidtest

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// Where the agent of a node is found, and the audience that EKS Auth wants in
// a token.
const (
	AgentURL            = "http://169.254.170.23/v1/credentials"
	AgentURLv6          = "http://[fd00:ec2::23]/v1/credentials"
	PodIdentityAudience = "pods.eks.amazonaws.com"
)

const (
	credentialsPath   = "/v1/credentials"
	defaultLifetime   = 6 * time.Hour
	defaultRate       = 1000 // requests a second
	renewalAge        = 3 * time.Hour
	minLife           = 15 * time.Second
	activeWait        = 200 * time.Millisecond
	activeRetries     = 9
	wrongHost         = "Access Denied. Called agent through invalid address, please use either %s address not %s"
	defaultAgentHosts = "169.254.170.23 fd00:ec2::23"
)

// Agent is the EKS Pod Identity agent of a node, with the EKS Auth service
// behind it. Reach it through Transport, which needs no socket and works in a
// testing/synctest bubble; through Start, by other programs; or mount it as an
// http.Handler.
//
// NewAgent makes one; then Associate a service account with a role. The
// exported fields are set before first use and not changed after. The methods
// are safe for concurrent use, and all that changes the agent may be called
// while requests run. No goroutine and no timer belongs to it: what the real
// agent does in the background, such as renewing cached credentials that are
// three hours old, is done when the next request comes.
//
// Printing an Agent shows how much it holds, and no token or key.
type Agent struct {
	// Hosts are what the Host header may name, without brackets or port. If
	// nil, the addresses of the real agent. A client of Start needs
	// "127.0.0.1".
	Hosts []string

	// RequestRate is how many requests a second are answered, half as many of
	// them at once; more get 429. If zero, 1,000.
	RequestRate int

	endpoint

	issuer       *tokenfiletest.Issuer
	associations map[account]string // role ARNs
	lifetime     time.Duration
	upstream     Upstream
	cache        map[digest]*cached
	active       map[digest]bool // tokens for which EKS Auth is being asked
	tokens       bucket
}

var _ http.Handler = (*Agent)(nil)

// NewAgent makes an agent of the cluster whose tokens the issuer signs. It
// knows no association yet.
func NewAgent(issuer *tokenfiletest.Issuer) *Agent {
	a := &Agent{
		issuer:       issuer,
		associations: make(map[account]string),
		lifetime:     defaultLifetime,
		cache:        make(map[digest]*cached),
		active:       make(map[digest]bool),
	}
	a.endpoint.waiting = make(map[chan struct{}]struct{})
	a.endpoint.recall = func(c *call) { c.present(strings.Trim(c.Header.Get("Authorization"), " \t")) }
	a.endpoint.serve = a.answer
	a.endpoint.contentType = func(status int) string {
		if status >= http.StatusBadRequest {
			return plainText
		}
		return "application/json"
	}
	return a
}

// Associate lets the pods of a service account have a role. The ARN must name
// an account, as in "arn:aws:iam::111122223333:role/web". Credentials in the
// cache stay those of the role before.
func (a *Agent) Associate(namespace, serviceAccount, roleARN string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.associations[account{namespace, serviceAccount}] = roleARN
}

// Dissociate ends that. Like the real agent, this one gives out credentials
// from its cache for up to three hours more, to the same token.
func (a *Agent) Dissociate(namespace, serviceAccount string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.associations, account{namespace, serviceAccount})
}

// SetLifetime sets how long credentials live that EKS Auth gives from now on.
// Six hours is what it really gives.
func (a *Agent) SetLifetime(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lifetime = d
}

// Restart empties the cache and cuts the requests that are waiting, as a
// rollout of the agent's DaemonSet does. It ends what SetDown began.
func (a *Agent) Restart() {
	a.SetDown(true)
	a.SetDown(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.cache)
}

// Format writes how much there is of what, whatever the verb.
func (a *Agent) Format(f fmt.State, _ rune) {
	if a == nil {
		fmt.Fprintf(f, "%s.Agent(nil)", name)
		return
	}
	a.mu.Lock()
	associations, cached := len(a.associations), len(a.cache)
	a.mu.Unlock()
	fmt.Fprintf(f, "%s.Agent(%d associations, %d tokens cached)", name, associations, cached)
}

// answer is the agent's handler, in the real one's order. It, too, takes any
// method.
func (a *Agent) answer(c *call) (*answer, error) {
	if c.URL.Path != credentialsPath {
		return plain(http.StatusNotFound, "404 page not found"), nil
	}
	if !a.admit() {
		return plain(http.StatusTooManyRequests, "Too Many Requests"), nil
	}
	if refusal := a.checkHost(c.Host); refusal != nil {
		return refusal, nil
	}
	if refusal := checkToken(c); refusal != nil {
		return refusal, nil
	}
	return a.credentials(c, &presented{c.claims, digestOf(c.token), func() string { return c.token }})
}

// admit tells whether there are not too many requests.
func (a *Agent) admit() bool {
	rate := a.RequestRate
	if rate == 0 {
		rate = defaultRate
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens.take(float64(rate), float64(max(1, rate/2)))
}

func (a *Agent) checkHost(host string) *answer {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	hosts := a.Hosts
	if hosts == nil {
		hosts = strings.Fields(defaultAgentHosts)
	}
	if slices.Contains(hosts, host) {
		return nil
	}
	return plain(http.StatusForbidden, fmt.Sprintf(wrongHost, hosts, redact(host)))
}

// checkToken makes the checks for which the real agent needs nobody.
func checkToken(c *call) *answer {
	bad := func(text string) *answer { return plain(http.StatusBadRequest, "Service account token "+text) }
	switch {
	case c.token == "":
		return bad("cannot be empty")
	case c.err != nil:
		return bad("cannot be parsed: " + c.err.Error())
	}
	if err := jwt.NewValidator().Validate(c.claims); err != nil {
		return bad("failed basic claim validations: " + err.Error())
	}
	return nil
}

const plainText = "text/plain; charset=utf-8"

// plain is an error as package http writes it.
func plain(status int, text string) *answer {
	return &answer{
		status: status,
		header: http.Header{"Content-Type": {plainText}, "X-Content-Type-Options": {"nosniff"}},
		body:   []byte(text + "\n"),
	}
}

// bucket limits a rate.
type bucket struct {
	used float64
	last time.Time
}

// take takes one token, if there is one. A clock that was put back fills the
// bucket: the server may be used in one testing/synctest bubble after another.
func (b *bucket) take(rate, burst float64) bool {
	now := time.Now()
	elapsed := now.Sub(b.last)
	b.last = now
	if elapsed < 0 {
		b.used, elapsed = 0, 0
	}
	b.used = max(0, b.used-elapsed.Seconds()*rate)
	if b.used+1 > burst {
		return false
	}
	b.used++
	return true
}
