package vaultauthtest

// DeleteEntities deletes the identity of everybody who has logged in. Their
// tokens are refused from now on, and so is even a login that is sent together
// with one of them; a login without it makes a new identity.
func (s *Server) DeleteEntities() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entities)
	clear(s.living)
}

// entityOf returns the ID of the identity with this alias, which it makes if
// need be.
func (s *Server) entityOf(m *method, alias string) string {
	key := join(m.Namespace, m.path) + "\x00" + alias
	id := s.entities[key]
	if id == "" {
		id = uuid()
		s.entities[key], s.living[id] = id, true
	}
	return id
}
