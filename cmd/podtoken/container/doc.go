// Package container says what a container can see of itself without asking
// anybody: which service-account tokens are mounted in it, whose they are, and
// since when it runs.
//
//	mounts, err := container.Find("/")
//	started, err := container.Started("/")
//	for _, m := range mounts {
//		fmt.Println(m.Path, m.SubPath, m.Modified.After(started))
//	}
//
// # Another container
//
// An ephemeral debug container has mounts of its own. Where it shares the
// process namespace of the container that it was made for, which is what
// kubectl debug --target does, that one's files are below
//
//	/proc/1/root
//
// and every function here takes that for root. Linux lets a process look there
// that has the same user, or is root with the capability SYS_PTRACE.
//
// # What it reads
//
// Regular files of at most 64 KiB on the file systems that volumes are made
// of, some thousand at most. It opens nothing else: no FIFO, no device, nothing
// on a network. It sees mounts on Linux only.
package container
