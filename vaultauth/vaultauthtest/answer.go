package vaultauthtest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// answer is what a request gets.
type answer struct {
	status int
	header http.Header
	body   []byte
	reply  *reply // what body is made from; nil for a refusal
}

// reply is a successful answer, its fields in the servers' order.
type reply struct {
	RequestID     string         `json:"request_id"`
	LeaseID       string         `json:"lease_id"`
	Renewable     bool           `json:"renewable"`
	LeaseDuration int            `json:"lease_duration"`
	Data          map[string]any `json:"data"`
	WrapInfo      *wrapInfo      `json:"wrap_info"`
	Warnings      []string       `json:"warnings"`
	Auth          *auth          `json:"auth"`
	MountType     *string        `json:"mount_type,omitempty"` // OpenBao has none
}

// auth is the part of a reply that hands out a token or its new lease.
type auth struct {
	ClientToken    string            `json:"client_token"`
	Accessor       string            `json:"accessor"`
	Policies       []string          `json:"policies"`
	TokenPolicies  []string          `json:"token_policies,omitempty"`
	Metadata       map[string]string `json:"metadata"`
	LeaseDuration  int               `json:"lease_duration"`
	Renewable      bool              `json:"renewable"`
	EntityID       string            `json:"entity_id"`
	TokenType      string            `json:"token_type"`
	Orphan         bool              `json:"orphan"`
	MFARequirement *struct{}         `json:"mfa_requirement"`
	NumUses        int               `json:"num_uses"`
}

// wrapInfo is the part of a reply that stands for another one.
type wrapInfo struct {
	Token           string `json:"token"`
	Accessor        string `json:"accessor"`
	TTL             int    `json:"ttl"`
	CreationTime    string `json:"creation_time"`
	CreationPath    string `json:"creation_path"`
	WrappedAccessor string `json:"wrapped_accessor,omitempty"`
}

// success is a 200 that holds r.
func (s *Server) success(r *reply, mountType string) *answer {
	r.RequestID = uuid()
	if s.Product != OpenBao {
		r.MountType = &mountType
	}
	a := document(http.StatusOK, r)
	a.reply = r
	return a
}

// refusal is an answer that holds the texts of errors only.
func refusal(status int, errors ...string) *answer {
	if errors == nil {
		errors = []string{}
	}
	return document(status, struct {
		Errors []string `json:"errors"`
	}{errors})
}

func document(status int, v any) *answer {
	var body bytes.Buffer
	json.NewEncoder(&body).Encode(v) // cannot fail: what is in it came as JSON or is text
	return &answer{
		status: status,
		header: http.Header{"Content-Type": {"application/json"}},
		body:   body.Bytes(),
	}
}

func nothing() *answer {
	return &answer{status: http.StatusNoContent, header: http.Header{"Content-Type": {"application/json"}}}
}

// oneError and twoErrors are how the servers write lists of errors.
func oneError(text string) string { return "1 error occurred:\n\t* " + text + "\n\n" }

func twoErrors(first, second string) string {
	return "2 errors occurred:\n\t* " + first + "\n\t* " + second + "\n\n"
}
