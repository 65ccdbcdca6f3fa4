package main

import (
	"context"
	"errors"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/cluster"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// declaredInCluster asks the API server for this pod, and returns what its spec
// says of each token's lifetime.
func declaredInCluster(ctx context.Context, o doctor.Options) (func(path string) (time.Duration, bool), error) {
	client, err := cluster.New(o.Root)
	if err != nil {
		return nil, err
	}
	id := doctor.Examine(ctx, doctor.Options{Root: o.Root, Paths: o.Paths}).Container.Identity
	if id.Namespace == "" || id.Pod == "" {
		return nil, errors.New("--cluster: no token here says which pod this is: set POD_NAMESPACE and POD_NAME by the downward API")
	}
	pod, err := client.Pod(ctx, id.Namespace, id.Pod)
	if err != nil {
		return nil, err
	}
	return func(path string) (time.Duration, bool) {
		declared, ok := cluster.Declared(pod, path)
		return declared.Lifetime, ok
	}, nil
}
