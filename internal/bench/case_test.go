package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// forEachCase opens every case for two goroutines, as a test of its own.
func forEachCase(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	place := newTestPlace(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			b, err := c.open(place, 2)
			require.NoError(t, err)
			t.Cleanup(b.close)
			test(t, b)
		})
	}
}

func newTestPlace(t testing.TB) *place {
	t.Helper()
	place, err := newPlace()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, place.close()) })
	return place
}

// sameToken compares without printing either.
func sameToken(t *testing.T, want, got, msg string) {
	t.Helper()
	assert.True(t, want == got, msg)
}

func TestEveryCaseReturnsTheToken(t *testing.T) {
	forEachCase(t, func(t *testing.T, b *bench) {
		require.Len(t, b.lanes, 2)
		for _, lane := range b.lanes {
			got, err := lane.token()
			require.NoError(t, err)
			sameToken(t, lane.volume.token(), got, "another token than the file's")
		}
	})
}

func TestCasesThatReadSeeTheRotatedToken(t *testing.T) {
	forEachCase(t, func(t *testing.T, b *bench) {
		lane := b.lanes[0]
		before := lane.volume.token()
		require.NoError(t, lane.op(1))
		for range 4 {
			require.NoError(t, lane.volume.rotate())
			if b.Name == watched {
				return // it sees the rotation at a time of its own choice
			}
			got, err := lane.token()
			require.NoError(t, err)
			if !b.Reads {
				sameToken(t, before, got, "read the file, though it is said not to")
				continue
			}
			sameToken(t, lane.volume.token(), got, "not the token that was rotated in")
		}
	})
}

func TestSourcesReadOncePerOpOrNotAtAll(t *testing.T) {
	forEachCase(t, func(t *testing.T, b *bench) {
		if b.subjects[0].reads == nil {
			return // a peer, which does not count
		}
		lane := b.lanes[0]
		require.NoError(t, lane.op(1))
		before := b.subjects[0].reads()
		require.NoError(t, lane.op(100))
		want := uint64(0)
		if b.Reads {
			want = 100
		}
		assert.Equal(t, want, b.subjects[0].reads()-before)
	})
}

func TestCasesThatCheckRefuseAForeignToken(t *testing.T) {
	issuer := &tokenfiletest.Issuer{}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	foreign, err := issuer.Token(tokenfiletest.Request{Audiences: []string{"somebody-else"}})
	require.NoError(t, err)

	forEachCase(t, func(t *testing.T, b *bench) {
		lane := b.lanes[0]
		require.NoError(t, lane.op(1))
		require.NoError(t, lane.volume.write(1-lane.volume.at, foreign))
		require.NoError(t, lane.volume.rotate())
		got, err := lane.token()
		accepted := err == nil && got == foreign
		assert.Equal(t, b.Reads && !b.Checks && b.Name != everyCall, accepted)
	})
}

func TestNamesAreUniqueAndBasesExist(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cases {
		assert.False(t, names[c.Name], "%s is there twice", c.Name)
		names[c.Name] = true
		assert.True(t, names[c.Base], "%s stands before its base, or has none", c.Name)
	}
	for _, c := range cases {
		assert.True(t, names[c.Limit], "%s has no limit", c.Name)
		assert.Equal(t, c.Limit, named(c.Limit)[0].Limit, "the limit of %s has another", c.Name)
	}
	for _, r := range refreshes {
		assert.False(t, names[r.name], "%s is there twice", r.name)
		names[r.name] = true
	}
	for _, b := range budgets {
		assert.True(t, names[b.Work], "a budget of %s, which is not measured", b.Work)
	}
}

func TestTokensAreOfUsualSizeAndDiffer(t *testing.T) {
	place := newTestPlace(t)
	for _, token := range place.tokens {
		assert.Greater(t, len(token), 1000)
		assert.Less(t, len(token), 1300)
	}
	assert.False(t, place.tokens[0] == place.tokens[1], "a rotation would change nothing")
}
