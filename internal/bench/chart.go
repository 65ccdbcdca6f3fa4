package main

import (
	"fmt"
	"slices"
)

// group is a piece of work in the chart: its limit, and who does it.
type group struct {
	title string
	limit string // what it is
	nanos float64
	bars  []bar
}

// bar is how much more than the limit somebody needs.
type bar struct {
	name  string
	ours  bool
	ratio float64
	nanos float64
}

// entry names a row of the report for the chart.
type entry struct {
	name string
	ours bool
	work string
}

// charted are the groups. Those with a crowd are measured by that many
// goroutines, the others by one.
var charted = []struct {
	title, limit, work string
	crowd              int
	entries            []entry
}{
	{"Read the token's file, at every call", "open, read and close", bareRead, 0, []entry{
		{"tokenfile", true, everyCall}, {"os.ReadFile, unchecked", false, readFile},
	}},
	{"Read it just after a rotation: parse and check", "open, read and close", bareRotated, 0, []entry{
		{"tokenfile", true, rotated}, {"os.ReadFile and golang-jwt", false, parseRead},
		{"client-go, unchecked", false, clientGoOver}, {"oauth2, unchecked", false, oauth2Over},
	}},
	{"Have the token from memory, one goroutine", "an atomic load and time.Now", loadNow, 0, []entry{
		{"tokenfile, MaxAge or Watch", true, maxAge},
		{"client-go, cached source", false, clientGoHot}, {"oauth2, ReuseTokenSource", false, oauth2Hot},
	}},
	{"Have the token from memory, 100 goroutines", "an atomic load and time.Now", loadNow, 100, []entry{
		{"tokenfile, MaxAge or Watch", true, maxAge},
		{"client-go, cached source", false, clientGoHot}, {"oauth2, ReuseTokenSource", false, oauth2Hot},
	}},
	{"Log in to Vault", "an HTTP round trip on loopback", bareHTTPLogin, 0, []entry{
		{"vaultauth", true, vaultOurLogin}, {"Vault's own method, made anew", false, vaultPeerLogin},
	}},
	{"Read a secret from Vault", "an HTTP round trip on loopback", bareHTTPRead, 0, []entry{
		{"vaultauth, Session", true, vaultOurRead}, {"Vault's client alone", false, vaultPeerRead},
	}},
	{"Have AWS credentials from memory", "an atomic load and time.Now", awsLoad, 0, []entry{
		{"awspodid", true, awsOurHot}, {"the SDK's cache", false, awsPeerHot},
	}},
	{"Get the first AWS credentials", "an HTTP round trip on loopback", awsBareFirst, 0, []entry{
		{"awspodid", true, awsOurFirst}, {"the SDK's provider", false, awsPeerFirst},
	}},
}

// groups takes what there is to draw.
func (r *Report) groups() (all []group) {
	for _, c := range charted {
		limit, found := r.measured(c.work, c.crowd)
		if !found {
			continue
		}
		g := group{title: c.title, limit: c.limit, nanos: limit.NsPerOp}
		for _, e := range c.entries {
			if row, found := r.measured(e.work, c.crowd); found && row.OfLimit > 0 {
				g.bars = append(g.bars, bar{e.name, e.ours, row.OfLimit, row.NsPerOp})
			}
		}
		all = append(all, g)
	}
	return all
}

// measured finds a row, of a crowd if there is one.
func (r *Report) measured(work string, crowd int) (Row, bool) {
	rows, procs := r.Rows, 1
	if crowd > 0 {
		rows, procs = r.crowded(), crowd
	}
	i := slices.IndexFunc(rows, func(row Row) bool { return row.Work == work && row.Procs == procs })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}

// crowded returns the rows of all crowds.
func (r *Report) crowded() (rows []Row) {
	for _, g := range r.Growths {
		for _, point := range g.Points {
			if g.With == withGoroutines {
				rows = append(rows, point.Rows...)
			}
		}
	}
	return rows
}

// describe says for those who hear the picture what it shows.
func describe(groups []group) (text string) {
	for _, g := range groups {
		text += fmt.Sprintf("%s: the limit, %s, takes %s", g.title, g.limit, short(g.nanos))
		for _, b := range g.bars {
			text += fmt.Sprintf("; %s %s", b.name, times(b.ratio))
		}
		text += ". "
	}
	return text
}
