package doctor

import (
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// KubeletPeriod is how late a healthy kubelet may be: it looks every 60 to 90
// seconds, and then writes.
const KubeletPeriod = 100 * time.Second

// RotationDue is when the kubelet replaces a token, at its next look: at four
// fifths of the lifetime that it asked for and after a day at the latest. Zero
// if the token does not say.
func RotationDue(token *tokenfile.Token) time.Time {
	return claims{issued: token.IssuedAt(), expiry: token.Expiry(), warnAfter: token.Kubernetes().WarnAfter}.rotationDue()
}
