//go:build linux

package aws

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process is a program under test that runs, with an STS and an instance
// metadata service that nobody else uses.
type process struct {
	name  string
	front *front
	imds  *imds
	key   string // of the object that it writes
	start reply  // what it said of its start

	orders  io.Writer
	replies chan reply // closed when the process ends
	said    []string   // every error that it told

	done, failed int // orders
	longest      time.Duration
	late         time.Duration // see recover
}

// newProcess starts a program in an environment: one of a pod on an EC2
// instance, without an identity, and what the case adds.
func newProcess(t *testing.T, name string, f *front, environment ...string) *process {
	t.Helper()
	p := &process{name: name, front: f, imds: newIMDS(t, f.weed), key: rand.Text(), replies: make(chan reply, 1)}
	home := t.TempDir() // in which there is no ~/.aws
	cmd := exec.Command(os.Args[0])
	cmd.Env = append([]string{
		programVar + "=" + name, "HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=app-0", "AWS_REGION=" + region,
		"AWS_EC2_METADATA_SERVICE_ENDPOINT=" + p.imds.url,
		stsVar + "=" + f.url, s3Var + "=" + f.weed.url,
	}, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the tests crash
	var stderr strings.Builder
	cmd.Stderr = &stderr
	orders, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p.orders = orders
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(p.replies)
		in := bufio.NewScanner(stdout)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var r reply
			if err := json.Unmarshal(in.Bytes(), &r); err != nil {
				r.Error = fmt.Sprintf("not a reply: %v", err)
			}
			p.replies <- r
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range p.replies { // that nobody waited for
		}
		<-ended
		if stderr.Len() > 0 {
			t.Logf("%s wrote:\n%s", name, stderr.String())
		}
	})
	p.start = p.receive(t)
	return p
}

// use orders the program to write and read an object.
func (p *process) use(t *testing.T) reply {
	t.Helper()
	if p.start.Error != "" {
		return p.start // and the program has ended
	}
	_, err := fmt.Fprintln(p.orders, p.key)
	require.NoError(t, err, "%s has ended", p.name)
	r := p.receive(t)
	if r.Error == "" {
		p.done++
	} else {
		p.failed++
	}
	p.longest = max(p.longest, r.Took)
	return r
}

// reset forgets the orders so far.
func (p *process) reset() { p.done, p.failed, p.longest = 0, 0, 0 }

// recover orders until an order succeeds, and notes how long that took.
func (p *process) recover(t *testing.T) {
	t.Helper()
	mended := time.Now()
	require.NoError(t, eventually(func() error { return p.use(t).err() }))
	p.late = time.Since(mended)
}

func (p *process) receive(t *testing.T) reply {
	t.Helper()
	select {
	case r, ok := <-p.replies:
		require.True(t, ok, "%s ended without a reply", p.name)
		if r.Error != "" {
			p.said = append(p.said, r.Error)
		}
		return r
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "no reply", "from %s", p.name)
		return reply{}
	}
}
