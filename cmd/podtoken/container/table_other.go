//go:build !linux

package container

import "io"

func parseTable(io.Reader) ([]mountPoint, error) { return nil, errNoTable }
