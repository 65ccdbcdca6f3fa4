package main

import (
	"context"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

const (
	role       = "checkout"
	secretPath = "secret/data/checkout"
)

func vaultConfig(url string) *api.Config {
	config := api.DefaultConfig()
	config.Address = url
	return config
}

// vaultPeer logs in with Vault's own method, which is made once and so sends
// the token that the file held then.
func vaultPeer(url, path string) (request, error) {
	client, err := api.NewClient(vaultConfig(url))
	if err != nil {
		return request{}, err
	}
	method, err := kubernetes.NewKubernetesAuth(role, kubernetes.WithServiceAccountTokenPath(path))
	ctx := context.Background()
	return request{send: func() error {
		_, err := method.Login(ctx, client)
		return err
	}}, err
}

// vaultPeerAnew makes that method at each login, as a program must that wants
// the file's token.
func vaultPeerAnew(url, path string) (request, error) {
	client, err := api.NewClient(vaultConfig(url))
	ctx := context.Background()
	return request{send: func() error {
		method, err := kubernetes.NewKubernetesAuth(role, kubernetes.WithServiceAccountTokenPath(path))
		if err != nil {
			return err
		}
		_, err = method.Login(ctx, client)
		return err
	}}, err
}

func vaultMethod(path string) *vaultauth.Method {
	return &vaultauth.Method{Role: role, Source: &tokenfile.Source{Path: path, Audience: audience}}
}

// vaultLogin logs in with this project's method.
func vaultLogin(url, path string) (request, error) {
	client, err := api.NewClient(vaultConfig(url))
	method, ctx := vaultMethod(path), context.Background()
	return request{
		send: func() error {
			_, err := method.Login(ctx, client)
			return err
		},
		reads: func() uint64 { return method.Source.Stats().Reads },
	}, err
}

// vaultBare reads a secret with a client that was logged in once.
func vaultBare(url, path string) (request, error) {
	client, err := api.NewClient(vaultConfig(url))
	if err != nil {
		return request{}, err
	}
	ctx := context.Background()
	_, err = client.Auth().Login(ctx, vaultMethod(path))
	return request{send: func() error { return vaultRead(ctx, client) }}, err
}

// vaultSession does the same with the client of a session that runs.
func vaultSession(url, path string) (request, error) {
	method := vaultMethod(path)
	session, err := vaultauth.NewSession(vaultConfig(url), method)
	if err != nil {
		return request{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := session.Login(ctx); err != nil {
		cancel()
		return request{}, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = session.Run(ctx) // ends by cancel
	}()
	return request{
		send:  func() error { return vaultRead(ctx, session.Client) },
		reads: func() uint64 { return method.Source.Stats().Reads },
		end:   func() { cancel(); <-done },
	}, nil
}

func vaultRead(ctx context.Context, client *api.Client) error {
	_, err := client.Logical().ReadWithContext(ctx, secretPath)
	return err
}
