// Package tokenfiletest is a kubelet and a token issuer for tests: it lets
// your program live through the rotations of a projected service-account
// token without a cluster, in a second instead of a day.
//
// A token that is read once at start works in every test and dies in
// production an hour later. The pieces here make that hour pass in the test.
//
// # The pieces
//
//   - [Issuer] is the API server as far as tokens go. It issues them in the
//     exact shape of Kubernetes 1.37, publishes its keys by OpenID Connect
//     discovery, and verifies tokens as a relying party does.
//   - [Volume] is the directory that the pod sees. It replaces the token with
//     the kubelet's atomic swap of links, and does on demand what goes wrong
//     with volumes: writes in place, half-written files, subPath mounts,
//     wrong modes, missing files.
//   - [Kubelet] joins the two: it mounts a token from the Issuer into the
//     Volume and replaces it when the real one would.
//
// Use a Kubelet to soak a program over rotations; a Volume and an Issuer by
// hand to put one certain token, or one certain mishap, under its eyes; an
// Issuer alone to test a relying party.
//
// # Soaking a program
//
// Inside a bubble of testing/synctest time passes as fast as everybody
// sleeps, so two rotations of a one-hour token take milliseconds:
//
//	func TestSurvivesRotation(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			issuer, err := tokenfiletest.NewIssuer("")
//			...
//			volume, err := tokenfiletest.NewVolume(t.TempDir())
//			...
//			kubelet := &tokenfiletest.Kubelet{
//				Issuer:  issuer,
//				Volume:  volume,
//				Request: tokenfiletest.Request{Audiences: []string{"openbao"}, Pod: "web-0"},
//			}
//			require.NoError(t, kubelet.Rotate()) // mounts the first token
//			go kubelet.Run(t.Context())          // and then looks after it
//
//			for kubelet.Rotations() < 2 {
//				time.Sleep(time.Minute)
//				... call the program with volume.Path(), and let
//				issuer.Verify(token, "openbao") judge what it sends
//			}
//		})
//	}
//
// What runs in the bubble must not wait for the kernel, or the bubble's clock
// stands still: no sockets, and no file notifications. A tokenfile.Source
// that is watched needs its field NoNotify. Relying parties are called as
// functions, or over net.Pipe. Mount the first token inside the bubble too: its
// clock starts in the year 2000, before whatever was issued outside.
//
// In real time, set Issuer.AllowShort and ask for a Lifetime of seconds; the
// Kubelet then scales its own periods down. Times in tokens are whole seconds,
// so lifetimes under three or so leave little to look at.
//
// # What is faithful
//
// The token's header and claims, what TokenRequest refuses, the extension of
// admission-injected tokens to a year, legacy tokens, the discovery documents
// with their content types, the volume's tree and the file notifications of
// each step, and the rule for when a token is replaced, with its jitter.
//
// # What is not
//
// The volume is an ordinary directory and not a read-only tmpfs mount, its
// files belong to the test's user, and a subPath mount is played by a link to
// an open descriptor, on Linux only. For a pod with an fsGroup the real kubelet
// also walks the volume before each swap to set owner and mode: that makes some
// more notifications, and the directories setgid. UIDs are derived from names. No object
// exists behind the names, so Verify never refuses a token because its pod was
// deleted; nor does it know TokenReview's leeway. The Kubelet does not back
// off after a failure, and looks again after its usual period.
//
// Nothing here is for production: keys live in memory and every request is
// granted.
package tokenfiletest
