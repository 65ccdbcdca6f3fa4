package party

import "context"

// Party is a relying party with what it takes to log in to it. Its methods may
// be called by many goroutines.
type Party interface {
	// String names it for a person, on one line and without credentials.
	String() string

	// Audience is what its tokens must hold, empty if that is not known.
	Audience() string

	// Path is that of the token file, which each login reads.
	Path() string

	// Login logs in once, over the network, and returns why that failed. It
	// returns when ctx ends at the latest. The error holds no byte of a token.
	Login(ctx context.Context) error
}
