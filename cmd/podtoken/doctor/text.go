package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	maxText   = 2000 // bytes of an error that a finding shows
	maxName   = 300  // bytes of a path, a claim or a variable's value
	maxListed = 8    // audiences of one token
)

// bounded makes foreign text fit for a report: on one line, and never a token
// that was pasted into the wrong place.
func bounded(s string, most int) string {
	if strings.Contains(s, "eyJ") {
		return "(a token)"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// Listed makes audiences or paths fit to be printed: a few, each bounded and on
// one line.
func Listed(list []string) []string { return boundedList(list) }

// boundedList is bounded for each element of a claim.
func boundedList(list []string) []string {
	shown := []string{}
	for i, s := range list {
		if i == maxListed {
			return append(shown, fmt.Sprintf("and %d more", len(list)-i))
		}
		shown = append(shown, bounded(s, maxName))
	}
	return shown
}

// errorText is an error as a finding shows it: with paths as the container has
// them.
func errorText(root string, err error) string {
	text := err.Error()
	if root = filepath.Clean(root); root != "/" {
		text = strings.ReplaceAll(text, root+"/", "/")
	}
	return bounded(text, maxText)
}

// stamp shows a time as a person compares it with logs.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Rough is a duration as a person reads it: 47m, 11h50m, 365d.
func Rough(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d < 0:
		return "-" + Rough(-d)
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour && d%time.Minute != 0:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
