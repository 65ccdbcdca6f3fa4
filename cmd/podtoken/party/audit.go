package party

import (
	"fmt"
	"strings"
	"time"

	"github.com/podtoken/podtoken/awspodid"
)

// AuditCommand shows the server's rejected logins since then, where its audit
// device writes to a file. A rejected login is not written with its subject. The
// kubernetes method answers with an error, the jwt method with data in which the
// error is hashed.
func (s *server) AuditCommand(_ string, since time.Time) string {
	return fmt.Sprintf(`jq -c 'select(.type == "response" and .request.path == "auth/%s/login" and .time >= "%s") | (.error // .response.data.error) as $error | select($error) | [.time, $error, .request.remote_address]' AUDIT_LOG`,
		s.mount(), since.UTC().Format("2006-01-02T15:04:05")) // without its Z it is before each fraction of that second
}

// AuditCommand shows the calls for credentials since then that AWS denied.
func (a *account) AuditCommand(subject string, since time.Time) string {
	call := "AssumeRoleForPodIdentity"
	if a.mechanism == awspodid.WebIdentity {
		call = "AssumeRoleWithWebIdentity"
	}
	return fmt.Sprintf("aws cloudtrail lookup-events --lookup-attributes AttributeKey=EventName,AttributeValue=%s --start-time %s "+
		"--query 'Events[].[CloudTrailEvent]' --output text | grep errorCode | grep %s",
		call, since.UTC().Format(time.RFC3339), shellWord(lastPart(subject)))
}

// lastPart is the service account's name of a subject.
func lastPart(subject string) string { return subject[strings.LastIndex(subject, ":")+1:] }

// shellWord is text that can be pasted into a shell, or a word to replace.
func shellWord(text string) string {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._/@+", r) {
			return "NAME"
		}
	}
	if text == "" {
		return "NAME"
	}
	return text
}
