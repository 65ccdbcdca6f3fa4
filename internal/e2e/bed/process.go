//go:build linux

package bed

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A Process is a program that the tests started. Its output is kept, and shown
// only when a test that used it fails.
type Process struct {
	name   string
	output string // path
	cmd    *exec.Cmd
	ended  chan struct{}
}

var (
	processesMu sync.Mutex
	processes   []*Process
)

// Start starts program, with its output in dir.
func Start(dir, program string, args ...string) (*Process, error) {
	name := filepath.Base(program)
	output, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()

	p := &Process{name: name, output: output.Name(), cmd: exec.Command(program, args...), ended: make(chan struct{})}
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

// StopAll ends what is still running, the last started first.
func StopAll() {
	processesMu.Lock()
	defer processesMu.Unlock()
	for i := len(processes) - 1; i >= 0; i-- {
		processes[i].Stop()
	}
}

// Stop asks the process to end, and insists after ten seconds.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// Kill ends the process as a crash does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Patience is how long to wait for what takes seconds on a machine that has
// nothing else to do.
const Patience = 3 * time.Minute

// Until waits for ready, with Patience and as long as the process lives.
func (p *Process) Until(ready func() error) error {
	deadline := time.Now().Add(Patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", p.name, Patience, err, p.Tail())
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, p.Tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Tail is the end of the process's output. None of the programs started here
// logs a token at the verbosity they run with.
func (p *Process) Tail() string {
	const most = 4 << 10
	b, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}

// A T is the part of testing.TB that ShowIfFailed uses. Package testing itself
// adds flags to each program that links it.
type T interface {
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
}

// ShowIfFailed prints the process's last output when t has failed.
func (p *Process) ShowIfFailed(t T) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of %s's output:\n%s", p.name, p.Tail())
		}
	})
}

// LoopbackURL is an address of the loopback interface that nobody listens on.
func LoopbackURL(scheme string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return scheme + "://" + l.Addr().String(), nil
}
