package vaultauthtest

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// secretPrefix is where the one secrets engine is, a KV of version 2.
const secretPrefix = "secret/data/"

// secret is the last version of a secret.
type secret struct {
	data    map[string]any
	version int
	created time.Time
}

// Put writes a secret of the root namespace, which /v1/secret/data/path then
// reads.
func (s *Server) Put(path string, data map[string]any) { s.PutIn("", path, data) }

// PutIn writes a secret of any namespace, which it makes if need be.
func (s *Server) PutIn(namespace, path string, data map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace = strings.Trim(namespace, "/")
	s.addNamespace(namespace)
	s.put(join(namespace, secretPrefix+strings.Trim(path, "/")), data)
}

func (s *Server) put(key string, data map[string]any) *secret {
	stored := &secret{data: maps.Clone(data), version: 1, created: time.Now().UTC()}
	if old := s.secrets[key]; old != nil {
		stored.version = old.version + 1
	}
	s.secrets[key] = stored
	return stored
}

// serveSecret reads or writes a secret.
func (s *Server) serveSecret(c *call) *answer {
	key := join(c.namespace, c.path)
	switch {
	case c.writes():
		data, ok := c.body["data"].(map[string]any)
		if !ok {
			return refusal(http.StatusBadRequest, "no data provided")
		}
		return s.success(&reply{Data: s.put(key, data).metadata()}, "kv")
	case !c.reads():
		return unsupported()
	}
	stored := s.secrets[key]
	if stored == nil {
		return refusal(http.StatusNotFound)
	}
	return s.success(&reply{Data: map[string]any{
		"data":     stored.data,
		"metadata": stored.metadata(),
	}}, "kv")
}

func (v *secret) metadata() map[string]any {
	return map[string]any{
		"created_time":    v.created.Format(time.RFC3339Nano),
		"custom_metadata": nil,
		"deletion_time":   "",
		"destroyed":       false,
		"version":         v.version,
	}
}
