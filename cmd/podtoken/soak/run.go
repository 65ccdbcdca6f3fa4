package soak

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/tokenfile"
)

// run is a soak while it runs. Only its loop touches it.
type run struct {
	*Soak
	began, ended time.Time
	ending       Ending
	timeIsUp     bool      // but a login may still be waited for
	waits        time.Time // since when only that is waited for

	token      *tokenfile.Token // the last valid one
	life       lifetime         // of that one
	lifetimes  lifetimes        // of all
	audience   error            // why a token was for somebody else, the first time
	lacking    string           // what a token's audience was without the party, the first time
	stranger   string           // what the file held that the kubelet did not put there, the first time
	overdue    bool             // the kubelet is late, which was told
	expiries   []time.Time      // of tokens that were replaced, which still lie ahead
	acceptedBy bool             // a login succeeded with this token

	logins    map[party.Outcome]int
	rotations rotations
	troubles  troubles
	timeline  *timeline
	secrets   *found // nil until they were looked for
}

// seen is what the watch of the file yields.
type seen struct {
	token *tokenfile.Token
	err   error
}

// found is what a look for Secrets ended with.
type found struct {
	at    time.Time
	names []string
	err   error
}

func newRun(s *Soak, token *tokenfile.Token) *run {
	now := time.Now()
	life := lifetimeOf(token, now)
	r := &run{
		Soak: s, began: now, token: token, life: life,
		logins: map[party.Outcome]int{}, troubles: newTroubles(),
		timeline: newTimeline(now, 2*s.every(life)), // one login in each, whatever their delays
	}
	r.took(token, life)
	return r
}

// took notes what a token says of itself. A Source may accept more than the
// party does.
func (r *run) took(token *tokenfile.Token, life lifetime) {
	r.lifetimes.add(life)
	if want := r.Party.Audience(); r.lacking == "" && want != "" && !slices.Contains(token.Audience(), want) {
		r.lacking = fmt.Sprintf("%q", token.Audience())
	}
}

// saw takes what the watch yielded: the first token again, another one, or why
// there is none.
func (r *run) saw(s seen) {
	now := time.Now()
	if s.err != nil {
		r.event(Failing, "the token file: "+oneLine(s.err))
		if r.audience == nil && errors.As(s.err, new(*tokenfile.AudienceError)) {
			r.audience = s.err
		}
		return
	}
	if s.token.Raw() == r.token.Raw() {
		return
	}
	old := r.token
	if why := notAfter(old, s.token); why != "" {
		r.event(Failing, "the token file: "+why)
		if r.stranger == "" {
			r.stranger = "at " + stamp(now) + " the file held " + why
		}
	}
	if s.token.IssuedAt().Before(old.IssuedAt()) {
		return // nothing rotates backwards
	}
	r.rotations.add(&Rotation{Seen: now, Expired: old.Expiry(), before: r.acceptedBy})
	r.timeline.at(now).rotations++
	r.expires(old.Expiry())
	r.token, r.acceptedBy, r.overdue = s.token, false, false
	r.life = lifetimeOf(s.token, now)
	r.took(s.token, r.life)
	r.event(Rotated, fmt.Sprintf("rotation %d: the token before it ends at %s, the new one is due to be replaced at %s",
		r.rotations.seen, stamp(old.Expiry()), stamp(r.life.due())))
}

// pending bounds the expiries to come: a kubelet that is restarted again and
// again leaves many tokens behind.
const pending = 16

func (r *run) expires(at time.Time) {
	if len(r.expiries) < pending {
		r.expiries = append(r.expiries, at)
	}
}

// passed puts the expiries that have come into the timeline.
func (r *run) passed(now time.Time) {
	ahead := r.expiries[:0]
	for _, at := range r.expiries {
		if at.After(now) {
			ahead = append(ahead, at)
		} else {
			r.timeline.at(at).expiries++
		}
	}
	r.expiries = ahead
}

// loggedIn counts a login. It fails if the first one was not even sent.
func (r *run) loggedIn(l login) error {
	if l.outcome == party.Interrupted { // by whoever ends the soak
		return nil
	}
	first := len(r.logins) == 0
	if first && l.outcome == party.NotSent {
		return &SetupError{l.err}
	}
	r.logins[l.outcome]++
	r.timeline.at(l.ended).logins[lane(l.outcome)]++
	r.rotations.tried(l.began)
	if l.outcome == party.Accepted {
		r.accepted(l)
		return nil
	}
	if r.troubles.add(l.outcome, l.ended, l.err) {
		r.event(Failing, fmt.Sprintf("login %s: %s", l.outcome, oneLine(l.err)))
	}
	if first && l.outcome == party.Refused {
		r.ending = FirstRejected
	}
	return nil
}

func (r *run) accepted(l login) {
	if trouble := r.troubles.over(); trouble != nil {
		r.event(Recovered, fmt.Sprintf("login accepted, after %s %s in %s", count(trouble.Logins, "login"), trouble.Outcome,
			short(l.ended.Sub(trouble.From))))
	}
	if r.rotations.loggedIn(l.began, l.ended) {
		r.event(LoggedIn, fmt.Sprintf("login accepted with the new token, %s after the rotation", short(l.ended.Sub(r.rotations.current().Seen))))
	}
	if r.rotations.seen == 0 || !l.began.Before(r.rotations.current().Seen) {
		r.acceptedBy = true
	}
}

// judge decides, after whatever happened, whether that was the end.
func (r *run) judge(now time.Time) {
	r.passed(now)
	if now.After(r.life.late()) && !r.overdue {
		r.overdue = true
		r.event(Overdue, fmt.Sprintf("the rotation was due at %s: %s", stamp(r.life.due()), stuckMend))
	}
	enough := r.wanted() > 0 && r.rotations.counted() >= r.wanted()
	if r.waits.IsZero() && (r.timeIsUp || enough) {
		r.waits = now
	}
	switch {
	case r.ending != "":
	case r.timeIsUp && r.isPatient(now):
		r.ending = TimeIsUp
	case enough && r.isPatient(now):
		r.ending = Rotations
	case r.For == 0 && now.After(r.life.end().Add(patience)):
		r.ending = Stuck
	}
}

// isPatient says that the last rotation had its login, or was given the time.
// Rotations that go on do not prolong it.
func (r *run) isPatient(now time.Time) bool {
	return !r.rotations.waiting() || now.Sub(r.waits) > max(patience, 2*r.every(r.life)+r.timeout())
}

// looked keeps what a look for Secrets found, but for one that saw nothing after
// one that did.
func (r *run) looked(f found) {
	if f.err == nil || r.secrets == nil || r.secrets.err != nil {
		r.secrets = &f
	}
}

func (r *run) event(kind Kind, text string) {
	if r.OnEvent != nil {
		r.OnEvent(Event{At: time.Now(), Kind: kind, Text: text})
	}
}

func (r *run) introduction() string {
	text := fmt.Sprintf("%s: a login every %s with %s; the token lives for %s, and is due to be replaced at %s",
		r.name(), r.every(r.life), printable(r.Party.Path()), short(r.life.span), stamp(r.life.due()))
	if end := r.end(r.began); !end.IsZero() {
		text += fmt.Sprintf("; the verdict is due about %s, in %s", stamp(end), short(end.Sub(r.began)))
	}
	return text
}

// name is the party's, whatever that says of itself.
func (r *run) name() string { return printable(bounded(r.Party.String())) }

// end is when the soak ends, if the kubelet is on time.
func (r *run) end(now time.Time) time.Time {
	var end time.Time
	if left := r.wanted() - r.rotations.counted(); r.wanted() > 0 {
		end = now
		if left > 0 {
			end = r.life.plan(now, left)
		}
	}
	if r.For > 0 && (end.IsZero() || r.began.Add(r.For).Before(end)) {
		end = r.began.Add(r.For)
	}
	return end
}

func (r *run) status(now time.Time) Status {
	end := r.end(now)
	logins := make(map[party.Outcome]int, len(r.logins))
	for outcome, n := range r.logins {
		logins[outcome] = n
	}
	part := 0.0
	if whole := end.Sub(r.began); whole > 0 {
		part = min(1, float64(now.Sub(r.began))/float64(whole))
	}
	return Status{
		Now: now, Logins: logins, Rotations: r.rotations.seen, Wanted: r.wanted(), Next: r.life.due(), End: end, Part: part,
	}
}
