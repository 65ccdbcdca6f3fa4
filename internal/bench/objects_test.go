package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goroutinesOf is what each kind runs while nothing happens, which no machine
// changes.
var goroutinesOf = map[string]float64{
	"tokenfile.Source, a Watch loop runs":              2,
	"vault/api Client and its LifetimeWatcher, runs":   1,
	"vaultauth.Session, runs":                          1,
	"openbao/api Client and its LifetimeWatcher, runs": 1,
	"baoauth.Session, runs":                            1,
}

func TestObjectsRunTheGoroutinesThatTheySay(t *testing.T) {
	place := newTestPlace(t)
	for _, o := range objects {
		t.Run(o.name, func(t *testing.T) {
			row, err := plan{Objects: 20}.object(o, place)
			require.NoError(t, err)
			assert.InDelta(t, goroutinesOf[o.name], row.Goroutines, 0.2)
			assert.Equal(t, 20, row.Count)
		})
	}
	for name := range goroutinesOf {
		assert.True(t, hasObject(name), "%s is measured no more", name)
	}
}

func hasObject(name string) bool {
	for _, o := range objects {
		if o.name == name {
			return true
		}
	}
	return false
}

func TestMemoryIsThatOfWhatIsKept(t *testing.T) {
	place := newTestPlace(t)
	const size = 1 << 16
	heavy := object{name: "64 KiB", make: func(*volume, string) (kept, error) {
		return kept{it: make([]byte, size)}, nil
	}}
	row, err := plan{Objects: 100}.object(heavy, place)
	require.NoError(t, err)
	assert.InDelta(t, size, row.Bytes, size/10)
}

func TestProgramsHaveTheModulesOfWhatTheyUse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, build(t.Context(), dir, []string{"empty", "tokenfile"}))
	empty, err := inspect("empty", "empty", dir, dir)
	require.NoError(t, err)
	ours, err := inspect("tokenfile", "empty", dir, dir)
	require.NoError(t, err)
	assert.Empty(t, empty.Modules)
	assert.Greater(t, ours.Bytes, empty.Bytes)
	assert.ElementsMatch(t, []string{"podtoken", "github.com/fsnotify/fsnotify", "github.com/golang-jwt/jwt/v5", "golang.org/x/sys"},
		ours.added(empty))
	assert.Empty(t, ours.added(ours))
	assert.ErrorContains(t, build(t.Context(), dir, []string{"nothing"}), "go build of the programs")
}

func TestEachProgramIsMeasuredAfterItsBase(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs {
		seen[p.name] = true
		assert.True(t, seen[p.base], "%s stands before its base", p.name)
	}
	folders, err := filepath.Glob(filepath.Join("program", "*", "main.go"))
	require.NoError(t, err)
	for _, file := range folders {
		assert.True(t, seen[filepath.Base(filepath.Dir(file))], "%s is not measured", file)
	}
	assert.Len(t, folders, len(programs))
	_, err = os.Stat(filepath.Join("program", "tokenfile"))
	assert.NoError(t, err)
}

func TestQuickRunSaysWhatItLeavesOut(t *testing.T) {
	r := &Report{}
	require.NoError(t, quick.programs(t.Context(), r, nil))
	require.Len(t, r.Skipped, 1)
	assert.Contains(t, r.Skipped[0], "sizes of programs")
}
