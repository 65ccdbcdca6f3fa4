package container

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/podtoken/podtoken/tokenfile"
)

const (
	maxDepth = 16       // folders in each other: a token's path has two or three
	maxToken = 64 << 10 // bytes, as for a tokenfile.Source
	dataLink = "..data" // by which the kubelet swaps the content of a volume
)

// look finds the tokens of one mount.
func (s *search) look(p mountPoint) {
	info, err := os.Lstat(s.real(p.path))
	switch {
	case err != nil: // hidden by another mount, or closed to this user
	case info.Mode().IsRegular():
		s.file(p, p.path, info)
	case !info.IsDir():
	case p.part:
		s.folder(p, p.path, p.path, 0)
	default:
		s.volume(p)
	}
}

// volume looks into what the kubelet wrote, and once more where it was
// replaced in that instant.
func (s *search) volume(p mountPoint) {
	for range 2 {
		data, err := os.Readlink(s.real(path.Join(p.path, dataLink)))
		if err != nil || strings.ContainsAny(data, "/\x00") || data == ".." {
			return // no volume of the kubelet's
		}
		if info, err := os.Lstat(s.real(path.Join(p.path, data))); err == nil && !info.IsDir() {
			return // a link that leads elsewhere
		}
		if s.folder(p, path.Join(p.path, data), p.path, 0) {
			return
		}
	}
}

// folder goes over dir, whose files a program finds in seenAs. It reports
// whether dir was there.
func (s *search) folder(p mountPoint, dir, seenAs string, depth int) bool {
	if depth > maxDepth {
		return true
	}
	opened, err := os.Open(s.real(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		s.failed(err)
		return true
	}
	defer opened.Close()
	for {
		entries, err := opened.ReadDir(100)
		for _, e := range entries {
			if s.files--; s.files < 0 {
				s.tooMany()
				return true
			}
			s.entry(p, e, path.Join(dir, e.Name()), path.Join(seenAs, e.Name()), depth)
		}
		if err != nil {
			if err != io.EOF {
				s.failed(err)
			}
			return true
		}
	}
}

func (s *search) tooMany() {
	if !errors.Is(s.err, errTooMany) {
		s.failed(errTooMany)
	}
}

func (s *search) entry(p mountPoint, e fs.DirEntry, name, seenAs string, depth int) {
	if e.IsDir() {
		s.folder(p, name, seenAs, depth+1)
		return
	}
	info, err := os.Lstat(s.real(name)) // opens nothing, and follows nothing
	if err == nil && info.Mode().IsRegular() {
		s.file(p, seenAs, info)
	}
}

// file keeps a file if it is a token.
func (s *search) file(p mountPoint, name string, info fs.FileInfo) {
	if info.Size() > maxToken || s.known[name] || !s.isToken(name) {
		return
	}
	s.known[name] = true // a mount point is listed twice where mounts cover each other
	m := describe(s.usual(name), info)
	m.MountPoint, m.SubPath = p.path, p.part || name == p.path
	s.found = append(s.found, m)
}

// isToken says whether a file holds a service account's token, or may well.
func (s *search) isToken(name string) bool {
	file := Resolve(s.root, name)
	is, err := IsToken(file)
	switch {
	case err == nil:
		return is
	case errors.Is(err, fs.ErrPermission):
		return strings.Contains(strings.ToLower(path.Base(name)), "token")
	}
	return isWellKnown(name) || isTorn(file)
}

// isTorn says of a file that holds no token whether it starts as one and is
// named as one: half a token, or one with claims that make no sense.
func isTorn(file string) bool {
	if !strings.Contains(strings.ToLower(path.Base(file)), "token") {
		return false
	}
	text, err := readSmall(file)
	return err == nil && strings.HasPrefix(text, "eyJ")
}

// IsToken says whether a file holds a service account's token: valid, expired
// or legacy. The error is tokenfile's, for a file that cannot be read or that
// holds no token at all.
func IsToken(file string) (bool, error) {
	text, err := subject(file)
	return strings.HasPrefix(text, subjectPrefix), err
}

const subjectPrefix = "system:serviceaccount:"

// subject is whom a token is of, valid or not.
func subject(file string) (string, error) {
	// Every token fails this one check, and the error says what it claims, also
	// if it has expired.
	source := &tokenfile.Source{Path: file, Audience: tokenfile.AnyAudience, AllowNoExpiry: true, Subject: "nobody"}
	_, err := source.Reload(context.Background())
	var claim *tokenfile.ClaimError
	if errors.As(err, &claim) {
		return claim.Got, nil
	}
	return "", err
}

// isWellKnown says that a file is a token by where it is, whatever is in it.
func isWellKnown(name string) bool {
	for _, end := range []string{
		"/kubernetes.io/serviceaccount/token",
		"/eks.amazonaws.com/serviceaccount/token",
		"/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token",
		"/azure/tokens/azure-identity-token",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// usual is the name by which programs know a file: in most images /var/run is a
// link to /run, and the mount table has that.
func (s *search) usual(name string) string {
	if !strings.HasPrefix(name, "/run/") || !isWellKnown(name) {
		return name
	}
	if _, err := os.Lstat(Resolve(s.root, "/var"+name)); err != nil {
		return name
	}
	return "/var" + name
}

// real is where this process finds a path of the mount table, in which no
// component but the last is a link.
func (s *search) real(name string) string { return path.Join(s.root, name) }
