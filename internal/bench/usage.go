package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// usage is what this process uses, or the difference of two such moments.
type usage struct {
	cpu         time.Duration // spent so far, in the kernel too
	bytes       float64       // of heap that is reachable, and of stacks
	goroutines  int
	descriptors int // open files
	instances   int // of inotify, of which Linux has few: fs.inotify.max_user_instances
	watches     int // of inotify
}

// inUse looks when what has ended is gone: goroutines end a while after they
// were told to, and what they held is garbage only then.
func inUse() usage {
	settle()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u := usage{cpu: cpuTime(), bytes: float64(memory.HeapAlloc + memory.StackInuse), goroutines: runtime.NumGoroutine()}
	u.descriptors, u.instances, u.watches = descriptors()
	return u
}

func (u usage) since(before usage) usage {
	return usage{
		u.cpu - before.cpu, u.bytes - before.bytes, u.goroutines - before.goroutines,
		u.descriptors - before.descriptors, u.instances - before.instances, u.watches - before.watches,
	}
}

// settle waits until the number of goroutines stays what it is, for four seconds
// at most, and collects garbage.
func settle() {
	for same, last, tries := 0, 0, 0; same < 10 && tries < 800; tries++ {
		time.Sleep(5 * time.Millisecond)
		if now := runtime.NumGoroutine(); now == last {
			same++
		} else {
			same, last = 0, now
		}
	}
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
}

// descriptors counts open files, and what inotify watches. All is zero where
// there is no /proc.
func descriptors() (open, instances, watches int) {
	const fds, infos = "/proc/self/fd", "/proc/self/fdinfo"
	entries, _ := os.ReadDir(fds)
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(fds, e.Name()))
		if err != nil {
			continue // that of ReadDir, which is closed by now
		}
		open++
		if target == "anon_inode:inotify" {
			instances++
			info, _ := os.ReadFile(filepath.Join(infos, e.Name()))
			watches += bytes.Count(info, []byte("inotify wd:"))
		}
	}
	return open, instances, watches
}
