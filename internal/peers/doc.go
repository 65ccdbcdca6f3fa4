// Package peers holds no code, only tests: the controls of what this project
// says about the libraries that a program would use in its place.
//
// Each test lets a peer and vaultauth, baoauth or awspodid meet the same fault,
// each before a server of vaultauthtest or awspodidtest of its own, and asserts
// what either does. A peer that was mended turns its test red, and then this
// table and whatever quotes it must follow. The figures are those of one run;
// where a peer draws its pauses at random, others come near.
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
// What config.LoadDefaultConfig of github.com/aws/aws-sdk-go-v2/config v1.33.18
// makes of a pod of EKS, with credentials v1.21.0 and the SDK's v1.48.0, beside
// awspodid.Provider. Where a line names neither, it is true of Pod Identity, or
// of IRSA too. The SDK reaches the agent by its own HTTP client, through another
// dialer:
//
//	| fault                                                                   | peer                          | ours                         |
//	| ----------------------------------------------------------------------- | ----------------------------- | ---------------------------- |
//	| nothing was injected                                                    | takes the node's role         | an error at start, says so   |
//	| the same, and the node's metadata service does not answer               | no EC2 IMDS role found, 5 s   | the same error, at once      |
//	| a token file without the agent's URI                                    | takes the node's role         | an error, names the variable |
//	| the file holds the API server's token                                   | is sent                       | an error, nothing is sent    |
//	| requests with a token that has expired                                  | 1                             | 0                            |
//	| the file is empty                                                       | a request without a token     | an error, nothing is sent    |
//	| a newline at the end of the file, Pod Identity                          | an error                      | is not sent                  |
//	| a newline at the end of the file, IRSA                                  | is sent                       | is not sent                  |
//	| different tokens in three attempts, the file replaced before each       | 1                             | 3                            |
//	| errors.Is(err, fs.ErrNotExist) once the file is gone, Pod Identity      | false                         | true                         |
//	| HTTP_PROXY is set                                                       | the proxy gets the token      | the agent is asked directly  |
//	| the agent hangs; a caller without a deadline waits for                  | as long as it does            | 30 s                         |
//	| a 307 or 308 to another host                                            | takes that one's credentials  | an error, it is not asked    |
//	| bytes of the error's text when the agent's has 16 MiB                   | 16777285                      | 346                          |
//	| the answer is null                                                      | the program ends: nil pointer | an error                     |
//	| the answer is {}                                                        | signs with an empty key       | an error                     |
//	| an answer without an Expiration is used for                             | ever                          | an error                     |
//	| the answer's credentials expired an hour ago                            | the caller gets them          | an error                     |
//	| calls that fail, one a second, the agent down in the last ten minutes   | 298                           | 0                            |
//	| requests by 50 calls in 50 s with credentials of four minutes           | 50                            | 1                            |
//	| of 100 callers at a time, who wait while a refresh takes 4 s            | 100                           | 0                            |
//	| of 10080 calls in a week, failed; the agent is out for 25 of 47 min     | 499                           | 0                            |
//	| of 10080 calls in a week, failed; STS is out for 6 of 47 min            | 63                            | 0                            |
//	| the same two, calls that waited                                         | 21 and 44                     | 0 and 0                      |
//
// The calls of those weeks, one a minute, are made through LoadDefaultConfig on
// either side: on ours with the provider as its WithCredentialsProvider. Some
// outages are refused connections, some hang, some are answers of status 503,
// and in some all is well but slow.
//
// All but the proxy takes place in bubbles of testing/synctest, so a minute is a
// minute of their clock, and a loop that spins is bounded by the time that its
// requests take. On loopback, where that is a tenth of a millisecond, it spins
// fifty times as fast.
package peers
