package main

import (
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	"k8s.io/client-go/transport"
)

// bare is the least that reading the file costs: three system calls, into a
// buffer that stays.
func bare(v *volume) (*subject, error) {
	path := v.path()
	return &subject{worker: func() worker {
		buffer := make([]byte, max(len(v.text[0]), len(v.text[1]))+1)
		get := func() ([]byte, error) { return readInto(buffer, path) }
		return newWorker(get, func(content []byte) string { return string(content) })
	}}, nil
}

func readInto(buffer []byte, path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := syscall.Read(fd, buffer)
	if err := syscall.Close(fd); err != nil {
		return nil, err
	}
	return buffer[:max(n, 0)], err
}

// osReadFile is what most programs do at each request, if they do.
func osReadFile(v *volume) (*subject, error) {
	path := v.path()
	get := func() ([]byte, error) { return os.ReadFile(path) }
	return shared(get, func(content []byte) string { return string(content) }), nil
}

// readAndParse reads the file, parses the token and checks audience and
// expiry with the means of golang-jwt alone.
func readAndParse(parse func(string) (jwt.Claims, error)) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		path := v.path()
		validator := jwt.NewValidator(jwt.WithAudience(audience), jwt.WithExpirationRequired())
		get := func() (string, error) {
			content, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			token := strings.TrimSpace(string(content))
			claims, err := parse(token)
			if err != nil {
				return "", err
			}
			return token, validator.Validate(claims)
		}
		return shared(get, func(token string) string { return token }), nil
	}
}

// registered decodes the standard claims and skips those of Kubernetes, which
// is the least that the check needs.
func registered(token string) (jwt.Claims, error) {
	var claims jwt.RegisteredClaims
	_, _, err := jwt.NewParser().ParseUnverified(token, &claims)
	return &claims, err
}

// mapped decodes all claims.
func mapped(token string) (jwt.Claims, error) {
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(token, claims)
	return claims, err
}

// clientGo is how in-cluster clients of the API server get their token.
func clientGo(v *volume) (*subject, error) {
	source := transport.NewCachedFileTokenSource(v.path())
	return shared(source.Token, accessToken), nil
}

// clientGoReset makes it read, as it does after the server refused a token.
func clientGoReset(v *volume) (*subject, error) {
	source := transport.NewCachedFileTokenSource(v.path())
	get := func() (*oauth2.Token, error) {
		source.ResetTokenOlderThan(time.Now())
		return source.Token()
	}
	return shared(get, accessToken), nil
}

// oauth2Reuse is oauth2's cache over a source that reads a file.
func oauth2Reuse(v *volume) (*subject, error) {
	source := oauth2.ReuseTokenSource(nil, fileSource{v.path()})
	return shared(source.Token, accessToken), nil
}

// oauth2Anew makes that cache at each op, since it cannot be told to read.
func oauth2Anew(v *volume) (*subject, error) {
	source := fileSource{v.path()}
	get := func() (*oauth2.Token, error) { return oauth2.ReuseTokenSource(nil, source).Token() }
	return shared(get, accessToken), nil
}

func accessToken(t *oauth2.Token) string { return t.AccessToken }

// fileSource is what a program writes to hand a token file to oauth2: it must
// parse the token to know how long the cache may keep it.
type fileSource struct{ path string }

func (s fileSource) Token() (*oauth2.Token, error) {
	content, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(string(content))
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return nil, err
	}
	if claims.ExpiresAt == nil {
		return nil, jwt.ErrTokenRequiredClaimMissing
	}
	return &oauth2.Token{AccessToken: token, Expiry: claims.ExpiresAt.Time}, nil
}

// reading is a token and the time at which it was looked up.
type reading struct {
	token *string
	now   time.Time
}

// loadAndNow is the least that a token from memory costs if its expiry is to
// be checked: the pointer and the clock, and not yet their comparison.
func loadAndNow(v *volume) (*subject, error) {
	var last atomic.Pointer[string]
	token := v.token()
	last.Store(&token)
	get := func() (reading, error) { return reading{last.Load(), time.Now()}, nil }
	return shared(get, func(r reading) string { return *r.token }), nil
}
