//go:build linux

package aws

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

var workDir string // everything the tests write is in it

// TestMain runs the tests or, in the processes that they start of themselves,
// one of the programs under test.
func TestMain(m *testing.M) {
	if name := os.Getenv(programVar); name != "" {
		os.Exit(runProgram(name))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if workDir, err = os.MkdirTemp("", "podtoken-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	end := func() {
		bed.StopAll()
		for _, name := range append(sockets, workDir) {
			_ = os.RemoveAll(name)
		}
	}
	defer end()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		end()
		os.Exit(1)
	}()
	return m.Run()
}

// folder makes a folder for a server, which outlives the test that starts it.
func folder(name string) (string, error) {
	return os.MkdirTemp(workDir, name+"-")
}

// eventually waits, with patience, until ready returns nil.
func eventually(ready func() error) error {
	deadline := time.Now().Add(bed.Patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", bed.Patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
