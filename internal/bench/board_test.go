package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBoardKnowsHowLongEachRotationTookToBeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(2)
		b.expect(0, "new")
		b.expect(1, "other")
		b.put(0)
		b.put(1)
		go func() {
			b.saw(0, "old") // a look that came too early
			time.Sleep(time.Second)
			b.saw(0, "new")
			b.saw(0, "new") // twice is once
			time.Sleep(time.Second)
			b.saw(1, "other")
		}()
		lags, missed := b.wait(t.Context(), time.Minute)
		assert.Equal(t, []float64{1e9, 2e9}, lags)
		assert.Zero(t, missed)
	})
}

func TestBoardCountsWhoMissedARotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(3)
		for i := range 3 {
			b.expect(i, "new")
		}
		b.forget(func(i int) bool { return i == 2 })
		b.saw(0, "new")
		lags, missed := b.wait(t.Context(), time.Minute)
		assert.Len(t, lags, 1)
		assert.Equal(t, 1, missed)

		b.expect(1, "newer") // a round later all is well
		b.saw(0, "newer")    // nobody waits for that
		b.saw(1, "newer")
		lags, missed = b.wait(t.Context(), time.Minute)
		assert.Len(t, lags, 1)
		assert.Zero(t, missed)
	})
}

func TestBoardWithNobodyToWaitForIsDone(t *testing.T) {
	b := newBoard(2)
	lags, missed := b.wait(t.Context(), time.Hour)
	assert.Empty(t, lags)
	assert.Zero(t, missed)
}
