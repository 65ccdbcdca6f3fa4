package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressOfALargeFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		p := newProgress(&terminal, "pods.json", 100e6)
		p.update(1e6)
		assert.Empty(t, terminal.String(), "nothing of a file that is read at once")

		time.Sleep(progressEvery)
		p.update(50e6)
		p.update(51e6)
		assert.Equal(t, "\r\x1b[Kpods.json  ███████████████░░░░░░░░░░░░░░░  50 %  50 of 100 MB", terminal.String())

		terminal.Reset()
		p.clear()
		p.clear()
		assert.Equal(t, "\r\x1b[K", terminal.String())
	})
}

func TestProgressOfAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		p := newProgress(&terminal, "stdin", 0)
		time.Sleep(progressEvery)
		p.update(7e6)
		assert.Equal(t, "\r\x1b[Kstdin  7 MB", terminal.String())
	})
}
