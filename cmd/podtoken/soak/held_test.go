package soak_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile"
)

// slow takes long for its first login.
type slow struct {
	party.Party
	done bool
}

func (s *slow) Login(ctx context.Context) error {
	if !s.done {
		s.done = true
		time.Sleep(20 * time.Second)
	}
	return s.Party.Login(ctx)
}

// A soak can begin when a rotation is just due. That is no failure of anybody.
func TestARotationBeforeTheFirstLogin(t *testing.T) {
	inBubble(t, "while it is under way", openbao(), func(t *testing.T, b *bed) {
		b.after(10*time.Second, func() { assert.NoError(t, b.kubelet.Rotate()) })
		s := b.soak()
		s.Party = &slow{Party: b.party()}
		v := b.run(t.Context(), s)
		assert.Empty(t, states(v))
		assert.Equal(t, 3, v.Rotated, "it goes on until two were crossed")
		assert.Contains(t, point(t, v, "logins").Evidence, "after each of 3, at most ")
	})
}

// wanting says that its tokens are for somebody else than the source looks for.
type wanting struct {
	party.Party
	audience string
}

func (w wanting) Audience() string { return w.audience }

// What did not happen shows nothing.
func TestNothingIsHeldThatWasNotShown(t *testing.T) {
	inBubble(t, "the source takes tokens for anybody", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Party, s.Source.Audience, s.For = wanting{b.party(), "vault"}, tokenfile.AnyAudience, time.Minute
		p := point(t, b.run(t.Context(), s), "audience")
		assert.Equal(t, soak.Failed, p.State)
		assert.Equal(t, `["openbao"] does not hold "vault"`, p.Evidence)
	})
	inBubble(t, "no login was ever answered", openbao(), func(t *testing.T, b *bed) {
		b.server.SetDown(true)
		s := b.soak()
		s.For = time.Minute
		p := point(t, b.run(t.Context(), s), "rejections")
		assert.Equal(t, soak.NotYet, p.State)
		assert.Equal(t, "no login was answered", p.Evidence)
	})
	inBubble(t, "a Secret that is made while it runs", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		began := time.Now()
		s.Secrets = func(context.Context, string) ([]string, error) {
			if time.Since(began) < 30*time.Minute {
				return nil, nil
			}
			return []string{"late-token"}, nil
		}
		p := point(t, b.run(t.Context(), s), "secrets")
		assert.Equal(t, soak.Failed, p.State)
		assert.Contains(t, p.Evidence, "late-token")
	})
	inBubble(t, "an API server that does not answer at first", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		asked := 0
		s.Secrets = func(context.Context, string) ([]string, error) {
			if asked++; asked == 1 {
				return nil, errors.New("timeout")
			}
			return nil, nil
		}
		p := point(t, b.run(t.Context(), s), "secrets")
		assert.Equal(t, soak.Held, p.State)
		assert.Equal(t, "none at 2000-01-01T01:00:00Z", p.Evidence)
	})
	inBubble(t, "an API server that does not answer later", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		asked := 0
		s.Secrets = func(context.Context, string) ([]string, error) {
			if asked++; asked == 1 {
				return nil, nil
			}
			return nil, errors.New("timeout")
		}
		p := point(t, b.run(t.Context(), s), "secrets")
		assert.Equal(t, soak.Held, p.State, "it was seen")
		assert.Equal(t, "none at 2000-01-01T00:00:00Z", p.Evidence)
	})
}
