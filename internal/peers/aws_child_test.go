package peers

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// part names the variable that tells this program which of children it is.
const part = "PODTOKEN_PEERS_CHILD"

// children are what needs a program of its own: one that may end by a panic,
// or one whose environment package http has not read yet.
var children = map[string]func(*testing.T){}

// child runs one of children with variables added to the environment, and
// returns what it printed, and an error if it failed.
func child(t *testing.T, name string, variables ...string) (output string, err error) {
	t.Helper()
	require.Contains(t, children, name)
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), part+"="+name), variables...)
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// TestChild is the program that child runs. It does nothing in a run of the
// tests.
func TestChild(t *testing.T) {
	if run := children[os.Getenv(part)]; run != nil {
		run(t)
	}
}
