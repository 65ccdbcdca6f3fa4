package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
)

// outputs are the files that a report goes to, beside standard output.
type outputs []output

// output is one of them. Only what was asked for has a file.
type output struct {
	name  string
	usage string
	file  *string
	block bool // only a block of the file is written
	text  func(r *Report) ([]byte, error)
}

func (o *outputs) flags(flags *flag.FlagSet) {
	*o = outputs{
		{name: "json", usage: "write `FILE` for programs", text: (*Report).json},
		{name: "markdown", usage: "write what is printed to `FILE` too", text: (*Report).figures},
		{name: "svg", usage: "write the chart to `FILE`", text: (*Report).chart},
		{name: "docs", usage: "write what is printed to the block of figures in `FILE`", text: (*Report).figures, block: true},
		{name: "readme", usage: "write the short table to the block of figures in `FILE`", text: (*Report).summary, block: true},
	}
	for i := range *o {
		(*o)[i].file = flags.String((*o)[i].name, "", (*o)[i].usage)
	}
}

// writable looks for what would make write fail.
func (o outputs) writable() error {
	for _, out := range o {
		if *out.file == "" {
			continue
		}
		flags := os.O_WRONLY
		if !out.block {
			flags |= os.O_CREATE
		}
		f, err := os.OpenFile(*out.file, flags, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if out.block {
			if err := replaceBlock(*out.file, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes all files that were asked for, also after one that fails.
func (o outputs) write(r *Report) error {
	var errs []error
	for _, out := range o {
		if *out.file != "" {
			errs = append(errs, out.write(r))
		}
	}
	return errors.Join(errs...)
}

func (o output) write(r *Report) error {
	text, err := o.text(r)
	if err != nil {
		return err
	}
	if o.block {
		return replaceBlock(*o.file, text)
	}
	return os.WriteFile(*o.file, text, 0o644)
}

// The lines between which figures stand in a text that is written by hand.
const (
	blockBegin = "<!-- figures: written by go run ./internal/bench -->\n"
	blockEnd   = "<!-- end of figures -->\n"
)

// replaceBlock puts text between the two lines in a file. Without a text it
// only looks whether it could.
func replaceBlock(file string, text []byte) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(content, []byte(blockBegin))
	_, after, ends := bytes.Cut(rest, []byte(blockEnd))
	if !begins || !ends {
		return fmt.Errorf("%s has no block of figures, from a line %q to a line %q", file, blockBegin, blockEnd)
	}
	if text == nil {
		return nil
	}
	parts := [][]byte{before, []byte(blockBegin), text, []byte(blockEnd), after}
	return os.WriteFile(file, bytes.Join(parts, nil), 0o644)
}

func (r *Report) json() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "\t")
	return append(text, '\n'), err
}

func (r *Report) figures() ([]byte, error) {
	var text bytes.Buffer
	err := r.markdown(&text)
	return text.Bytes(), err
}

// load reads what json wrote, and judges it anew.
func load(file string) (*Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, decoder := &Report{}, json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // as of another version, whose figures would be lost
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := r.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.Budgets = r.judge()
	return r, nil
}
