package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Environment is where and how the run took place.
type Environment struct {
	Go, OS, Arch string
	Kernel       string // its version, empty where that is not known
	CPU          string // the model, empty where that is not known
	CPUs         int
	Volume       string // where the file was
	TokenBytes   int
	Rounds       int
	Slice        string // how long a case ran in each round
	Quick        bool   // too short to quote
}

func (p plan) environment(place *place) Environment {
	return Environment{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(), CPUs: runtime.NumCPU(),
		Volume: where(), TokenBytes: len(place.tokens[0]), Rounds: p.Rounds, Slice: p.Slice.String(), Quick: p.Quick,
	}
}

// String says it in a sentence or two.
func (e Environment) String() string {
	machine := []string{fmt.Sprintf("%s %s/%s", e.Go, e.OS, e.Arch)}
	if e.Kernel != "" {
		machine = append(machine, "kernel "+e.Kernel)
	}
	machine = append(machine, strings.TrimSuffix(fmt.Sprintf("%d CPUs, %s", e.CPUs, e.CPU), ", "))
	text := fmt.Sprintf("%s; a token of %d bytes in %s; %d rounds of %s.",
		strings.Join(machine, ", "), e.TokenBytes, e.Volume, e.Rounds, e.Slice)
	if e.Quick {
		text += " A quick run: its figures are rough."
	}
	return text
}

// kernel returns the numbers of the kernel's version, without what a
// distribution or somebody's build adds to them.
func kernel() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	numbers, _, _ := strings.Cut(strings.TrimSpace(string(release)), "-")
	return numbers
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return ""
}
