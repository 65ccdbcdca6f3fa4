package awspodid_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A program keeps its credentials for three days, through the SDK's cache: the
// kubelet replaces the token each day, credentials live for six hours, and the
// agent is away for the last hour before their end.
func Example() {
	// A test passes its own t; an Example has none.
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "pod")
		defer os.RemoveAll(dir)
		issuer := new(tokenfiletest.Issuer)
		issuer.RotateKey(tokenfiletest.ES256)
		pod, _ := awspodidtest.NewPodIdentityPod(dir, issuer, awspodidtest.PodSpec{
			Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web"},
		})
		go pod.Run(t.Context())
		agent := awspodidtest.NewAgent(issuer)
		agent.Associate("shop", "web", "arn:aws:iam::111122223333:role/web")

		provider, err := awspodid.New(func(o *awspodid.Options) { // a program passes nothing
			o.Lookup = pod.Lookup
			o.HTTPClient = &http.Client{Transport: agent.Transport()}
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		// config.LoadDefaultConfig with WithCredentialsProvider makes this cache.
		credentials := aws.NewCredentialsCache(provider)
		failed := 0
		for hour := range 72 {
			agent.SetDown(hour%6 == 5)
			for range 60 {
				if _, err := credentials.Retrieve(t.Context()); err != nil {
					failed++
				}
				time.Sleep(time.Minute) // takes no time here
			}
		}
		fmt.Println(provider.Mechanism(), "failed:", failed)
	})
	// Output:
	// EKS Pod Identity failed: 0
}

// In a pod that was admitted before its association was known there are no
// variables and no token. The error says what to do about it.
func ExampleNew_notInjected() {
	_, err := awspodid.New(func(o *awspodid.Options) {
		o.Lookup = awspodidtest.NewPod().
			With("KUBERNETES_SERVICE_HOST", "10.96.0.1").With("POD_NAMESPACE", "shop").With("POD_NAME", "web-0").Lookup
		o.Mechanism = awspodid.PodIdentity
		o.ServiceAccountDir = "testdata"
	})
	var none *awspodid.NotInjectedError
	if errors.As(err, &none) {
		fmt.Println(none.Missing)
	}
	fmt.Println(err)
	// Output:
	// [AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE]
	// awspodid: EKS Pod Identity was not injected into this pod: AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE not set; most likely the pod was admitted before its association or annotation reached the webhook; injection happens only at admission, so a restart of the container cannot help: recreate the pod (kubectl -n shop delete pod web-0); if that does not help, there is no association for this service account (aws eks list-pod-identity-associations --cluster-name CLUSTER --namespace shop --service-account SERVICE_ACCOUNT), the agent does not run on this kind of node, the container is named in the pod's skip-containers annotation, or a wrapper script started the program without these variables; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#aws-not-injected
}

// On a laptop or in CI nothing is injected. A program that wants to run there
// too names what to use: here fixed keys, usually the credentials of
// config.LoadDefaultConfig. In a pod it is never used.
func ExampleOptions_fallback() {
	keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example", Source: "laptop"}, nil
	})
	fallback := func(o *awspodid.Options) { o.Fallback = keys }

	laptop := func(o *awspodid.Options) { o.Lookup = awspodidtest.NewPod().Lookup }
	provider, err := awspodid.New(laptop, fallback)
	if err != nil {
		fmt.Println(err)
		return
	}
	credentials, _ := provider.Retrieve(context.Background())
	fmt.Println("on a laptop:", credentials.Source)

	half := func(o *awspodid.Options) {
		o.Lookup = awspodidtest.NewPod().With("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials").Lookup
	}
	_, err = awspodid.New(half, fallback)
	var wrong *awspodid.InjectionError
	fmt.Println("half injected:", errors.As(err, &wrong), wrong.Variable)
	// Output:
	// on a laptop: laptop
	// half injected: true AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
}
