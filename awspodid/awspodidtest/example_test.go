package awspodidtest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A pod that was admitted with EKS Pod Identity, and the SDK's own client in
// it, lives through two days. There is no network between it and the agent.
func Example() {
	// A test passes its own t; an Example has none.
	synctest.Test(new(testing.T), func(t *testing.T) {
		issuer := &tokenfiletest.Issuer{}
		issuer.RotateKey(tokenfiletest.ES256)
		agent := awspodidtest.NewAgent(issuer)
		agent.Associate("shop", "web", "arn:aws:iam::111122223333:role/web")

		dir, _ := os.MkdirTemp("", "pod")
		defer os.RemoveAll(dir)
		pod, err := awspodidtest.NewPodIdentityPod(dir, issuer, awspodidtest.PodSpec{
			Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		go pod.Run(t.Context())

		uri, _ := pod.Lookup("AWS_CONTAINER_CREDENTIALS_FULL_URI")
		file, _ := pod.Lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
		fmt.Println(uri, filepath.Base(file))
		provider := aws.NewCredentialsCache(endpointcreds.New(uri, func(o *endpointcreds.Options) {
			o.HTTPClient = &http.Client{Transport: agent.Transport()}
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
				token, err := os.ReadFile(file)
				return string(token), err
			})
		}))
		for range 48 {
			credentials, err := provider.Retrieve(context.Background())
			if err != nil {
				fmt.Println(err)
				return
			}
			if _, role, ok := agent.Valid(credentials.AccessKeyID); !ok || role != "arn:aws:iam::111122223333:role/web" {
				fmt.Println("not valid")
			}
			time.Sleep(time.Hour)
		}
		fmt.Println(pod.PodIdentity.Rotations(), "rotations,", agent.Counts().Refused, "refusals")

		agent.Dissociate("shop", "web")
		agent.Restart()
		time.Sleep(6 * time.Hour)
		_, err = provider.Retrieve(context.Background())
		fmt.Println("refused:", err != nil)
		requests := agent.Requests()
		last := requests[len(requests)-1]
		fmt.Println(last.Status, last.Code, last.Subject)
	})
	// Output:
	// http://169.254.170.23/v1/credentials eks-pod-identity-token
	// 2 rotations, 0 refusals
	// refused: true
	// 404 ResourceNotFoundException system:serviceaccount:shop:web
}

// STS refuses a token that is meant for somebody else, in AWS's words.
func ExampleSTS() {
	issuer := &tokenfiletest.Issuer{}
	issuer.RotateKey(tokenfiletest.ES256)
	service := awspodidtest.NewSTS(issuer)
	const role = "arn:aws:iam::111122223333:role/web"
	service.SetRole(role, awspodidtest.TrustPolicy{Sub: []string{"system:serviceaccount:shop:web"}})

	client := sts.New(sts.Options{
		Region:     "eu-central-1",
		HTTPClient: &http.Client{Transport: service.Transport()},
	})
	for _, audience := range []string{"sts.amazonaws.com", "https://kubernetes.default.svc"} {
		token, _ := issuer.Token(tokenfiletest.Request{
			Audiences: []string{audience}, Namespace: "shop", ServiceAccount: "web",
		})
		output, err := client.AssumeRoleWithWebIdentity(context.Background(), &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: aws.String(role), RoleSessionName: aws.String("web-0"), WebIdentityToken: &token,
		})
		if err == nil {
			fmt.Println(*output.AssumedRoleUser.Arn)
		}
	}
	for _, r := range service.Requests() {
		fmt.Println(r.Status, r.Code, r.RoleSessionName)
	}
	// Output:
	// arn:aws:sts::111122223333:assumed-role/web/web-0
	// 200  web-0
	// 400 InvalidIdentityToken web-0
}

// An answer may go wrong in many ways. Here the agent forgets to say when the
// credentials expire, which the SDK takes for never.
func ExampleAgent_SetFault() {
	issuer := &tokenfiletest.Issuer{}
	issuer.RotateKey(tokenfiletest.ES256)
	agent := awspodidtest.NewAgent(issuer)
	agent.Associate("shop", "web", "arn:aws:iam::111122223333:role/web")
	agent.SetFault(func(*http.Request) *awspodidtest.Fault {
		return awspodidtest.Without("Expiration")
	})

	token, _ := issuer.Token(tokenfiletest.Request{
		Audiences: []string{awspodidtest.PodIdentityAudience}, Namespace: "shop", ServiceAccount: "web",
	})
	provider := endpointcreds.New(awspodidtest.AgentURL, func(o *endpointcreds.Options) {
		o.HTTPClient = &http.Client{Transport: agent.Transport()}
		o.AuthorizationToken = token
	})
	credentials, err := provider.Retrieve(context.Background())
	fmt.Println(err, credentials.CanExpire)
	// Output: <nil> false
}

// Half of what the webhook injects, as a shell wrapper may leave it.
func ExamplePod_Without() {
	dir, _ := os.MkdirTemp("", "pod")
	defer os.RemoveAll(dir)
	issuer := &tokenfiletest.Issuer{}
	issuer.RotateKey(tokenfiletest.ES256)
	pod, err := awspodidtest.NewPodIdentityPod(dir, issuer, awspodidtest.PodSpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	half := pod.Without("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	_, uri := half.Lookup("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	_, file := half.Lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
	fmt.Println(uri, file)
	// Output: false true
}
