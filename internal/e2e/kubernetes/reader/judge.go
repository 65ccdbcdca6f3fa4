package main

import (
	"fmt"
	"os"
	"slices"
	"sync"

	e2e "github.com/podtoken/podtoken/internal/e2e/kubernetes"
)

// A judge keeps the verdict.
type judge struct {
	path string

	mu       sync.Mutex
	triggers map[string]e2e.Trigger
	current  map[string]string // by trigger: its last token, which never leaves
}

func newJudge(path string) *judge {
	return &judge{path: path, triggers: map[string]e2e.Trigger{}, current: map[string]string{}}
}

// verdict is what was found so far.
func (j *judge) verdict() e2e.Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	triggers := make(map[string]e2e.Trigger, len(j.triggers))
	for name, t := range j.triggers {
		t.Failures, t.Warnings = slices.Clone(t.Failures), slices.Clone(t.Warnings)
		triggers[name] = t
	}
	return e2e.Verdict{UID: os.Getuid(), GID: os.Getgid(), Mode: mode(j.path), Triggers: triggers}
}

func mode(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04o", info.Mode().Perm())
}

// token notes the token that a trigger has now.
func (j *judge) token(trigger, raw string) {
	j.change(trigger, func(t *e2e.Trigger) {
		if last := j.current[trigger]; last != "" && last != raw {
			t.Rotations++
		}
		j.current[trigger] = raw
	})
}

// login notes how a login ended.
func (j *judge) login(trigger string, err error) {
	if err != nil {
		j.failure(trigger, err)
		return
	}
	j.change(trigger, func(t *e2e.Trigger) { t.Logins++ })
}

func (j *judge) failure(trigger string, err error) {
	j.change(trigger, func(t *e2e.Trigger) { t.Failures = addOnce(t.Failures, err.Error()) })
}

func (j *judge) change(trigger string, by func(*e2e.Trigger)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.triggers[trigger]
	by(&t)
	j.triggers[trigger] = t
}

func (j *judge) warning(trigger, text string) {
	j.change(trigger, func(t *e2e.Trigger) { t.Warnings = add(t.Warnings, text) })
}

// add adds a text to a few.
func add(texts []string, text string) []string {
	const most = 20
	if len(texts) == most {
		return texts
	}
	return append(texts, text)
}

// addOnce adds a text that is not there yet.
func addOnce(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return add(texts, text)
}
