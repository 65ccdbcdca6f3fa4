//go:build linux

package doctor_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

func TestRules(t *testing.T) {
	runbook, err := os.ReadFile("../../../docs/runbook.md")
	require.NoError(t, err)
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(runbook), -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		sections[strings.ReplaceAll(name, " ", "-")] = true
	}
	for i, r := range doctor.Rules() {
		assert.Equal(t, fmt.Sprintf("PD%03d", i+1), r.ID)
		for _, text := range []string{r.Title, r.Reason, r.Mend} {
			assert.NotEmpty(t, text, r.ID)
			assert.NotRegexp(t, `[.\n]$`, text, r.ID)
		}
		assert.True(t, sections[strings.TrimPrefix(r.See(), doctor.Runbook)], "%s: %s", r.ID, r.See())
	}
}

// The level decides the exit status of every init container. What is no error
// here works as it is.
func TestLevels(t *testing.T) {
	levels := map[doctor.Level][]string{}
	for _, r := range doctor.Rules() {
		levels[r.Level] = append(levels[r.Level], r.ID)
	}
	assert.Equal(t, []string{"PD007", "PD014", "PD015", "PD020"}, levels[doctor.LevelWarning])
	assert.Equal(t, []string{"PD012", "PD023"}, levels[doctor.LevelNote])
	assert.Len(t, levels[doctor.LevelError], len(doctor.Rules())-6)
}

// Who reads a mend finds in it the field or the command that mends.
func TestMendsNameWhatToChange(t *testing.T) {
	const recreate, volume = "kubectl -n NAMESPACE delete pod POD", "serviceAccountToken: {audience: AUDIENCE, expirationSeconds: 3600, path: token}"
	needed := map[string]string{
		"PD001": volume, "PD002": "mountPath", "PD003": "securityContext.fsGroup", "PD004": volume, "PD005": recreate,
		"PD006": "synchronise the clocks", "PD007": "synchronise the clock of node NODE", "PD008": recreate, "PD009": "without subPath",
		"PD010": "delete the Secret", "PD011": "expirationSeconds", "PD012": "automountServiceAccountToken: false",
		"PD013": "expirationSeconds", "PD014": "expirationSeconds", "PD015": "serviceAccountToken.audience", "PD016": "mountPath",
		"PD017": volume, "PD018": recreate, "PD019": "recreate the pod", "PD020": "take the variable out",
		"PD021": "in the role or in the pod", "PD022": "network policies of namespace NAMESPACE", "PD023": "--watch",
	}
	for _, r := range doctor.Rules() {
		require.NotEmpty(t, needed[r.ID], r.ID)
		assert.Contains(t, r.Mend, needed[r.ID], r.ID)
	}
}

// A mend can be pasted: it has this pod's names, and what was asked for.
func TestMendsAreOfThisPod(t *testing.T) {
	for name, c := range map[string]struct {
		pod  func(*pod)
		want string
	}{
		"the node's kubelet": {
			func(p *pod) { p.mount("/tokens", "openbao", life{50 * time.Minute, time.Hour, 0}) }, "node n1 (journalctl -u kubelet",
		},
		"the pod to recreate": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.options.ExpectAWS = true
			}, "kubectl -n shop delete pod web-0",
		},
		"the audience to declare": {
			func(p *pod) {
				p.mount("/tokens", "openbao", healthy)
				p.options.Expect = []doctor.Expectation{{Audience: "vault"}}
			}, `serviceAccountToken: {audience: "vault", expirationSeconds: 3600,`,
		},
		"the region": {
			func(p *pod) {
				p.mount(webIdentityDir, "sts.amazonaws.com", healthy)
				p.setenv("AWS_WEB_IDENTITY_TOKEN_FILE="+webIdentityDir+"/token", "AWS_ROLE_ARN=arn:aws:iam::111122223333:role/web")
			}, "set AWS_REGION in the pod's manifest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			c.pod(p)
			r := p.examine()
			require.Len(t, r.Findings, 1)
			assert.Contains(t, r.Findings[0].Mend, c.want)
		})
	}
}
