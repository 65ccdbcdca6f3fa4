package tokenfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// mounted stands for a pod's volume: it makes a token for audience and returns
// its path.
func mounted(audiences ...string) (path string, kubelet *tokenfiletest.Kubelet, done func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	issuer, err := tokenfiletest.NewIssuer("")
	if err != nil {
		log.Fatal(err)
	}
	volume, err := tokenfiletest.NewVolume(filepath.Join(dir, "tokens"))
	if err != nil {
		log.Fatal(err)
	}
	kubelet = &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: tokenfiletest.Request{Audiences: audiences}}
	if err := kubelet.Rotate(); err != nil {
		log.Fatal(err)
	}
	return volume.Path(), kubelet, func() { _ = os.RemoveAll(dir) }
}

// The default: every call reads the file, and so is never behind the kubelet.
func ExampleSource() {
	path, _, done := mounted("payments")
	defer done()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("authorized:", r.Header.Get("Authorization") != "")
	}))
	defer server.Close()

	source := &tokenfile.Source{Path: path, Audience: "payments"}

	call := func(ctx context.Context) error {
		token, err := source.Token(ctx)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token.Raw())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	fmt.Println("error:", call(context.Background()))
	// Output:
	// authorized: true
	// error: <nil>
}

// A program that asks very often reads on a schedule instead.
func ExampleSource_maxAge() {
	path, _, done := mounted("payments")
	defer done()
	source := &tokenfile.Source{Path: path, Audience: "payments", MaxAge: 5 * time.Minute}
	for range 1000 {
		if _, err := source.Token(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("reads:", source.Stats().Reads)
	// Output: reads: 1
}

// The loop yields the present token and then each new one.
func ExampleSource_Watch() {
	path, kubelet, done := mounted("payments")
	defer done()
	source := &tokenfile.Source{Path: path, Audience: "payments"}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := 0
	for token, err := range source.Watch(ctx) {
		if err != nil {
			fmt.Println(err) // and go on: the next token ends the trouble
			continue
		}
		seen++
		fmt.Println("token", seen, "for", token.Audience())
		if seen == 2 {
			break
		}
		_ = kubelet.Rotate() // what takes the kubelet most of an hour
	}
	// Output:
	// token 1 for [payments]
	// token 2 for [payments]
}

// At a program's start, wait for the first valid token and fail with the
// reason if there is none in time.
func ExampleSource_Wait() {
	source := &tokenfile.Source{Path: "/nonexistent/tokens/token", Audience: "payments"}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := source.Wait(ctx)
	fmt.Println(errors.Is(err, os.ErrNotExist), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

// A wrong audience is told before any relying party refuses the token, and the
// error shows the volume to declare.
func ExampleAudienceError() {
	path, _, done := mounted() // no audience: the API server's
	defer done()
	source := &tokenfile.Source{Path: path, Audience: "payments"}
	_, err := source.Token(context.Background())
	var wrong *tokenfile.AudienceError
	if errors.As(err, &wrong) {
		fmt.Println("want", wrong.Want, "got", wrong.Got)
	}
	// Output: want payments got [https://kubernetes.default.svc.cluster.local]
}

// Printing a token shows its claims and never the secret.
func ExampleToken() {
	path, _, done := mounted("payments")
	defer done()
	source := &tokenfile.Source{Path: path, Audience: "payments"}
	token, err := source.Token(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token.Subject(), token.Audience(), token.Kubernetes().Namespace)
	shown := fmt.Sprintf("%#v", token)
	fmt.Println(len(shown) < len(token.Raw()))
	// Output:
	// system:serviceaccount:default:default [payments] default
	// true
}
