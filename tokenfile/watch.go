package tokenfile

import (
	"context"
	"iter"
	"time"
)

const (
	// watchInterval is the slow look beside file notifications, which get
	// lost: when a queue overflows, and on some file systems always.
	watchInterval = 30 * time.Second

	// pollInterval is how often a Watch loop looks without notifications.
	pollInterval = 5 * time.Second

	// settle is how long a Watch loop waits after a notification: a swap by
	// the kubelet makes six, within a millisecond. It doubles up to minInterval
	// with each notification that was of something else, so that a busy
	// directory does not keep the loop busy.
	settle = 10 * time.Millisecond
)

// Watch returns a loop over the file's tokens: the present one at once, then
// each new one when the kubelet has put it there. The loop ends with ctx, or
// when its body leaves it.
//
// When there is no valid token, the loop yields the reason once, and again
// only when the reason changes; a token after an error means that the file is
// good again, also if it is the same token as before.
//
// While the loop runs, Token serves what the loop read, with no system call,
// and still checks its expiry. A body may take its time: Token looks by itself
// when the loop is late.
//
// Changes are learnt from file notifications on the directories that the
// path's links lead through, and from a look every thirty seconds or a quarter
// of the token's remaining life. Where notifications are not to be had, the
// loop looks every five seconds and says so through Logger.
func (s *Source) Watch(ctx context.Context) iter.Seq2[*Token, error] {
	return func(yield func(*Token, error) bool) {
		if err := s.misconfigured(); err != nil {
			yield(nil, err)
			return
		}
		s.watchers.Add(1)
		defer s.stopServing()
		w := &watch{source: s, settle: settle}
		defer w.end()
		for ctx.Err() == nil {
			w.arm() // before the read, or a change between the two is missed
			if !w.look(yield) {
				return
			}
			w.wait(ctx)
		}
	}
}

// watch is one running loop.
type watch struct {
	source *Source
	notifier
	yielded string        // the content that the body got last, empty after an error
	reason  string        // of the error that the body got last, empty after a token
	pause   time.Duration // until the next look, if no change is notified before
	settle  time.Duration // from a notification to the look
	polling bool          // without notifications, which was noted
}

// look reads the file, yields what is new, and plans the next look.
func (w *watch) look(yield func(*Token, error) bool) bool {
	s, now := w.source, time.Now()
	w.pause = minInterval
	p, err := s.look()
	if err != nil {
		err = s.failed(err, s.postpone())
		s.tell()
		return w.yieldError(yield, err)
	}
	s.succeeded(p)
	s.tell()
	w.pause = min(p.every(w.interval(), now), p.until.Sub(now))
	if p.content == w.yielded {
		return true
	}
	w.yielded, w.reason, w.settle = p.content, "", settle
	return yield(p.token, nil)
}

func (w *watch) yieldError(yield func(*Token, error) bool, err error) bool {
	reason := reasonOf(err)
	if reason == w.reason {
		return true
	}
	w.yielded, w.reason, w.settle = "", reason, settle
	return yield(nil, err)
}

func (w *watch) interval() time.Duration {
	if w.watcher == nil {
		return pollInterval
	}
	return watchInterval
}

// arm sees to it that changes of the file are notified from here on.
func (w *watch) arm() {
	s := w.source
	if s.NoNotify {
		return
	}
	w.polls(w.notifier.arm(s.Path))
}

// polls notes a change between notifications and doing without.
func (w *watch) polls(why error) {
	if polling := why != nil; polling != w.polling {
		w.polling = polling
		w.source.polls(why)
		w.source.tell()
	}
}

// end leaves nothing of the loop behind.
func (w *watch) end() {
	w.close()
	if w.polling {
		w.source.stats.polling.Add(-1) // without a word: nothing works again
	}
}

// wait returns when it is time for the next look: a change, the planned
// moment, or the end of ctx.
func (w *watch) wait(ctx context.Context) {
	planned := time.NewTimer(w.pause)
	defer planned.Stop()
	select {
	case <-ctx.Done():
	case <-planned.C:
	case event, open := <-w.events():
		w.heard(event, open)
		w.drain(ctx, w.settle)
		w.settle = min(2*w.settle, minInterval)
	case err, open := <-w.errors():
		w.broke(err, open)
	}
}
