package main

import (
	"context"
	"os"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
)

func baoConfig(url string) *api.Config {
	config := api.DefaultConfig()
	config.Address = url
	return config
}

// baoPeer logs in as programs do by hand: OpenBao's library has no method for
// it.
func baoPeer(url, path string) (request, error) {
	client, err := api.NewClient(baoConfig(url))
	ctx := context.Background()
	return request{send: func() error {
		token, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = client.Logical().WriteWithContext(ctx, "auth/kubernetes/login", map[string]any{"role": role, "jwt": string(token)})
		return err
	}}, err
}

func baoMethod(path string) *baoauth.Method {
	return &baoauth.Method{Role: role, Source: &tokenfile.Source{Path: path, Audience: audience}}
}

// baoLogin logs in with this project's method.
func baoLogin(url, path string) (request, error) {
	client, err := api.NewClient(baoConfig(url))
	method, ctx := baoMethod(path), context.Background()
	return request{
		send: func() error {
			_, err := method.Login(ctx, client)
			return err
		},
		reads: func() uint64 { return method.Source.Stats().Reads },
	}, err
}

// baoBare reads a secret with a client that was logged in once.
func baoBare(url, path string) (request, error) {
	client, err := api.NewClient(baoConfig(url))
	if err != nil {
		return request{}, err
	}
	ctx := context.Background()
	_, err = client.Auth().Login(ctx, baoMethod(path))
	return request{send: func() error { return baoRead(ctx, client) }}, err
}

// baoSession does the same with the client of a session that runs.
func baoSession(url, path string) (request, error) {
	method := baoMethod(path)
	session, err := baoauth.NewSession(baoConfig(url), method)
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
		send:  func() error { return baoRead(ctx, session.Client) },
		reads: func() uint64 { return method.Source.Stats().Reads },
		end:   func() { cancel(); <-done },
	}, nil
}

func baoRead(ctx context.Context, client *api.Client) error {
	_, err := client.Logical().ReadWithContext(ctx, secretPath)
	return err
}
