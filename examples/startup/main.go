// Command startup is a program's start to copy: it waits for a valid token,
// so that a wrong manifest shows at once and not at the first login, and then
// logs each rotation while the program works.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	source := &tokenfile.Source{Path: os.Getenv("TOKEN_FILE"), Audience: os.Getenv("TOKEN_AUDIENCE")}
	if err := run(ctx, source, slog.Default()); err != nil {
		slog.Error("no token", "err", err)
		os.Exit(1)
	}
}

// run returns an error if there is no valid token in half a minute, and nil
// when ctx ends.
func run(ctx context.Context, source *tokenfile.Source, logger *slog.Logger) error {
	start, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := source.Wait(start); err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	// Start the program's own goroutines here. They call source.Token, which
	// this loop keeps fresh without a system call.
	for token, err := range source.Watch(ctx) {
		if err != nil {
			logger.Warn("token file is bad", "err", err)
			continue
		}
		logger.Info("token is new", "expiry", token.Expiry())
	}
	return nil
}
