// Command bench measures what a token costs, in one run that prints one
// report: package tokenfile in each of its triggers, logins of vaultauth and
// baoauth and requests through their sessions, credentials of awspodid, the
// libraries that a program would otherwise use, and the least that the system
// charges for the same work. It holds the budgets of the packages against what
// was measured.
//
//	go run ./internal/bench            Markdown, in about ten minutes
//	go run ./internal/bench -quick     half a minute, for CI, without what takes longer
//	go run ./internal/bench -check     exit status 1 if a budget is missed
//
// The report goes to files too, of which docs/performance.md and README.md have
// a block that is written and a text around it that is not:
//
//	go run ./internal/bench -json FILE -markdown FILE -svg docs/performance.svg -docs docs/performance.md -readme README.md
//	go run ./internal/bench -from FILE -svg FILE    of what -json wrote, without measuring
//
// The rows of the main table are ordinary benchmarks as well, for benchstat and
// for profiles:
//
//	go test -run '^$' -bench . -count 10 ./internal/bench
//
// # How to read the table of one call
//
// The rows stand in groups, each with the row that the others are compared
// with: reads of a file that did not change, reads of one that was replaced
// just before, tokens from memory, logins to Vault and to OpenBao, requests to
// them by a client that is logged in, AWS credentials from memory, and the
// first ones.
//
// A column "ns/op" is the median over all rounds; "spread" is the range of
// the middle half of them. A round runs every row once for some milliseconds
// and takes the lower quartile of short batches, so that interruptions by other
// processes do not count. "ratio" is the median of the ratios of a row to its
// base in the same round: what slows the machine down for a while slows both,
// so the ratio is steadier than the times it is made from. "limit" is the same
// to the least that the system charges, which is a row of its own. Allocations
// do not depend on the machine.
//
// At 2 procs two goroutines do the work in parallel, and ns/op is the time
// for which one op keeps the whole program busy; "gain" is how much more work
// that is than at 1 proc, 2 at best. Only batches count during which the other
// goroutine was at work as well; where there were too few, since something
// else kept a processor busy, the table has a question mark. Goroutines share one Source, or
// one peer, and one file. Only where the file changes at each op has each its
// own.
//
// # What is measured
//
// The token is bound to a pod and signed with RS256, as Kubernetes has it, and
// lies on a tmpfs, as in a pod, behind the two symbolic links of a projected
// volume. In a row that says "rotated" the ..data link is swapped before each
// op between two directories with a token each; the swap is not in the time.
//
// Under MaxAge or Watch a call of Token seldom reads. What it costs when it
// must is shown with a MaxAge that is always over, and with Source.Reload
// beside a running Watch loop. client-go keeps its token for 50 s whatever
// happens to the file, so a read is forced by its ResetTokenOlderThan, and
// oauth2's ReuseTokenSource, which has no such method, is made anew.
// Neither checks what it reads.
//
// Logins and requests go over loopback to a server in this process that looks
// at nothing and always gives the same answer. A real Vault takes about a
// millisecond to verify a token and to store its own, in which the client's
// part, all that differs, would not be seen. What the server does and
// allocates is in each row of a group alike. Their limit is a bare request with
// the same body, whose answer is read and not looked at. vaultauth's Login reads and checks
// the file each time. The peer that does the same, without the check, is made
// anew for each login; made once, it sends the token of the start for ever.
// OpenBao's library has no such method, so its peer writes the login by hand.
//
// A session's transport looks up the current token and copies the request's
// headers. A tenth of a request to a server that does nothing is its budget,
// so that nobody needs to think of it.
//
// Hot credentials are those that awspodid's Provider or the SDK's cache holds
// and need not refresh. For a Pod Identity agent there is a function that
// answers at once. The first ones are those of a provider that was just made,
// from an agent on the loopback interface; awspodid's New has read and checked
// the token before, to say at the start what is wrong. IRSA's differ in what
// happens at a refresh only.
//
// While a refresh hangs that agent does not answer. Credentials are due to be
// refreshed, and still valid: within the five minutes before their end for the
// cache of the SDK's chain, within awspodid's window for its own. When somebody's
// call has made the request, all callers come at once. The request goes on when
// they are back, or after a second (a quarter of one with -quick), and those
// who came back only then have waited for it. An agent in trouble takes longer.
//
// # How cost grows
//
// A crowd of goroutines starts at once; the time until the last is done, with
// their start and end in it, is shared among their ops. After a rotation each
// does one. An op of the other two tables is one of the main table's, of a
// longer token, or of the next of many Sources with a file each.
//
// A watched file is rotated at a rate, and many are rotated all at once. The
// processor's time for the rotations themselves was measured before, without
// anybody watching, and is taken off. Linux allows a user 128 inotify instances
// unless fs.inotify.max_user_instances says otherwise: beyond them a Watch loop looks
// every five seconds by itself, and a program by hand gets an error.
//
// The memory of an object is the mean over many alike, of heap and stacks, when
// garbage was collected and connections were closed.
//
// Programs are those in the folder program, built as they are, and with
// -ldflags "-s -w" for "stripped". Their modules are those that are linked, as
// go version -m lists them.
//
// # What -json writes
//
// A Report: its names are those of this type and of those in it, whose comments
// say what they hold. Times are in nanoseconds, memory and sizes in bytes. A time
// or a ratio of zero could not be measured. The names stay, and -from refuses
// a file that has others.
package main
