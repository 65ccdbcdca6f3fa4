package main

import "time"

// The rows that others are compared with, and those that budgets name.
const (
	bareRead    = "open+read+close, bare"
	bareRotated = "open+read+close, bare, rotated (no parse)"
	parseRead   = "os.ReadFile + ParseUnverified + validation, rotated"
	loadNow     = "atomic load + time.Now"

	everyCall    = "Token, every call"
	readFile     = "os.ReadFile"
	rotated      = "Token, every call, rotated"
	maxAge       = "Token, MaxAge"
	maxAgeOver   = "Token, MaxAge over, rotated"
	watched      = "Token, Watch"
	clientGoHot  = "client-go NewCachedFileTokenSource"
	clientGoOver = "client-go, reset, rotated (no check)"
	oauth2Hot    = "oauth2 ReuseTokenSource"
	oauth2Over   = "oauth2, made anew, rotated (no check)"

	bareHTTPLogin = "HTTP PUT of a login, bare"
	bareHTTPRead  = "HTTP GET of a secret, bare"

	vaultPeerLogin = "vault/api/auth/kubernetes, made anew, Login"
	vaultOurLogin  = "vaultauth Method.Login"
	vaultPeerRead  = "vault/api Read"
	vaultOurRead   = "vault/api Read, vaultauth Session"
	baoPeerLogin   = "openbao/api, os.ReadFile and login by hand"
	baoOurLogin    = "baoauth Method.Login"
	baoPeerRead    = "openbao/api Read"
	baoOurRead     = "openbao/api Read, baoauth Session"

	awsLoad      = "atomic load of credentials + time.Now"
	awsBareFirst = "HTTP GET of credentials, bare"
	awsPeerFirst = "aws.CredentialsCache over endpointcreds, first"
	awsOurFirst  = "awspodid New and Provider.Retrieve, first"

	awsPeerHot  = "aws.CredentialsCache Retrieve, hot"
	awsOurHot   = "awspodid Provider.Retrieve, hot"
	awsPeerLate = "aws.CredentialsCache, a window of 5 min"
	awsOurLate  = "awspodid Provider"
	awsBothLate = "awspodid Provider in aws.CredentialsCache"
)

// cases are the rows of the table, in its order.
var cases = []Case{
	{Name: bareRead, Base: bareRead, Limit: bareRead, Reads: true, setup: bare},
	{Name: everyCall, Base: bareRead, Limit: bareRead, Reads: true, setup: ours(perCall)},
	{Name: readFile, Base: bareRead, Limit: bareRead, Reads: true, setup: osReadFile},

	{Name: parseRead, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, Checks: true, setup: readAndParse(registered)},
	{Name: "the same, all claims as a map", Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, Checks: true, setup: readAndParse(mapped)},
	{Name: rotated, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, Checks: true, setup: ours(perCall)},
	{Name: maxAgeOver, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, Checks: true, setup: ours(aged)},
	{Name: "Reload beside Watch, rotated", Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, Checks: true, setup: ours(reloading)},
	{Name: clientGoOver, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, setup: clientGoReset},
	{Name: oauth2Over, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, setup: oauth2Anew},
	{Name: bareRotated, Base: parseRead, Limit: bareRotated, Rotated: true, Reads: true, setup: bare},

	{Name: loadNow, Base: loadNow, Limit: loadNow, setup: loadAndNow},
	{Name: maxAge, Base: loadNow, Limit: loadNow, setup: ours(scheduled)},
	{Name: watched, Base: loadNow, Limit: loadNow, setup: ours(beside)},
	{Name: clientGoHot, Base: loadNow, Limit: loadNow, setup: clientGo},
	{Name: oauth2Hot, Base: loadNow, Limit: loadNow, setup: oauth2Reuse},

	{Name: bareHTTPLogin, Base: bareHTTPLogin, Limit: bareHTTPLogin, Sends: true, setup: overLoopback(bareLogin)},
	{Name: vaultPeerLogin, Base: vaultPeerLogin, Limit: bareHTTPLogin, Sends: true, Reads: true, setup: overLoopback(vaultPeerAnew)},
	{Name: "the same, made once (the token of the start)", Base: vaultPeerLogin, Limit: bareHTTPLogin, Sends: true, setup: overLoopback(vaultPeer)},
	{Name: vaultOurLogin, Base: vaultPeerLogin, Limit: bareHTTPLogin, Sends: true, Reads: true, Checks: true, setup: overLoopback(vaultLogin)},
	{Name: baoPeerLogin, Base: baoPeerLogin, Limit: bareHTTPLogin, Sends: true, Reads: true, setup: overLoopback(baoPeer)},
	{Name: baoOurLogin, Base: baoPeerLogin, Limit: bareHTTPLogin, Sends: true, Reads: true, Checks: true, setup: overLoopback(baoLogin)},

	{Name: bareHTTPRead, Base: bareHTTPRead, Limit: bareHTTPRead, Sends: true, setup: overLoopback(bareGet)},
	{Name: vaultPeerRead, Base: vaultPeerRead, Limit: bareHTTPRead, Sends: true, setup: overLoopback(vaultBare)},
	{Name: vaultOurRead, Base: vaultPeerRead, Limit: bareHTTPRead, Sends: true, setup: overLoopback(vaultSession)},
	{Name: baoPeerRead, Base: baoPeerRead, Limit: bareHTTPRead, Sends: true, setup: overLoopback(baoBare)},
	{Name: baoOurRead, Base: baoPeerRead, Limit: bareHTTPRead, Sends: true, setup: overLoopback(baoSession)},

	{Name: awsPeerHot, Base: awsPeerHot, Limit: awsLoad, setup: credentials(awsCache)},
	{Name: awsOurHot, Base: awsPeerHot, Limit: awsLoad, setup: credentials(awsProvider)},
	{Name: "the same, in aws.CredentialsCache", Base: awsPeerHot, Limit: awsLoad, setup: credentials(awsProviderInCache)},
	{Name: awsLoad, Base: awsPeerHot, Limit: awsLoad, setup: credentials(awsLoaded)},

	{Name: awsPeerFirst, Base: awsPeerFirst, Limit: awsBareFirst, Sends: true, Reads: true, setup: firstCredentials(awsCache)},
	{Name: awsOurFirst, Base: awsPeerFirst, Limit: awsBareFirst, Sends: true, Reads: true, Checks: true, setup: firstCredentials(awsProvider)},
	{Name: awsBareFirst, Base: awsPeerFirst, Limit: awsBareFirst, Sends: true, setup: overAgent(bareCredentials)},
}

// refreshes are the rows of the second table.
var refreshes = []refresh{
	{awsPeerLate, awsCache, func(plan) time.Duration { return cacheWindow + 100*time.Millisecond }},
	{awsOurLate, awsProvider, plan.life},
	{awsBothLate, awsProviderInCache, plan.life},
}
