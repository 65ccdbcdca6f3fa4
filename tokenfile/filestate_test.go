package tokenfile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// kubernetes/kubernetes#127602: the pod starts before its volume is complete.
func TestMissingFile(t *testing.T) {
	vol := newVolume(t)
	s := newSource(vol.Path())
	err := refused(t, s, nil,
		"no such file", vol.Dir()+" has no such file", "serviceAccountToken.path")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "volumeMounts", "the volume is mounted")
	assert.EqualValues(t, 2, s.Stats().Reads, "it may have been the instant of a swap")
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "mounted")
	err := refused(t, newSource(filepath.Join(dir, "token")), nil,
		"directory "+dir+" does not exist", "volumeMounts", "correct the path")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// kubernetes/kubernetes#121472: the volume's links lead nowhere.
func TestDanglingDataLink(t *testing.T) {
	vol := mount(t, sign(t))
	require.NoError(t, vol.Dangle())
	err := refused(t, newSource(vol.Path()), nil,
		"the link leads to "+filepath.Join("..data", "token"), "does not exist", "recreate the pod")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "has no such file", "the link is there")
}

func TestFileRemovedAfterItWasGood(t *testing.T) {
	raw := sign(t)
	for name, harm := range map[string]func(*tokenfiletest.Volume) error{
		"token removed":     (*tokenfiletest.Volume).Remove,
		"directory removed": (*tokenfiletest.Volume).RemoveAll,
		"..data dangles":    (*tokenfiletest.Volume).Dangle,
	} {
		t.Run(name, func(t *testing.T) {
			vol := mount(t, raw)
			s := newSource(vol.Path())
			good(t, s, raw)
			require.NoError(t, harm(vol))
			assert.ErrorIs(t, refused(t, s, []string{raw}), fs.ErrNotExist)
			require.NoError(t, vol.Write(raw))
			good(t, s, raw)
		})
	}
}

func TestDirectoryInPlaceOfTheFile(t *testing.T) {
	vol := mount(t, sign(t))
	t.Run("the mountPath was configured", func(t *testing.T) {
		err := refused(t, newSource(vol.Dir()), nil,
			"a directory, not a regular file", "mountPath", "serviceAccountToken.path")
		assert.ErrorIs(t, err, fs.ErrInvalid)
		assert.NotErrorIs(t, err, tokenfile.ErrMalformed)
	})
	t.Run("a directory took the file's place", func(t *testing.T) {
		s := newSource(vol.Path())
		_, err := s.Token(t.Context())
		require.NoError(t, err)
		require.NoError(t, vol.Remove())
		require.NoError(t, os.Mkdir(vol.Path(), 0o755))
		assert.ErrorIs(t, refused(t, s, nil, "a directory"), fs.ErrInvalid)
	})
}

func TestPathThroughAFile(t *testing.T) {
	vol := mount(t, sign(t))
	err := refused(t, newSource(filepath.Join(vol.Path(), "token")), nil,
		"not a directory", "a part of the path is a file", "mountPath")
	assert.NotErrorIs(t, err, fs.ErrNotExist, "no wait would heal it")
}

func TestRelativePath(t *testing.T) {
	raw := sign(t)
	vol := mount(t, raw)
	t.Chdir(filepath.Dir(vol.Dir()))
	s := newSource(filepath.Join(filepath.Base(vol.Dir()), "token"))
	good(t, s, raw)
	require.NoError(t, vol.Remove())
	assert.ErrorIs(t, refused(t, s, []string{raw}, "no such file"), fs.ErrNotExist)

	assert.ErrorIs(t, refused(t, newSource("token"), nil, "the path is not absolute"), fs.ErrNotExist)
}

func TestPathWithNULByte(t *testing.T) {
	vol := mount(t, sign(t))
	s := newSource(vol.Path() + "\x00.bak")
	_, err := s.Token(t.Context())
	e := asType[*tokenfile.Error](t, err)
	assert.Equal(t, s.Path, e.Path)
	assert.Contains(t, err.Error(), "invalid argument")
	assert.EqualValues(t, 1, s.Stats().Failures.Other)
}

// golang/go#43631: the error that holds the token, here as the path.
func TestPathHoldsATokenInPlaceOfAPath(t *testing.T) {
	raw := sign(t)
	for name, path := range map[string]string{
		"token":                         raw,
		"token and newline":             raw + "\n",
		"token between spaces":          "  " + raw + " ",
		"token and Windows line ending": raw + "\r\n",
		"a header's value":              "Bearer " + raw,
		"quoted":                        `"` + raw + `"`,
		"below a directory":             "/run/" + raw,
		"below this directory":          "./" + raw,
		"as a URL":                      "file://" + raw,
		"behind a byte-order mark":      "\ufeff" + raw,
		"two of them":                   raw + raw,
		"without its signature":         raw[:strings.LastIndexByte(raw, '.')],
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			s := newSource(path)
			s.Logger = log.logger()
			_, err := s.Token(t.Context())
			e := asType[*tokenfile.Error](t, err)
			noSecret(t, e.Path, raw)
			noSecret(t, err.Error(), raw)
			noSecret(t, log.written(), raw)
			assert.Contains(t, err.Error(), "Source.Path holds a token")
			assert.Contains(t, err.Error(), "name of its file")

			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = s.Wait(ended)
			noSecret(t, err.Error(), raw)
			_, err = s.Reload(t.Context())
			noSecret(t, err.Error(), raw)
			for _, err := range s.Watch(t.Context()) {
				require.Error(t, err)
				noSecret(t, err.Error(), raw)
				break
			}
		})
	}
}

// utf16Text encodes ASCII as Windows' Out-File does.
func utf16Text(ascii string, bigEndian, mark bool) string {
	var b strings.Builder
	units := utf16.Encode([]rune(ascii))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	for _, u := range units {
		if bigEndian {
			b.Write([]byte{byte(u >> 8), byte(u)})
		} else {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	return b.String()
}

// getnora-io/nora#912, cooperspencer/gickup#94 (white space),
// apache/httpcomponents-client#863 (CR and LF inside),
// golang/go#43631 (all of it in the error).
func TestFileHoldsMoreOrLessThanAToken(t *testing.T) {
	raw := sign(t)
	parts := strings.Split(raw, ".")
	middle := len(raw) / 2
	tests := []struct {
		name    string
		content string
		word    string
	}{
		{"empty", "", "the file is empty"},
		{"a newline only", "\n", "the file"},
		{"two newlines only", "\n\n", "white space only"},
		{"spaces and tabs only", " \t \n", "white space only"},
		{"Windows line end only", "\r\n", "white space only"},
		{"two trailing newlines", raw + "\n\n", "a line break (only one at the very end is tolerated)"},
		{"Windows line end", raw + "\r\n", "a carriage return (the file has Windows line endings)"},
		{"carriage return at the end", raw + "\r", "a carriage return"},
		{"space at the end", raw + " ", "white space"},
		{"space at the start", " " + raw, "white space"},
		{"newline at the start", "\n" + raw, "a line break"},
		{"tab between parts", parts[0] + ".\t" + parts[1] + "." + parts[2], "white space"},
		{"form feed at the end", raw + "\f", "white space"},
		{"line break inside the claims", raw[:middle] + "\n" + raw[middle:], "a line break"},
		{"CR and LF inside the claims", raw[:middle] + "\r\nX-Injected: 1\r\n" + raw[middle:], "a carriage return"},
		{"wrapped at 76 columns", raw[:76] + "\n" + raw[76:], "a line break"},
		{"UTF-8 with byte-order mark", "\xef\xbb\xbf" + raw, "byte-order mark"},
		{"UTF-16 from Windows", utf16Text(raw, false, true), "byte-order mark"},
		{"UTF-16, big endian", utf16Text(raw, true, true), "byte-order mark"},
		{"UTF-16 without mark", utf16Text(raw, false, false), "NUL"},
		{"NUL at the end", raw + "\x00", "NUL"},
		{"NUL inside", raw[:middle] + "\x00" + raw[middle:], "NUL"},
		{"block of NULs after a crash", strings.Repeat("\x00", len(raw)), "NUL"},
		{"escape sequence", "\x1b[31m" + raw, "a control character"},
		{"DEL at the end", raw + "\x7f", "a control character"},
		{"accented letter", raw + "é", "not ASCII"},
		{"zero-width space at the end", raw + "\u200b", "not ASCII"},
		{"in quotes", `"` + raw + `"`, "not of the base64url alphabet"},
		{"with Bearer before it", "Bearer " + raw, "white space"},
		{"as an answer of TokenRequest", `{"status":{"token":"` + raw + `"}}`, "not of the base64url alphabet"},
		{"two tokens", raw + "\n" + raw, "a line break"},
		{"padded", raw + "==", "not of the base64url alphabet"},
		{"standard base64 +", parts[0] + "." + parts[1] + "." + "ab+c", "not of the base64url alphabet"},
		{"standard base64 /", parts[0] + "." + parts[1] + "." + "ab/c", "not of the base64url alphabet"},
		{"one word", "changeme", "it has one part"},
		{"no signature", parts[0] + "." + parts[1], "it has 2 parts"},
		{"four parts", raw + ".abcd", "it has 4 parts"},
		{"encrypted token", raw + ".abcd.abcd", "five parts: an encrypted token (JWE)"},
		{"six parts", raw + ".abcd.abcd.abcd", "it has 6 parts"},
		{"empty signature", parts[0] + "." + parts[1] + ".", "its signature is missing"},
		{"empty claims", parts[0] + ".." + parts[2], "one of its parts is empty"},
		{"empty header", "." + parts[1] + "." + parts[2], "one of its parts is empty"},
		{"dots only", "..", "one of its parts is empty"},
		{"dot at the end", raw + ".", "it has 4 parts"},
		{"dot at the start", "." + raw, "one of its parts is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSource(mount(t, tt.content).Path())
			secrets := []string{raw, parts[0], parts[1], parts[2]}
			err := refused(t, s, secrets, "malformed token: ", tt.word)
			assert.ErrorIs(t, err, tokenfile.ErrMalformed)
			assert.EqualValues(t, 2, s.Stats().Reads, "it is read again before it is reported")
		})
	}
}

// aws/mongo-go-driver PR 1965, cooperspencer/gickup#94: a writer that ends
// its line.
func TestTrailingNewlineIsTolerated(t *testing.T) {
	raw := sign(t)
	vol := mount(t, raw+"\n")
	s := newSource(vol.Path())
	first := good(t, s, raw)
	sameAsJWT(t, first)
	assert.Same(t, first, good(t, s, raw))
	require.NoError(t, vol.Write(raw))
	good(t, s, raw)
}

// tokenOfSize makes a good token of exactly n bytes.
func tokenOfSize(t *testing.T, n int) string {
	t.Helper()
	for spaces := range 4 {
		header := `{"alg":"ES256"` + strings.Repeat(" ", spaces) + "}"
		raw := forge(header, "")
		for pad := (n - len(raw)) / 4 * 3; pad > 0; pad-- {
			claims := `{"pad":"` + strings.Repeat("x", pad) + `",`
			raw = forge(header, claims+strings.TrimPrefix(string(claimsJSON(t)), "{"))
			if len(raw) == n {
				return raw
			}
			if len(raw) < n {
				break
			}
		}
	}
	require.FailNow(t, "no token of this size")
	return ""
}

func TestSizeLimit(t *testing.T) {
	const limit = 64 << 10
	atLimit, overLimit := tokenOfSize(t, limit), tokenOfSize(t, limit+1)
	t.Run("exactly 64 KiB", func(t *testing.T) {
		vol := mount(t, atLimit)
		s := newSource(vol.Path())
		first := good(t, s, atLimit)
		assert.Same(t, first, good(t, s, atLimit))
		sameAsJWT(t, first)
		require.NoError(t, vol.Write(overLimit))
		assert.ErrorIs(t, refused(t, s, []string{overLimit[:1000]}, "more than 64 KiB"), tokenfile.ErrMalformed)
		require.NoError(t, vol.Write(atLimit))
		good(t, s, atLimit)
	})
	t.Run("one byte over", func(t *testing.T) {
		s := newSource(mount(t, overLimit).Path())
		assert.ErrorIs(t, refused(t, s, []string{overLimit[:1000]}, "more than 64 KiB"), tokenfile.ErrMalformed)
	})
	t.Run("64 KiB, its newline included", func(t *testing.T) {
		raw := tokenOfSize(t, limit-1)
		good(t, newSource(mount(t, raw+"\n").Path()), raw)
	})
	t.Run("64 KiB and a newline", func(t *testing.T) {
		s := newSource(mount(t, atLimit+"\n").Path())
		assert.ErrorIs(t, refused(t, s, []string{atLimit[:1000]}, "more than 64 KiB"), tokenfile.ErrMalformed)
	})
	for _, size := range []int{4<<10 - 1, 4 << 10, 4<<10 + 1} {
		t.Run(fmt.Sprintf("%d bytes, about the size of the first buffer", size), func(t *testing.T) {
			raw := tokenOfSize(t, size)
			vol := mount(t, raw)
			s := newSource(vol.Path())
			runtime.GC()
			runtime.GC() // no larger buffer is left in the pool
			first := good(t, s, raw)
			assert.Same(t, first, good(t, s, raw))
			require.NoError(t, vol.WriteInPlace([]byte(raw+"."+raw)))
			assert.ErrorIs(t, refused(t, s, []string{raw}), tokenfile.ErrMalformed, "what follows is not overlooked")
		})
	}
	t.Run("a token, and then the same token with more behind it", func(t *testing.T) {
		raw := sign(t)
		vol := mount(t, raw)
		s := newSource(vol.Path())
		good(t, s, raw)
		require.NoError(t, vol.Write(raw+".abcd"))
		assert.ErrorIs(t, refused(t, s, []string{raw}), tokenfile.ErrMalformed)
		require.NoError(t, vol.Write(raw+strings.Repeat("A", 8<<10)))
		_, err := s.Token(t.Context())
		assert.ErrorIs(t, err, tokenfile.ErrMalformed)
	})
	t.Run("a terabyte", func(t *testing.T) {
		vol := mount(t, "")
		require.NoError(t, os.Truncate(vol.Path(), 1<<40))
		s := newSource(vol.Path())
		allocated := testing.AllocsPerRun(1, func() {
			assert.ErrorIs(t, refused(t, s, nil, "more than 64 KiB"), tokenfile.ErrMalformed)
		})
		assert.Less(t, allocated, 10_000.0)
	})
}

// getnora-io/nora#912, k3s-io/k3s#11204: a reader between the truncation and
// the write of a writer in place.
func TestTornWriteIsReadAgain(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		inBubble(t, "healed by the second read", func(t *testing.T) {
			before, after := sign(t), sign(t, map[string]any{"jti": "2"})
			vol := mount(t, before)
			s := newSource(vol.Path())
			good(t, s, before)
			finish, err := vol.WriteTorn([]byte(after), n)
			require.NoError(t, err)
			go func() {
				time.Sleep(time.Millisecond)
				assert.NoError(t, finish())
			}()
			good(t, s, after)
			assert.Zero(t, s.Stats().Failures.Total())
			assert.EqualValues(t, 3, s.Stats().Reads)
			assert.EqualValues(t, 1, s.Stats().Rotations)
		})
	}
	inBubble(t, "by a first read", func(t *testing.T) {
		raw := sign(t)
		vol := mount(t, "x")
		finish, err := vol.WriteTorn([]byte(raw), 50)
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Millisecond)
			assert.NoError(t, finish())
		}()
		good(t, newSource(vol.Path()), raw)
	})
}

// As above, with a writer that never comes back. Where the cut falls must not
// matter: a cut in the signature leaves three parts and all the claims.
func TestTornWriteThatStaysIsMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := sign(t)
		vol := mount(t, raw)
		s := newSource(vol.Path())
		for n := range len(raw) {
			finish, err := vol.WriteTorn([]byte(raw), n)
			require.NoError(t, err)
			_, err = s.Token(t.Context())
			require.ErrorIsf(t, err, tokenfile.ErrMalformed, "after %d bytes of %d, of which the signature is %d",
				n, len(raw), len(raw)-1-strings.LastIndex(raw, "."))
			noSecret(t, err.Error(), raw)
			require.NoError(t, finish())
			good(t, s, raw)
		}
	})
}

// kubernetes/kubernetes#92851: for the instant of a swap the file is missing,
// to a reader that has followed ..data and comes too late for its directory.
//
// The readers of a round are done before the next swap, so that no read meets
// two of them, and no failure at all is the only right result.
func TestSwapsUnderReaders(t *testing.T) {
	const rounds, readers, reads = 2000, 4, 10
	tokens := []string{sign(t), sign(t), sign(t)}
	vol := mount(t, tokens[0])
	s := newSource(vol.Path())
	good(t, s, tokens[0])
	for i := 1; i <= rounds && !t.Failed(); i++ {
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				for range reads {
					_, err := s.Token(t.Context())
					assert.NoError(t, err)
				}
			})
		}
		require.NoError(t, vol.Write(tokens[i%len(tokens)]))
		wg.Wait()
		good(t, s, tokens[i%len(tokens)])
	}
	stats := s.Stats()
	assert.Zero(t, stats.Failures.Total())
	assert.EqualValues(t, rounds, stats.Rotations)
	t.Logf("%d of %d reads came in the instant of a swap and were made again",
		stats.Reads-1-rounds*(readers*reads+1), stats.Reads)
}

// mistral-vibe#1064, picoclaw#1512: a rewrite of the same size within one
// tick of the file system's clock.
func TestSameSizeRewriteWithTheSameTimeIsSeen(t *testing.T) {
	iss := newIssuer(t)
	first, err := iss.Sign(newClaims(map[string]any{"jti": "1"}))
	require.NoError(t, err)
	second, err := iss.Sign(newClaims(map[string]any{"jti": "2"}))
	require.NoError(t, err)
	vol := mount(t, first)
	s := newSource(vol.Path())
	before := good(t, s, first)
	require.NoError(t, vol.WriteUnseen([]byte(second)))
	assert.NotSame(t, before, good(t, s, second))
	assert.EqualValues(t, 1, s.Stats().Rotations)
}

// kubernetes/kubernetes#138689: the kubelet leaves an expired token in place.
func TestExpiredFileLeftInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := issue(t, tokenfiletest.Request{Lifetime: 10 * time.Minute})
		vol := mount(t, raw)
		written := time.Now().Add(-2 * time.Second)
		require.NoError(t, os.Chtimes(vol.Path(), written, written))
		s := newSource(vol.Path())
		expiry := good(t, s, raw).Expiry()

		time.Sleep(15 * time.Minute)
		err := refused(t, s, []string{raw},
			"token expired 5m0s ago, at 2000-01-01T00:10:00Z",
			"the file was last written at 1999-12-31T23:59:58Z (15m2s ago)",
			"the kubelet did not replace it", "terminating", "recreate the pod")
		expired := asType[*tokenfile.ExpiredError](t, err)
		assert.True(t, expired.Expiry.Equal(expiry))
		assert.True(t, expired.Now.Equal(time.Now()))
		assert.True(t, expired.Modified.Equal(written))
		assert.True(t, expired.Modified.Before(expired.Expiry), "so a stuck kubelet shows")
		assert.NotContains(t, err.Error(), "subPath")

		first := newSource(vol.Path())
		assert.True(t, asType[*tokenfile.ExpiredError](t, refused(t, first, []string{raw})).Modified.Equal(written),
			"also at the first read")
	})
}

func TestReplacedVolume(t *testing.T) {
	raw, next := sign(t), sign(t)
	vol := mount(t, raw)
	s := newSource(vol.Path())
	good(t, s, raw)
	require.NoError(t, vol.RemoveAll())
	require.NoError(t, vol.Write(next))
	good(t, s, next)
	assert.EqualValues(t, 1, s.Stats().Rotations)
	assert.Zero(t, s.Stats().Failures.Total())
}

// parca-dev/parca#3230: what is read is where the path leads now, whatever it
// led through before.
func TestPlainFileAndLinkToIt(t *testing.T) {
	raw, next := sign(t), sign(t)
	dir := t.TempDir()
	plain, link := filepath.Join(dir, "plain"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(plain, []byte(raw), 0o600))
	require.NoError(t, os.Symlink(plain, link))
	s := newSource(link)
	good(t, s, raw)
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(next), 0o600))
	require.NoError(t, os.Rename(other, plain))
	good(t, s, next)
}

// A file that ends in the middle of a token of before must not be completed
// by what another read left in a shared buffer.
func TestShortFileAfterALongOne(t *testing.T) {
	long, short := tokenOfSize(t, 30<<10), sign(t)
	for range 50 {
		good(t, newSource(mount(t, long).Path()), long)
		good(t, newSource(mount(t, short).Path()), short)
		refused(t, newSource(mount(t, short[:20]).Path()), []string{long[:1000], short}, "malformed")
	}
}

// prometheus-operator/prometheus-operator#2524: a path that leads to another
// secret of the container must not get its content into a message.
func TestOtherSecretsInPlaceOfTheToken(t *testing.T) {
	random := make([]byte, 600)
	_, _ = rand.Read(random)
	encoded := base64.StdEncoding.EncodeToString(random)
	for name, content := range map[string]string{
		"password":             "hunter2-" + encoded[:24],
		"password and newline": "hunter2-" + encoded[:24] + "\n",
		"private key":          "-----BEGIN RSA PRIVATE KEY-----\n" + encoded[:64] + "\n" + encoded[64:128] + "\n",
		"three words":          encoded[:20] + "." + encoded[20:40] + "." + encoded[40:60],
		"JSON":                 `{"password":"` + encoded[:40] + `"}`,
		"binary":               string(random),
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(t, newSource(mount(t, content).Path()), []string{content, encoded})
			assert.ErrorIs(t, err, tokenfile.ErrMalformed)
		})
	}
}

// sameAsJWT compares what a Token says with golang-jwt's own reading of it,
// which knows whole seconds only.
func sameAsJWT(t testing.TB, token *tokenfile.Token) {
	t.Helper()
	var claims jwt.RegisteredClaims
	_, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(token.Raw(), &claims)
	require.NoError(t, err, "golang-jwt refuses what was accepted")
	assert.Equal(t, claims.Issuer, token.Issuer())
	assert.Equal(t, claims.Subject, token.Subject())
	if len(claims.Audience) > 0 || len(token.Audience()) > 0 {
		assert.Equal(t, []string(claims.Audience), token.Audience())
	}
	for name, pair := range map[string]struct {
		theirs *jwt.NumericDate
		ours   time.Time
	}{
		"exp": {claims.ExpiresAt, token.Expiry()},
		"nbf": {claims.NotBefore, token.NotBefore()},
		"iat": {claims.IssuedAt, token.IssuedAt()},
	} {
		if pair.theirs == nil {
			assert.True(t, pair.ours.IsZero(), "%s: golang-jwt sees none", name)
			continue
		}
		assert.Equal(t, pair.theirs.Unix(), pair.ours.Unix(), name)
	}
	assert.False(t, bytes.ContainsAny([]byte(token.Raw()), "\r\n \t\x00"))
}
