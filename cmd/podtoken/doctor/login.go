package doctor

import (
	"context"
	"sync"
	"time"
)

// logIn asks every party at once, so that one that does not answer takes no
// time from the others.
func (e *examination) logIn(ctx context.Context) {
	if len(e.Parties) == 0 {
		return
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	e.report.Logins = make([]Login, len(e.Parties))
	failures := make([]error, len(e.Parties))
	var all sync.WaitGroup
	for i, party := range e.Parties {
		all.Go(func() {
			start := time.Now()
			failures[i] = party.Login(ctx)
			e.report.Logins[i] = Login{
				Party: bounded(party.String(), maxText), OK: failures[i] == nil,
				Millis: float64(time.Since(start).Microseconds()) / 1000,
			}
		})
	}
	all.Wait()
	e.interrupted = caller.Err() != nil
	for i, err := range failures {
		if err != nil {
			e.loginFailed(&e.report.Logins[i], err)
		}
	}
}

func (e *examination) loginFailed(login *Login, err error) {
	login.Error = errorText(e.Root, err)
	if e.interrupted {
		e.report.Errors = append(e.report.Errors, "interrupted before "+login.Party+" had answered")
		return
	}
	rule := ruleRefused
	if e.Unreachable != nil && e.Unreachable(err) {
		rule = ruleUnreachable
	}
	e.find(rule, nil, login.Error).Party = login.Party
}
