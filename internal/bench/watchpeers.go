package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/podtoken/podtoken/tokenfile"
)

// watching is a way to be told of rotations of many files.
type watching struct {
	name  string
	polls bool // and so takes seconds to see a rotation
	start func(volumes []*volume, saw func(i int, token string)) (*watchers, error)
}

// watchers run until end. What end returns waits for them.
type watchers struct {
	told func(i int) bool // whether file i is watched, with notifications or without
	// notified is how many files have notifications.
	notified func() int
	looks    func() uint64 // at files, so far
	end      func()
}

// watchings are the ways, the least that notifications cost first.
var watchings = []watching{
	{name: "one fsnotify watcher for all, bare reads, by hand", start: watchTogether},
	{name: ourWatch, start: watchOurs(false)},
	{name: "an fsnotify watcher for each file, os.ReadFile and a parse, by hand", start: watchEach},
	{name: "tokenfile Watch, NoNotify", polls: true, start: watchOurs(true)},
	{name: "a ticker of 5 s for each file, os.ReadFile and a parse, by hand", polls: true, start: pollEach},
}

const ourWatch = "tokenfile Watch"

// watchOurs runs a Watch loop for each file.
func watchOurs(noNotify bool) func([]*volume, func(int, string)) (*watchers, error) {
	return func(volumes []*volume, saw func(int, string)) (*watchers, error) {
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		var sources []*tokenfile.Source
		for i, v := range volumes {
			s := &tokenfile.Source{Path: v.path(), Audience: audience, NoNotify: noNotify}
			sources = append(sources, s)
			all.Go(func() {
				for token, err := range s.Watch(ctx) {
					if err == nil {
						saw(i, token.Raw())
					}
				}
			})
		}
		return &watchers{
			told: func(int) bool { return true },
			notified: func() int {
				return count(sources, func(s *tokenfile.Source) bool { return !noNotify && !s.Stats().Polling })
			},
			looks: func() (sum uint64) {
				for _, s := range sources {
					sum += s.Stats().Reads
				}
				return sum
			},
			end: func() { cancel(); all.Wait() },
		}, nil
	}
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, x := range all {
		if is(x) {
			n++
		}
	}
	return n
}

// watchEach is what programs do by hand: a watcher for each file, on its
// directory, and a look at every event. Where the system has no more of them,
// the file is not watched: such a program ends with an error.
func watchEach(volumes []*volume, saw func(int, string)) (*watchers, error) {
	w := newByHand(volumes, saw)
	for i, v := range volumes {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			continue
		}
		if err := watcher.Add(v.dir); err != nil {
			return w.watchers(), errors.Join(err, watcher.Close())
		}
		w.run(func(ctx context.Context) {
			defer watcher.Close()
			w.look(i, parsing)
			for w.next(ctx, watcher) != "" {
				w.look(i, parsing)
			}
		})
		w.watched[i] = true
	}
	w.notifies = count(w.watched, func(b bool) bool { return b })
	return w.watchers(), nil
}

// watchTogether has one watcher on all directories, and looks at one when a
// link was renamed there.
func watchTogether(volumes []*volume, saw func(int, string)) (*watchers, error) {
	w := newByHand(volumes, saw)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return w.watchers(), err
	}
	at := map[string]int{}
	for i, v := range volumes {
		if err := watcher.Add(v.dir); err != nil {
			return w.watchers(), errors.Join(err, watcher.Close())
		}
		at[v.dir], w.watched[i] = i, true
	}
	w.notifies = len(volumes)
	w.run(func(ctx context.Context) {
		defer watcher.Close()
		for i := range volumes {
			w.look(i, bareReading())
		}
		read := bareReading()
		for name := w.next(ctx, watcher); name != ""; name = w.next(ctx, watcher) {
			if filepath.Base(name) == "..data" {
				w.look(at[filepath.Dir(name)], read)
			}
		}
	})
	return w.watchers(), nil
}

// pollEach looks at each file every five seconds, as Watch does without
// notifications.
func pollEach(volumes []*volume, saw func(int, string)) (*watchers, error) {
	w := newByHand(volumes, saw)
	for i := range volumes {
		w.watched[i] = true
		w.run(func(ctx context.Context) {
			ticker := time.NewTicker(5 * time.Second)
			defer ticker.Stop()
			for {
				w.look(i, parsing)
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
			}
		})
	}
	return w.watchers(), nil
}

// parsing is a look with golang-jwt's means.
func parsing(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	_, err = registered(token)
	return token, err
}

// bareReading is a look with three system calls.
func bareReading() func(path string) (string, error) {
	buffer := make([]byte, 64<<10)
	return func(path string) (string, error) {
		content, err := readInto(buffer, path)
		return string(content), err
	}
}
