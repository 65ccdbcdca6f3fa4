// Package vault holds vaultauth, and the fake server of vaultauthtest, against
// a real server, with tokens that a real Kubernetes API server issued and
// reviews. README.md says what each part needs and proves.
package vault
