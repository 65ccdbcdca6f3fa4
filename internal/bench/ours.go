package main

import (
	"context"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// trigger makes a use of s: what one op is, and what ends it.
type trigger func(s *tokenfile.Source) (get func() (*tokenfile.Token, error), end func(), err error)

// ours sets up a Source in one of its triggers.
func ours(t trigger) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		s := &tokenfile.Source{Path: v.path(), Audience: audience}
		get, end, err := t(s)
		if err != nil {
			return nil, err
		}
		subject := shared(get, (*tokenfile.Token).Raw)
		subject.reads = func() uint64 { return s.Stats().Reads }
		subject.close = end
		return subject, nil
	}
}

// perCall is the default: each call reads the file.
func perCall(s *tokenfile.Source) (func() (*tokenfile.Token, error), func(), error) {
	ctx := context.Background()
	return func() (*tokenfile.Token, error) { return s.Token(ctx) }, nil, nil
}

// scheduled reads every five minutes.
func scheduled(s *tokenfile.Source) (func() (*tokenfile.Token, error), func(), error) {
	s.MaxAge = 5 * time.Minute
	return perCall(s)
}

// aged reads at each call, as scheduled does after five minutes.
func aged(s *tokenfile.Source) (func() (*tokenfile.Token, error), func(), error) {
	s.MaxAge = 1
	return perCall(s)
}

// beside calls Token while a Watch loop runs.
func beside(s *tokenfile.Source) (func() (*tokenfile.Token, error), func(), error) {
	end, err := watch(s)
	if err != nil {
		return nil, nil, err
	}
	get, _, err := perCall(s)
	return get, end, err
}

// reloading reads at each call while a Watch loop runs. The loop is one
// without notifications, or it would read each rotation as well.
func reloading(s *tokenfile.Source) (func() (*tokenfile.Token, error), func(), error) {
	s.NoNotify = true
	end, err := watch(s)
	ctx := context.Background()
	return func() (*tokenfile.Token, error) { return s.Reload(ctx) }, end, err
}

// watch starts a Watch loop and returns once it has its first token.
func watch(s *tokenfile.Source) (end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	first, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range s.Watch(ctx) {
			select {
			case first <- err:
			default: // nobody asks for the second
			}
		}
	}()
	end = func() { cancel(); <-done }
	if err = <-first; err != nil {
		end()
	}
	return end, err
}
