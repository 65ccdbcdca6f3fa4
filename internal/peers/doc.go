// Package peers holds no code, only tests: the controls of what this project
// says about the libraries that a program would use in its place.
//
// Each test lets a peer and vaultauth or baoauth meet the same fault, each
// before a server of vaultauthtest of its own, and asserts what either does. A
// peer that was mended turns its test red, and then this table and whatever
// quotes it must follow. The figures are those of one run; where a peer draws
// its pauses at random, others come near.
//
//	go test -v ./internal/peers | grep '^ *|'
//
// The auth method of github.com/hashicorp/vault/api/auth/kubernetes v0.12.0
// beside vaultauth.Method; numbers are statuses of the server's answer:
//
//	| fault                                                                   | peer                         | ours                      |
//	| ----------------------------------------------------------------------- | ---------------------------- | ------------------------- |
//	| the token was rotated, and the first one has expired                    | 403                          | 200                       |
//	| a newline at the end of the file                                        | is sent                      | is not sent               |
//	| the file is empty                                                       | turns to the API server's    | an error, nothing is sent |
//	| a second login, after the entity was deleted                            | 403, it sent the old token   | 200                       |
//	| different tokens in three attempts, the file rotated before each        | 1                            | 3                         |
//	| VAULT_WRAP_TTL is set                                                   | no token                     | logged in                 |
//
// LifetimeWatcher of github.com/hashicorp/vault/api v1.23.0, or the documented
// loop of login and watcher, beside vaultauth.Session. A request takes 5 ms:
//
//	| fault                                                                   | peer                         | ours                      |
//	| ----------------------------------------------------------------------- | ---------------------------- | ------------------------- |
//	| renewals by 12 pods in a minute when all get 400; lease of a minute     | 29362                        | 8                         |
//	| renewals are forbidden by policy                                        | silence, then nil            | reported, and a new login |
//	| of 300, tokens given up with 3 of 10 minutes left, sealed for 6         | 120                          | 0, with KeepToken         |
//	| of 300 started together, requests in the busiest second after the login | 300, and 28 a lease later    | 7                         |
//	| logins in ten seconds with batch tokens of an hour                      | 2000                         | 1                         |
//	| of 360 reads in the hour after the token was revoked, refused           | 251                          | 0                         |
//	| a clone from before the last login reads                                | 403                          | 200                       |
//	| from Stop to the end, while a renewal hangs                             | 60 s                         | at once                   |
//
// github.com/openbao/openbao/api/v2 v2.7.1 beside baoauth. Its watcher does
// not spin any more as that of v2.7.0 and before did (openbao/openbao#3747),
// but the loop around it may:
//
//	| fault                                                                   | peer                         | ours                      |
//	| ----------------------------------------------------------------------- | ---------------------------- | ------------------------- |
//	| BAO_WRAP_TTL is set                                                     | no token                     | logged in                 |
//	| renewals in a minute when they are forbidden; lease of a minute         | 3 (v2.7.0: 117173 in 10.7 s) | 1                         |
//	| logins in ten seconds when renewals are forbidden; lease of 5 s         | 1000                         | 4                         |
//
// All of it takes place in bubbles of testing/synctest, so a minute is a
// minute of their clock, and a loop that spins is bounded by the time that its
// requests take. On loopback, where that is a tenth of a millisecond, it spins
// fifty times as fast.
package peers
