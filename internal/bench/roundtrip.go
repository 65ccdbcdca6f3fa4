package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

// roundTrip is the least that a request over HTTP costs a Go program: headers
// and body are there already, the answer is read and not looked at, and a
// connection is kept.
type roundTrip struct {
	transport *http.Transport
	method    string
	url       string
	header    http.Header
	body      []byte
}

func (t *roundTrip) send() error {
	r, err := http.NewRequest(t.method, t.url, bytes.NewReader(t.body))
	if err != nil {
		return err
	}
	r.Header = t.header
	answer, err := t.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return err
}

// bareLogin sends what a login sends, read from the file once.
func bareLogin(url, path string) (request, error) {
	token, err := os.ReadFile(path)
	if err != nil {
		return request{}, err
	}
	body, err := json.Marshal(map[string]string{"role": role, "jwt": string(token)})
	t := &roundTrip{&http.Transport{}, http.MethodPut, url + "/v1/auth/kubernetes/login", http.Header{}, body}
	return request{send: t.send, end: t.transport.CloseIdleConnections}, err
}

// bareGet asks for a secret, after a login as others do it.
func bareGet(url, path string) (request, error) {
	login, err := bareLogin(url, path)
	if err != nil {
		return request{}, err
	}
	if err := login.send(); err != nil {
		return request{}, err
	}
	login.end()
	header := http.Header{"X-Vault-Token": {"hvs.none"}}
	t := &roundTrip{&http.Transport{}, http.MethodGet, url + "/v1/" + secretPath, header, nil}
	return request{send: t.send, end: t.transport.CloseIdleConnections}, nil
}
