package party_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// The lines are a real server's: the kubernetes method answers a rejection with
// an error, the jwt method with data in which it is hashed.
func TestAuditCommandFindsEachRejection(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed here, which the command is for")
	}
	lines, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "e2e", "prometheus", "testdata", "audit.log"))
	require.NoError(t, err)
	t.Setenv("BAO_ADDR", "https://openbao.example")
	began := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		mount, time string
		rejected    int
	}{
		"by the kubernetes method":           {"kubernetes", "2026-11-30T08:00:05.123456789Z", 3},
		"by the jwt method":                  {"jwt", "2026-11-30T08:00:05.123456789Z", 1},
		"by a mount that does not exist":     {"made-up", "2026-11-30T08:00:05.123456789Z", 1},
		"in the second in which it began":    {"jwt", "2026-11-30T08:00:00.5Z", 1},
		"in the same second, without digits": {"jwt", "2026-11-30T08:00:00Z", 1},
		"before it began":                    {"jwt", "2026-11-30T07:59:59.999Z", 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "audit.log")
			text := strings.ReplaceAll(string(lines), `"time":"TIME"`, `"time":"`+c.time+`"`)
			require.NoError(t, os.WriteFile(log, []byte(text), 0o600))
			p, err := party.Vault(party.VaultOptions{Role: "web", Mount: c.mount, Path: "/token"})
			require.NoError(t, err)
			command := p.(soak.Audited).AuditCommand("system:serviceaccount:shop:web", began)
			printed, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "AUDIT_LOG", log)).CombinedOutput()
			require.NoError(t, err, string(printed))
			assert.Equal(t, c.rejected, strings.Count(string(printed), "\n"), string(printed))
		})
	}
}

// The AWS CLI prints a list of texts on one line, and a list of lists on a line
// for each; grep looks at lines.
func TestAuditCommandOfAWSPrintsAnEventALine(t *testing.T) {
	pod, err := awspodidtest.NewPodIdentityPod(t.TempDir(), newIssuer(), awspodidtest.PodSpec{
		Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"}, RoleARN: "arn:aws:iam::111122223333:role/web",
	})
	require.NoError(t, err)
	p, err := party.AWS(func(o *awspodid.Options) { o.Lookup, o.HTTPClient = pod.Lookup, http.DefaultClient })
	require.NoError(t, err)
	command := p.(soak.Audited).AuditCommand("system:serviceaccount:shop:web", time.Now())
	assert.Contains(t, command, "'Events[].[CloudTrailEvent]'")
	assert.Contains(t, command, "grep web")
}
