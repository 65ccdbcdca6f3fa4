package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sleeper is a lane whose op takes so long, each batch the next of the times.
func sleeper(times ...time.Duration) lane {
	batch := 0
	return lane{worker: worker{op: func(n int) error {
		time.Sleep(time.Duration(n) * times[batch%len(times)])
		batch++
		return nil
	}}}
}

func TestLapIsTheLowerQuartileOfItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{lanes: []lane{sleeper(1000, 1000, 9000, 5000)}}
		nanos, err := b.run(80 * time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, 1000.0, nanos)
	})
}

func TestLanesInParallelShareTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{lanes: []lane{sleeper(1000), sleeper(1000)}}
		nanos, err := b.run(40 * time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, 500.0, nanos)
	})
}

func TestLaneBesideOneThatStoodStillIsNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{lanes: []lane{sleeper(1000), sleeper(time.Millisecond)}}
		nanos, err := b.run(4 * time.Millisecond)
		require.NoError(t, err)
		assert.Zero(t, nanos)
	})
}

func TestBatchCountsBesideOneOrTwoOfTheOtherLane(t *testing.T) {
	for met, want := range []bool{false, true, true, false} {
		beats := make(beats, 2)
		b := &bench{lanes: []lane{{worker: worker{op: func(int) error {
			beats[1].Add(uint64(met))
			return nil
		}}}, {}}}
		_, counts, err := b.time(0, beats)
		require.NoError(t, err)
		assert.Equal(t, want, counts, "%d batches of the other", met)
	}
}
