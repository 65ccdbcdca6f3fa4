//go:build !linux

package tokenfile

// isMountRoot is known on Linux only.
func isMountRoot(int) bool { return false }

// remoteFileSystem is known on Linux only; elsewhere the slow look beside the
// notifications does what it would.
func remoteFileSystem(string) string { return "" }
