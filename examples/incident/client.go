package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// A client logs in again and again with what token gives it.
type client struct {
	name     string
	how      string
	podtoken bool
	token    func(context.Context) (string, error)
	watch    func(context.Context) // if set, runs beside the logins
}

// readOnce is the mistake of the first incident: the file is read when the
// program starts, and what it held is sent for ever.
func readOnce(path string) client {
	token, err := os.ReadFile(path)
	return client{
		name:  "read once at start",
		how:   "the same string for ever",
		token: func(context.Context) (string, error) { return string(token), err },
	}
}

// defaultToken is the mistake of the third incident: the file is read at each
// login, but it is the one that every pod has, for the API server.
func defaultToken(path string) client {
	return client{
		name: "the default token",
		how:  "meant for the API server",
		token: func(context.Context) (string, error) {
			token, err := os.ReadFile(path)
			return string(token), err
		},
	}
}

// fromSource is the whole use of podtoken: ask the Source at each login.
func fromSource(name, how string, source *tokenfile.Source) client {
	return client{
		name:     "podtoken, " + name,
		how:      how,
		podtoken: true,
		token: func(ctx context.Context) (string, error) {
			token, err := source.Token(ctx)
			if err != nil {
				return "", err
			}
			return token.Raw(), nil
		},
	}
}

// watching is fromSource with a loop beside it that follows the file.
func watching(name, how string, source *tokenfile.Source) client {
	c := fromSource(name, how, source)
	c.watch = func(ctx context.Context) {
		for range source.Watch(ctx) { // a program could act on each token here
		}
	}
	return c
}

// run logs in at that interval until ctx ends, and notes each attempt.
func (c client) run(ctx context.Context, interval time.Duration, enter func(context.Context, string) error, note func(time.Time, login)) {
	var last string // the token that was accepted last; it stays in here
	every(ctx, interval, func() {
		at := time.Now()
		token, err := c.token(ctx)
		if err == nil {
			err = enter(ctx, token)
		}
		switch {
		case ctx.Err() != nil: // the end, which says nothing about the login
		case err != nil:
			note(at, login{reason: err.Error()})
		default:
			note(at, login{newer: last != "" && token != last})
			last = token
		}
	})
}

// A door is where to log in.
type door struct {
	url  string
	http *http.Client
}

// enter logs in and returns the relying party's reason if it refuses.
func (d door) enter(ctx context.Context, token string) error {
	body, err := json.Marshal(map[string]string{"role": "web", "jwt": token})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := d.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return reason(response)
}

func reason(response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var answer struct{ Errors []string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Errors) == 0 {
		return errors.New(response.Status)
	}
	return errors.New(answer.Errors[0])
}
