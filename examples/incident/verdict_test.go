package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*timeline)
		want   string // in the error; empty for none
	}{
		"as it should be": {func(*timeline) {}, ""},
		"no rotations happened": {
			func(t *timeline) { t.rotations = nil }, "never replaced the token"},
		"one that was read once is never refused": {
			func(t *timeline) { t.lanes[0].logins = t.lanes[0].logins[:10] }, "reads <once> & for ever: it was never refused"},
		"the default token is accepted": {
			func(t *timeline) { t.lanes[1].logins = []login{{}} }, "the default token: it was never refused"},
		"podtoken is refused once, at the very end": {
			func(t *timeline) {
				t.lanes[2].logins = append(t.lanes[2].logins, login{at: 17 * time.Second, reason: "token is expired"})
			}, "podtoken, every call: refused at t=17.0s: token is expired"},
		"the kubelet was late, but in time": {
			func(t *timeline) { t.rotations[1] = 9 * time.Second }, ""},
		"podtoken is refused because the kubelet was late": {
			func(t *timeline) {
				t.rotations[1] = 9 * time.Second
				t.lanes[2].logins = append(t.lanes[2].logins, login{at: 9 * time.Second, reason: "token is expired"})
			}, errBusy.Error()},
		"podtoken never logged in": {
			func(t *timeline) { t.lanes[2].logins = nil }, "it never logged in"},
		"podtoken never took a newer token": {
			func(t *timeline) { t.lanes[2].logins = []login{{}, {}} }, "it never used a newer token"},
		"podtoken alone": {
			func(t *timeline) { t.lanes = t.lanes[2:] }, "nothing to compare"},
		"no podtoken": {
			func(t *timeline) { t.lanes = t.lanes[:2] }, "nothing to compare"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := sample()
			test.change(&seen)
			err := verdict(seen)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, test.want == errBusy.Error(), errors.Is(err, errBusy))
		})
	}
}
