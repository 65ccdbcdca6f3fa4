package podtoken_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

// Users compile against these names and types. Removing one or changing its
// type breaks them, and this file does not compile any more: that takes a new
// major version. Adding to them is free.
var (
	_ func(*tokenfile.Source, context.Context) (*tokenfile.Token, error)          = (*tokenfile.Source).Token
	_ func(*tokenfile.Source, context.Context) (*tokenfile.Token, error)          = (*tokenfile.Source).Wait
	_ func(*tokenfile.Source, context.Context) iter.Seq2[*tokenfile.Token, error] = (*tokenfile.Source).Watch
	_ func(*tokenfile.Source) tokenfile.Stats                                     = (*tokenfile.Source).Stats
	_ func(*tokenfile.Token) string                                               = (*tokenfile.Token).Raw
	_ func(*tokenfile.Token) string                                               = (*tokenfile.Token).Issuer
	_ func(*tokenfile.Token) string                                               = (*tokenfile.Token).Subject
	_ func(*tokenfile.Token) []string                                             = (*tokenfile.Token).Audience
	_ func(*tokenfile.Token) time.Time                                            = (*tokenfile.Token).IssuedAt
	_ func(*tokenfile.Token) time.Time                                            = (*tokenfile.Token).NotBefore
	_ func(*tokenfile.Token) time.Time                                            = (*tokenfile.Token).Expiry
	_ func(*tokenfile.Token) tokenfile.Kubernetes                                 = (*tokenfile.Token).Kubernetes
	_ func(*tokenfile.Error) error                                                = (*tokenfile.Error).Unwrap
	_ []error                                                                     = []error{tokenfile.ErrMalformed, tokenfile.ErrNoExpiry}
)

// Errors are pointers, for errors.As.
var _ = []error{
	(*tokenfile.Error)(nil),
	(*tokenfile.ExpiredError)(nil),
	(*tokenfile.NotYetValidError)(nil),
	(*tokenfile.AudienceError)(nil),
	(*tokenfile.ClaimError)(nil),
	(*tokenfile.LifetimeError)(nil),
}

// A token is redacted also where it is a value and not a pointer.
var (
	_ fmt.Formatter  = tokenfile.Token{}
	_ slog.LogValuer = tokenfile.Token{}
)

func field[T any](*T) {}

// The fields' types, exactly: a named string type, say, would not compile.
func _() {
	var source tokenfile.Source
	field[string](&source.Path)
	field[string](&source.Audience)
	field[string](&source.Issuer)
	field[string](&source.Subject)
	field[time.Duration](&source.MaxAge)
	field[time.Duration](&source.MinTTL)
	field[time.Duration](&source.MaxLifetime)
	field[bool](&source.AllowNoExpiry)
	field[*slog.Logger](&source.Logger)

	var failure tokenfile.Error
	field[string](&failure.Path)
	field[error](&failure.Err)

	var expired tokenfile.ExpiredError
	field[time.Time](&expired.Expiry)
	field[time.Time](&expired.Now)
	field[time.Time](&expired.Modified)

	var early tokenfile.NotYetValidError
	field[time.Time](&early.NotBefore)
	field[time.Time](&early.Now)

	var audience tokenfile.AudienceError
	field[string](&audience.Want)
	field[[]string](&audience.Got)

	var claim tokenfile.ClaimError
	field[string](&claim.Claim)
	field[string](&claim.Want)
	field[string](&claim.Got)

	var lifetime tokenfile.LifetimeError
	field[time.Duration](&lifetime.Lifetime)
	field[time.Duration](&lifetime.Max)

	var bound tokenfile.Kubernetes
	field[string](&bound.Namespace)
	field[string](&bound.ServiceAccount)
	field[string](&bound.Pod)
	field[string](&bound.Node)
	field[time.Time](&bound.WarnAfter)
}

func TestAnyAudienceIsTheStar(t *testing.T) {
	assert.Equal(t, "*", tokenfile.AnyAudience)
}

func TestAMissingFileIsAnErrorWithItsPath(t *testing.T) {
	source := &tokenfile.Source{
		Path:     filepath.Join(t.TempDir(), "token"),
		Audience: tokenfile.AnyAudience,
	}
	_, err := source.Token(t.Context())
	var failure *tokenfile.Error
	require.True(t, errors.As(err, &failure))
	assert.Equal(t, source.Path, failure.Path)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
