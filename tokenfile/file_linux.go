package tokenfile

import "golang.org/x/sys/unix"

// isMountRoot reports whether the open file is a mount of its own, which is
// what a subPath makes of a token: the kubelet's swaps do not reach it. A
// kernel before 5.8 does not tell.
func isMountRoot(fd int) bool {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &st); err != nil {
		return false
	}
	return st.Attributes&st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// remoteFileSystems are those whose changes the kernel does not announce when
// another machine, or a process behind the file system, makes them.
var remoteFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.FUSE_SUPER_MAGIC: "FUSE",
	unix.V9FS_MAGIC:       "9P",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.AFS_SUPER_MAGIC:  "AFS",
}

// remoteFileSystem names the file system of dir if it is such a one.
func remoteFileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	return remoteFileSystems[int64(uint32(st.Type))]
}
