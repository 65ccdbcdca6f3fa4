// Package tokenfile hands out the service-account token that a projected file
// holds now: never a stale one, a torn one, or one that is meant for somebody
// else.
//
// The kubelet replaces the file when four fifths of the token's life have
// passed, so a program that keeps the string fails an hour after its start.
//
//	source := &tokenfile.Source{
//		Path:     "/var/run/secrets/tokens/openbao/token",
//		Audience: "openbao",
//	}
//	token, err := source.Token(ctx) // at every request
//	if err != nil {
//		return err
//	}
//	request.Header.Set("Authorization", "Bearer "+token.Raw())
//
// # Declaring the volume
//
// The pod's spec names the audience, which is who the token is for, and a
// lifetime. The kubelet keeps the file current only if the directory is
// mounted, not the file by subPath:
//
//	spec:
//	  serviceAccountName: app
//	  securityContext: {fsGroup: 65532} # makes the file readable to a container that is not root
//	  containers:
//	  - name: app
//	    volumeMounts:
//	    - {name: token, mountPath: /var/run/secrets/tokens/openbao, readOnly: true}
//	  volumes:
//	  - name: token
//	    projected:
//	      sources:
//	      - serviceAccountToken: {audience: openbao, expirationSeconds: 3600, path: token}
//
// The token at /var/run/secrets/kubernetes.io/serviceaccount/token is for the
// API server, and other relying parties rightly refuse it.
//
// # When the file is read
//
// There are three triggers:
//
//   - Every call, the default: open, read, close, some microseconds. Bytes that
//     did not change are not parsed again. Content decides, never the
//     modification time, which misses a rewrite within one tick of its clock.
//   - On a schedule, with [Source.MaxAge]: Token reads when the last read is
//     older, and else costs some tens of nanoseconds. No goroutine is behind
//     it, and of many callers one reads while the others are served.
//   - On a change: while a loop over [Source.Watch] runs, Token serves what the
//     loop read.
//
// At a program's start [Source.Wait] bridges the time until the first valid
// token, and [Source.Reload] is for the caller whose token was refused.
//
// # What is checked
//
// Audience always, expiry and the beginning of validity always, with ten
// seconds of clock skew allowed for the latter; issuer, subject, lifetime and
// time left by the fields of [Source]. A token is refused from the instant of
// its exp claim on.
//
// No signature is checked. Validation finds mistakes of configuration before
// the relying party does; it is not authentication, and a Token proves nothing
// to the program that read it.
//
// # When it fails
//
// Every failure is an [*Error]. Its text says what was found and what to change
// in the manifest, and ends with the address of its section in docs/runbook.md,
// which has the commands for whoever is paged; its cause is a type that a
// program can act on. [Source.Stats] counts failures by cause, and a Logger is
// told of each rotation, failure and recovery, and not of every call that meets
// it.
//
// With MaxAge and in a Watch loop a failed read is not yet a failure of Token:
// it serves the last good token until that expires, and returns the cause then.
//
// The kubelet's swap is atomic. Other writers may be caught in the middle of a
// rewrite in place: torn text is refused and read once more, but text that is
// overwritten without being cut first can, for an instant, be of two tokens
// with the right length, which only the relying party sees.
//
// # Secrets
//
// The token's text is handed out by [Token.Raw] only. No error, log record or
// printed value of this package holds any of it. A log may show its claims:
// subject, audience and expiry.
//
// # Tests
//
// Package tokenfiletest plays the kubelet, in real time or under
// testing/synctest. There, set [Source.NoNotify] for a Watch loop.
package tokenfile
