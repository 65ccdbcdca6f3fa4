package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
)

// The secret is read over rotations, renewals and logins: twenty seconds in no
// time. When the session acts is drawn, so that only a part of what is printed is
// the same each time.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "openbao")
		defer os.RemoveAll(dir)
		s, err := newStage(dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		s.acts = s.acts[:2] // without the revocation
		var out bytes.Buffer
		err = s.play(t.Context(), s.config(), s.testOptions(), newReport(&out))
		for line := range strings.Lines(out.String()) {
			if _, event, _ := strings.Cut(line, "s  "); strings.Contains(event, "secret") {
				fmt.Print(event)
			}
		}
		fmt.Println("error:", err)
	})
	// Output:
	// read version 1 of the secret, with the fields colour
	// someone changes the secret
	// read version 2 of the secret, with the fields colour
	// someone changes the secret again
	// read version 3 of the secret, with the fields colour
	// error: <nil>
}

// counted are the numbers of a summary.
func counted(t *testing.T, out string) map[string]int {
	t.Helper()
	numbers := make(map[string]int)
	for _, match := range regexp.MustCompile(`(?m)^(\w+) +(\d+)`).FindAllStringSubmatch(out, -1) {
		numbers[match[1]], _ = strconv.Atoi(match[2])
	}
	require.Len(t, numbers, 5, out)
	return numbers
}

func TestEverythingIsShown(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		start := time.Now()
		require.NoError(t, s.play(t.Context(), s.config(), s.testOptions(), newReport(&out)))
		assert.Less(t, time.Since(start), 25*time.Second)
		s.noToken(t, out.String())
	})
	text := out.String()
	n := counted(t, text)
	assert.Greater(t, n["reads"], 150)
	assert.GreaterOrEqual(t, n["rotations"], 3)
	assert.GreaterOrEqual(t, n["logins"], 3, "the first, one for the max TTL, one for the revocation")
	assert.GreaterOrEqual(t, n["renewals"], 1)
	assert.LessOrEqual(t, n["failures"], 1, "a renewal just after the revocation")

	assert.Equal(t, n["logins"], strings.Count(text, "s  login "))
	assert.Equal(t, n["renewals"], strings.Count(text, `msg="baoauth: renewed"`))
	assert.Equal(t, n["rotations"]+1, strings.Count(text, "s  service-account token: "))
	assert.Contains(t, text, "last=true", "a renewal that the max TTL cut short")
	assert.Contains(t, text, "an administrator revokes every token")
	for _, value := range []string{"blue", "green", "yellow"} {
		assert.NotContains(t, text, value, "no value of the secret")
	}
}

func TestReadThatFailsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		s.acts = []act{{3 * time.Second, "someone makes a mistake", func() { s.server.SetPolicy("web") }}}
		var out bytes.Buffer
		err := s.play(t.Context(), s.config(), s.testOptions(), newReport(&out))
		require.Error(t, err)
		assert.Regexp(t, `^1\d\d of (1\d\d|20\d) reads failed$`, err.Error())
		assert.Equal(t, 1, strings.Count(out.String(), "read failed: "), "once for each reason")
		assert.Contains(t, out.String(), "permission denied")
	})
}

func TestLoginThatCannotSucceedIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage, *options)
		want   []string
		cause  any
	}{
		"no token file": {
			change: func(s *stage, _ *options) { require.NoError(t, s.kubelet.Volume.Remove()) },
			want:   []string{"no such file", "projected"},
			cause:  new(*tokenfile.Error),
		},
		"token for somebody else": {
			change: func(_ *stage, o *options) { o.audience = "vault" },
			want:   []string{`token's audience is ["openbao"], want "vault"`},
			cause:  new(*tokenfile.AudienceError),
		},
		"role for another audience": {
			change: func(s *stage, _ *options) { s.role("vault") },
			want: []string{`the server answered 403`, `the token that was sent claims aud ["openbao"]`,
				"make the audience of the pod's projected volume (and Source.Audience) and that of auth/kubernetes/role/web the same"},
			cause: new(*baoauth.LoginError),
		},
		"no such role": {
			change: func(_ *stage, o *options) { o.role = "shop" },
			want:   []string{"there is no role of this name at auth/kubernetes"},
			cause:  new(*baoauth.LoginError),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStage(t)
				o := s.testOptions()
				test.change(s, &o)
				var out bytes.Buffer
				start := time.Now()
				err := read(t.Context(), s.config(), o, newReport(&out))
				require.ErrorAs(t, err, test.cause)
				for _, text := range test.want {
					assert.Contains(t, err.Error(), text)
				}
				assert.Zero(t, time.Since(start), "at once")
				assert.NotContains(t, out.String(), "reads ", "no summary of nothing")
			})
		})
	}
}

func TestReadinessFollowsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		r, err := newReader(s.config(), s.testOptions(), newReport(&bytes.Buffer{}))
		require.NoError(t, err)
		probe := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			readiness(r.session).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			return w
		}
		before := probe()
		assert.Equal(t, http.StatusServiceUnavailable, before.Code)
		assert.Equal(t, "baoauth: not logged in yet; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#not-logged-in\n", before.Body.String())
		require.NoError(t, r.session.Login(t.Context()))
		assert.Equal(t, http.StatusOK, probe().Code)
		time.Sleep(8 * time.Second) // nobody renews; takes no time here
		assert.Equal(t, http.StatusServiceUnavailable, probe().Code)
	})
}
