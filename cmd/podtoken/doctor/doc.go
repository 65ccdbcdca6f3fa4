// Package doctor looks at the container that it runs in: every service-account
// token that is mounted, the AWS identity that was injected, and, if asked to,
// whether a relying party accepts them.
//
//	report := doctor.Examine(ctx, doctor.Options{Expect: []doctor.Expectation{{Audience: "openbao"}}})
//	if !report.Healthy() {
//		log.Fatal(report.Findings[0]) // says what to change
//	}
//
// A program can do so at its start, an init container before it, and a person
// with podtoken doctor.
//
// # Findings
//
// [Rules] has all that it looks for, each with its reason and its mend. An
// error does not work, or will stop to; a warning works and is a risk; a note
// is for the record. A report with nothing but notes is healthy.
//
// # Rotations
//
// The kubelet replaces a token when a fifth of its lifetime is left, and after
// 24 hours at the latest; it looks every 60 to 90 seconds. A file that was
// written after the container had started, with a token that was issued after
// it, is the evidence that a rotation was crossed. The file's time alone is none:
// the kubelet writes the whole volume anew when a ConfigMap in it changes. So the
// report says of each token whether a rotation was, and when the next one is due. One that is overdue is what a stuck kubelet looks like, before
// the token expires.
//
// # What it does
//
// It reads regular files, and sends nothing unless there are
// [Options.Parties]. Nothing of a token is in a report.
package doctor
