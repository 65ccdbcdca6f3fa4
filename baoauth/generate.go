package baoauth

// Every other file here is vaultauth's with other names, but for
// environment_test.go. A change is made there, and then brought over by this.
//
//go:generate go -C .. run ./internal/baogen
