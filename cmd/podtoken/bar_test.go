package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFileBarOfALargeFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		b := newFileBar(&terminal, "pods.json", 100e6)
		b.update(1e6)
		assert.Empty(t, terminal.String(), "nothing of a file that is read at once")

		time.Sleep(fileBarEvery)
		b.update(50e6)
		drawn := terminal.String()
		assert.Contains(t, drawn, "pods.json, 50 of 100 MB  50% |████████        |")
		b.update(51e6)
		assert.Equal(t, drawn, terminal.String(), "not at every line")

		terminal.Reset()
		b.clear()
		assert.NotEmpty(t, terminal.String())
		cleared := terminal.String()
		assert.Empty(t, bytes.Trim(terminal.Bytes(), "\r "), "it is wiped")
		b.clear()
		assert.Equal(t, cleared, terminal.String(), "there is nothing to wipe")
	})
}

func TestFileBarAtTheEndOfAFileThatGrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		b := newFileBar(&terminal, "pods.json", 100)
		time.Sleep(fileBarEvery)
		b.update(200)
		b.clear()
		terminal.Reset()
		time.Sleep(fileBarEvery)
		b.update(300)
		assert.Contains(t, terminal.String(), "pods.json", "it is drawn again after other lines")
		assert.NotContains(t, terminal.String(), "\n")
	})
}

func TestFileBarOfAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		b := newFileBar(&terminal, "stdin", -1)
		time.Sleep(fileBarEvery)
		b.update(7e6)
		assert.Contains(t, terminal.String(), "stdin, 7 MB")
		assert.NotContains(t, terminal.String(), "%")
	})
}
