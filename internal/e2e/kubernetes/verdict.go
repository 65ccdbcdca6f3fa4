package kubernetes

// A Verdict is what the program in a pod found, and the test reads. It tells
// tokens apart by number only: no byte of one may leave the pod this way.
type Verdict struct {
	UID, GID int                // whom the program ran as
	Mode     string             // the token file's mode, such as 0644; empty when it cannot be seen
	Triggers map[string]Trigger // by the trigger's name: call, schedule, change
}

// Trigger is the experience of one way to use a Source.
type Trigger struct {
	Logins    int      // accepted by the relying party
	Rotations int      // times that another token came
	Failures  []string // each failure's text, once: no token, or a refused login
	Warnings  []string // what its Source logged, for a user to act on
}
