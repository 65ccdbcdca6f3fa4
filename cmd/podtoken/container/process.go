package container

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// processes are those that are seen in a proc file system, and which of them
// is the one whose root is looked at.
type processes struct{ proc, self string }

var rootOfProcess = regexp.MustCompile(`^(/proc)/([0-9]+)/root$`)

func processesOf(root string) processes {
	if match := rootOfProcess.FindStringSubmatch(filepath.ToSlash(filepath.Clean(root))); match != nil {
		return processes{match[1], match[2]}
	}
	return processes{filepath.Join(root, "proc"), "self"}
}

// file is one about the process.
func (p processes) file(name string) string { return filepath.Join(p.proc, p.self, name) }

const maxEnvironment = 4 << 20 // bytes; Linux gives a process less

// Environment is that of the container at root, as os.Environ has it. Of
// another process's it is what it had when it started.
func Environment(root string) ([]string, error) {
	if root == "/" || root == "" {
		return os.Environ(), nil
	}
	file, err := os.Open(processesOf(root).file("environ"))
	if err != nil {
		return nil, lookedAtFrom(root, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEnvironment))
	if err != nil {
		return nil, lookedAtFrom(root, err)
	}
	return strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00"), nil
}

// lookedAtFrom says what it takes to look at another process's container.
func lookedAtFrom(root string, err error) error {
	switch {
	case root == "/":
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: a process of another container is open to its own user%s, or to root with the capability SYS_PTRACE: "+
			"kubectl debug --custom=FILE takes securityContext.runAsUser from a file", err, userOf(root))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such process: kubectl debug --target=CONTAINER lets this container see the other's", err)
	}
	return err
}

// userOf names the user of the process at root, which its folder in /proc
// belongs to, and which everybody may see.
func userOf(root string) string {
	p := processesOf(root)
	info, err := os.Stat(filepath.Join(p.proc, p.self))
	if err != nil {
		return ""
	}
	uid, _ := owner(info)
	return fmt.Sprintf(", uid %d", uid)
}
