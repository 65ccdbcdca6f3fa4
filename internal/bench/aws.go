package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"

	"github.com/podtoken/podtoken/awspodid"
)

const (
	agentURL    = "http://169.254.170.23/v1/credentials" // nothing is sent there
	cacheWindow = 5 * time.Minute                        // that of the SDK's chain for the agent
)

// agent answers as the EKS Pod Identity agent does: as an HTTP client, where
// what is measured happens after its answer or while there is none, or as a
// handler, where the request is measured too.
type agent struct {
	life time.Duration // of the credentials

	last    atomic.Pointer[string] // the token of the last request
	expiry  atomic.Pointer[time.Time]
	shut    atomic.Bool   // requests hang
	hanging chan struct{} // has a value for each that does
	release chan struct{} // closed to let them go on
}

func newAgent(life time.Duration) *agent {
	return &agent{life: life, hanging: make(chan struct{}, 1), release: make(chan struct{})}
}

// Do answers with fresh credentials, or hangs.
func (a *agent) Do(r *http.Request) (*http.Response, error) {
	if a.shut.Load() {
		select {
		case a.hanging <- struct{}{}:
		default: // one is enough
		}
		select {
		case <-a.release:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	body := a.answer(r)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a.answer(r))
}

func (a *agent) answer(r *http.Request) []byte {
	token := r.Header.Get("Authorization")
	a.last.Store(&token)
	expiry := time.Now().Add(a.life).UTC()
	a.expiry.Store(&expiry)
	body, _ := json.Marshal(map[string]any{ // of which all can be encoded
		"AccessKeyId": "ASIAEXAMPLEEXAMPLE12", "SecretAccessKey": "0123456789012345678901234567890123456789",
		"Token": "IQoJb3JpZ2luX2Vj", "AccountId": "111122223333", "Expiration": expiry,
	})
	return body
}

// token returns the service-account token of the last request.
func (a *agent) token() string { return *a.last.Load() }

// awsUse makes what gets credentials through a client for a token.
type awsUse func(client awspodid.HTTPClient, path string) (aws.CredentialsProvider, error)

// awsCache is what the SDK's own chain makes of the variables in a pod.
func awsCache(client awspodid.HTTPClient, path string) (aws.CredentialsProvider, error) {
	provider := endpointcreds.New(agentURL, func(o *endpointcreds.Options) {
		o.HTTPClient = client
		o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
			token, err := os.ReadFile(path)
			return string(token), err
		})
	})
	return aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = cacheWindow }), nil
}

// awsProvider is this project's.
func awsProvider(client awspodid.HTTPClient, path string) (aws.CredentialsProvider, error) {
	variables := map[string]string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI":     agentURL,
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": path,
	}
	return awspodid.New(func(o *awspodid.Options) {
		o.HTTPClient, o.Audience = client, audience
		o.Lookup = func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	})
}

// awsProviderInCache is what a program has that gave it to the SDK.
func awsProviderInCache(client awspodid.HTTPClient, path string) (aws.CredentialsProvider, error) {
	provider, err := awsProvider(client, path)
	if err != nil {
		return nil, err
	}
	return aws.NewCredentialsCache(provider), nil
}

// credentials sets up work whose ops get credentials that are there.
func credentials(use awsUse) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		agent := newAgent(6 * time.Hour)
		provider, err := use(agent, v.path())
		if err != nil {
			return nil, err
		}
		ctx := context.Background()
		if _, err := provider.Retrieve(ctx); err != nil {
			return nil, err
		}
		get := func() (aws.Credentials, error) { return provider.Retrieve(ctx) }
		return shared(get, func(aws.Credentials) string { return agent.token() }), nil
	}
}

// awsLoaded is the least that credentials from memory cost if their end is to
// be checked.
func awsLoaded(client awspodid.HTTPClient, path string) (aws.CredentialsProvider, error) {
	provider, err := awsCache(client, path)
	if err != nil {
		return nil, err
	}
	credentials, err := provider.Retrieve(context.Background())
	loaded := &loaded{}
	loaded.Store(&credentials)
	return loaded, err
}

type loaded struct {
	atomic.Pointer[aws.Credentials]
}

func (l *loaded) Retrieve(context.Context) (aws.Credentials, error) {
	credentials := l.Load()
	if time.Now().After(credentials.Expires) {
		return aws.Credentials{}, os.ErrDeadlineExceeded
	}
	return *credentials, nil
}
