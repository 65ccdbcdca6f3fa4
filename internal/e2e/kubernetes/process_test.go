//go:build linux

package kubernetes

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a program that the tests started. Its output is kept, and shown
// only when a test that used it fails.
type process struct {
	name   string
	output string // path
	cmd    *exec.Cmd
	ended  chan struct{}
}

var (
	processesMu sync.Mutex
	processes   []*process
)

// startProcess starts program, with its output in dir.
func startProcess(dir, program string, args ...string) (*process, error) {
	name := filepath.Base(program)
	output, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()

	p := &process{name: name, output: output.Name(), cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.Dir = dir
	// Where the tests have no namespaces to end with, the kernel ends the
	// process when they crash.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()

	processesMu.Lock()
	defer processesMu.Unlock()
	processes = append(processes, p)
	return p, nil
}

// stop asks the process to end, and insists after ten seconds.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// patience is how long to wait for what takes seconds on a machine that has
// nothing else to do.
const patience = 3 * time.Minute

// until waits for ready, with patience and as long as the process lives.
func (p *process) until(ready func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", p.name, patience, err, p.tail())
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail is the end of the process's output. None of the programs started here
// logs a token at the verbosity they run with.
func (p *process) tail() string {
	const most = 4 << 10
	b, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}

// showIfFailed prints the process's last output when t has failed.
func (p *process) showIfFailed(t *testing.T) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of %s's output:\n%s", p.name, p.tail())
		}
	})
}

// stopProcesses ends what is still running, the last started first.
func stopProcesses() {
	processesMu.Lock()
	defer processesMu.Unlock()
	for i := len(processes) - 1; i >= 0; i-- {
		processes[i].stop()
	}
}

// loopbackURL is an address of the loopback interface that nobody listens on.
func loopbackURL(scheme string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return scheme + "://" + l.Addr().String(), nil
}
