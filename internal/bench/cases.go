package main

import "time"

// The rows that others are compared with, and those that budgets name.
const (
	bareRead  = "open+read+close, bare"
	parseRead = "os.ReadFile + ParseUnverified + validation, rotated"
	loadNow   = "atomic load + time.Now"

	everyCall = "Token, every call"
	rotated   = "Token, every call, rotated"
	maxAge    = "Token, MaxAge"
	watched   = "Token, Watch"

	vaultPeerLogin = "vault/api/auth/kubernetes, made anew, Login"
	vaultOurLogin  = "vaultauth Method.Login"
	vaultPeerRead  = "vault/api Read"
	vaultOurRead   = "vault/api Read, vaultauth Session"
	baoPeerLogin   = "openbao/api, os.ReadFile and login by hand"
	baoOurLogin    = "baoauth Method.Login"
	baoPeerRead    = "openbao/api Read"
	baoOurRead     = "openbao/api Read, baoauth Session"

	awsPeerHot  = "aws.CredentialsCache Retrieve, hot"
	awsOurHot   = "awspodid Provider.Retrieve, hot"
	awsPeerLate = "aws.CredentialsCache, a window of 5 min"
	awsOurLate  = "awspodid Provider"
	awsBothLate = "awspodid Provider in aws.CredentialsCache"
)

// cases are the rows of the table, in its order.
var cases = []Case{
	{Name: bareRead, Base: bareRead, Reads: true, setup: bare},
	{Name: everyCall, Base: bareRead, Reads: true, setup: ours(perCall)},
	{Name: "os.ReadFile", Base: bareRead, Reads: true, setup: osReadFile},

	{Name: parseRead, Base: parseRead, Rotated: true, Reads: true, Checks: true, setup: readAndParse(registered)},
	{Name: "the same, all claims as a map", Base: parseRead, Rotated: true, Reads: true, Checks: true, setup: readAndParse(mapped)},
	{Name: rotated, Base: parseRead, Rotated: true, Reads: true, Checks: true, setup: ours(perCall)},
	{Name: "Token, MaxAge over, rotated", Base: parseRead, Rotated: true, Reads: true, Checks: true, setup: ours(aged)},
	{Name: "Reload beside Watch, rotated", Base: parseRead, Rotated: true, Reads: true, Checks: true, setup: ours(reloading)},
	{Name: "client-go, reset, rotated (no check)", Base: parseRead, Rotated: true, Reads: true, setup: clientGoReset},
	{Name: "oauth2, made anew, rotated (no check)", Base: parseRead, Rotated: true, Reads: true, setup: oauth2Anew},
	{Name: "open+read+close, bare, rotated (no parse)", Base: parseRead, Rotated: true, Reads: true, setup: bare},

	{Name: loadNow, Base: loadNow, setup: loadAndNow},
	{Name: maxAge, Base: loadNow, setup: ours(scheduled)},
	{Name: watched, Base: loadNow, setup: ours(watching)},
	{Name: "client-go NewCachedFileTokenSource", Base: loadNow, setup: clientGo},
	{Name: "oauth2 ReuseTokenSource", Base: loadNow, setup: oauth2Reuse},

	{Name: vaultPeerLogin, Base: vaultPeerLogin, Sends: true, Reads: true, setup: overLoopback(vaultPeerAnew)},
	{Name: "the same, made once (the token of the start)", Base: vaultPeerLogin, Sends: true, setup: overLoopback(vaultPeer)},
	{Name: vaultOurLogin, Base: vaultPeerLogin, Sends: true, Reads: true, Checks: true, setup: overLoopback(vaultLogin)},
	{Name: baoPeerLogin, Base: baoPeerLogin, Sends: true, Reads: true, setup: overLoopback(baoPeer)},
	{Name: baoOurLogin, Base: baoPeerLogin, Sends: true, Reads: true, Checks: true, setup: overLoopback(baoLogin)},

	{Name: vaultPeerRead, Base: vaultPeerRead, Sends: true, setup: overLoopback(vaultBare)},
	{Name: vaultOurRead, Base: vaultPeerRead, Sends: true, setup: overLoopback(vaultSession)},
	{Name: baoPeerRead, Base: baoPeerRead, Sends: true, setup: overLoopback(baoBare)},
	{Name: baoOurRead, Base: baoPeerRead, Sends: true, setup: overLoopback(baoSession)},

	{Name: awsPeerHot, Base: awsPeerHot, setup: credentials(awsCache)},
	{Name: awsOurHot, Base: awsPeerHot, setup: credentials(awsProvider)},
	{Name: "the same, in aws.CredentialsCache", Base: awsPeerHot, setup: credentials(awsProviderInCache)},
}

// refreshes are the rows of the second table.
var refreshes = []refresh{
	{awsPeerLate, awsCache, func(plan) time.Duration { return cacheWindow + 100*time.Millisecond }},
	{awsOurLate, awsProvider, plan.life},
	{awsBothLate, awsProviderInCache, plan.life},
}
