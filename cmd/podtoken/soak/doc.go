// Package soak logs in to a real relying party, again and again, while the
// kubelet rotates a real token file, and ends with a verdict: point by point,
// what was shown, what failed, and what a person still has to look at.
//
//	web, err := party.Vault(party.VaultOptions{Role: "web", Path: path, Audience: "openbao"})
//	if err != nil {
//		return err
//	}
//	verdict, err := (&soak.Soak{Party: web, Declared: time.Hour}).Run(ctx)
//	if err != nil {
//		return err // the set-up cannot pass: nothing was soaked
//	}
//	fmt.Print(verdict)
//
// # Why two rotations
//
// A program that reads its token once works until that token expires, which is
// after the first rotation; one that watches the file itself, and not its
// directory, sees the first rotation and misses the second.
//
// # How long it takes
//
// The kubelet replaces a token when four fifths of its life have passed, or
// after a day, and looks for that every 60 to 90 seconds. Two rotations of a
// token of ten minutes take 18 minutes, those of an hour an hour and two thirds,
// and those of 24 hours a day and two thirds. The first event tells before.
//
// # Memory
//
// It stays the same however long a soak runs: the timeline has a fixed number of
// cells, which are merged by two when they are full, and of troubles and
// rotations the last ones are kept.
package soak
