package main

import (
	"fmt"
	"runtime/debug"
)

type versionCommand struct{}

func (*versionCommand) run(sys system) int {
	fmt.Fprintln(sys.stdout, "podtoken", version())
	return exitGood
}

// version is the module's, or the commit's where it was built from a clone.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return info.Main.Version
}
