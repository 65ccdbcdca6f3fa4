package soak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// Point is one thing that a soak shows, or does not.
type Point struct {
	Name     string `json:"name"`  // for programs, such as "audience"
	Claim    string `json:"claim"` // what holds if it does
	State    State  `json:"state"`
	Evidence string `json:"evidence"`       // what was seen
	Mend     string `json:"mend,omitempty"` // what to change, or how long to go on
}

// State is what became of a point.
type State string

// The states.
const (
	Held    State = "held"
	Failed  State = "failed"
	NotYet  State = "not shown yet" // a longer soak would
	NotSeen State = "not seen"      // no soak can, from where this one ran
)

const (
	stuckMend = "look for failing TokenRequests in the kubelet's log (journalctl -u kubelet | grep -i token), and whether the node reaches the API server"
	volume    = "{name: token, projected: {sources: [{serviceAccountToken: {audience: AUDIENCE, expirationSeconds: 3600, path: token}}]}}"
)

func (r *run) points() []Point {
	return []Point{
		r.audiencePoint(), r.lifetimePoint(), r.rotationsPoint(), r.modifiedPoint(), r.loginsPoint(),
		r.rejectedPoint(), r.reachablePoint(), r.validPoint(), r.secretsPoint(),
	}
}

func (r *run) audiencePoint() Point {
	p := Point{Name: "audience", Claim: "the mounted token's audience holds the relying party"}
	want := r.Party.Audience()
	switch got := fmt.Sprintf("%q", r.token.Audience()); {
	case r.audience != nil:
		p.State, p.Evidence = Failed, oneLine(r.audience)
		p.Mend = "somebody changed the volume while the soak ran: declare one of this pod's own, " + volume
	case r.lacking != "":
		p.State, p.Evidence = Failed, fmt.Sprintf("%s does not hold %q", bounded(r.lacking), want)
		p.Mend = "declare a projected volume of the pod's own: " + volume
	case want == "":
		p.State, p.Evidence = NotSeen, "the token is for "+bounded(got)+", and what the relying party wants was not said"
	default:
		p.State, p.Evidence = Held, fmt.Sprintf("%s holds %q", bounded(got), want)
	}
	return p
}

// lifetimes are those of all tokens that were seen.
type lifetimes struct {
	shortest, longest time.Duration
	count             int
	extended, unknown bool // any of them
}

func (l *lifetimes) add(life lifetime) {
	if l.count == 0 || life.whole < l.shortest {
		l.shortest = life.whole
	}
	l.longest = max(l.longest, life.whole)
	l.count++
	l.extended = l.extended || life.extended
	l.unknown = l.unknown || life.whole == 0
}

func (l *lifetimes) String() string {
	if l.shortest == l.longest {
		return fmt.Sprintf("exp less iat is %d s in %s", l.longest/time.Second, count(l.count, "token"))
	}
	return fmt.Sprintf("exp less iat is %d to %d s in %s", l.shortest/time.Second, l.longest/time.Second, count(l.count, "token"))
}

func (r *run) lifetimePoint() Point {
	p := Point{Name: "lifetime", Claim: "its lifetime is the declared one, not an inherited one", Evidence: r.lifetimes.String()}
	declare := "declare a projected volume of the pod's own: " + volume
	switch l := r.lifetimes; {
	case l.extended:
		p.State, p.Mend = Failed, declare
		p.Evidence += "; the API server extended what it injected (warnafter), so nobody would notice that it is not re-read"
	case l.unknown:
		p.State, p.Evidence = NotSeen, "a token does not say when it was issued"
	case r.Declared == 0 && l.longest == injected:
		p.State, p.Mend = Failed, declare
		p.Evidence += ", which is what the API server injects into pods that declare nothing"
	case r.Declared == 0 && l.shortest != l.longest:
		p.State, p.Mend = Failed, "the kubelet asks for the same lifetime each time: look for what else writes the file"
	case r.Declared == 0:
		p.State, p.Evidence = NotSeen, p.Evidence+"; what the pod's spec declares is not known (--expiration-seconds)"
	case l.shortest != r.Declared || l.longest != r.Declared:
		p.State, p.Evidence = Failed, p.Evidence+fmt.Sprintf("; declared are %d s", r.Declared/time.Second)
		p.Mend = "compare the pod's expirationSeconds; if that is right, the API server grants less (--service-account-max-token-expiration) or something else writes the file"
	default:
		p.State, p.Evidence = Held, p.Evidence+", as declared"
	}
	return p
}

func (r *run) rotationsPoint() Point {
	p := Point{Name: "rotations", Claim: "at least two rotations were crossed while logins went on"}
	p.Evidence = fmt.Sprintf("%s seen, %d of them with accepted logins on both sides", count(r.rotations.seen, "rotation"), r.rotations.crossed)
	switch {
	case r.stranger != "":
		p.State, p.Mend = Failed, "look for what else writes the file: another process, a copy, a volume that is shared"
		p.Evidence += "; " + r.stranger
	case r.rotations.crossed >= leastRotations:
		p.State = Held
	case r.overdue:
		p.State, p.Mend = Failed, stuckMend
		p.Evidence += fmt.Sprintf("; the next one was due at %s", stamp(r.life.due()))
	case r.ending == Rotations:
		p.State, p.Mend = Failed, "see the failed logins"
	default:
		p.State, p.Mend = NotYet, r.goOn(leastRotations-r.rotations.crossed)
	}
	return p
}

// goOn says how long it would still take to see n more rotations.
func (r *run) goOn(n int) string {
	end := r.life.plan(r.ended, n)
	return fmt.Sprintf("go on until about %s, for %s; the next rotation is due at %s", stamp(end), short(end.Sub(r.ended)), stamp(r.life.due()))
}

func (r *run) modifiedPoint() Point {
	p := Point{Name: "modified", Claim: "the token file's modification time is later than the container's start"}
	info, err := os.Stat(r.Party.Path())
	switch {
	case err != nil:
		p.State, p.Evidence, p.Mend = Failed, "the file: "+oneLine(withoutPath(err)), "recreate the pod"
	case r.Started.IsZero():
		p.State, p.Evidence = NotSeen, fmt.Sprintf("the file was written at %s; when the container started is not known", stamp(info.ModTime()))
	case info.ModTime().After(r.Started) && r.life.from.Before(r.Started):
		p.State, p.Mend = NotYet, r.goOn(1)
		p.Evidence = fmt.Sprintf("written at %s, but with a token that was issued at %s, before the start at %s",
			stamp(info.ModTime()), stamp(r.life.from), stamp(r.Started))
	case info.ModTime().After(r.Started):
		p.State, p.Evidence = Held, fmt.Sprintf("written at %s, started at %s", stamp(info.ModTime()), stamp(r.Started))
	default:
		p.State, p.Evidence = NotYet, fmt.Sprintf("written at %s, and not since the start at %s", stamp(info.ModTime()), stamp(r.Started))
		p.Mend = r.goOn(1)
		if r.rotations.seen > 0 {
			p.State, p.Mend = Failed, "a rotation was seen and yet the file is old: look for what else writes it, and at the node's clock"
		}
	}
	return p
}

func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (r *run) loginsPoint() Point {
	p := Point{Name: "logins", Claim: "a login succeeded after each rotation"}
	rotations := &r.rotations
	switch {
	case rotations.missedCount > 0:
		p.State, p.Mend = Failed, "see the failed logins"
		p.Evidence = fmt.Sprintf("none did after %s, before the next one: %s", count(rotations.missedCount, "rotation"), times(rotations.missed))
	case rotations.seen == 0:
		p.State, p.Evidence, p.Mend = NotYet, "no rotation was seen", r.goOn(1)
	case rotations.waiting() && r.ending == Rotations:
		p.State, p.Mend = Failed, "see the failed logins"
		p.Evidence = fmt.Sprintf("none did after the last rotation, at %s", stamp(rotations.current().Seen))
	case rotations.waiting():
		p.State, p.Mend = NotYet, "go on until the next login"
		p.Evidence = fmt.Sprintf("none has yet after the last rotation, at %s", stamp(rotations.current().Seen))
	default:
		p.State, p.Evidence = Held, fmt.Sprintf("after each of %d, at most %s later", rotations.seen-rotations.skipped, short(rotations.gap))
		if rotations.skipped > 0 {
			p.Evidence += fmt.Sprintf(", but for %d that was replaced before a login was due", rotations.skipped)
		}
	}
	return p
}

func (r *run) rejectedPoint() Point {
	answered := r.logins[party.Accepted] + r.logins[party.Refused]
	return r.none(party.Refused, answered, "answered", Point{
		Name: "rejections", Claim: "no login was rejected since the start",
		Mend: "mend what the error names, at the relying party or in the pod's spec",
	})
}

func (r *run) reachablePoint() Point {
	sent := r.logins[party.Accepted] + r.logins[party.Refused] + r.logins[party.NoAnswer]
	return r.none(party.NoAnswer, sent, "sent", Point{
		Name: "reachable", Claim: "the relying party was reachable",
		Mend: "look at its own log and at the way there: name, network policy, certificate, seal, rate limit",
	})
}

func (r *run) validPoint() Point {
	ended := 0
	for _, n := range r.logins {
		ended += n
	}
	return r.none(party.NotSent, ended, "made", Point{
		Name: "valid", Claim: "the file held a valid token at each login",
		Mend: "mend what the error names; if it is an expiry, " + stuckMend,
	})
}

// none is a point that fails if any of total logins ended like outcome. They
// are those that can tell, since they were what: made, sent or answered.
func (r *run) none(outcome party.Outcome, total int, what string, p Point) Point {
	switch n := r.logins[outcome]; {
	case n > 0:
		p.State, p.Evidence = Failed, fmt.Sprintf("%d of %s: %s", n, count(total, "login"), r.stretches(outcome))
	case total == 0:
		p.State, p.Evidence, p.Mend = NotYet, "no login was "+what, "go on"
	default:
		p.State, p.Evidence, p.Mend = Held, fmt.Sprintf("none of %s", count(total, "login")), ""
	}
	return p
}

// stretches says when logins failed, and why.
func (r *run) stretches(outcome party.Outcome) string {
	kept := r.troubles.of(outcome)
	var texts []string
	for _, t := range kept[max(0, len(kept)-keptTimes):] {
		text := stamp(t.From)
		if t.Logins > 1 {
			text += fmt.Sprintf(" to %s (%d)", stamp(t.To), t.Logins)
		}
		texts = append(texts, text)
	}
	text := strings.Join(texts, ", ")
	if more := r.troubles.count[outcome] - len(texts); more > 0 {
		text += fmt.Sprintf(", and %d times before", more)
	}
	return text + "; the first: " + kept[0].Error
}

func (r *run) secretsPoint() Point {
	p := Point{Name: "secrets", Claim: "no Secret of the service-account-token type is in the namespace"}
	switch {
	case r.Secrets == nil:
		p.State, p.Evidence = NotSeen, "the API server was not asked"
	case r.secrets == nil:
		p.State, p.Evidence = NotSeen, "the API server had not answered"
	case r.secrets.err != nil:
		p.State, p.Evidence = NotSeen, oneLine(r.secrets.err)
	case len(r.secrets.names) > 0:
		p.State, p.Evidence = Failed, fmt.Sprintf("%s at %s: %s", count(len(r.secrets.names), "Secret"), stamp(r.secrets.at), listed(r.secrets.names))
		p.Mend = fmt.Sprintf("its token never expires: when nothing uses it any more, kubectl -n %s delete secret %s", r.namespace(), pasted(r.secrets.names[0], "NAME"))
	default:
		p.State, p.Evidence = Held, fmt.Sprintf("none at %s", stamp(r.secrets.at))
	}
	return p
}

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), keptTimes)], ", ")
	if more := len(names) - keptTimes; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return printable(text)
}

func bounded(text string) string {
	if len(text) > longestText {
		return text[:longestText] + "..."
	}
	return text
}
