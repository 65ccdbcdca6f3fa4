package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// A trigger is one way to use a Source, with what came of it.
type trigger struct {
	name   string
	source *tokenfile.Source
	watch  bool
	login  string // the relying party's URL
	judge  *judge
}

// run logs in until ctx ends. A trigger that watches counts the rotations that
// Watch tells of, and the others those that they see at a login.
func (t *trigger) run(ctx context.Context) {
	if t.watch {
		go t.follow(ctx)
	}
	for ok := true; ok; ok = wait(ctx, pause) {
		token, err := t.source.Token(ctx)
		if err == nil && !t.watch {
			t.judge.token(t.name, token.Raw())
		}
		if err == nil {
			err = t.logIn(ctx, token)
		}
		if ctx.Err() == nil {
			t.judge.login(t.name, err)
		}
	}
}

func (t *trigger) follow(ctx context.Context) {
	for token, err := range t.source.Watch(ctx) {
		if err != nil {
			t.judge.failure(t.name, err)
			continue
		}
		t.judge.token(t.name, token.Raw())
	}
}

// logIn sends the token to the relying party.
func (t *trigger) logIn(ctx context.Context, token *tokenfile.Token) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.login, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token.Raw())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("login refused: %s: %s", answer.Status, reason)
	}
	return err
}
