package doctor

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
)

// candidate is a file to look at.
type candidate struct {
	container.Mount
	variable string // that names it
	real     string // where this process finds it
	claims
	err error // of reading it
}

// isDefault says whether clients of the API server read the file.
func (c *candidate) isDefault() bool {
	return c.Path == container.ServiceAccountDir+"/token" || c.Path == "/run/secrets/kubernetes.io/serviceaccount/token"
}

// isAWS says whether the EKS webhook mounted the file.
func (c *candidate) isAWS() bool { return strings.HasPrefix(c.variable, "AWS_") }

// known are the variables that name a token file, and nothing else.
var known = []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AZURE_FEDERATED_TOKEN_FILE"}

// mayName says of another variable whether it may name a token file, by what
// programs call theirs.
func mayName(variable string) bool {
	return strings.HasSuffix(variable, "TOKEN_FILE") || strings.HasSuffix(variable, "TOKEN_PATH") ||
		strings.HasSuffix(variable, "JWT_FILE") || strings.HasSuffix(variable, "JWT_PATH")
}

// candidates are the tokens that are mounted, those that variables name, and
// those of the options, each once.
func (e *examination) candidates() []*candidate {
	l := &list{root: e.Root, places: map[string]*candidate{}}
	mounts, err := container.Find(e.Root)
	if err != nil && !(errors.Is(err, errors.ErrUnsupported) && len(e.Paths) > 0) {
		e.failed(err)
	}
	for _, m := range mounts {
		l.add(&candidate{Mount: m})
	}
	for _, v := range e.environment {
		if name, value, _ := strings.Cut(v, "="); value != "" && l.names(name, value) {
			l.add(&candidate{Mount: e.inspect(value), variable: bounded(name, maxName)})
		}
	}
	for _, p := range e.Paths {
		l.add(&candidate{Mount: e.inspect(p)})
	}
	return l.all
}

// inspect describes a file as far as it can be; reading it tells why not.
func (e *examination) inspect(name string) container.Mount {
	m, _ := container.Inspect(e.Root, name)
	return m
}

// list is of candidates by where they really are.
type list struct {
	root   string
	all    []*candidate
	places map[string]*candidate
}

// names says whether a variable names a token file.
func (l *list) names(variable, value string) bool {
	if slices.Contains(known, variable) {
		return true
	}
	if !mayName(variable) || !filepath.IsAbs(value) {
		return false
	}
	is, err := container.IsToken(container.Resolve(l.root, value))
	return is && err == nil
}

// add puts a candidate on the list, or what is new of it to the one that is
// there already.
func (l *list) add(c *candidate) {
	place := l.place(c.Path)
	if before := l.places[place]; before != nil {
		if before.variable == "" || slices.Contains(known, c.variable) {
			before.variable = c.variable
		}
		return
	}
	c.real = container.Resolve(l.root, c.Path)
	l.places[place] = c
	l.all = append(l.all, c)
}

// place is one for all names of a file: /run and /var/run are the same folder.
// The file's own link is not followed, since it leads elsewhere with each
// rotation.
func (l *list) place(name string) string {
	dir := filepath.Dir(name)
	if l.root != "/" {
		return path.Join(container.Resolve(l.root, dir), filepath.Base(name))
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return filepath.Join(dir, filepath.Base(name))
}

// readable says whether the file could be opened.
func (c *candidate) readable() bool {
	return !errors.Is(c.err, fs.ErrPermission) && !errors.Is(c.err, fs.ErrNotExist)
}
