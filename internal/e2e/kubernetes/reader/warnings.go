package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// warnings is the slog.Handler of one trigger's Source. It puts down what a
// user is to act on.
type warnings struct {
	judge   *judge
	trigger string
}

var _ slog.Handler = warnings{}

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&text, " %s=%v", a.Key, a.Value)
		return true
	})
	w.judge.warning(w.trigger, text.String())
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }
