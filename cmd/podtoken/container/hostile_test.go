//go:build linux

package container_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/container/containertest"
)

// A container that means no good cannot send the search through the file system.
func TestALinkOutOfAVolumeIsNotFollowed(t *testing.T) {
	root := t.TempDir()
	other := filepath.Join(root, "run", "other")
	require.NoError(t, os.MkdirAll(other, 0o755))
	for i := range 10_001 { // more than may be looked at, in a folder that nobody mounted
		require.NoError(t, os.Mkdir(filepath.Join(other, strconv.Itoa(i)), 0o755))
	}
	for name, links := range map[string]map[string]string{
		"to the folder above":        {"..data": ".."},
		"to a link that leads to /":  {"..data": "elsewhere", "elsewhere": "/"},
		"to itself":                  {"..data": "..data"},
		"to a link that leads back":  {"..data": "a", "a": "..data"},
		"to nothing":                 {"..data": "none"},
		"to a path, and not a name":  {"..data": "/proc"},
		"to a folder, by a long way": {"..data": "x/../.."},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := containertest.New(root, started)
			require.NoError(t, err)
			at := filepath.Join(root, "run", "volume")
			require.NoError(t, os.RemoveAll(at))
			require.NoError(t, os.MkdirAll(at, 0o755))
			for link, target := range links {
				if target == "/" {
					target = filepath.Join(c.Root, "run")
				}
				require.NoError(t, os.Symlink(target, filepath.Join(at, link)))
			}
			require.NoError(t, c.Mount("/run/volume", "/", "tmpfs"))
			mounts, err := container.Find(c.Root)
			require.NoError(t, err, "nothing but the volume was looked at")
			assert.Empty(t, mounts)
		})
	}
}

// Of another process's container, an absolute link leads to where it leads there.
func TestALinkToATokenOfThisHostIsNotFollowed(t *testing.T) {
	host := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(host, []byte(tokenOf(t, "openbao")), 0o600))
	c := newContainer(t)
	project(t, c, "/tokens", map[string]string{"token": tokenOf(t, "vault")})
	link := filepath.Join(c.Root, "tokens", "token")
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(host, link))
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Empty(t, mounts)
}

// Half a token in a volume of the kubelet's is a token that cannot be used, and
// not the absence of one. What only looks alike is left alone.
func TestATornTokenIsFound(t *testing.T) {
	token := tokenOf(t, "openbao")
	for name, c := range map[string]struct {
		file, content string
		found         bool
	}{
		"cut in its claims":            {"token", token[:len(token)/2], true},
		"cut, and of a sidecar":        {"istio-token", token[:40], true},
		"a token of Vault's":           {"token", "hvs.CAESI", false},
		"a token of a code host":       {"github-token", "ghp_0123456789", false},
		"a license that is cut":        {"license", token[:40], false},
		"a token with senseless types": {"token", senseless(t), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newContainer(t)
			project(t, b, "/tokens", map[string]string{c.file: c.content})
			mounts, err := container.Find(b.Root)
			require.NoError(t, err)
			assert.Equal(t, c.found, len(mounts) == 1)
		})
	}
}

func senseless(t *testing.T) string {
	t.Helper()
	token, err := newIssuer(t).Sign(map[string]any{"sub": "system:serviceaccount:shop:web", "aud": 5, "exp": "soon"})
	require.NoError(t, err)
	return token
}

// A link from a token's name to a FIFO does not keep the search waiting.
func TestATokenThatIsALinkToAFIFO(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/tokens", map[string]string{"token": tokenOf(t, "openbao")})
	require.NoError(t, syscall.Mkfifo(filepath.Join(c.Root, "tokens", "fifo-token"), 0o600))
	link := filepath.Join(c.Root, "tokens", "token")
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("fifo-token", link))
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Empty(t, mounts)
}

// Its subject says whose an expired token is: that is needed for the commands.
func TestAnExpiredTokenIdentifies(t *testing.T) {
	c := newContainer(t)
	token, err := newIssuer(t).Sign(map[string]any{
		"iss": "https://kubernetes.default.svc", "sub": "system:serviceaccount:shop:web", "aud": []string{"openbao"}, "iat": 1, "exp": 2,
	})
	require.NoError(t, err)
	project(t, c, "/tokens", map[string]string{"token": token})
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	require.Len(t, mounts, 1)
	assert.Equal(t, container.Identity{Namespace: "shop", ServiceAccount: "web"}, container.Identify(c.Root, mounts, nil))
}
