package awspodidtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"
)

// secrets are credentials as AWS writes them.
type secrets struct {
	accessKeyID     string
	secretAccessKey string
	sessionToken    string
}

func newSecrets() secrets {
	return secrets{
		accessKeyID:     "ASIA" + random(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
		secretAccessKey: randomBase64(40),
		// As all session tokens begin.
		sessionToken: "IQoJb3JpZ2luX2Vj" + randomBase64(684),
	}
}

// random is n letters of an alphabet whose size divides 256.
func random(n int, alphabet string) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}

func randomBase64(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)[:n]
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// digest stands for a token or a key where it need not be known.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// session is what credentials are good for.
type session struct {
	expiry time.Time
	role   string
}

// ledger knows all credentials that were given out and have not expired.
type ledger struct {
	sessions map[digest]session // by access key ID
	sweepAt  int                // how many there may be before the expired go
}

// enter notes new credentials, which live from now for d, in whole seconds.
func (l *ledger) enter(s secrets, role string, d time.Duration) time.Time {
	now := time.Now()
	expiry := now.Add(d).Truncate(time.Second).UTC()
	if len(l.sessions) >= l.sweepAt {
		for key, session := range l.sessions {
			if !now.Before(session.expiry) {
				delete(l.sessions, key)
			}
		}
		l.sweepAt = max(1000, 2*len(l.sessions))
	}
	if l.sessions == nil {
		l.sessions = make(map[digest]session)
	}
	l.sessions[digestOf(s.accessKeyID)] = session{expiry, role}
	return expiry
}

// Valid tells whether credentials with this access key ID were given out here
// and have not expired, as an AWS service would before it looks at policies;
// when they expire; and which role they are. It is false for what a Fault has
// changed.
func (e *endpoint) Valid(accessKeyID string) (expiry time.Time, roleARN string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.ledger.sessions[digestOf(accessKeyID)]
	if !ok || !time.Now().Before(s.expiry) {
		return time.Time{}, "", false
	}
	return s.expiry, s.role, true
}
