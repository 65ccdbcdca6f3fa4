// Command awssdk has the credentials of the SDK's default chain.
package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/config"
)

func main() {
	ctx := context.Background()
	loaded, _ := config.LoadDefaultConfig(ctx)
	_, _ = loaded.Credentials.Retrieve(ctx)
}
