//go:build race

package lint_test

const raceEnabled = true // all is ten times as slow
