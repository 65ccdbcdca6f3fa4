package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// summary is the short table: what each package costs, beside one other.
func (r *Report) summary() ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s.\n\n", r.brief())
	t := newTable(&text, "", "time", "limit", "beside", "allocations")
	for _, line := range []struct{ what, work, beside, peer string }{
		{"`Token`, reading at every call", everyCall, "`os.ReadFile`, unchecked", readFile},
		{"`Token` after a rotation: read, parsed, checked", rotated, "`os.ReadFile` and golang-jwt", parseRead},
		{"`Token` with `MaxAge`", maxAge, "client-go's cached source", clientGoHot},
		{"`Token` while a `Watch` loop runs", watched, "oauth2's `ReuseTokenSource`", oauth2Hot},
		{"`vaultauth` `Method.Login`", vaultOurLogin, "Vault's own method, made anew", vaultPeerLogin},
		{"`baoauth` `Method.Login`", baoOurLogin, "by hand", baoPeerLogin},
		{"a request of a session's client", vaultOurRead, "of the bare client", vaultPeerRead},
		{"`awspodid` `Provider.Retrieve`, from memory", awsOurHot, "`aws.CredentialsCache`", awsPeerHot},
		{"the same, the first with `New`", awsOurFirst, "the SDK's", awsPeerFirst},
	} {
		ours, peer := r.row(line.work, 1), r.row(line.peer, 1)
		t.row(line.what, short(ours.NsPerOp), times(ours.OfLimit), line.beside+": "+short(peer.NsPerOp), ours.AllocsPerOp)
	}
	err := t.Flush()
	fmt.Fprintf(&text, "\n%s\n", r.hangs())
	return text.Bytes(), err
}

// brief says where and how.
func (r *Report) brief() string {
	version := strings.Join(strings.SplitN(strings.Replace(r.Go, "go", "Go ", 1), ".", 3)[:2], ".")
	rough := ""
	if r.Quick {
		rough = ". A quick run: its figures are rough"
	}
	return fmt.Sprintf("A token of %s bytes in %s, %d cores, %s; medians of %d interleaved rounds. "+
		"\"Limit\" is the ratio to\nthe least that the system charges: three system calls, an atomic load and `time.Now`, a bare HTTP round trip%s",
		thousands(r.TokenBytes), r.Volume, r.CPUs, version, r.Rounds, rough)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// hangs says what callers meet while a refresh hangs.
func (r *Report) hangs() string {
	var parts []string
	for _, late := range r.Refreshes {
		if late.Valid && late.Work != awsBothLate {
			parts = append(parts, fmt.Sprintf("%s of %s callers of %s wait", thousands(late.Waited), thousands(late.Callers), name(late.Work)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "While a refresh of AWS credentials hangs, " + strings.Join(parts, ", and ") + "."
}

func name(work string) string {
	if work == awsPeerLate {
		return "the SDK's cache"
	}
	return "`awspodid`"
}

// short writes a time with two digits or three.
func short(ns float64) string {
	switch d := time.Duration(ns); {
	case ns == 0:
		return notMeasured
	case d < time.Microsecond:
		return fmt.Sprintf("%.0f ns", ns)
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
	return fmt.Sprintf("%.0f µs", ns/1e3)
}
