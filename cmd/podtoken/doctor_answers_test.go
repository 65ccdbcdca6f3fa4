package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// answer is one that the runbook has words of, and the sections that it names
// for it.
type answer struct{ words, sections string }

var (
	answerRow = regexp.MustCompile("(?m)^\\| ([^|`]*)\\| (`[^|]*) \\| (.*) \\|$")
	quoted    = regexp.MustCompile("`([^`]+)`")
)

// answersOf are those of the runbook's table, by whose they are.
func answersOf(t *testing.T) map[string][]answer {
	t.Helper()
	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## What the other side answers\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	answers := map[string][]answer{}
	from := ""
	for _, row := range answerRow.FindAllStringSubmatch(table, -1) {
		if who := strings.TrimSpace(row[1]); who != "" {
			from = who
		}
		for _, words := range quoted.FindAllStringSubmatch(row[2], -1) {
			answers[from] = append(answers[from], answer{words[1], row[3]})
		}
	}
	return answers
}

// Who searches the runbook for the words of an answer finds the section that
// podtoken names for the same answer.
func TestTheRunbookKnowsAnswersByTheirWords(t *testing.T) {
	answers := answersOf(t)
	require.Len(t, answers, 3)
	for from, ask := range map[string]func(*testing.T, string) result{
		"OpenBao, Vault": vaultThatAnswers, "the Pod Identity agent": agentThatAnswers, "STS": stsThatAnswers,
	} {
		require.NotEmpty(t, answers[from], from)
		for _, a := range answers[from] {
			t.Run(from+": "+a.words, func(t *testing.T) {
				got := ask(t, a.words)
				require.Equal(t, exitFindings, got.status, got.stderr)
				var r doctor.Report
				require.NoError(t, json.Unmarshal([]byte(got.stdout), &r))
				require.Len(t, r.Findings, 1)
				_, section, found := strings.Cut(r.Findings[0].See, "#")
				require.True(t, found)
				assert.Contains(t, a.sections, "(#"+section+")")
			})
		}
	}
}

// answering is a server that refuses everything in a few words.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func vaultThatAnswers(t *testing.T, words string) result {
	t.Helper()
	body, err := json.Marshal(map[string]any{"errors": []string{words}})
	require.NoError(t, err)
	t.Setenv("VAULT_ADDR", answering(t, http.StatusForbidden, string(body)).URL)
	t.Setenv("BAO_ADDR", "")
	return newPatient(t).doctor(t, "-o", "json", "--vault-role=web")
}

func agentThatAnswers(t *testing.T, words string) result {
	t.Helper()
	p := newPatient(t)
	p.give(t, awspodidtest.PodIdentityAudience)
	status := http.StatusBadRequest
	switch {
	case strings.Contains(words, "NotFound"):
		status = http.StatusNotFound
	case strings.Contains(words, "AccessDenied"), strings.Contains(words, "invalid address"):
		status = http.StatusForbidden
	}
	server := answering(t, status, words)
	require.NoError(t, p.File("/proc/self/environ", "AWS_CONTAINER_CREDENTIALS_FULL_URI="+server.URL+"/v1/credentials\x00"+
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/var/run/secrets/tokens/openbao/token\x00"))
	return p.doctor(t, "-o", "json", "--probe")
}

func stsThatAnswers(t *testing.T, words string) result {
	t.Helper()
	p := newPatient(t)
	p.give(t, "sts.amazonaws.com")
	code := "InvalidIdentityToken"
	if strings.HasPrefix(words, "Not authorized") {
		code = "AccessDenied"
	}
	server := answering(t, http.StatusBadRequest, "<ErrorResponse><Error><Code>"+code+"</Code><Message>"+words+"</Message></Error></ErrorResponse>")
	t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
	require.NoError(t, p.File("/proc/self/environ", "AWS_ROLE_ARN=arn:aws:iam::111122223333:role/web\x00AWS_REGION=eu-central-1\x00"+
		"AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/tokens/openbao/token\x00"))
	return p.doctor(t, "-o", "json", "--probe", "--timeout=5s")
}

// give puts a token for somebody else in the place of the patient's.
func (p *patient) give(t *testing.T, audience string) {
	t.Helper()
	var err error
	p.token, err = p.issuer.Token(tokenfiletest.Request{Audiences: []string{audience}, Pod: "web-0"})
	require.NoError(t, err)
	require.NoError(t, p.volume.Write(p.token))
}
