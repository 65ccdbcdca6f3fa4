package container

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is in what Linux gives times to programs, on every architecture.
const ticks = time.Second / 100

const maxProcesses = 100_000

// Started returns when the container's first process started, to the second:
// PID 1 of its PID namespace, or, where several containers share one or the
// node's, the oldest process that has the same mounts.
func Started(root string) (time.Time, error) {
	p := processesOf(root)
	boot, err := p.booted()
	if err != nil {
		return time.Time{}, lookedAtFrom(root, err)
	}
	age, err := p.first()
	if err != nil {
		return time.Time{}, lookedAtFrom(root, err)
	}
	return boot.Add(age), nil
}

// first is when the container's first process started, after boot.
func (p processes) first() (time.Duration, error) {
	own, err := p.mounts(p.self)
	initial, other := p.mounts("1")
	if err != nil || other != nil || own == initial {
		return p.started("1") // the usual case, and where they cannot be told apart
	}
	return p.oldest(own)
}

// mounts identifies the mount namespace of a process.
func (p processes) mounts(pid string) (string, error) {
	return os.Readlink(filepath.Join(p.proc, pid, "ns", "mnt"))
}

// oldest is when the first process of a mount namespace started, after boot.
func (p processes) oldest(namespace string) (age time.Duration, err error) {
	dir, err := os.Open(p.proc)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxProcesses)
	if err != nil && err != io.EOF {
		return 0, err
	}
	found := false
	for _, pid := range names {
		if other, err := p.mounts(pid); err != nil || other != namespace || !isNumber(pid) {
			continue
		}
		if its, err := p.started(pid); err == nil && (!found || its < age) {
			age, found = its, true
		}
	}
	if !found {
		return 0, errors.New("no process of this container is seen in /proc")
	}
	return age, nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// started is when a process did, after boot.
func (p processes) started(pid string) (time.Duration, error) {
	text, err := readSmall(filepath.Join(p.proc, pid, "stat"))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in brackets, and may hold anything.
	_, rest, _ := cutLast(text, ")")
	fields := strings.Fields(rest)
	const startTime = 22 - 3 // proc_pid_stat(5) counts from 1, and two are before
	if len(fields) <= startTime {
		return 0, fmt.Errorf("/proc/%s/stat has %d fields", pid, len(fields)+2)
	}
	n, err := strconv.ParseInt(fields[startTime], 10, 64)
	if err != nil || n < 0 || n > int64(1<<62/ticks) {
		return 0, fmt.Errorf("/proc/%s/stat has no start time", pid)
	}
	return time.Duration(n) * ticks, nil
}

// booted is when the kernel did, by the clock as it is now.
func (p processes) booted() (time.Time, error) {
	file, err := os.Open(filepath.Join(p.proc, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxTable))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Unix(seconds, 0), err
		}
	}
	return time.Time{}, errors.New("/proc/stat does not say when the system started")
}

// readSmall reads a regular file, or as much as fits in a page.
func readSmall(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: name, Err: errors.ErrUnsupported} // to open a FIFO is to wait
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 4096))
	return string(text), err
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
