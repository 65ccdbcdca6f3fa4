package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// writeTable writes one line for each client.
func writeTable(w io.Writer, t timeline) {
	tab := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tab, "\nCLIENT\tACCEPTED\tREJECTED\tROTATIONS SURVIVED\tFIRST FAILURE")
	for _, l := range t.lanes {
		accepted, rejected, survived := l.count()
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d of %d\t%s\n",
			l.name, accepted, rejected, survived, len(t.rotations), l.describeFailure())
	}
	_ = tab.Flush()
}

func (l lane) describeFailure() string {
	if failure, failed := l.firstFailure(); failed {
		return "at t=" + seconds(failure.at) + ": " + failure.reason
	}
	return "none"
}

// conclusion says in words what a timeline that has passed the verdict shows.
func conclusion(t timeline) string {
	var b strings.Builder
	for _, l := range t.lanes {
		if failure, failed := l.firstFailure(); failed {
			fmt.Fprintf(&b, "%s: %s\n", capital(l.name), l.explain(t, failure))
		}
	}
	fmt.Fprintf(&b, "podtoken: never refused, over %d rotations. Of the default token it says, before any login:\n  %s",
		len(t.rotations), t.diagnosis)
	return b.String()
}

// explain says why a client was refused.
func (l lane) explain(t timeline, failure login) string {
	if accepted, _, _ := l.count(); accepted == 0 {
		return "refused from the first login on. It is meant for somebody else, and no rotation mends that."
	}
	return fmt.Sprintf("logged in until its token died at t=%s, which is %s after the start on a cluster. "+
		"The kubelet had put a new one in place by then.", seconds(failure.at), clock(t.real(failure.at)))
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// seconds shows a time of the demonstration.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// clock shows the time on a cluster that a time here stands for.
func clock(d time.Duration) string {
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
