package vaultauthtest

import (
	"slices"
	"strings"
)

// rule is a line of a policy: which paths, and whether they may be read and
// written.
type rule struct {
	pattern     string
	read, write bool
}

// builtinPolicies are the policies that there are from the beginning, as far
// as they matter here.
func builtinPolicies() map[string][]rule {
	return map[string][]rule{
		"default": {
			{pattern: "auth/token/lookup-self", read: true},
			{pattern: "auth/token/renew-self", write: true},
			{pattern: "auth/token/revoke-self", write: true},
			{pattern: "sys/wrapping/unwrap", write: true},
		},
		wrappingPolicy: {
			{pattern: "sys/wrapping/unwrap", write: true},
		},
	}
}

// SetPolicy makes or replaces a policy: its tokens may use these paths, such as
// "secret/data/app" or "auth/token/renew-self", with every method. As in a
// real policy, a "*" at the end stands for any text and a "+" for one segment.
// A policy that is not set permits nothing. The policy "default" is there from
// the beginning and may be replaced.
//
// In a namespace, paths are relative to that of the token.
func (s *Server) SetPolicy(policy string, paths ...string) {
	rules := make([]rule, len(paths))
	for i, path := range paths {
		rules[i] = rule{pattern: path, read: true, write: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[strings.ToLower(policy)] = rules
}

// permits tells whether one of the policies grants the path to a request that
// writes, or to one that does not.
func (s *Server) permits(policies []string, path string, writes bool) bool {
	for _, policy := range policies {
		for _, rule := range s.policies[policy] {
			if (writes && rule.write || !writes && rule.read) && matches(rule.pattern, path) {
				return true
			}
		}
	}
	return false
}

// matches is the match of paths in policies.
func matches(pattern, path string) bool {
	for {
		pluses := strings.IndexByte(pattern, '+')
		if pluses < 0 {
			break
		}
		if len(path) < pluses || path[:pluses] != pattern[:pluses] {
			return false
		}
		pattern, path = pattern[pluses+1:], path[pluses:]
		if end := strings.IndexByte(path, '/'); end >= 0 {
			path = path[end:]
		} else {
			path = ""
		}
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}

// glob is the servers' match of names, in which each "*" stands for any text.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(name, first) || !strings.HasSuffix(name[len(first):], last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = after
	}
	return true
}

func globs(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob(pattern, name) })
}
