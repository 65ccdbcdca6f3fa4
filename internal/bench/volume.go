package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// volume is a projected volume whose rotation costs two system calls: the
// directories of both tokens are there for good, and the ..data link is
// renamed from one to the other as the kubelet does.
type volume struct {
	dir  string
	at   int
	text [2]string
}

// dataDirs are named as the kubelet names them.
var dataDirs = [2]string{"..2026_11_30_08_20_23.1234567890", "..2026_11_30_09_08_24.2345678901"}

// newVolume makes the volume in dir with the first of two tokens in place.
func newVolume(dir string, tokens [2]string) (*volume, error) {
	v := &volume{dir: dir, text: tokens, at: 1}
	for i, token := range tokens {
		if err := v.write(i, token); err != nil {
			return nil, err
		}
	}
	link := os.Symlink(filepath.Join("..data", "token"), v.path())
	return v, errors.Join(link, v.rotate())
}

func (v *volume) path() string { return filepath.Join(v.dir, "token") }

// token returns what the file holds now.
func (v *volume) token() string { return v.text[v.at] }

// next returns what the file will hold after a rotation.
func (v *volume) next() string { return v.text[1-v.at] }

// write puts token where the i-th rotation leads.
func (v *volume) write(i int, token string) error {
	v.text[i] = token
	dir := filepath.Join(v.dir, dataDirs[i])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600)
}

// rotate replaces the token by the other one.
func (v *volume) rotate() error {
	v.at = 1 - v.at
	next := filepath.Join(v.dir, "..data_tmp")
	if err := os.Symlink(dataDirs[v.at], next); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(v.dir, "..data"))
}

// place is where a run takes place: tokens, and where volumes are made.
type place struct {
	dir    string
	tokens [2]string
	made   int
}

// newPlace makes a directory in memory, where there is such a thing, and
// issues the tokens. The caller removes dir.
func newPlace() (*place, error) {
	tokens, err := issue()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(tmpfs(), "podtoken")
	return &place{dir: dir, tokens: tokens}, err
}

// volume makes another volume with the same tokens.
func (p *place) volume() (*volume, error) {
	p.made++
	return newVolume(filepath.Join(p.dir, fmt.Sprint(p.made), "tokens"), p.tokens)
}

func (p *place) close() error { return os.RemoveAll(p.dir) }

// where says what newPlace found.
func where() string {
	if dir := tmpfs(); dir != "" {
		return dir + " (tmpfs)"
	}
	return "the temporary directory (no tmpfs with room)"
}
