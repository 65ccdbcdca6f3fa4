package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errInterrupted = errors.New("interrupted")

// A whole step takes up to minutes.
func TestEachStepIsGivenUpSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			began := time.Now()
			time.AfterFunc(200*time.Millisecond, func() { cancel(errInterrupted) })
			_ = s.do(thorough, ctx, &Report{}, newTestPlace(t)) // run knows why, whatever it says
			require.ErrorIs(t, context.Cause(ctx), errInterrupted, "the step was over before")
			assert.Less(t, time.Since(began), 10*time.Second)
		})
	}
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	defer func(all []step) { steps = all }(steps)
	ctx, cancel := context.WithCancelCause(t.Context())
	var dir string
	steps = []step{{"a step", func(_ plan, _ context.Context, _ *Report, place *place) error {
		_, err := place.volume()
		require.NoError(t, err)
		dir = place.dir
		cancel(errInterrupted)
		return nil
	}}, {"another", func(plan, context.Context, *Report, *place) error {
		assert.Fail(t, "went on")
		return nil
	}}}
	_, err := run(ctx, hasty, io.Discard)
	assert.ErrorIs(t, err, errInterrupted)
	assert.ErrorContains(t, err, "a step")
	assert.NoDirExists(t, dir)
}

func TestWhatFailsIsSaidWithItsStep(t *testing.T) {
	defer func(all []step) { steps = all }(steps)
	broken := errors.New("no more of it")
	steps = []step{{"a step", func(plan, context.Context, *Report, *place) error { return broken }}}
	_, err := run(t.Context(), hasty, io.Discard)
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "a step")
}
