package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile"
)

// watch follows every token that doctor sees until ctx ends, or until as many
// rotations were seen as were asked for.
func (c *doctorCommand) watch(ctx context.Context, o doctor.Options, sys system) int {
	report := doctor.Examine(ctx, o)
	if len(report.Tokens) == 0 || c.Rotations > 0 && !slices.ContainsFunc(report.Tokens, isRotated) {
		return c.report(report, sys) // which says why there is nothing to wait for
	}
	w := newWatching(c, sys)
	for _, text := range report.Errors {
		fmt.Fprintln(sys.stderr, "podtoken doctor:", text)
		w.failed = true
	}
	for _, t := range report.Tokens {
		w.follow(t, container.Resolve(o.Root, t.File()))
	}
	return w.run(ctx)
}

func isRotated(t doctor.Token) bool { return t.Rotation != doctor.RotationNever }

// watching is one run over several tokens.
type watching struct {
	tokens    []*followed
	rotations int // after which it ends, 0 for never
	seen      int
	failed    bool
	out       eventPrinter
	bar       *rotationBar
	noNotify  bool // as of a tokenfile.Source
}

// followed is one token.
type followed struct {
	path    string
	never   bool // nothing replaces it
	source  *tokenfile.Source
	expiry  time.Time // of the present one, zero before the first
	due     time.Time // when it is replaced
	issued  time.Time
	failing bool
	overdue bool // which was said
}

// change is what a Source's loop yields.
type change struct {
	of    *followed
	token *tokenfile.Token
	err   error
}

func newWatching(c *doctorCommand, sys system) *watching {
	w := &watching{rotations: c.Rotations, out: newEventPrinter(c.Output, sys)}
	if sys.progress {
		w.bar = &rotationBar{w: sys.stderr}
	}
	return w
}

func (w *watching) follow(t doctor.Token, file string) {
	w.tokens = append(w.tokens, &followed{
		path: t.Path, never: t.Rotation == doctor.RotationNever,
		source: &tokenfile.Source{
			Path: file, Audience: tokenfile.AnyAudience, AllowNoExpiry: true, NoNotify: w.noNotify,
		},
	})
}

// run returns when ctx ends or enough was seen, and leaves no goroutine behind.
func (w *watching) run(ctx context.Context) int {
	ctx, stop := context.WithCancel(ctx)
	changes := make(chan change)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	for _, f := range w.tokens {
		loops.Go(func() { f.loop(ctx, changes) })
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	defer w.bar.clear()
	for w.rotations == 0 || w.seen < w.rotations {
		select {
		case <-ctx.Done():
			return w.status()
		case c := <-changes:
			w.changed(c)
		case <-look.C:
			w.late(time.Now())
			w.bar.show(w.next(), time.Now())
		}
		if w.out.err != nil {
			return exitUnreadable
		}
	}
	return w.status()
}

func (w *watching) status() int {
	if w.failed || w.seen < w.rotations {
		return exitFindings
	}
	return exitGood
}

// loop hands on what the Source sees.
func (f *followed) loop(ctx context.Context, changes chan<- change) {
	for token, err := range f.source.Watch(ctx) {
		select {
		case changes <- change{f, token, err}:
		case <-ctx.Done():
			return
		}
	}
}

// changed says what happened to a token.
func (w *watching) changed(c change) {
	now := time.Now()
	f := c.of
	e := event{Time: now.UTC(), Token: f.path, never: f.never}
	switch {
	case c.err != nil:
		e.Event, e.Error = eventFailed, eventText(c.err)
		f.failing, w.failed = true, true
	case f.failing && c.token.Expiry().Equal(f.expiry):
		e.Event = eventRecovered
	case f.expiry.IsZero():
		e.Event = eventHolds
	default:
		e.Event, e.Previous, e.Left = eventRotated, f.expiry.UTC(), doctor.Seconds(f.expiry.Sub(now))
		w.seen++
	}
	if c.token != nil {
		f.holds(c.token)
		e.Audience, e.Expiry, e.Due = doctor.Listed(c.token.Audience()), f.expiry.UTC(), f.due.UTC()
	}
	w.say(e)
}

// holds notes the token that a file has now.
func (f *followed) holds(token *tokenfile.Token) {
	f.expiry, f.issued, f.failing, f.overdue = token.Expiry(), token.IssuedAt(), false, false
	if !f.never {
		f.due = doctor.RotationDue(token)
	}
}

// late says once of each token that its rotation is overdue.
func (w *watching) late(now time.Time) {
	for _, f := range w.tokens {
		if f.due.IsZero() || f.overdue || f.failing || !now.After(f.due.Add(doctor.KubeletPeriod)) {
			continue
		}
		f.overdue, w.failed = true, true
		w.say(event{
			Time: now.UTC(), Event: eventOverdue, Token: f.path, Expiry: f.expiry.UTC(), Due: f.due.UTC(),
			Error: fmt.Sprintf("the kubelet should have replaced the token at %s: look for failing TokenRequests in its log", clock(f.due)),
		})
	}
}

// next is the token that is replaced first.
func (w *watching) next() (first *followed) {
	for _, f := range w.tokens {
		if !f.due.IsZero() && !f.failing && (first == nil || f.due.Before(first.due)) {
			first = f
		}
	}
	return first
}

func (w *watching) say(e event) {
	w.bar.clear()
	w.out.print(e)
}
