package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Program is a tiny program that uses one package.
type Program struct {
	Name     string
	Base     string   // the program that it is compared with
	Bytes    int64    // of the executable
	Stripped int64    // the same without symbols: built with -ldflags "-s -w"
	Modules  []string // linked, without the program's own
}

// programs are the folders in program/, each with its base.
var programs = []struct{ name, base string }{
	{"empty", "empty"},
	{"http", "empty"},
	{"byhand", "empty"},
	{"tokenfile", "empty"},
	{"clientgo", "empty"},
	{"awssdk", "http"},
	{"awspodid", "awssdk"},
	{"vaultapi", "http"},
	{"vaultauth", "vaultapi"},
	{"openbaoapi", "http"},
	{"baoauth", "openbaoapi"},
}

const (
	ourModule  = "github.com/podtoken/podtoken"
	programDir = ourModule + "/internal/bench/program/"
	buildTime  = 10 * time.Minute // at most, with everything still to be compiled
)

// programs builds them all, twice.
func (p plan) programs(ctx context.Context, r *Report, _ *place) error {
	if p.Quick {
		r.skip("sizes of programs: linking them takes half a minute")
		return nil
	}
	dir, err := os.MkdirTemp("", "podtoken") // in memory there may be no room for them
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plain, stripped := filepath.Join(dir, "plain"), filepath.Join(dir, "stripped")
	var names []string
	for _, program := range programs {
		names = append(names, program.name)
	}
	if err := build(ctx, plain, names); err != nil {
		return err
	}
	if err := build(ctx, stripped, names, "-ldflags=-s -w"); err != nil {
		return err
	}
	for _, program := range programs {
		row, err := inspect(program.name, program.base, plain, stripped)
		if err != nil {
			return err
		}
		r.Programs = append(r.Programs, row)
	}
	return nil
}

// build compiles programs into dir, with the go command.
func build(ctx context.Context, dir string, names []string, flags ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, flags...)
	for _, name := range names {
		args = append(args, programDir+name)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // for it to tidy up
	command.WaitDelay = 10 * time.Second
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build of the programs, from a folder of this repository: %w: %s", err, out[:min(len(out), 1000)])
	}
	return nil
}

func inspect(name, base, plain, stripped string) (Program, error) {
	p := Program{Name: name, Base: base}
	var err error
	if p.Bytes, err = size(filepath.Join(plain, executable(name))); err != nil {
		return p, err
	}
	if p.Stripped, err = size(filepath.Join(stripped, executable(name))); err != nil {
		return p, err
	}
	info, err := buildinfo.ReadFile(filepath.Join(plain, executable(name)))
	if err != nil {
		return p, err
	}
	for _, module := range info.Deps {
		p.Modules = append(p.Modules, module.Path)
	}
	return p, nil
}

func executable(name string) string {
	if filepath.Separator == '\\' {
		return name + ".exe"
	}
	return name
}

func size(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// added lists the modules that base has not.
func (p Program) added(base Program) (names []string) {
	for _, module := range p.Modules {
		if !slices.Contains(base.Modules, module) {
			names = append(names, strings.TrimPrefix(module, path.Dir(ourModule)+"/"))
		}
	}
	return names
}

// programTable is for people.
func (r *Report) programTable(w io.Writer) error {
	t := newTable(w, "program", "MB", "stripped", "modules", "more than", "MB", "stripped", "modules", "which")
	for _, p := range r.Programs {
		base := r.Programs[slices.IndexFunc(r.Programs, func(b Program) bool { return b.Name == p.Base })]
		if p.Name == base.Name {
			t.row(p.Name, megabytes(p.Bytes), megabytes(p.Stripped), len(p.Modules), "", "", "", "", "")
			continue
		}
		t.row(p.Name, megabytes(p.Bytes), megabytes(p.Stripped), len(p.Modules), base.Name, more(p.Bytes-base.Bytes),
			more(p.Stripped-base.Stripped), fmt.Sprintf("%+d", len(p.Modules)-len(base.Modules)), few(p.added(base)))
	}
	return t.Flush()
}

// few writes names, or nothing if they are too many to be read.
func few(names []string) string {
	if len(names) > 5 {
		return ""
	}
	return strings.Join(names, ", ")
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/1e6) }
func more(bytes int64) string      { return fmt.Sprintf("%+.2f", float64(bytes)/1e6) }
