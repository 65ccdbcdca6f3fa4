package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// errBusy is why podtoken was refused through no fault of its own.
var errBusy = errors.New("this machine is too busy to play the kubelet, which came too late with a new token: try a longer -lifetime")

// verdict returns nil if the demonstration shows what it is meant to:
// podtoken lived through rotations without a refusal, and the others did not.
func verdict(t timeline) error {
	if len(t.rotations) == 0 {
		return errors.New("nothing was shown: the kubelet never replaced the token")
	}
	kinds := map[bool]int{}
	for _, l := range t.lanes {
		kinds[l.podtoken]++
		if err := l.verdict(); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", l.name, err), t.busy())
		}
	}
	if kinds[true] == 0 || kinds[false] == 0 {
		return errors.New("nothing was shown: there is nothing to compare")
	}
	return nil
}

func (l lane) verdict() error {
	accepted, rejected, survived := l.count()
	failure, _ := l.firstFailure()
	switch {
	case !l.podtoken && rejected == 0:
		return errors.New("it was never refused, and should have been")
	case l.podtoken && rejected > 0:
		return fmt.Errorf("refused at t=%s: %s", seconds(failure.at), failure.reason)
	case l.podtoken && accepted == 0:
		return errors.New("it never logged in")
	case l.podtoken && survived == 0:
		return errors.New("it never used a newer token")
	}
	return nil
}

// busy returns an error if a token had hardly any life left when the next one
// was put in place, which the kubelet does at 80 %.
func (t timeline) busy() error {
	var last time.Duration
	for _, at := range append(slices.Clone(t.rotations), t.now) {
		if at-last > t.lifetime*9/10 {
			return errBusy
		}
		last = at
	}
	return nil
}
