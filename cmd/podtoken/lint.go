package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

type lintCommand struct {
	Files        []string `arg:"" optional:"" name:"file" help:"Manifests, YAML or JSON; - is standard input."`
	Associations []string `placeholder:"FILE" help:"The cluster's Pod Identity associations: of aws eks list-pod-identity-associations, terraform show -json, Crossplane, ACK, or lines NAMESPACE/SERVICE_ACCOUNT."`
	Cluster      string   `placeholder:"NAME" help:"Count only this cluster's associations."`
	Ignore       []string `sep:"none" placeholder:"RULE: WHY" help:"Silence a rule everywhere, such as \"PT013: charts of others\"."`
	Output       string   `short:"o" enum:"text,json,sarif" default:"text" help:"${enum}."`
	FailOn       string   `enum:"error,warning,note" default:"warning" help:"The least finding that makes the exit status 1: ${enum}."`
	Rules        bool     `help:"List the rules, and read no files."`
}

// printer is one of the outputs. A person's is there at once, line by line.
type printer interface {
	finding(lint.Finding)
	unreadable(error)
	end() error
}

func (c *lintCommand) run(sys system) int {
	if c.Rules {
		return c.listRules(sys)
	}
	if len(c.Files) == 0 {
		fmt.Fprintln(sys.stderr, "podtoken lint: name files to look at, or - for standard input")
		return exitUnreadable
	}
	if c.readsInputTwice() {
		fmt.Fprintln(sys.stderr, "podtoken lint: standard input can be read once: name - once")
		return exitUnreadable
	}
	linter := &lint.Linter{Cluster: c.Cluster}
	for _, text := range c.Ignore {
		if err := linter.Ignore(text); err != nil {
			fmt.Fprintln(sys.stderr, "podtoken lint: --ignore:", err)
			return exitUnreadable
		}
	}
	for _, name := range c.Associations {
		if err := c.associations(linter, name, sys); err != nil {
			fmt.Fprintln(sys.stderr, "podtoken lint:", err)
			return exitUnreadable
		}
	}
	run := &lintRun{linter: linter, out: c.printer(sys), sys: sys, failOn: lint.Level(c.FailOn)}
	for _, name := range c.Files {
		run.file(name)
	}
	for finding := range linter.Finish() {
		run.finding(finding)
	}
	if err := run.out.end(); err != nil {
		fmt.Fprintln(sys.stderr, "podtoken lint:", err)
		return exitUnreadable
	}
	return run.status()
}

func (c *lintCommand) readsInputTwice() bool {
	n := 0
	for _, name := range slices.Concat(c.Files, c.Associations) {
		if name == "-" {
			n++
		}
	}
	return n > 1
}

func (c *lintCommand) printer(sys system) printer {
	switch c.Output {
	case "json":
		return &jsonPrinter{w: sys.stdout, stderr: sys.stderr}
	case "sarif":
		return newSARIF(sys.stdout, sys.stderr)
	}
	return &person{w: sys.stdout, stderr: sys.stderr, colours: sys.colours}
}

func (c *lintCommand) associations(linter *lint.Linter, name string, sys system) error {
	file, _, err := open(name, sys)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := lint.ReadAssociations(displayed(name), file)
	linter.Associations = append(linter.Associations, list...)
	return err
}

func (c *lintCommand) listRules(sys system) int {
	var list []ruleText
	for _, r := range lint.Rules() {
		list = append(list, ruleText{r.ID, r.Title, string(r.Level), r.Reason, r.Mend})
	}
	if err := writeRules(sys.stdout, c.Output, lint.Rules(), list); err != nil {
		fmt.Fprintln(sys.stderr, "podtoken lint:", err)
		return exitUnreadable
	}
	return exitGood
}

// lintRun is one over all files.
type lintRun struct {
	linter   *lint.Linter
	out      printer
	sys      system
	bar      *fileBar
	failOn   lint.Level
	findings int // of that level or a worse one
	failed   bool
}

func (r *lintRun) file(name string) {
	file, size, err := open(name, r.sys)
	if err != nil {
		r.unreadable(err)
		return
	}
	defer file.Close()
	r.bar = nil
	r.linter.Progress = nil
	if r.sys.progress {
		r.bar = newFileBar(r.sys.stderr, oneLine(displayed(name)), size)
		r.linter.Progress = r.bar.update
		defer r.bar.clear()
	}
	for finding, err := range r.linter.Lint(displayed(name), file) {
		if err != nil {
			r.unreadable(err)
			continue
		}
		r.finding(finding)
	}
}

func (r *lintRun) finding(f lint.Finding) {
	r.bar.clear()
	if f.Level.AtLeast(r.failOn) {
		r.findings++
	}
	r.out.finding(f)
}

func (r *lintRun) unreadable(err error) {
	r.bar.clear()
	r.failed = true
	r.out.unreadable(err)
}

func (r *lintRun) status() int {
	switch {
	case r.failed:
		return exitUnreadable
	case r.findings > 0:
		return exitFindings
	}
	return exitGood
}

// open also returns the size, -1 where it is not known.
func open(name string, sys system) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(sys.stdin), -1, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, named(err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "read", Path: name, Err: errors.New("is a directory: name its files")}
	}
	if err != nil {
		return nil, 0, errors.Join(named(err), file.Close())
	}
	if !info.Mode().IsRegular() || info.Size() == 0 { // a pipe; a file of the kernel
		return file, -1, nil
	}
	return file, info.Size(), nil
}

// named is a file's error with a name that does not break the line.
func named(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		path.Path = oneLine(path.Path)
	}
	return err
}

func oneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func displayed(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}
