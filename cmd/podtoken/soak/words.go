package soak

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// stamp shows a time as a person compares it with logs.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// short keeps of a duration what a person reads.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 100*time.Hour:
		text := d.Round(time.Second).String()
		if d >= time.Minute {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		if text == "" || strings.HasSuffix(text, "m") || strings.HasSuffix(text, "h") || strings.HasSuffix(text, "s") {
			return text
		}
		return d.Round(time.Second).String() // what was cut was no zero: 1m10s
	}
	return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printable is foreign text as it is, or quoted where it would break a line.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// times lists the last of them.
func times(list []time.Time) string {
	var texts []string
	for _, t := range list {
		texts = append(texts, stamp(t))
	}
	return strings.Join(texts, ", ")
}
