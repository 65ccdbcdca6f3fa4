// Package containertest makes a directory that looks like the root of a
// container: with a mount table, a first process, and volumes of the kubelet's.
//
//	c, err := containertest.New(t.TempDir(), time.Now().Add(-time.Hour))
//	volume, err := c.Volume("/var/run/secrets/tokens")
//	err = volume.Write(token)
//	report := doctor.Examine(ctx, doctor.Options{Root: c.Root, Environment: []string{}})
//
// # What is not faithful
//
// Volumes are ordinary directories, of this process's user, and only listed as
// mounted.
package containertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// Container is a directory that looks like one. Do not use it from several
// goroutines.
type Container struct {
	Root  string // the directory
	table strings.Builder
	count int
}

// New makes a Container whose first process started at a time, to the second.
func New(dir string, started time.Time) (*Container, error) {
	c := &Container{Root: dir}
	if err := c.Start(started); err != nil {
		return nil, err
	}
	return c, c.Mount("/", "/", "overlay")
}

// Start sets when the first process started.
func (c *Container) Start(at time.Time) error {
	const boot = 1_000 // seconds before
	if err := c.File("/proc/stat", fmt.Sprintf("cpu  1 2 3\nintr 1\nbtime %d\n", at.Unix()-boot)); err != nil {
		return err
	}
	// The program's name is as odd as it may be.
	return c.File("/proc/1/stat", fmt.Sprintf("1 (a) S (b) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", boot*100))
}

// File writes a file at a path of the container.
func (c *Container) File(path, content string) error {
	path = filepath.Join(c.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// Mount adds to the mount table a mount at path, of the folder root in a file
// system of a type. Nothing is made there.
func (c *Container) Mount(path, root, fileSystem string) error {
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	c.count++
	fmt.Fprintf(&c.table, "%d 1 0:%d %s %s ro,relatime master:1 - %s %s rw\n",
		c.count+100, c.count, escaped.Replace(root), escaped.Replace(path), fileSystem, fileSystem)
	return c.File("/proc/self/mountinfo", c.table.String())
}

// Volume mounts a projected volume, which is empty at first.
func (c *Container) Volume(path string) (*tokenfiletest.Volume, error) {
	volume, err := tokenfiletest.NewVolume(filepath.Join(c.Root, path))
	if err != nil {
		return nil, err
	}
	return volume, c.Mount(path, "/", "tmpfs")
}
