//go:build linux

package vault

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// workDir has everything that the tests' servers write. The servers are shared
// by all tests, each with mounts, roles and a service account of its own.
var workDir string

func TestMain(m *testing.M) {
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
		_ = os.RemoveAll(workDir)
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
