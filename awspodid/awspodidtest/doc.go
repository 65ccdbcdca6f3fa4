// Package awspodidtest is a node's EKS Pod Identity agent, AWS's Security
// Token Service, and a pod that the EKS webhook has admitted, for tests. All of
// it runs in the test's own process, and weeks of credentials pass in a second.
//
// Credentials work in every test against a mock, and fail in production when
// the webhook was late, when a token rotates, when the agent throttles a node
// full of pods, or when an answer is cut short. The servers here do all that,
// and answer as the real ones do: with the same status codes and texts, plain
// text and JSON from the agent, XML from STS.
//
// # The pieces
//
//   - [Agent] is the EKS Pod Identity agent 0.1.37, with EKS Auth behind it. It
//     gives credentials for a service account's token, if the service account
//     is associated with a role.
//   - [STS] is AssumeRoleWithWebIdentity: it gives credentials for a token, if
//     the role's trust policy lets its subject in. This is IRSA.
//   - [Pod] is the environment and the token files of a pod, with a kubelet that
//     rotates the tokens: injected, not injected, or by half.
//
// All three trust one issuer of service-account tokens, from package
// tokenfiletest.
//
// # Setting up
//
//	issuer := &tokenfiletest.Issuer{}
//	issuer.RotateKey(tokenfiletest.ES256)
//
//	agent := awspodidtest.NewAgent(issuer)
//	agent.Associate("shop", "web", "arn:aws:iam::111122223333:role/web")
//
//	sts := awspodidtest.NewSTS(issuer)
//	sts.SetRole("arn:aws:iam::111122223333:role/web", awspodidtest.TrustPolicy{
//		Sub: []string{"system:serviceaccount:shop:web"},
//		Aud: []string{"sts.amazonaws.com"},
//	})
//
//	pod, err := awspodidtest.NewPodIdentityPod(t.TempDir(), issuer, awspodidtest.PodSpec{
//		Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"},
//	})
//	go pod.Run(t.Context())
//
// The program under test gets pod.Lookup in place of os.LookupEnv, or
// pod.Environ for os/exec.
//
// # Reaching the servers
//
// Their Transport is for clients in the test. It is a function call under the
// guise of a network, so that client and server may live in a bubble of
// testing/synctest, where time passes as fast as everybody sleeps:
//
//	client := &http.Client{Transport: agent.Transport()}
//
// Start listens on the loopback interface, for other programs, and both are an
// http.Handler, too. Over a network the agent insists on being called by its
// own address, as the real one does: set [Agent.Hosts], or let the client's
// dialer lead 169.254.170.23 to the port.
//
// # Making trouble
//
//   - [Agent.SetUpstream] is what happens to EKS Auth, with the time that the
//     agent's own retries take: throttled, failing, slow, refusing.
//   - SetFault is what happens to requests and answers: they take time, they
//     hang, they are lost on the way there or back, they are garbage, huge, cut
//     short, or lead elsewhere. See [Fault], and the functions that make one.
//     STS's passing errors are among them: [STSThrottled],
//     [STSNoVerificationKey], [STSIDPCommunicationError].
//   - SetDown is a node without an agent, and [Agent.Restart] one that gets a
//     new one.
//   - [Agent.Dissociate], [STS.DeleteRole] and [STS.DeleteProvider] are what
//     administrators do.
//   - [Pod.With] and [Pod.Without] change what was injected, and the kubelets
//     of a Pod can be stalled and their volumes damaged.
//
// # Seeing what happened
//
// Requests is a log of the last requests, with what their tokens said and
// which session name STS was given; Counts counts all of them. Valid judges
// credentials that a program holds, as a service of AWS would.
//
// # What is faithful
//
// The order in which the agent judges a request and a token, and its words,
// down to those of the library that it parses tokens with; its cache by token,
// with what happens to eight requests at once; its limit of requests; how long
// it takes to give up; what it does when credentials have less than fifteen
// seconds to live. STS's checks of parameters, of the token's claims, of the
// provider, of its audience and signature, of trust policies and of durations,
// with the codes and texts of AWS's, which differ from those of other products
// that speak its protocol. The names of files and variables that the webhook
// injects, and the 24 hours of its tokens.
//
// # What is not
//
// The agent renews credentials that are three hours old when they are next
// asked for, and not in the background, so those that nobody asks for are not
// renewed. Some texts are not known, and only their codes are right: EKS Auth's on
// a bad signature, on a foreign issuer and on a missing association; STS's on a
// signature that does not match, on a token that is not valid yet and on a
// duration that is no number. Nor is it known which of several flaws STS names
// first. Requests to STS
// for other operations, session policies and tags are not served. The issuer's
// keys are known at once, while AWS caches them. The webhook's rules on which
// containers it skips are not played.
//
// Nothing here is for production: every request is granted that a policy does
// not refuse, and credentials open nothing.
package awspodidtest
