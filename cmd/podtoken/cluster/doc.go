// Package cluster asks the API server the few questions about a pod that cannot
// be answered from inside of it. A pod may not ask most of them unless it was
// allowed to: a refusal is an [ErrForbidden] that says how to look by hand.
//
// A Secret's data never is in the process: only names are asked for.
package cluster
