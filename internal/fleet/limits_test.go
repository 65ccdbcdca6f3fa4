package fleet

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// few is how many pods the tables of limits are played with: they are the same
// with more, whose server is larger by as much.
const few = 1000

// markdown is a table.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

// queues says how long it takes until all pods have a token again, by how long
// the trouble was and how long the server lets requests wait.
func queues(sc schedule, outages, rooms []time.Duration) string {
	rows := [][]string{{"an outage of"}}
	for _, room := range rooms {
		rows[0] = append(rows[0], "a queue of "+short(room))
	}
	for _, d := range outages {
		row := []string{short(d)}
		if d == 0 {
			row[0] = "none: all start in one second"
		}
		for _, room := range rooms {
			s := outage.down(d).queueing(room)
			row = append(row, inMinutes(s.recovery(s.play(few, client{"", sc.run}, 1))))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// capacities says what a server of so many times the even load can do.
func capacities(times ...float64) string {
	rows := [][]string{{"capacity", "all start in one second", "outage of 10 minutes", "restart within 10 minutes", "outage of 2 hours", "of 10 minutes, a queue of 2"}}
	for _, n := range times {
		row := []string{fmt.Sprintf("%.3g ×", n)}
		for _, s := range []story{outage.down(0), outage.down(10 * time.Minute), restart, outage.down(2 * time.Hour), deepOutage} {
			s = s.with(n)
			p := s.play(few, clients[0], 1)
			cell := inMinutes(s.recovery(p))
			if most := most(sums(p.Load.Without(), s.judged(), 1)); s.outage != (Span{}) || s.restart != (Span{}) {
				cell += fmt.Sprintf(" (%.1f %%)", 100*most/few)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%.0f h", d.Hours())
	case d%time.Minute == 0:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// inMinutes is a recovery's time, rounded up.
func inMinutes(seconds float64) string {
	if seconds < 0 {
		return "never"
	}
	return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
}

var (
	allOutages = []time.Duration{0, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 8 * time.Hour}
	allRooms   = []time.Duration{shallow, 40 * time.Second, time.Minute, 90 * time.Second, deep, 3 * time.Minute}
)

// limits are the tables of docs/fleet.md that are not of one run.
func limits() map[string]string {
	return map[string]string{
		"capacities": capacities(1.25, 1.5, 2, 3, 5, 10),
		"queues":     queues(asIs, allOutages, allRooms),
		"impatient":  queues(impatient, []time.Duration{0, 10 * time.Minute, 2 * time.Hour}, allRooms),
	}
}

// After hours no pod has a lease any more, and all want one at once: as at a
// start. A server that lets requests wait for two minutes serves those that wait
// for as long. The control gives up after a minute, and never comes back.
func TestOutageOfTwoHours(t *testing.T) {
	for name, s := range map[string]story{"an outage of two hours": outage.down(2 * time.Hour), "all start in one second": outage.down(0)} {
		for room, within := range map[time.Duration]time.Duration{
			shallow: 12 * time.Minute, 40 * time.Second: 25 * time.Minute, time.Minute: 30 * time.Minute, deep: 40 * time.Minute,
		} {
			t.Run(fmt.Sprintf("%s, a queue of %s", name, room), func(t *testing.T) {
				s := s.queueing(room)
				back(t, s, clients[0], within)
				if control := s.play(few, client{"", impatient.run}, 1); room >= time.Minute {
					assert.Negative(t, s.recovery(control))
				}
			})
		}
	}
}

// Where the server is just large enough for what a fleet needs, each request
// that is given up is one too many.
func TestServerThatHasLittleToSpare(t *testing.T) {
	for times, within := range map[float64]time.Duration{1.25: 90 * time.Minute, 2: 100 * time.Minute, 3: 70 * time.Minute} {
		t.Run(fmt.Sprintf("%.3g times the even load", times), func(t *testing.T) {
			back(t, deepOutage.with(times).lasting(never), clients[0], within)
			back(t, outage.with(times), clients[0], 45*time.Minute)
		})
	}
}

// back asserts that all pods have a token again within so long, and keep it.
func back(t *testing.T, s story, c client, within time.Duration) {
	t.Helper()
	seconds := s.recovery(s.play(few, c, 1))
	t.Logf("back after %s", inWords(seconds))
	assert.GreaterOrEqual(t, seconds, 0.0, "all have a token again")
	assert.LessOrEqual(t, seconds, within.Seconds())
}
