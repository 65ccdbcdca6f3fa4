package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a report with a row of everything, and no figure twice.
func sample() *Report {
	r := within()
	r.Environment = Environment{Go: "go1.26.8", OS: "linux", Arch: "amd64", Kernel: "6.18.44", CPUs: 2, Volume: "/mnt", TokenBytes: 1132, Rounds: 81, Slice: "4ms"}
	r.Rows = nil
	for i, c := range cases {
		for _, procs := range []int{1, 2} {
			r.Rows = append(r.Rows, Row{
				Work: c.Name, Base: c.Base, Limit: c.Limit, Procs: procs, NsPerOp: float64(1000 + i),
				Ratio: 1.25, OfLimit: 1 + float64(i)/100, Gain: 1.9, AllocsPerOp: int64(i),
			})
		}
	}
	r.Refreshes[0].Longest = 2e6
	r.Growths = []Growth{{With: withGoroutines, Title: "Goroutines", Points: []Point{{Size: 100, Rows: []Row{
		{Work: loadNow, Procs: 100, NsPerOp: 30, OfLimit: 1}, {Work: maxAge, Procs: 100, NsPerOp: 33, OfLimit: 1.11},
	}}}}}
	r.Rotations = []Rotations{{Work: ourWatch, PerSecond: 77, Looks: 31.4, Seen: 12.5, CPU: 7e6}}
	r.Watchers = []Watchers{{Work: ourWatch, Files: 555, Watched: 444, Notified: 333, Instances: 22, Missed: 4}}
	r.Objects = []Object{{Work: "an object", Count: 9, Bytes: 1234, Goroutines: 2}}
	r.Programs = []Program{
		{Name: "empty", Base: "empty", Bytes: 1_500_000},
		{Name: "tokenfile", Base: "empty", Bytes: 4_000_000, Stripped: 3_000_000, Modules: []string{"example.org/a"}},
	}
	r.Budgets = r.judge()
	r.Skipped = []string{"what takes long"}
	return r
}

func TestFiguresHaveEveryPart(t *testing.T) {
	text, err := sample().figures()
	require.NoError(t, err)
	for _, s := range sections {
		assert.Contains(t, string(text), "\n### "+s.heading+"\n", s.heading)
	}
	for name, cells := range map[string][]string{
		"growth":   {"100", "30.0 (1.00 ×)", "33.0 (1.11 ×)"},
		"rotation": {"77", ourWatch, "31.4", "12.5", "7ms"},
		"watchers": {ourWatch, "555", "333, the other 111 fail", "22"},
		"object":   {"an object", "1.2", "2", "0"},
		"program":  {"tokenfile", "4.00", "3.00", "1", "empty", "+2.50", "+3.00", "+1", "example.org/a"},
	} {
		assert.Len(t, lines(string(text), cells...), 1, name)
	}
	assert.Contains(t, string(text), "\nSKIPPED: what takes long\n")
	assert.True(t, strings.HasPrefix(string(text), "go1.26.8 linux/amd64, kernel 6.18.44, 2 CPUs; a token of 1132 bytes"))
}

func TestPartsThatWereNotMeasuredHaveNoHeading(t *testing.T) {
	r := sample()
	r.Watchers = nil
	text, err := r.figures()
	require.NoError(t, err)
	assert.NotContains(t, string(text), "### Many watched files")
	assert.Contains(t, string(text), "### Memory")
}

// measured is a file with a report, which spares a test the measuring.
func measured(t *testing.T, r *Report) (file string) {
	t.Helper()
	text, err := r.json()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

func TestOneCommandWritesEveryFile(t *testing.T) {
	r, dir := sample(), t.TempDir()
	from := measured(t, r)
	at := func(name string) string { return filepath.Join(dir, name) }
	page := "before\n" + blockBegin + "old\n" + blockEnd + "after\n"
	for _, name := range []string{"docs", "readme"} {
		require.NoError(t, os.WriteFile(at(name), []byte(page), 0o600))
	}
	args := []string{"-from", from}
	for _, name := range []string{"json", "markdown", "svg", "docs", "readme"} {
		args = append(args, "-"+name, at(name))
	}
	var out bytes.Buffer
	require.NoError(t, command(t.Context(), args, &out, io.Discard))

	read := func(name string) string {
		text, err := os.ReadFile(at(name))
		require.NoError(t, err)
		return string(text)
	}
	var again Report
	require.NoError(t, json.Unmarshal([]byte(read("json")), &again))
	assert.Equal(t, *r, again)
	assert.Equal(t, out.String(), read("markdown"))
	assert.Equal(t, "before\n"+blockBegin+out.String()+blockEnd+"after\n", read("docs"))
	assert.Contains(t, read("svg"), heading)
	short, err := r.summary()
	require.NoError(t, err)
	assert.Equal(t, "before\n"+blockBegin+string(short)+blockEnd+"after\n", read("readme"))
}

func TestWhatCannotBeWrittenIsSaidBeforeMeasuring(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	for name, content := range map[string]string{
		"no block":               "text\n",
		"a block without an end": blockBegin,
		"an end without a block": blockEnd,
	} {
		require.NoError(t, os.WriteFile(page, []byte(content), 0o600))
		var progress bytes.Buffer
		err := command(t.Context(), []string{"-docs", page}, io.Discard, &progress)
		assert.ErrorContains(t, err, "no block of figures", name)
		assert.Empty(t, progress.String(), "it measured")
		unchanged, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Equal(t, content, string(unchanged))
	}
	err := command(t.Context(), []string{"-json", filepath.Join(dir, "nowhere", "x.json")}, io.Discard, io.Discard)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestArgumentsThatMeanNothingAreRefused(t *testing.T) {
	assert.ErrorContains(t, command(t.Context(), []string{"quick"}, io.Discard, io.Discard), `"quick" is no flag`)
	assert.Error(t, command(t.Context(), []string{"-fast"}, io.Discard, io.Discard))
}

func TestReportsThatAreNotWholeAreRefused(t *testing.T) {
	r := sample()
	r.Rows = r.Rows[1:]
	err := command(t.Context(), []string{"-from", measured(t, r)}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, bareRead)

	r = sample()
	r.Growths[0].Points = nil
	err = command(t.Context(), []string{"-from", measured(t, r)}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, `no point of "Goroutines"`)

	r = sample()
	r.Programs = r.Programs[1:]
	err = command(t.Context(), []string{"-from", measured(t, r)}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, `no program "empty"`)

	bad := filepath.Join(t.TempDir(), "bad.json")
	text, err := sample().json()
	require.NoError(t, err)
	other := strings.ReplaceAll(string(text), `"NsPerOp"`, `"Nanoseconds"`)
	require.NoError(t, os.WriteFile(bad, []byte(other), 0o600))
	assert.ErrorContains(t, command(t.Context(), []string{"-from", bad}, io.Discard, io.Discard), "Nanoseconds")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	assert.ErrorContains(t, command(t.Context(), []string{"-from", bad}, io.Discard, io.Discard), "bad.json")
}

// Programs that read the file know it by these names.
func TestNamesInTheJSONStay(t *testing.T) {
	r := sample()
	r.CPU = "a model"
	text, err := r.json()
	require.NoError(t, err)
	var report map[string]any
	require.NoError(t, json.Unmarshal(text, &report))
	assert.ElementsMatch(t, strings.Fields(`
		Go OS Arch Kernel CPU CPUs Volume TokenBytes Rounds Slice Quick
		Rows Refreshes Growths Rotations Watchers Objects Programs Budgets Skipped`), keys(report))
	for part, names := range map[string]string{
		"Rows":      "Work Base Procs NsPerOp Quartiles Ratio Limit OfLimit Gain AllocsPerOp BytesPerOp",
		"Refreshes": "Work Callers Waited Valid Median P99 Longest",
		"Growths":   "With Title Points",
		"Rotations": "Work PerSecond Looks Seen CPU",
		"Watchers":  "Work Files Watched Notified Instances Watches Goroutines Bytes Idle Rotation Median P99 Missed",
		"Objects":   "Work Count Bytes Goroutines Descriptors",
		"Programs":  "Name Base Bytes Stripped Modules",
		"Budgets":   "Work Limit Measured Holds",
	} {
		first := report[part].([]any)[0].(map[string]any)
		assert.ElementsMatch(t, strings.Fields(names), keys(first), part)
	}
}

func keys(object map[string]any) []string { return slices.Collect(maps.Keys(object)) }

func TestCheckFailsWhereABudgetIsMissed(t *testing.T) {
	r := sample()
	for i := range r.Rows {
		r.Rows[i].Ratio, r.Rows[i].AllocsPerOp = 0.9, 0
	}
	assert.NoError(t, command(t.Context(), []string{"-check", "-from", measured(t, r)}, io.Discard, io.Discard))
	for i := range r.Rows {
		if r.Rows[i].Work == maxAge {
			r.Rows[i].AllocsPerOp = 1
		}
	}
	assert.ErrorIs(t, command(t.Context(), []string{"-check", "-from", measured(t, r)}, io.Discard, io.Discard), errMissed)
}

func TestShortTableComparesEachPackage(t *testing.T) {
	r := sample()
	r.Refreshes = append(r.Refreshes, Refresh{Work: awsPeerLate, Callers: 2000, Waited: 1990, Valid: true})
	text, err := r.summary()
	require.NoError(t, err)
	ours, peer := r.row(vaultOurLogin, 1), r.row(vaultPeerLogin, 1)
	line := lines(string(text), "`vaultauth` `Method.Login`", short(ours.NsPerOp), times(ours.OfLimit),
		"Vault's own method, made anew: "+short(peer.NsPerOp))
	assert.Len(t, line, 1)
	assert.Contains(t, string(text), "1,132 bytes in /mnt, 2 cores, Go 1.26; medians of 81")
	assert.Contains(t, string(text), "1,990 of 2,000 callers of the SDK's cache wait")
	assert.Contains(t, string(text), "0 of 10 callers of `awspodid` wait")
}

func TestTimesAreShort(t *testing.T) {
	for want, ns := range map[string]float64{"?": 0, "57 ns": 56.9, "6.4 µs": 6432, "19 µs": 19_100, "170 µs": 170_372} {
		assert.Equal(t, want, short(ns))
	}
}
