// Package fleet plays how pods that started in the same second load the server
// that they log in to: 10, 1,000 and 100,000 of them, for two days, through an
// outage of ten minutes, and through a rolling restart. Beside those that use
// this project's packages there are those that do what programs usually do. It
// is for this project's own use: its tests hold the goals, and it draws the
// figures in docs.
//
//	go test -run TestFigures -timeout 20m -v ./internal/fleet -write
//
// That takes two minutes, and writes docs/fleet*.svg, docs/fleet.json and the
// tables of docs/fleet.md, to which a test holds the code. With -size there are
// so many modelled pods.
//
// # The server
//
// A [Party] serves a fixed number of requests a second, first come, first
// served. It lets a number of seconds' worth of requests wait, and answers 503
// to more. It does not know when a client has given up: that one's request
// costs as much as any. This is what makes a server that is a little short of
// capacity one that does nothing of use.
//
// # Real pods, and modelled ones
//
// Up to 1,000 pods run the real code under testing/synctest, whose clock runs
// as fast as all sleep: vaultauth.Session, awspodid.Provider and
// tokenfile.Source on a real file, Vault's LifetimeWatcher, the AWS SDK's
// CredentialsCache. Their requests go through a Party to the login servers of
// vaultauthtest and awspodidtest. A session takes 18 KB and a request a tenth
// of a millisecond, so that two days of 100,000 pods would take a quarter of an
// hour.
//
// Those 100,000 are models, played by an event queue: each is the code's own
// schedule, written down again, and the same for the same seed. A test lets
// both meet the same start, outage and restart, and compares the times of
// their requests; a change of the real schedule turns it red.
package fleet
