package fleet

import (
	"fmt"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Result is what came of a story, for one kind of client. Rates are requests a
// second.
type Result struct {
	Story  string  `json:"story"`
	Client string  `json:"client"`
	Pods   int     `json:"pods"`
	Real   bool    `json:"real"` // the code itself, and not a model of it
	Hours  float64 `json:"hours"`

	Capacity     float64 `json:"capacity"`
	Mean         float64 `json:"mean"`
	BusiestMin   float64 `json:"busiest_minute"`
	BusiestSec   float64 `json:"busiest_second"`
	Logins       float64 `json:"logins"` // those of the mean
	LoginsMin    float64 `json:"logins_busiest_minute"`
	RenewalRatio float64 `json:"renewals_ratio"`  // busiest minute and mean of the others; 0: there are none
	Ratio        float64 `json:"ratio"`           // busiest minute and mean
	Noise        float64 `json:"ratio_of_chance"` // that of pods which choose their times at random
	Failed       float64 `json:"failed"`          // requests, per pod
	Wasted       float64 `json:"wasted"`          // requests that were served for nobody, per pod
	Without      float64 `json:"without"`         // the most pods without a valid token at a time
	RecoveryTime float64 `json:"recovery"`        // seconds until none was without one; -1: not within the story
}

// judged is the part of a story that a result is about: from two periods after
// the start, or from the trouble on.
func (s story) judged() Span {
	if s.outage != (Span{}) || s.restart != (Span{}) {
		return Span{trouble.From, s.length}
	}
	return Span{2 * period, s.length}
}

// result sums up a party's load.
func (s story) result(name, client string, pods int, isReal bool, p *Party) Result {
	in := s.judged()
	minutes, logins, renewals := sums(p.Load.Asked, in, 60), sums(p.Load.Logins, in, 60), sums(p.Load.Renewals(), in, 60)
	r := Result{
		Story: name, Client: client, Pods: pods, Real: isReal, Hours: s.length.Hours(), Capacity: p.Capacity,
		Mean: mean(minutes) / 60, BusiestMin: most(minutes) / 60, BusiestSec: most(sums(p.Load.Asked, in, 1)),
		Logins: mean(logins) / 60, LoginsMin: most(logins) / 60,
		Failed: sum(sums(p.Load.Failed, in, 1)) / float64(pods), Wasted: sum(sums(p.Load.Wasted, in, 1)) / float64(pods),
		Without: most(sums(p.Load.Without(), in, 1)), RecoveryTime: s.recovery(p),
	}
	r.Ratio = r.BusiestMin / r.Mean
	if most(renewals) > 0 {
		r.RenewalRatio = most(renewals) / mean(renewals)
	}
	r.Noise = byChance(mean(minutes), len(minutes))
	return r
}

// recovery is how many seconds after the trouble, or after the start if there
// is none, no pod was without a valid token any more; -1 if that did not come.
func (s story) recovery(p *Party) float64 {
	from := max(s.outage.To, s.restart.To)
	without := p.Load.Without()
	for i := len(without) - 1; i >= 0; i-- {
		if without[i] > 0 {
			if i >= len(without)-2 {
				return -1
			}
			return max(0, float64(i+1)-from.Seconds())
		}
	}
	return 0
}

// byChance is the ratio of the busiest of so many windows to the mean that is
// exceeded in one of a thousand fleets whose requests come at random.
func byChance(mean float64, windows int) float64 {
	poisson := distuv.Poisson{Lambda: mean}
	k := mean
	for ; 1-poisson.CDF(k) > 0.001/float64(windows); k++ {
	}
	return k / mean
}

// table is results as Markdown.
func table(results []Result) string {
	text := "| story | client | pods | mean/s | busiest minute/s | ratio | of chance | renewals alone | logins: mean/s | busiest minute/s | busiest second | failed per pod | wasted per pod | without a token | recovered |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
	for _, r := range results {
		text += fmt.Sprintf("| %s | %s | %s | %.4g | %.4g | %.2f | %.2f | %s | %s | %s | %.0f | %.3g | %.3g | %s | %s |\n",
			r.Story, r.Client, r.of(), r.Mean, r.BusiestMin, r.Ratio, r.Noise, r.renewals(), r.logins(r.Logins), r.logins(r.LoginsMin), r.BusiestSec, r.Failed, r.Wasted, r.without(), r.recovered())
	}
	return text
}

func (r Result) of() string {
	if r.Real {
		return fmt.Sprintf("%d", r.Pods)
	}
	return fmt.Sprintf("%d, modelled", r.Pods)
}

func (r Result) renewals() string {
	if r.RenewalRatio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", r.RenewalRatio)
}

// logins is a rate of them, if the requests are not for AWS credentials.
func (r Result) logins(rate float64) string {
	if r.Capacity == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", rate)
}

func (r Result) without() string {
	if r.Capacity == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", r.Without)
}

func (r Result) recovered() string {
	if r.Capacity == 0 { // without a limit there is nothing to recover from
		return "–"
	}
	return inWords(r.RecoveryTime)
}

// inWords is a recovery's time.
func inWords(seconds float64) string {
	if seconds < 0 {
		return "never"
	}
	return (time.Duration(seconds) * time.Second).String()
}
