package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unroll shows a timeline as it grows, the way play does.
func unroll(seen timeline, show func(timeline)) {
	for seen.now = 0; seen.now <= seen.length; seen.now += 100 * time.Millisecond {
		show(seen)
	}
}

func TestLinesForWhatIsNoTerminal(t *testing.T) {
	var b bytes.Buffer
	unroll(sample(), newView(&b))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 19, "a heading and a line for each of 18 seconds")
	assert.NotContains(t, b.String(), "\x1b")
	assert.Regexp(t, `^ +reads <once> & for ever +the default token +podtoken, every call$`, lines[0])
	assert.Regexp(t, `^t=1s +10 accepted +10 of 10 REJECTED +10 accepted$`, lines[1])
	assert.Regexp(t, `^t=5s +10 accepted +10 of 10 REJECTED +10 accepted +rotation 1$`, lines[5])
	assert.Regexp(t, `^t=6s +10 of 10 REJECTED +10 of 10 REJECTED +10 accepted$`, lines[6])
}

func TestLinesCatchUpAfterAPause(t *testing.T) {
	var b bytes.Buffer
	show := newView(&b)
	seen := sample()
	seen.now = 3500 * time.Millisecond
	show(seen)
	assert.Equal(t, 4, strings.Count(b.String(), "\n"))
}

func TestLiveDrawsOverItself(t *testing.T) {
	var b bytes.Buffer
	v := &live{w: &b, colour: true}
	v.show(sample())
	first := b.String()
	assert.Equal(t, 5, strings.Count(first, "\n"))
	b.Reset()
	v.show(sample())
	assert.Equal(t, "\x1b[5A"+first, b.String())
}

func TestLiveShowsHowLoginsWent(t *testing.T) {
	var b bytes.Buffer
	(&live{w: &b}).show(sample())
	lines := strings.Split(b.String(), "\n")
	assert.Contains(t, lines[0], "t=18.0s, which is 3h36m on a cluster")
	assert.Contains(t, lines[1], "        |       |       |       |")
	assert.Contains(t, lines[2], strings.Repeat("━", 10)+strings.Repeat("x", 26))
	assert.Contains(t, lines[3], strings.Repeat("x", 36)+"  0 accepted, 180 rejected")
	assert.Contains(t, lines[4], strings.Repeat("━", 36)+"  180 accepted, 0 rejected")
}

func TestColourIsLeftOut(t *testing.T) {
	var with, without bytes.Buffer
	(&live{w: &with, colour: true}).show(sample())
	(&live{w: &without}).show(sample())
	assert.Contains(t, with.String(), red+"x")
	assert.NotRegexp(t, "\x1b\\[[0-9]*m", without.String())
}
