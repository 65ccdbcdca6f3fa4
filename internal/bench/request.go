package main

// request is a row's work with a login server.
type request struct {
	send  func() error
	reads func() uint64 // as of a subject
	end   func()        // may be nil
}

// overLoopback sets up work whose ops are requests to a server of its own. It
// is made of the server's URL and of the path of the token.
func overLoopback(work func(url, path string) (request, error)) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		logins := &logins{}
		server, err := newServer(logins)
		if err != nil {
			return nil, err
		}
		r, err := work(server.url(), v.path())
		if err != nil {
			server.close()
			return nil, err
		}
		s := shared(func() (struct{}, error) { return struct{}{}, r.send() }, func(struct{}) string { return logins.token() })
		s.reads = r.reads
		s.close = func() {
			if r.end != nil {
				r.end()
			}
			server.close()
		}
		return s, nil
	}
}
