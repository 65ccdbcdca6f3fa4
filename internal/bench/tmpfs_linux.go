package main

import "syscall"

const (
	tmpfsMagic = 0x01021994 // linux/magic.h
	room       = 256 << 20  // bytes: over twice what a whole run needs, and more than a container has unless told
	writable   = 2          // W_OK of access(2)
)

// tmpfs returns a directory in memory with room for a run, or "" if there is
// none.
func tmpfs() string {
	const shm = "/dev/shm"
	var fs syscall.Statfs_t
	switch {
	case syscall.Statfs(shm, &fs) != nil, syscall.Access(shm, writable) != nil:
		return ""
	case int64(fs.Type) != tmpfsMagic, fs.Bavail*uint64(fs.Bsize) < room:
		return ""
	}
	return shm
}
