// Package awspodid gives a pod of Amazon EKS its AWS credentials, for the AWS
// SDK for Go v2: those of EKS Pod Identity, or of IRSA.
//
// # Quick start
//
//	provider, err := awspodid.New()
//	if err != nil {
//		return err
//	}
//	cfg, err := config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(provider))
//
// # Not injected
//
// Both mechanisms reach a pod by a webhook, when the pod is admitted, and at no
// other time. A pod that was admitted a moment before its association or
// annotation was known gets neither the variables nor the token. The SDK's own
// chain then quietly takes the role of the node, and the program is denied
// what it needs by services that know nothing of the reason. [New] fails
// instead, with a [NotInjectedError] that says what is missing, why, and how to
// recreate the pod. What is half injected is an [InjectionError]. Neither is
// ever a reason to use another identity, and the node's is never asked for.
//
// [Inspect] reports what a container was given, for a start-up log.
//
// # Retrieval
//
// Each attempt reads the token file anew and checks audience and expiry before
// anything is sent. The token goes to the agent's own addresses only, directly
// and not through a proxy; or to STS by https, as the SDK's configuration says.
// It does not go to where a redirect points. Requests, the rules of retries,
// and regions are the SDK's (endpointcreds, stscreds).
//
// Nobody waits while credentials are valid. They are refreshed in the
// background, by someone's call, from an hour before their end on (a quarter of
// an hour, or five minutes, if they live for less). While a refresh fails they
// are used on, and only when they have really expired a caller sees the error:
// an [AgentError] or an [STSError], which say what was refused and what to mend.
// All of this holds through the cache that the SDK puts around a provider.
//
// The text of each error ends with the address of its section in
// docs/runbook.md, which has the commands for whoever is paged.
//
// # Outside of a pod
//
// Options.Fallback is for laptops and CI. It is used where nothing at all was
// injected and the process is not in a pod, by its environment and by the files
// that pods have, and in no other case.
//
// # Tests
//
// Package awspodidtest has an agent, an STS, and pods as the webhook makes
// them.
package awspodid
