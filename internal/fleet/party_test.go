package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// second is a party that serves one request a second and lets two wait.
func second() *Party {
	return &Party{Capacity: 1, Room: 2 * time.Second, Outage: Span{time.Minute, 2 * time.Minute}, Load: newLoad(3 * time.Minute)}
}

func TestServesInOrderAndRefusesWhatDoesNotFit(t *testing.T) {
	p := second()
	for i := range 3 {
		assert.Equal(t, fate{time.Duration(i+1)*time.Second + onTheWay, served}, p.ask(0, login))
	}
	assert.Equal(t, fate{onTheWay, full}, p.ask(0, login))
	assert.Equal(t, served, p.ask(time.Second, renewal).outcome, "one has left")
	assert.Equal(t, []uint32{4, 1}, p.Load.Asked[:2])
	assert.Equal(t, []uint32{4, 0}, p.Load.Logins[:2])
}

func TestClientThatGaveUpIsServedAllTheSame(t *testing.T) {
	p := second()
	p.ask(0, login)
	p.settle(500*time.Millisecond, login, late)
	assert.Equal(t, 2*time.Second+onTheWay, p.ask(500*time.Millisecond, login).at)
	assert.Equal(t, uint32(1), p.Load.Wasted[0])
	assert.Equal(t, uint32(1), p.Load.Failed[0])
	assert.Zero(t, p.Load.Useful[0])
}

func TestOutageRefusesAndCuts(t *testing.T) {
	p := second()
	cut := p.ask(59500*time.Millisecond, login)
	assert.Equal(t, fate{time.Minute, down}, cut, "it would have been served after the start of the outage")
	assert.Equal(t, down, p.ask(90*time.Second, login).outcome)
	p = second()
	p.Outage.To = p.Outage.From + time.Second
	for range 3 {
		assert.Equal(t, time.Minute, p.ask(59500*time.Millisecond, login).at)
	}
	assert.Equal(t, fate{62*time.Second + onTheWay, served}, p.ask(61*time.Second, login), "nothing waits from before")
}

func TestPodsWithoutATokenAreCounted(t *testing.T) {
	p := second()
	p.gap(Span{2 * time.Second, 5 * time.Second})
	p.gap(Span{4 * time.Second, 6 * time.Second})
	p.gap(Span{9 * time.Second, 8 * time.Second}) // had a new one before the old one's end
	assert.Equal(t, []uint32{0, 0, 1, 1, 2, 1, 0, 0, 0, 0}, p.Load.Without()[:10])
}

func TestSumsAreOfWholeWindowsWithinTheSpan(t *testing.T) {
	counts := []uint32{1, 2, 3, 4, 5, 6, 7}
	assert.Equal(t, []float64{5, 9}, sums(counts, Span{time.Second, 6 * time.Second}, 2))
	assert.Empty(t, sums(counts, Span{6 * time.Second, time.Hour}, 2))
}
