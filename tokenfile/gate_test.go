package tokenfile_test

import (
	"context"
	"log/slog"
	"sync"
)

// gate is a log handler that holds its first caller up, or panics: the one
// place in a read that a test can reach into.
type gate struct {
	slog.Handler
	once    sync.Once
	entered chan struct{}
	open    chan struct{}
	panics  bool
}

func (g *gate) logger() *slog.Logger { return slog.New(g) }

func (g *gate) Enabled(context.Context, slog.Level) bool { return true }

func (g *gate) Handle(context.Context, slog.Record) error {
	if g.panics {
		panic("log handler")
	}
	g.once.Do(func() {
		close(g.entered)
		<-g.open
	})
	return nil
}
