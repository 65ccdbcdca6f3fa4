package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// audience is the relying party that the measured tokens are meant for.
const audience = "openbao"

// issue returns two tokens of one pod, one rotation apart, of the usual size.
func issue() ([2]string, error) { return issueWith(0) }

// issueOf returns two tokens of at most size bytes, and a few less. Another
// audience with a long name makes them so.
func issueOf(size int) (tokens [2]string, err error) {
	short, err := issue()
	if err != nil {
		return tokens, err
	}
	const quotes = 4 // around the name, a comma, and what base64 rounds up
	padding := (size-len(short[0]))*3/4 - quotes
	if padding <= 0 {
		return tokens, fmt.Errorf("a token of %d bytes is too short for this pod", size)
	}
	return issueWith(padding)
}

// issueWith adds an audience with a name of so many bytes, if any.
func issueWith(padding int) (tokens [2]string, err error) {
	issuer, err := tokenfiletest.NewIssuer("")
	if err != nil {
		return tokens, err
	}
	request := tokenfiletest.Request{
		Audiences:      []string{audience},
		Lifetime:       2 * time.Hour,
		Namespace:      "payments",
		ServiceAccount: "checkout",
		Pod:            "checkout-7d4b9c6f5d-x2v8k",
		Node:           "node-17.eu-central-1.example.org",
	}
	if padding > 0 {
		request.Audiences = append(request.Audiences, strings.Repeat("a", padding))
	}
	for i := range tokens {
		if tokens[i], err = issuer.Token(request); err != nil {
			return tokens, err
		}
	}
	return tokens, nil
}
