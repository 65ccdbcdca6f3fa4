package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path"
	"sync/atomic"
)

// server is an HTTP server on a port of the loopback interface.
type server struct {
	address string
	http    http.Server
	done    chan struct{}
}

func newServer(handler http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{address: listener.Addr().String(), done: make(chan struct{})}
	s.http.Handler = handler
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ends by close
	}()
	return s, nil
}

func (s *server) url() string { return "http://" + s.address }

func (s *server) close() {
	_ = s.http.Close()
	<-s.done
}

// logins answers every login, renewal and read alike, with what OpenBao and
// Vault send. It looks at nothing: what is measured is the client's side, and
// a server that checks signatures would hide it.
type logins struct {
	last atomic.Pointer[[]byte] // the last login as it came
}

const (
	loginAnswer = `{"request_id":"8c9f0c5e-6d2b-0a3e-7c55-1f0f6a3b9d21","lease_id":"","renewable":false,"lease_duration":0,` +
		`"data":null,"wrap_info":null,"warnings":null,"auth":{` +
		`"client_token":"hvs.CAESIJ0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmno",` +
		`"accessor":"0123456789abcdefghijklmn","policies":["checkout","default"],"token_policies":["checkout","default"],` +
		`"metadata":{"role":"checkout","service_account_name":"checkout","service_account_namespace":"payments",` +
		`"service_account_secret_name":"","service_account_uid":"1b0a6c1e-6a55-4b1f-9a0f-3d5c1c8e2f77"},` +
		`"lease_duration":3600,"renewable":true,"entity_id":"5a3c1f6e-2b7d-4e8a-9c10-7d6f5e4b3a21","token_type":"service",` +
		`"orphan":true,"mfa_requirement":null,"num_uses":0},"mount_type":""}` + "\n"

	readAnswer = `{"request_id":"3f1d7c2a-9b4e-4c6d-8a5f-0e1b2c3d4e5f","lease_id":"","renewable":false,"lease_duration":0,` +
		`"data":{"data":{"password":"swordfish","username":"checkout"},"metadata":{"created_time":"2026-11-30T08:20:23.123456789Z",` +
		`"custom_metadata":null,"deletion_time":"","destroyed":false,"version":1}},` +
		`"wrap_info":null,"warnings":null,"auth":null,"mount_type":"kv"}` + "\n"
)

func (l *logins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path.Base(r.URL.Path) {
	case "login":
	case "renew-self":
		_, _ = io.WriteString(w, loginAnswer)
		return
	default:
		_, _ = io.WriteString(w, readAnswer)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.last.Store(&body)
	_, _ = io.WriteString(w, loginAnswer)
}

// token returns the service-account token of the last login.
func (l *logins) token() string {
	var login struct{ JWT string }
	if body := l.last.Load(); body != nil {
		_ = json.Unmarshal(*body, &login) // no token if it was none
	}
	return login.JWT
}
