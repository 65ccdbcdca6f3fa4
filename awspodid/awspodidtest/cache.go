package awspodidtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// presented is a token that passed the agent's own checks. The token itself is
// behind a closure, where no format verb finds it.
type presented struct {
	*claims
	digest digest
	reveal func() string
}

// cached are credentials that the agent remembers.
type cached struct {
	expiry  time.Time
	renewal time.Time     // when EKS Auth is asked anew
	reveal  func() []byte // the answer
}

func (e *cached) answer() *answer {
	return &answer{
		status: http.StatusOK,
		header: http.Header{"Content-Type": {"application/json"}},
		body:   e.reveal(),
	}
}

func (e *cached) usable(now time.Time) bool { return e.expiry.Sub(now) > minLife }

// credentials answers a request that passed the checks: from the cache, or
// from EKS Auth. Who comes while EKS Auth is being asked for the same token
// looks into the cache every 200 ms, nine times at most, and then asks, too.
func (a *Agent) credentials(c *call, token *presented) (*answer, error) {
	for attempt := 0; ; attempt++ {
		if entry := a.lookUp(token); entry != nil {
			c.note.Cached = true
			return entry.answer(), nil
		}
		if a.begin(token.digest, attempt == activeRetries) {
			break
		}
		if err := a.wait(c.Context(), activeWait); err != nil {
			return nil, err
		}
	}
	defer a.end(token.digest)
	return a.fetch(c, token)
}

// begin claims the right to ask EKS Auth, if nobody has it or else if forced.
func (a *Agent) begin(token digest, force bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active[token] && !force {
		return false
	}
	a.active[token] = true
	return true
}

func (a *Agent) end(token digest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, token)
}

// lookUp finds credentials that still live for long enough.
func (a *Agent) lookUp(token *presented) *cached {
	a.mu.Lock()
	now := time.Now()
	entry := a.cache[token.digest]
	if entry == nil || !entry.usable(now) {
		delete(a.cache, token.digest)
		a.mu.Unlock()
		return nil
	}
	due := !now.Before(entry.renewal)
	if due {
		entry.renewal = now.Add(time.Minute) // others, meanwhile, get what there is
	}
	a.mu.Unlock()
	if due {
		return a.renew(token, entry)
	}
	return entry
}

// renew is what the real agent does in the background. Credentials stay if EKS
// Auth does not answer, and go if it says no.
func (a *Agent) renew(token *presented, old *cached) *cached {
	a.count()
	if a.state().passing() {
		return old
	}
	entry, refusal := a.ask(token)
	if refusal == nil {
		return entry
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if refusal.status < http.StatusInternalServerError {
		delete(a.cache, token.digest)
		return nil
	}
	return old
}

// store enters new credentials into ledger and cache. It returns nil, and how
// long they would live, if that is too short for the agent.
func (a *Agent) store(token digest, roleARN string) (*cached, time.Duration) {
	s := newSecrets()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	entry := &cached{expiry: a.ledger.enter(s, roleARN, a.lifetime), renewal: now.Add(renewalAge)}
	if !entry.usable(now) {
		return nil, entry.expiry.Sub(now)
	}
	body, _ := json.Marshal(struct { // strings and a time: cannot fail
		KeyID      string `json:"AccessKeyId"`
		Secret     string `json:"SecretAccessKey"`
		Token      string
		AccountID  string `json:"AccountId"`
		Expiration time.Time
	}{s.accessKeyID, s.secretAccessKey, s.sessionToken, accountOf(roleARN), entry.expiry})
	entry.reveal = func() []byte { return body }
	a.sweep(now)
	a.cache[token] = entry
	return entry, 0
}

// sweep drops credentials that have expired when there are many.
func (a *Agent) sweep(now time.Time) {
	const many = 2000 // what the real agent holds
	if len(a.cache) < many {
		return
	}
	for key, entry := range a.cache {
		if !entry.usable(now) {
			delete(a.cache, key)
		}
	}
}

// accountOf returns the account that an ARN names.
func accountOf(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}
