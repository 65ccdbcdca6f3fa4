package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/cmd/podtoken/cluster"
	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile"
)

// prepare makes the soak of the flags, and of what this container can see.
func (c *soakCommand) prepare(ctx context.Context, sys system) (*soak.Soak, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	mounts, _ := container.Find("/") // what it does not see may still be named
	token, err := c.token(ctx, mounts)
	if err != nil {
		return nil, err
	}
	to, err := c.party(token)
	if err != nil {
		return nil, err
	}
	s := &soak.Soak{
		Party: to, Every: c.Every, Timeout: c.Timeout, For: c.For, Rotations: c.Rotations,
		Declared: time.Duration(c.ExpirationSeconds) * time.Second, SubPath: isSubPath(mounts, to.Path()),
	}
	s.Started, _ = container.Started("/") // a point that is not seen, where it is not known
	if c.Cluster {
		c.ask(ctx, s, sys)
	}
	return s, nil
}

// longestLifetime is what the API server's validation allows, in seconds.
const longestLifetime int64 = 1 << 32

// check says what the flags lack.
func (c *soakCommand) check() error {
	parties := 0
	for _, flag := range []string{c.VaultRole, c.AWS, c.URL} {
		if flag != "" {
			parties++
		}
	}
	switch {
	case parties != 1:
		return errors.New("name one relying party: --vault-role, --aws or --url")
	case c.AWS == "" && c.Audience == "":
		return errors.New("say who the token must be for: --audience")
	case c.AWS != "" && c.Token != "":
		return errors.New("--token is not for --aws: the injected variables name the file")
	case c.ExpirationSeconds < 0:
		return errors.New("--expiration-seconds is negative")
	case int64(c.ExpirationSeconds) > longestLifetime:
		return fmt.Errorf("--expiration-seconds is %d: a pod's spec may declare %d at most", c.ExpirationSeconds, longestLifetime)
	}
	return nil
}

func (c *soakCommand) awsOptions(o *awspodid.Options) {
	o.Audience = c.Audience
	switch c.AWS {
	case "pod-identity":
		o.Mechanism = awspodid.PodIdentity
	case "irsa":
		o.Mechanism = awspodid.WebIdentity
	}
}

// token is the file that was named, or the only one that is mounted for the
// audience.
func (c *soakCommand) token(ctx context.Context, mounts []container.Mount) (string, error) {
	if c.Token != "" || c.AWS != "" {
		return c.Token, nil
	}
	var paths []string
	var unfit error // a token that may be the one, but cannot be used
	for _, m := range mounts {
		source := &tokenfile.Source{Path: m.Path, Audience: c.Audience, AllowNoExpiry: true}
		_, err := source.Token(ctx)
		switch {
		case err == nil:
			paths = append(paths, m.Path)
		case unfit == nil && !errors.As(err, new(*tokenfile.AudienceError)):
			unfit = err
		}
	}
	switch {
	case len(paths) == 0 && unfit != nil:
		return "", fmt.Errorf("no token for audience %q can be used here: %w", c.Audience, unfit)
	case len(paths) == 0:
		return "", fmt.Errorf("no token for audience %q is mounted here: declare a projected volume, or name the file with --token", c.Audience)
	case len(paths) == 1:
		return paths[0], nil
	}
	return "", fmt.Errorf("several tokens for audience %q are mounted here: name one with --token: %s", c.Audience, strings.Join(paths, ", "))
}

func isSubPath(mounts []container.Mount, path string) bool {
	return slices.ContainsFunc(mounts, func(m container.Mount) bool { return m.Path == path && m.SubPath })
}

// ask lets the soak know what only the API server does. What that does not
// tell is a point that was not seen.
func (c *soakCommand) ask(ctx context.Context, s *soak.Soak, sys system) {
	client, err := cluster.New("/")
	s.Secrets = func(ctx context.Context, namespace string) ([]string, error) {
		if err != nil {
			return nil, err
		}
		if namespace == "" {
			return nil, errors.New("the token does not say which namespace this is")
		}
		return client.LegacySecrets(ctx, namespace)
	}
	if err != nil || s.Declared != 0 {
		return
	}
	declared, err := declaredLifetime(ctx, client, s.Party.Path())
	if err != nil {
		fmt.Fprintln(sys.stderr, "podtoken soak: the declared lifetime is not known (--expiration-seconds):", err)
		return
	}
	s.Declared = declared
}

func declaredLifetime(ctx context.Context, client *cluster.Client, path string) (time.Duration, error) {
	source := &tokenfile.Source{Path: path, Audience: tokenfile.AnyAudience}
	token, err := source.Token(ctx)
	if err != nil {
		return 0, nil // the soak says so
	}
	k := token.Kubernetes()
	if k.Namespace == "" || k.Pod == "" {
		return 0, errors.New("the token does not say which pod this is")
	}
	pod, err := client.Pod(ctx, k.Namespace, k.Pod)
	if err != nil {
		return 0, err
	}
	projection, ok := cluster.Declared(pod, path)
	if !ok {
		return 0, fmt.Errorf("the spec of pod %s/%s declares no token at %s, or two containers another one each", k.Namespace, k.Pod, path)
	}
	if projection.Injected {
		return 0, errors.New("the pod declares no token: this one is what the API server injects")
	}
	return projection.Lifetime, nil
}

// writable says before hours have passed that there will be no picture.
func writable(name string) error {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	return replaceFile(name, nil)
}
