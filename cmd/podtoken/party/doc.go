// Package party has the relying parties that a pod's token is for, as something
// that one can log in to: OpenBao and Vault, AWS, and any HTTP service that
// takes the token as a bearer.
//
//	web, err := party.Vault(party.VaultOptions{Role: "web", Path: "/var/run/secrets/tokens/openbao/token", Audience: "openbao"})
//	if err != nil {
//		return err
//	}
//	err = web.Login(ctx)
//	fmt.Println(web, party.Judge(err))
//
// # A login
//
// Each is a real one: the token file is read anew, the token is validated, and
// the request goes over the network. Nothing is cached, and nothing is kept: what
// the party gave is revoked where that is possible, and never printed.
//
// # Judging a failure
//
// [Judge] tells a party that refused the identity from one that gave no answer
// about it, and from a token that was not fit to be sent. The errors are those of
// packages vaultauth, baoauth and awspodid, and [HTTPError].
package party
