package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// terminationLog is where the kubelet looks, unless the container says
// otherwise by terminationMessagePath.
const terminationLog = "/dev/termination-log"

// maxTermination is how many bytes of it Kubernetes keeps: the last ones, while
// what matters is in the first.
const maxTermination = 4096

// terminationMessage is a flag with a value that may be left out: its file.
type terminationMessage string

// Decode takes --flag as well as --flag=FILE.
func (m *terminationMessage) Decode(ctx *kong.DecodeContext) error {
	*m = terminationLog
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		text, ok := ctx.Scan.Pop().Value.(string)
		if !ok || text == "" {
			return errors.New("names no file")
		}
		*m = terminationMessage(text)
	}
	return nil
}

// IsBool tells kong that the flag stands by itself.
func (terminationMessage) IsBool() bool { return true }

// write replaces the message. The kubelet has made the file; where there is
// none this is no container, and none is made.
func (m terminationMessage) write(r *doctor.Report) error {
	if m == "" {
		return nil
	}
	if info, err := os.Stat(string(m)); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return fmt.Errorf("--termination-message: %s is no file", m) // to open a FIFO is to wait for its reader
	}
	file, err := os.OpenFile(string(m), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("--termination-message: %w", err)
	}
	_, err = file.WriteString(messageOf(r))
	return errors.Join(err, file.Close())
}

// messageOf is a report in as many bytes as Kubernetes keeps: whole findings,
// the worst first, and how many did not fit.
func messageOf(r *doctor.Report) string {
	lines := make([]string, 0, len(r.Findings)+len(r.Errors))
	for _, f := range r.Findings {
		if f.Level != doctor.LevelNote {
			lines = append(lines, f.String())
		}
	}
	for _, text := range r.Errors {
		lines = append(lines, "could not look: "+text)
	}
	return fitted(lines, maxTermination)
}

// fitted is as many lines as fit into so many bytes.
func fitted(lines []string, most int) string {
	const reserve = len("and 1000 more, see podtoken doctor\n")
	var b strings.Builder
	for i, line := range lines {
		if left := most - reserve - b.Len(); len(line)+1 > left {
			if i == 0 {
				b.WriteString(cut(line, left))
			}
			more := len(lines) - max(i, 1)
			if more > 0 {
				fmt.Fprintf(&b, "and %d more, see podtoken doctor\n", more)
			}
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// cut shortens a line to so many bytes, at a rune.
func cut(line string, most int) string {
	const ellipsis = "...\n"
	for most -= len(ellipsis); most > 0 && !utf8.RuneStart(line[most]); {
		most--
	}
	return line[:most] + ellipsis
}
