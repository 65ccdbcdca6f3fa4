package doctor

import (
	"encoding/json"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
)

// Report is what Examine found. Its JSON is stable: fields are added and never
// renamed; times are RFC 3339 in UTC, durations whole seconds. A time or a
// duration that is not known is left out.
type Report struct {
	At        time.Time `json:"at"`
	Container Container `json:"container"`
	Tokens    []Token   `json:"tokens"`
	AWS       *AWS      `json:"aws"` // null where nothing of AWS is there or expected
	Logins    []Login   `json:"logins"`
	Findings  []Finding `json:"findings"` // errors first
	Errors    []string  `json:"errors"`   // what could not be looked at
}

// Container is where the examination took place.
type Container struct {
	container.Identity
	Started time.Time `json:"started,omitzero"` // to the second
	UID     int       `json:"uid"`              // of this process; -1 on Windows
	GID     int       `json:"gid"`
}

// Token is a token file and what is in it.
type Token struct {
	Path       string `json:"path"`
	MountPoint string `json:"mountPoint"` // of the volume; empty if the file is not on one of its own
	Variable   string `json:"variable"`   // that names the file
	Default    bool   `json:"default"`    // it is at the default path, where clients of the API server look
	Error      string `json:"error"`      // why it cannot be used as it is; empty if it can

	Audience   []string  `json:"audience"`
	Issuer     string    `json:"issuer"`
	Subject    string    `json:"subject"`
	IssuedAt   time.Time `json:"issuedAt,omitzero"`
	Expiry     time.Time `json:"expiry,omitzero"`
	Age        Seconds   `json:"ageSeconds,omitzero"`
	Lifetime   Seconds   `json:"lifetimeSeconds,omitzero"`         // exp less iat
	Rotated    Seconds   `json:"rotationLifetimeSeconds,omitzero"` // what the kubelet rotates by: less than Lifetime if that was extended
	Declared   Seconds   `json:"declaredSeconds,omitzero"`         // in the pod's spec, or as was expected
	Extended   bool      `json:"extended"`                         // the API server added to the lifetime that was asked for
	Legacy     bool      `json:"legacy"`                           // it is of a Secret, and has no expiry
	RotationAt time.Time `json:"rotationDue,omitzero"`             // when the kubelet replaces it, at its next look
	Rotation   Rotation  `json:"rotation"`

	Modified time.Time `json:"modified,omitzero"` // of the file
	Mode     string    `json:"mode"`              // octal, such as 0644
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	Readable bool      `json:"readable"`
	SubPath  bool      `json:"subPath"` // mounted by itself: never replaced

	file *string // a pointer, which no verb follows: a token may have been pasted where a path belongs
}

// File is the path to open, as the container has it. Path is that made fit to
// print.
func (t Token) File() string {
	if t.file == nil {
		return t.Path
	}
	return *t.file
}

// Rotation says what the times of file and token tell of rotations.
type Rotation string

// What is known of a token's rotations.
const (
	RotationSeen    Rotation = "seen"    // file and token are of after the container's start
	RotationAwaited Rotation = "awaited" // not since the container started
	RotationNever   Rotation = "never"   // nothing replaces it
	RotationUnknown Rotation = "unknown" // the container's start, or the file's time, is not known
)

// AWS is the identity that was injected.
type AWS struct {
	Mechanism string     `json:"mechanism"` // "EKS Pod Identity" or "IRSA", empty if neither can be used
	Expected  bool       `json:"expected"`
	Variables []Variable `json:"variables"` // that are set
}

// Variable is one of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"` // empty for a secret
}

// Login is one to a relying party.
type Login struct {
	Party  string  `json:"party"`
	OK     bool    `json:"ok"`
	Error  string  `json:"error"`
	Millis float64 `json:"milliseconds"`
}

// Seconds is a duration, in JSON a whole number of seconds.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(time.Duration(s) / time.Second))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	var n int64
	err := json.Unmarshal(text, &n)
	*s = Seconds(time.Duration(n) * time.Second)
	return err
}

// Healthy says that there is no error and no warning, and that everything
// could be looked at.
func (r *Report) Healthy() bool { return len(r.Errors) == 0 && !r.Has(LevelWarning) }

// Has says whether there is a finding that is as bad as level, or worse.
func (r *Report) Has(level Level) bool {
	for _, f := range r.Findings {
		if f.Level.Worse(level) {
			return true
		}
	}
	return false
}
