//go:build linux

package kubernetes

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

// An image is not built here; the command within deploy/Dockerfile is run, in
// a clone as in the image. What it makes has to run without any other file.
func TestTheImagesProgramIsStatic(t *testing.T) {
	text, err := os.ReadFile(deployed("Dockerfile"))
	require.NoError(t, err)
	build := regexp.MustCompile(`(?s)GOWORK=off .*?go build [^\n]*`).FindString(string(text))
	require.Contains(t, build, " -o /podtoken ")
	program := filepath.Join(t.TempDir(), "podtoken")
	build = strings.Replace(build, " -o /podtoken ", " -o "+program+" ", 1)
	build = strings.Replace(build, "GOCACHE=/tmp/cache ", "", 1) // the image's own

	command := exec.CommandContext(t.Context(), "sh", "-euc", build)
	command.Dir = filepath.Dir(deployed(""))
	command.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", build, out)

	binary, err := elf.Open(program)
	require.NoError(t, err)
	defer binary.Close()
	libraries, err := binary.ImportedLibraries()
	require.NoError(t, err)
	assert.Empty(t, libraries)
	for _, args := range [][]string{{"version"}, {"doctor", "--rules"}} {
		out, err = exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

// The flags of the init container are podtoken doctor's: with one that is not,
// the pod would never start.
func TestTheInitContainersFlagsExist(t *testing.T) {
	var deployment appsv1.Deployment
	readManifest(t, "init-container.yaml").into(t, "Deployment", &deployment)
	args := deployment.Spec.Template.Spec.InitContainers[0].Args
	require.Equal(t, "doctor", args[0])
	podtoken := []string{"run", "-C", filepath.Join("..", "..", "..", "cmd", "podtoken"), "."}
	command := exec.CommandContext(t.Context(), "go", append(append(podtoken, args...), "--help")...)
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, flag := range args[1:] {
		assert.Contains(t, string(out), flag)
	}
}
