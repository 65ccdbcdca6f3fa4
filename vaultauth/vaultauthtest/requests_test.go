package vaultauthtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, vaultauthtest.Vault)
		login := f.granted("jwt", "hour")
		accessor := login.auth()["accessor"].(string)
		time.Sleep(time.Minute)
		f.read(login.token())
		f.read("hvs.none")
		f.read("")
		f.SetDown(true)
		f.try("", http.MethodGet, "sys/health", nil, nil)

		start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		later := start.Add(time.Minute)
		requests := f.Requests()
		for i := range requests {
			requests[i].Time = requests[i].Time.UTC()
		}
		const secret = "secret/data/web/database"
		assert.Equal(t, []vaultauthtest.Request{
			{Time: start, Method: "PUT", Path: "auth/jwt/login", Accessor: accessor, Status: 200},
			{Time: later, Method: "GET", Path: secret, Accessor: accessor, Status: 200, HadToken: true},
			{Time: later, Method: "GET", Path: secret, Status: 403, HadToken: true},
			{Time: later, Method: "GET", Path: secret, Status: 403},
			{Time: later, Method: "GET", Path: "sys/health"},
		}, requests)
		counts := f.Counts()
		assert.Equal(t, vaultauthtest.Counts{
			Logins: vaultauthtest.Outcomes{OK: 1},
			Reads:  vaultauthtest.Outcomes{OK: 1, Refused: 2},
			Others: vaultauthtest.Outcomes{Cut: 1},
		}, counts)
		assert.Equal(t, 5, counts.Total())
		f.ClearRequests()
		assert.Empty(t, f.Requests())
		assert.Zero(t, f.Counts())
	})
}

func TestCountsByKind(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	token := f.granted("jwt", "hour").token()
	f.renew(token)
	f.lookup(token)
	f.lookup(token)
	f.ask(token, http.MethodPost, "secret/data/web/a", object{"data": object{}})
	f.ask(token, http.MethodPut, "auth/token/revoke-self", nil)
	f.Seal()
	f.renew(token)
	one := vaultauthtest.Outcomes{OK: 1}
	assert.Equal(t, vaultauthtest.Counts{
		Logins: one, Renewals: one, Lookups: vaultauthtest.Outcomes{OK: 2}, Revocations: one, Writes: one,
		Others: vaultauthtest.Outcomes{Failed: 1},
	}, f.Counts())
}

func TestLogIsBounded(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	f.LogSize = 3
	for i := range 5 {
		f.ask("", http.MethodGet, fmt.Sprint("x", i), nil)
		var paths []string
		for _, r := range f.Requests() {
			paths = append(paths, r.Path)
		}
		var want []string
		for j := max(0, i-2); j <= i; j++ {
			want = append(want, fmt.Sprint("x", j))
		}
		assert.Equal(t, want, paths)
	}
	assert.Equal(t, 5, f.Counts().Total())

	off := newFake(t, vaultauthtest.Vault)
	off.LogSize = -1
	off.ask("", http.MethodGet, "x", nil)
	assert.Empty(t, off.Requests())
	assert.Equal(t, 1, off.Counts().Total())
}

// printed writes a value in every way that a program might.
func printed(value any) string {
	var text bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&text, format+"\n", value)
	}
	data, err := json.Marshal(value)
	fmt.Fprintln(&text, string(data), err)
	slog.New(slog.NewTextHandler(&text, nil)).Info("", "value", value)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("", "value", value)
	return text.String()
}

// Clients of old put tokens into paths, and a wrapped answer holds one.
func TestPrintingShowsNoToken(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		f.SetRole("jwt", "batch", variant(func(r *vaultauthtest.Role) { r.Batch = true }))
		jwt := f.jwt(nil)
		service, batch := f.login("jwt", "hour", jwt).token(), f.granted("jwt", "batch").token()
		f.SetPolicy("web", "*")
		wrapped, err := f.try("", http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": jwt},
			http.Header{"X-Vault-Wrap-Ttl": {"60"}})
		assert.NoError(t, err)
		wrapping := wrapped.body["wrap_info"].(object)["token"].(string)
		var answers []string
		for _, token := range []string{service, batch, wrapping, jwt} {
			answers = append(answers, f.ask(service, http.MethodGet, "auth/token/lookup/"+token, nil).errors)
		}
		values := map[string]any{
			"server":           f.Server,
			"server's fields":  reflect.ValueOf(f.Server).Elem(),
			"requests":         f.Requests(),
			"slice":            []any{f.Server},
			"unexported field": struct{ secret *vaultauthtest.Server }{f.Server},
			"transport":        f.Transport(),
			"answers":          answers,
		}
		for name, value := range values {
			text := printed(value)
			for _, secret := range []string{service, batch, wrapping, jwt} {
				for _, trace := range []string{secret, secret[len(secret)-20:], fmt.Sprintf("%x", secret[len(secret)-20:])} {
					assert.NotContains(t, text, trace, name)
					assert.NotContains(t, text, strings.ToUpper(trace), name)
				}
			}
		}
		assert.Contains(t, printed(service), service, "in the clear it would be found")
		assert.Equal(t, fmt.Sprintf("vaultauthtest.Server(%s, 2 auth methods, 4 tokens)", p), fmt.Sprint(f.Server))
		assert.Equal(t, "vaultauthtest.Server(nil)", fmt.Sprint((*vaultauthtest.Server)(nil)))
	})
}
