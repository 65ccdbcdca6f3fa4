package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachWatcherSeesEveryRotation(t *testing.T) {
	place := newTestPlace(t)
	for _, way := range watchings {
		t.Run(way.name, func(t *testing.T) {
			if way.polls && testing.Short() {
				t.Skip("takes five seconds for a rotation")
			}
			volumes, err := place.volumes(3)
			require.NoError(t, err)
			row, err := plan{Idle: time.Millisecond, Bursts: 2}.watchMany(t.Context(), way, volumes)
			require.NoError(t, err)
			assert.Zero(t, row.Missed)
			assert.Equal(t, 3, row.Files)
			assert.Equal(t, 3, row.Watched)
			assert.Positive(t, row.Median)
			assert.GreaterOrEqual(t, row.P99, row.Median)
			if way.polls {
				assert.Zero(t, row.Notified)
				assert.Zero(t, row.Instances)
				return
			}
			assert.Equal(t, 3, row.Notified)
			if runtime.GOOS == "linux" {
				assert.Equal(t, 3, row.Watches)
				assert.Contains(t, []int{1, 3}, row.Instances)
			}
		})
	}
}

func TestWatchersLeaveNothingBehind(t *testing.T) {
	place := newTestPlace(t)
	volumes, err := place.volumes(2)
	require.NoError(t, err)
	before := inUse()
	for _, way := range watchings {
		w, err := way.start(volumes, func(int, string) {})
		require.NoError(t, err)
		w.end()
	}
	after := inUse().since(before)
	assert.LessOrEqual(t, after.goroutines, 0)
	assert.LessOrEqual(t, after.instances, 0)
}

func TestLooksAreCounted(t *testing.T) {
	place := newTestPlace(t)
	for _, way := range watchings {
		if way.polls {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			volumes, err := place.volumes(1)
			require.NoError(t, err)
			board := newBoard(1)
			board.expect(0, volumes[0].token())
			w, err := way.start(volumes, board.saw)
			require.NoError(t, err)
			defer w.end()
			for looks := uint64(1); looks < 4; looks++ {
				_, missed := board.wait(t.Context(), tooLong)
				require.Zero(t, missed)
				assert.GreaterOrEqual(t, w.looks(), looks)
				board.expect(0, volumes[0].next())
				require.NoError(t, volumes[0].rotate())
			}
		})
	}
}

func TestRateOfRotationsIsInTheTable(t *testing.T) {
	place := newTestPlace(t)
	r := &Report{}
	require.NoError(t, plan{Rates: []int{20, 50}, Rate: 100 * time.Millisecond}.rotations(t.Context(), r, place))
	require.Len(t, r.Rotations, 2*3)
	for i, row := range r.Rotations {
		assert.Equal(t, []int{20, 50}[i/3], row.PerSecond)
		assert.GreaterOrEqual(t, row.CPU, time.Duration(0))
	}
}

func TestDescriptorsOfWatchersAreCounted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("inotify is Linux's")
	}
	open, instances, watches := descriptors()
	require.Positive(t, open)
	w, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Add(t.TempDir()))
	require.NoError(t, w.Add(os.TempDir()))
	_, instancesNow, watchesNow := descriptors()
	assert.Equal(t, instances+1, instancesNow)
	assert.Equal(t, watches+2, watchesNow)
}

func TestProcessorTimePasses(t *testing.T) {
	before := cpuTime()
	for n := 0; cpuTime() == before && n < 1e9; n++ {
		runtime.KeepAlive(n)
	}
	assert.Greater(t, cpuTime(), before)
}

// Such a program watches nothing, and is never told of a first token.
func TestRotationsWithoutInotifyAreAnError(t *testing.T) {
	place := newTestPlace(t)
	volumes, err := place.volumes(1)
	require.NoError(t, err)
	exhausted := watching{start: func(volumes []*volume, saw func(int, string)) (*watchers, error) {
		return newByHand(volumes, saw).watchers(), nil
	}}
	_, err = plan{Rate: time.Millisecond}.rotationsAt(t.Context(), 1, exhausted, volumes, 0)
	assert.ErrorContains(t, err, "max_user_instances")
}
