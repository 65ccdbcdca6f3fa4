package fleet

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

var (
	write = flag.Bool("write", false, "write docs/fleet*.svg, docs/fleet.json and the tables of docs/fleet.md")
	size  = flag.Int("size", 100_000, "how many modelled pods use podtoken in the figures; of the others there are a tenth")
)

// show is what the figures are made from.
type show struct {
	*testing.T
	dir     string
	small   int // pods of the real code
	large   int // modelled pods with podtoken
	others  int // and without
	results []Result
}

// The figures are drawn in every run, of few pods, so that they can be when
// somebody wants them.
func TestFigures(t *testing.T) {
	s := &show{T: t, dir: t.TempDir(), small: 20, large: 400, others: 100}
	if *write {
		s.dir, s.small, s.large, s.others = filepath.Join("..", "..", "docs"), 1000, *size, *size/10
	}
	s.steady()
	s.trouble("outage", outage, "fleet-outage.svg", fmt.Sprintf("An outage of ten minutes; the server lets %.0f seconds of requests wait", shallow.Seconds()))
	s.deep()
	s.trouble("restart", restart, "fleet-restart.svg", "A rolling restart: all pods replaced within ten minutes")
	s.credentials()
	s.write()

	names, err := filepath.Glob(filepath.Join(s.dir, "fleet*.svg"))
	require.NoError(t, err)
	require.Len(t, names, 5)
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(content), "</svg>", name)
		assert.NotContains(t, string(content), "NaN", name)
	}
}

// played is a story that was played, and what came of it.
func (s *show) played(name string, st story, c client, pods int) *Party {
	p := st.play(pods, c, 1)
	s.results = append(s.results, st.result(name, c.name, pods, false, p))
	s.Logf("%s: %d pods, %s", name, pods, c.name)
	return p
}

func (s *show) steady() {
	var real *Party
	for _, pods := range []int{10, s.small} {
		real = steady.real(s.T, pods, realPrograms["podtoken"])
		s.results = append(s.results, steady.result("two days", "podtoken", pods, true, real))
	}
	s.steadyFigure(real)
}

// untilItRepeats is how long those others are played of which each hour costs
// a million requests, and is like the one before.
var untilItRepeats = map[string]time.Duration{"a timer of 45 minutes": 6 * time.Hour, "the token read once": 150 * time.Minute}

func (s *show) steadyFigure(real *Party) {
	var panels []panel
	for i, c := range clients {
		pods, st := s.others, steady
		if i == 0 {
			pods = s.large
		}
		note := ""
		if d := untilItRepeats[c.name]; d > 0 {
			st, note = steady.lasting(d), fmt.Sprintf("; played for %.3g hours, and so on", d.Hours())
		}
		p := s.played("two days", st, c, pods)
		one := panel{title: fmt.Sprintf("%s, %s pods%s", c.name, grouped(pods), note), x: "hours after the start", from: 0, to: 48, every: 6}
		if i == 0 {
			one.title = fmt.Sprintf("podtoken: %s modelled pods, and %s with the real code", grouped(pods), grouped(s.small))
			one.curves = append(one.curves, curve{"real code", sky, 1, over(real.Load.Asked, Span{0, st.length}, 180, 0, time.Hour, meanLoad(s.small))})
		}
		one.curves = append(one.curves, curve{"requests", blue, 1.3, over(p.Load.Asked, Span{0, st.length}, 180, 0, time.Hour, meanLoad(pods))})
		panels = append(panels, one)
	}
	s.draw("fleet-steady.svg", "Two days after all pods started in the same second", panels)
}

// around is what is seen of a trouble.
var around = Span{trouble.From - 20*time.Minute, trouble.To + 100*time.Minute}

// aroundTrouble is a panel of it: what is asked, and what is of use.
func aroundTrouble(title string, p *Party, pods int) panel {
	minutes := Span{0, time.Duration((trouble.To - trouble.From) / time.Minute * time.Duration(time.Second))}
	line := func(label string, c color.Color, width vg.Length, counts []uint32) curve {
		return curve{label, c, width, over(counts, around, 30, trouble.From, time.Minute, meanLoad(pods))}
	}
	return panel{
		title: title, x: "minutes after it began", from: -20, to: 110, every: 10, shaded: &minutes,
		curves: []curve{line("requests", orange, 1.3, p.Load.Asked), line("useful answers", blue, 1.8, p.Load.Useful)},
	}
}

func (s *show) trouble(name string, st story, file, title string) {
	var panels []panel
	for i, c := range clients[:3] {
		pods := s.others
		if i == 0 {
			pods = s.large
		}
		p := s.played(name, st, c, pods)
		panels = append(panels, aroundTrouble(fmt.Sprintf("%s, %s pods", c.name, grouped(pods)), p, pods))
	}
	s.draw(file, title, panels)
}

func (s *show) deep() {
	var panels []panel
	pods := min(s.others, few)
	for _, c := range []client{clients[0], {"a session that asks as often as ever", hasty.run}, clients[1], clients[2]} {
		p := s.played("outage, deep queue", deepOutage, c, pods)
		panels = append(panels, aroundTrouble(fmt.Sprintf("%s, %s pods", c.name, grouped(pods)), p, pods))
	}
	s.draw("fleet-deep.svg", fmt.Sprintf("The same outage; the server lets %.0f minutes of requests wait", deep.Minutes()), panels)
}

func (s *show) credentials() {
	var panels []panel
	pods := s.large / 5
	for _, life := range []time.Duration{stsLife, agentLife} {
		all := []client{{"the SDK's CredentialsCache", cache(life).run}, {"podtoken", window(life).run}}
		if life == stsLife {
			all = []client{all[0], {"podtoken", provider(life).run}, {"always in the advisory window", window(life).run}}
		}
		for _, c := range all {
			name := fmt.Sprintf("AWS credentials of %.0f h", life.Hours())
			p := steadyAWS.play(pods, c, 1)
			r := steadyAWS.result(name, c.name, pods, false, p)
			minutes := sums(p.Load.Asked, Span{2 * life, twoDays}, 60)
			r.Mean, r.BusiestMin, r.BusiestSec = mean(minutes)/60, most(minutes)/60, most(sums(p.Load.Asked, Span{2 * life, twoDays}, 1))
			r.Ratio, r.Noise, r.Capacity = r.BusiestMin/r.Mean, byChance(mean(minutes), len(minutes)), 0
			s.results = append(s.results, r)
			panels = append(panels, panel{
				title: fmt.Sprintf("%s, credentials of %.0f h, %s pods", c.name, life.Hours(), grouped(pods)), x: "hours after the start", from: 0, to: 48, every: 6, unlimited: true,
				curves: []curve{{"requests", blue, 1.3, over(p.Load.Asked, Span{0, twoDays}, 180, 0, time.Hour, r.Mean)}},
			})
		}
	}
	s.draw("fleet-aws.svg", "AWS credentials: two days after all pods started in the same second", panels)
}

func (s *show) draw(file, title string, panels []panel) {
	f, err := os.Create(filepath.Join(s.dir, file))
	require.NoError(s, err)
	require.NoError(s, drawPanels(f, title, panels))
	require.NoError(s, f.Close())
}

func (s *show) write() {
	text, err := json.MarshalIndent(s.results, "", "\t")
	require.NoError(s, err)
	require.NoError(s, os.WriteFile(filepath.Join(s.dir, "fleet.json"), append(text, '\n'), 0o644))
	tables := map[string]string{"stories": table(s.results)}
	s.Log("\n" + tables["stories"])
	if *write {
		maps.Copy(tables, limits())
		page := filepath.Join(s.dir, "fleet.md")
		old, err := os.ReadFile(page)
		require.NoError(s, err)
		require.NoError(s, os.WriteFile(page, []byte(withTables(s.T, string(old), tables)), 0o644))
	}
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
