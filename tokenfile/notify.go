package tokenfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// notifier tells of changes in the directories through which a path leads.
//
// It watches directories and never the file: a watch on the file stays with
// the old inode and is silent from the second rotation on. What an event says
// is not looked at, since platforms differ in it and a swap never names the
// file; any event is a reason to read. When the directories are not the same
// any more, it starts over with a new watcher: taking single watches away
// races with the kernel, which does so itself.
type notifier struct {
	watcher *fsnotify.Watcher
	dirs    []directory
}

// directory is a directory at a moment: its name, and which one it was.
type directory struct {
	name string
	info fs.FileInfo
}

// arm watches what path leads through now, unless it does so already. A
// directory that goes while it is looked for is the kubelet's swap, and leaves
// a new one in its place.
func (n *notifier) arm(path string) error {
	var err error
	for range 3 {
		if err = n.tryArm(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func (n *notifier) tryArm(path string) error {
	dirs, err := directories(path)
	if err != nil {
		return err
	}
	if n.watcher != nil && slices.EqualFunc(n.dirs, dirs, sameDirectory) {
		return nil
	}
	n.close()
	if err := n.start(dirs); err != nil {
		n.close()
		return exhausted(err)
	}
	return nil
}

func (n *notifier) start(dirs []directory) (err error) {
	for _, d := range dirs {
		if kind := remoteFileSystem(d.name); kind != "" {
			return fmt.Errorf("%s is on %s, which does not announce changes made elsewhere", d.name, kind)
		}
	}
	if n.watcher, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	for _, d := range dirs {
		if err := n.watcher.Add(d.name); err != nil {
			return err
		}
	}
	n.dirs = dirs
	return nil
}

// close ends the watcher's goroutine and waits for it.
func (n *notifier) close() {
	if n.watcher != nil {
		_ = n.watcher.Close()
	}
	n.watcher, n.dirs = nil, nil
}

// events and errors are nil, and so never ready, without a watcher.
func (n *notifier) events() <-chan fsnotify.Event {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Events
}

func (n *notifier) errors() <-chan error {
	if n.watcher == nil {
		return nil
	}
	return n.watcher.Errors
}

// heard takes note of an event, or of the end of all events.
func (n *notifier) heard(_ fsnotify.Event, open bool) {
	if !open {
		n.close()
	}
}

// broke takes note of a watcher's error. After an overflow the watcher is
// still good, and the look that follows sees what was lost.
func (n *notifier) broke(err error, open bool) {
	if !open || !errors.Is(err, fsnotify.ErrEventOverflow) {
		n.close()
	}
}

// drain takes the events that follow the first one within d.
func (n *notifier) drain(ctx context.Context, d time.Duration) {
	settled := time.NewTimer(d)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-settled.C:
			return
		case event, open := <-n.events():
			n.heard(event, open)
		case err, open := <-n.errors():
			n.broke(err, open)
		}
	}
}

func sameDirectory(a, b directory) bool {
	return a.name == b.name && os.SameFile(a.info, b.info)
}

// maxLinks is how many links the kernel follows, too.
const maxLinks = 40

// directories lists where a change can make path hold another token: each
// directory that a link on the way lies in, and the one of the file itself. If
// the way ends early, it is the directory in which the next step is missing.
func directories(path string) ([]directory, error) {
	var dirs []directory
	dir, rest := split(path)
	for links := 0; links < maxLinks; {
		name := rest[0]
		info, err := os.Lstat(filepath.Join(dir, name))
		isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if isLink || err != nil || len(rest) == 1 {
			if dirs, err = with(dirs, dir, isLink || err != nil); err != nil {
				return nil, err
			}
		}
		switch {
		case isLink:
			target, err := os.Readlink(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			links++
			start, steps := split(target)
			if filepath.IsAbs(target) {
				dir = start
			}
			rest = append(steps, rest[1:]...)
		case info == nil || len(rest) == 1:
			return dirs, nil
		default:
			dir, rest = filepath.Join(dir, name), rest[1:]
		}
	}
	return dirs, nil // a loop of links: its directories are where it can end
}

// split returns where path starts from, and its steps, at least one.
func split(path string) (start string, steps []string) {
	volume := filepath.VolumeName(path)
	start = "."
	if filepath.IsAbs(path) {
		start = volume + string(filepath.Separator)
	}
	steps = strings.FieldsFunc(path[len(volume):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	if len(steps) == 0 {
		steps = []string{"."}
	}
	return start, steps
}

// with adds dir to dirs. A directory of the kubelet's, such as
// ..2026_11_30_08_20_23.123, is left out where it only holds the file: the
// kubelet fills it before a link leads there and never writes to it again.
func with(dirs []directory, dir string, holdsLink bool) ([]directory, error) {
	if !holdsLink && len(dirs) > 0 && strings.HasPrefix(filepath.Base(dir), "..2") {
		return dirs, nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return dirs, err
	}
	d := directory{dir, info}
	if !slices.ContainsFunc(dirs, func(o directory) bool { return sameDirectory(o, d) }) {
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// exhausted adds to an error which limit to raise.
func exhausted(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: raise the sysctl fs.inotify.max_user_watches", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: raise the sysctl fs.inotify.max_user_instances", err)
	}
	return err
}
