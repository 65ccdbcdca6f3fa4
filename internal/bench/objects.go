package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// Object is what one of many alike keeps for itself while nothing happens.
type Object struct {
	Work        string
	Count       int     // over how many that is the mean
	Bytes       float64 // of memory, stacks of goroutines included
	Goroutines  float64
	Descriptors float64 // open files; connections are closed
}

// object is a kind of them.
type object struct {
	name string
	few  bool // each takes something of which the system has few
	make func(v *volume, url string) (kept, error)
}

// kept is one that was made and used once.
type kept struct {
	it    any
	close func() // may be nil
	rest  func() // closes connections, may be nil
}

// objects are the kinds, each group with its peers.
var objects = []object{
	{name: "tokenfile.Source, every call", make: keepSource(perCall)},
	{name: "tokenfile.Source, MaxAge", make: keepSource(scheduled)},
	{name: "tokenfile.Source, a Watch loop runs", few: true, make: keepSource(beside)},
	{name: "client-go cached file source", make: keepSubject(clientGo)},
	{name: "oauth2 ReuseTokenSource", make: keepSubject(oauth2Reuse)},

	{name: "awspodid.Provider", make: keepProvider(awsProvider)},
	{name: "aws.CredentialsCache over endpointcreds", make: keepProvider(awsCache)},

	{name: "vault/api Client, logged in", make: keepVaultClient},
	{name: "vault/api Client and its LifetimeWatcher, runs", make: keepVaultWatcher},
	{name: "vaultauth.Session, logged in", make: keepVaultSession(false)},
	{name: "vaultauth.Session, runs", make: keepVaultSession(true)},
	{name: "openbao/api Client, logged in", make: keepBaoClient},
	{name: "openbao/api Client and its LifetimeWatcher, runs", make: keepBaoWatcher},
	{name: "baoauth.Session, logged in", make: keepBaoSession(false)},
	{name: "baoauth.Session, runs", make: keepBaoSession(true)},
}

// memory measures each kind.
func (p plan) memory(ctx context.Context, r *Report, place *place) error {
	for _, o := range objects {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row, err := p.object(o, place)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		r.Objects = append(r.Objects, row)
	}
	return nil
}

// object makes many of a kind, one more beforehand, which pays for what all
// of them share.
func (p plan) object(o object, place *place) (Object, error) {
	v, err := place.volume()
	if err != nil {
		return Object{}, err
	}
	server, err := newServer(&logins{})
	if err != nil {
		return Object{}, err
	}
	defer server.close()
	n := p.Objects
	if o.few {
		n = min(n, 100)
	}
	all := make([]kept, 0, n+1)
	defer func() {
		for _, k := range all {
			k.end()
		}
	}()
	var before usage
	for len(all) <= n {
		k, err := o.make(v, server.url())
		if err != nil {
			return Object{}, err
		}
		k.sleep()
		if all = append(all, k); len(all) == 1 {
			before = inUse()
		}
	}
	used := inUse().since(before)
	runtime.KeepAlive(all)
	return Object{
		Work: o.name, Count: n, Bytes: used.bytes / float64(n),
		Goroutines: float64(used.goroutines) / float64(n), Descriptors: float64(used.descriptors) / float64(n),
	}, nil
}

func (k kept) end() {
	if k.close != nil {
		k.close()
	}
}

func (k kept) sleep() {
	if k.rest != nil {
		k.rest()
	}
}

// keepSource keeps a Source in one of its triggers.
func keepSource(t trigger) func(*volume, string) (kept, error) {
	return func(v *volume, _ string) (kept, error) {
		s := &tokenfile.Source{Path: v.path(), Audience: audience}
		get, end, err := t(s)
		if err != nil {
			return kept{}, err
		}
		_, err = get()
		return kept{it: s, close: end}, err
	}
}

// keepSubject keeps a peer.
func keepSubject(setup func(*volume) (*subject, error)) func(*volume, string) (kept, error) {
	return func(v *volume, _ string) (kept, error) {
		s, err := setup(v)
		if err != nil {
			return kept{}, err
		}
		op := s.worker().op
		return kept{it: op}, op(1)
	}
}

// keepProvider keeps a provider with credentials of some hours.
func keepProvider(use awsUse) func(*volume, string) (kept, error) {
	a := newAgent(6 * time.Hour)
	return func(v *volume, _ string) (kept, error) {
		provider, err := use(a, v.path())
		if err != nil {
			return kept{}, err
		}
		_, err = provider.Retrieve(context.Background())
		return kept{it: provider}, err
	}
}

// objectTable is for people.
func (r *Report) objectTable(w io.Writer) error {
	t := newTable(w, "object", "kB", "goroutines", "open files")
	for _, row := range r.Objects {
		t.row(row.Work, kilobytes(row.Bytes), fmt.Sprintf("%.0f", row.Goroutines), fmt.Sprintf("%.0f", row.Descriptors))
	}
	return t.Flush()
}
