// Command awspodid gives the SDK the credentials of the pod.
package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/podtoken/podtoken/awspodid"
)

func main() {
	ctx := context.Background()
	provider, _ := awspodid.New()
	loaded, _ := config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(provider))
	_, _ = loaded.Credentials.Retrieve(ctx)
}
