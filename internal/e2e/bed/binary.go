//go:build linux

package bed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

var buildMu sync.Mutex

// Build builds a package's program at the versions of the module in a folder,
// and returns its path. The flags are the default ones: any other compiles a
// quarter of an hour's worth of packages again instead of finding them in the
// build cache. The programs are kept in the user's cache folder, where an
// unchanged one is not linked again.
func Build(module, pkg, name string, env ...string) (string, error) {
	buildMu.Lock()
	defer buildMu.Unlock()

	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "podtoken-e2e", name)
	cmd := exec.Command("go", "build", "-C", module, "-o", binary, pkg)
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	fmt.Fprintf(os.Stderr, "e2e: building %s\n", pkg)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	fmt.Fprintf(os.Stderr, "e2e: %s built in %v\n", name, time.Since(start).Round(100*time.Millisecond))
	return binary, nil
}
