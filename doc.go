// Package podtoken holds no code: it says which of this project's packages is
// for whom.
//
// A program in a Kubernetes pod proves who it is with a projected
// service-account token: a file that the kubelet replaces while the program
// runs. A program that reads it once works for an hour. These packages never
// are caught by the rotation:
//
//   - tokenfile hands out the token that the file holds now, validated. Use it
//     when the program sends the token itself, over HTTP or gRPC.
//
//   - tokenfile/tokenfiletest is a kubelet and a token issuer for tests, so
//     that a program is soaked over two rotations in a second.
//
//   - vaultauth and baoauth log in to OpenBao or Vault with it, and stay logged
//     in: one for HashiCorp's client, the other for OpenBao's own.
//
//   - awspodid gives the AWS SDK for Go v2 the credentials of a pod of EKS, or
//     says why there are none.
//
// Each package that speaks to a certain relying party is a module of its own,
// so that a program which imports only tokenfile has no other client's
// version raised.
//
// # Not an authentication library
//
// What these packages check of a token finds mistakes of configuration before
// the relying party does. They do not check its signature: that is the relying
// party's, and a token from these packages proves nothing to the program that
// reads it.
package podtoken
