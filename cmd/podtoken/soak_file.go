package main

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile writes a file so that whoever reads it sees the old content or
// the new one. With nil it only tries to: name is left as it is.
func replaceFile(name string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil && content != nil {
		return renamed(temporary.Name(), name)
	}
	return errors.Join(err, os.Remove(temporary.Name()))
}

func renamed(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Remove(from))
	}
	return nil
}
