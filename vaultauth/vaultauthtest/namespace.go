package vaultauthtest

import (
	"net/http"
	"strings"
)

// AddNamespace makes a namespace, and those above it. Enable makes the one
// that its Mount names by itself.
func (s *Server) AddNamespace(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addNamespace(strings.Trim(namespace, "/"))
}

// addNamespace gives each namespace the random ID that its tokens end with.
func (s *Server) addNamespace(namespace string) {
	for namespace != "" {
		if s.namespaces[namespace] == "" {
			s.namespaces[namespace] = base62(6)
		}
		cut := max(strings.LastIndexByte(namespace, '/'), 0)
		namespace = namespace[:cut]
	}
}

// resolve finds the namespace that a request is for, by its header and the
// beginning of its path, and the path within. It is false if the header names
// none. (A path that names none is taken for a path in the header's.)
func (s *Server) resolve(r *http.Request, path string) (namespace, rest string, ok bool) {
	if s.Product != OpenBao {
		return "", path, true
	}
	namespace = strings.Trim(r.Header.Get(namespaceHeader), "/")
	if namespace == "root" {
		namespace = ""
	}
	if namespace != "" && s.namespaces[namespace] == "" {
		return "", path, false
	}
	for {
		first, after, found := strings.Cut(path, "/")
		if !found || s.namespaces[join(namespace, first)] == "" {
			return namespace, path, true
		}
		namespace, path = join(namespace, first), after
	}
}

func join(namespace, path string) string {
	if namespace == "" {
		return path
	}
	return namespace + "/" + path
}
