package awspodidtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSTSParameters(t *testing.T) {
	const (
		one         = "1 validation error detected: "
		notNull     = " failed to satisfy constraint: Member must not be null"
		session     = " at 'roleSessionName' failed to satisfy constraint: "
		pattern     = `Member must satisfy regular expression pattern: [\w+=,.@-]*`
		anyPattern  = `Member must satisfy regular expression pattern: [\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+`
		length      = "Member must have length "
		value       = "Member must have value "
		atDuration  = " at 'durationSeconds' failed to satisfy constraint: "
		atArn       = " at 'roleArn' failed to satisfy constraint: "
		atToken     = " at 'webIdentityToken' failed to satisfy constraint: "
		longSession = "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2" // 64
	)
	cases := []struct {
		name   string
		change object
		want   string // "" for success
	}{
		{"no role", object{"RoleArn": nil}, one + "Value null at 'roleArn'" + notNull},
		{"no session name", object{"RoleSessionName": nil}, one + "Value null at 'roleSessionName'" + notNull},
		{"no token", object{"WebIdentityToken": nil}, one + "Value null at 'webIdentityToken'" + notNull},
		{"nothing at all", object{"RoleArn": nil, "RoleSessionName": nil, "WebIdentityToken": nil},
			"3 validation errors detected: Value null at 'roleArn'" + notNull + "; Value null at 'roleSessionName'" + notNull +
				"; Value null at 'webIdentityToken'" + notNull},
		{"empty role", object{"RoleArn": ""}, "2 validation errors detected: Value ''" + atArn + anyPattern +
			"; Value ''" + atArn + length + "greater than or equal to 20"},
		{"short role", object{"RoleArn": "arn:aws:iam::role/x"}, one + "Value 'arn:aws:iam::role/x'" + atArn + length + "greater than or equal to 20"},
		{"not an ARN", object{"RoleArn": "a-role-that-is-no-ARN"}, "Request ARN is invalid"},
		{"ARN of a user", object{"RoleArn": "arn:aws:iam::111122223333:user/web"}, "Request ARN is invalid"},
		{"session name with a slash", object{"RoleSessionName": "shop/web"}, one + "Value 'shop/web'" + session + pattern},
		{"session name with a colon", object{"RoleSessionName": "shop:web"}, one + "Value 'shop:web'" + session + pattern},
		{"session name in Greek", object{"RoleSessionName": "ωωω"}, one + "Value 'ωωω'" + session + pattern},
		{"session name of one letter", object{"RoleSessionName": "x"}, one + "Value 'x'" + session + length + "greater than or equal to 2"},
		{"empty session name", object{"RoleSessionName": ""}, one + "Value ''" + session + length + "greater than or equal to 2"},
		{"session name of two letters", object{"RoleSessionName": "xy"}, ""},
		{"session name of all that is allowed", object{"RoleSessionName": "aZ9_+=,.@-"}, ""},
		{"session name of 64 letters", object{"RoleSessionName": longSession}, ""},
		{"session name of 65 letters", object{"RoleSessionName": longSession + "x"},
			one + "Value '" + longSession + "x'" + session + length + "less than or equal to 64"},
		{"long session name with a slash", object{"RoleSessionName": "/" + longSession}, "2 validation errors detected: Value '/" +
			longSession + "'" + session + pattern + "; Value '/" + longSession + "'" + session + length + "less than or equal to 64"},
		{"empty token", object{"WebIdentityToken": ""}, one + "Value" + atToken + length + "greater than or equal to 4"},
		{"huge token", object{"WebIdentityToken": strings.Repeat("x", 20001)}, one + "Value" + atToken + length + "less than or equal to 20000"},
		{"duration of 899 s", object{"DurationSeconds": "899"}, one + "Value '899'" + atDuration + value + "greater than or equal to 900"},
		{"duration of 900 s", object{"DurationSeconds": "900"}, ""},
		{"negative duration", object{"DurationSeconds": "-1"}, one + "Value '-1'" + atDuration + value + "greater than or equal to 900"},
		{"duration of over 12 h", object{"DurationSeconds": "43201"}, one + "Value '43201'" + atDuration + value + "less than or equal to 43200"},
	}
	b := newBed(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := b.assume(c.change)
			if c.want == "" {
				r.assumed(t)
				return
			}
			assert.Equal(t, http.StatusBadRequest, r.status)
			assert.Equal(t, "ValidationError", r.refusal(t).Error.Code)
			assert.Equal(t, c.want, r.refusal(t).Error.Message)
		})
	}
	assert.Equal(t, "MalformedInput", b.assume(object{"DurationSeconds": "an hour"}).refusal(t).Error.Code)
}
