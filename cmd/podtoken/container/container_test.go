//go:build linux

package container_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/container/containertest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

var started = time.Now().Add(-time.Hour).Truncate(time.Second)

func newContainer(t *testing.T) *containertest.Container {
	t.Helper()
	c, err := containertest.New(t.TempDir(), started)
	require.NoError(t, err)
	return c
}

func newIssuer(t *testing.T) *tokenfiletest.Issuer {
	t.Helper()
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	return issuer
}

// tokenOf issues one for the pod shop/web-0.
func tokenOf(t *testing.T, audience string) string {
	t.Helper()
	token, err := newIssuer(t).Token(tokenfiletest.Request{
		Audiences: []string{audience}, Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Node: "n1",
	})
	require.NoError(t, err)
	return token
}

// project writes a volume of several files as the kubelet does.
func project(t *testing.T, c *containertest.Container, at string, files map[string]string) {
	t.Helper()
	const data = "..2026_11_30_08_20_23.1"
	for name, content := range files {
		require.NoError(t, c.File(filepath.Join(at, data, name), content))
		top, _, _ := strings.Cut(name, "/")
		link := filepath.Join(c.Root, at, top)
		if _, err := os.Lstat(link); err != nil {
			require.NoError(t, os.Symlink(filepath.Join("..data", top), link))
		}
	}
	require.NoError(t, os.Symlink(data, filepath.Join(c.Root, at, "..data")))
	require.NoError(t, c.Mount(at, "/", "tmpfs"))
}

func paths(mounts []container.Mount) (list []string) {
	for _, m := range mounts {
		list = append(list, m.Path)
	}
	return list
}

func TestEveryMountedTokenIsFound(t *testing.T) {
	c := newContainer(t)
	token := tokenOf(t, "openbao")
	project(t, c, "/run/with space", map[string]string{"token": token})
	project(t, c, "/several", map[string]string{
		"openbao": token, "deep/er/token": token, "ca.crt": "-----BEGIN CERTIFICATE-----", "namespace": "shop",
	})
	project(t, c, "/config", map[string]string{"token": "a password", "empty": ""})
	require.NoError(t, c.File("/alone", token))
	require.NoError(t, c.Mount("/alone", "/..2026_11_30_08_20_23.1/token", "tmpfs"))
	require.NoError(t, c.File("/elsewhere", token)) // not out of a volume of the kubelet's: copied, and bound
	require.NoError(t, c.Mount("/elsewhere", "/copies/token", "ext4"))
	require.NoError(t, c.File("/folder/token", token))
	require.NoError(t, c.Mount("/folder", "/..2026_11_30_08_20_23.1/folder", "tmpfs"))

	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"/alone", "/elsewhere", "/folder/token", "/run/with space/token", "/several/deep/er/token", "/several/openbao",
	}, paths(mounts))
	var subPaths []string
	for _, m := range mounts {
		if m.SubPath {
			subPaths = append(subPaths, m.Path)
		}
		assert.Equal(t, os.FileMode(0o644), m.Mode.Perm())
		assert.WithinDuration(t, time.Now(), m.Modified, time.Minute)
	}
	assert.Equal(t, []string{"/alone", "/elsewhere", "/folder/token"}, subPaths)
	assert.Equal(t, "/several", mounts[4].MountPoint)
	assert.Equal(t, "/alone", mounts[0].MountPoint)
}

func TestTokensOfEveryStateAreFound(t *testing.T) {
	issuer := newIssuer(t)
	legacy, err := issuer.LegacyToken("shop", "web", "web-token")
	require.NoError(t, err)
	claims := func(subject string, iat time.Time) map[string]any {
		return map[string]any{"iss": "i", "sub": subject, "aud": "a", "iat": iat.Unix(), "exp": iat.Add(time.Hour).Unix()}
	}
	sign := func(subject string, iat time.Time) string {
		token, err := issuer.Sign(claims(subject, iat))
		require.NoError(t, err)
		return token
	}
	const account = "system:serviceaccount:shop:web"
	for name, want := range map[string]struct {
		token string
		found bool
	}{
		"legacy":                      {legacy, true},
		"expired":                     {sign(account, time.Now().Add(-2*time.Hour)), true},
		"not yet valid":               {sign(account, time.Now().Add(2*time.Hour)), true},
		"of somebody else's software": {sign("alice", time.Now()), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newContainer(t)
			project(t, c, "/tokens", map[string]string{"jwt": want.token})
			mounts, err := container.Find(c.Root)
			require.NoError(t, err)
			assert.Equal(t, want.found, len(mounts) == 1)
		})
	}
}

func TestWhereThereIsNoTokenNoneIsFound(t *testing.T) {
	token := tokenOf(t, "openbao")
	for name, make := range map[string]func(*testing.T, *containertest.Container){
		"an ordinary directory": func(t *testing.T, c *containertest.Container) {
			require.NoError(t, c.File("/scratch/token", token))
			require.NoError(t, c.Mount("/scratch", "/", "tmpfs"))
		},
		"a network's file system, which could keep us waiting": func(t *testing.T, c *containertest.Container) {
			project(t, c, "/net", map[string]string{"token": token})
			require.NoError(t, os.WriteFile(filepath.Join(c.Root, "proc/self/mountinfo"),
				[]byte("101 1 0:1 / /net rw - nfs4 server:/ rw\n"), 0o644))
		},
		"another pod's volume on a node agent's hostPath": func(t *testing.T, c *containertest.Container) {
			project(t, c, "/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/token", map[string]string{"token": token})
		},
		"a FIFO, which blocks who opens it": func(t *testing.T, c *containertest.Container) {
			project(t, c, "/tokens", map[string]string{"other": "x"})
			require.NoError(t, syscall.Mkfifo(filepath.Join(c.Root, "tokens/..data/token"), 0o644))
		},
		"a data link that leads out of the volume": func(t *testing.T, c *containertest.Container) {
			require.NoError(t, c.File("/elsewhere/token", token))
			require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "tokens"), 0o755))
			require.NoError(t, os.Symlink("../elsewhere", filepath.Join(c.Root, "tokens/..data")))
			require.NoError(t, os.Symlink("..data/token", filepath.Join(c.Root, "tokens/token")))
			require.NoError(t, c.Mount("/tokens", "/", "tmpfs"))
		},
		"a data link that leads to itself": func(t *testing.T, c *containertest.Container) {
			require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "tokens"), 0o755))
			require.NoError(t, os.Symlink("..data", filepath.Join(c.Root, "tokens/..data")))
			require.NoError(t, c.Mount("/tokens", "/", "tmpfs"))
		},
		"a link within the volume": func(t *testing.T, c *containertest.Container) {
			require.NoError(t, c.File("/secret", token))
			project(t, c, "/tokens", map[string]string{"other": "x"})
			require.NoError(t, os.Symlink(filepath.Join(c.Root, "secret"), filepath.Join(c.Root, "tokens/..data/token")))
		},
		"a file that is too large": func(t *testing.T, c *containertest.Container) {
			project(t, c, "/tokens", map[string]string{"token": token + strings.Repeat("\n", 64<<10)})
		},
		"folders without end": func(t *testing.T, c *containertest.Container) {
			project(t, c, "/tokens", map[string]string{strings.Repeat("d/", 40) + "token": token})
		},
		"a mount that is not there": func(t *testing.T, c *containertest.Container) {
			require.NoError(t, c.Mount("/gone", "/", "tmpfs"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newContainer(t)
			make(t, c)
			mounts, err := container.Find(c.Root)
			assert.Empty(t, mounts)
			if err != nil { // only ELOOP may be told
				assert.ErrorIs(t, err, syscall.ELOOP)
			}
		})
	}
}

// A token that is there but cannot be used is what one looks for.
func TestWellKnownFilesAreTokensWhateverTheyHold(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/var/run/secrets/kubernetes.io/serviceaccount", map[string]string{"token": "torn", "namespace": "shop"})
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Equal(t, []string{container.ServiceAccountDir + "/token"}, paths(mounts))
}

// In most images /var/run is a link, and the mount table has where it leads.
func TestTheDefaultTokenHasItsUsualName(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/run/secrets/kubernetes.io/serviceaccount", map[string]string{"token": tokenOf(t, "api")})
	require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "var"), 0o755))
	require.NoError(t, os.Symlink("/run", filepath.Join(c.Root, "var/run"))) // absolute: it leads out of the root
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Equal(t, []string{container.ServiceAccountDir + "/token"}, paths(mounts))
	_, err = os.Stat(container.Resolve(c.Root, mounts[0].Path))
	assert.NoError(t, err)
}

func TestFilesThatMayNotBeReadAreTokensByTheirName(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything; the end-to-end tests have other users")
	}
	c := newContainer(t)
	project(t, c, "/tokens", map[string]string{"vault-token": "x", "password": "x"})
	for _, name := range []string{"vault-token", "password"} {
		require.NoError(t, os.Chmod(filepath.Join(c.Root, "tokens", name), 0))
	}
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	assert.Equal(t, []string{"/tokens/vault-token"}, paths(mounts))
}

func TestAVolumeWithoutEndIsCutAndSaidSo(t *testing.T) {
	c := newContainer(t)
	files := map[string]string{}
	for i := range 10_050 {
		files[fmt.Sprintf("f%05d", i)] = ""
	}
	for name := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "huge/..1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(c.Root, "huge/..1", name), nil, 0o644))
	}
	require.NoError(t, os.Symlink("..1", filepath.Join(c.Root, "huge/..data")))
	require.NoError(t, c.Mount("/huge", "/", "tmpfs"))
	mounts, err := container.Find(c.Root)
	assert.Empty(t, mounts)
	assert.ErrorContains(t, err, "more than 10,000 files")
	assert.NotContains(t, err.Error(), "\n", "said once")
}

func TestABrokenMountTableIsSaid(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/tokens", map[string]string{"token": tokenOf(t, "openbao")})
	table := filepath.Join(c.Root, "proc/self/mountinfo")
	text, err := os.ReadFile(table)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(table, append(text, "rubbish\x1b[31m\n"...), 0o644))
	mounts, err := container.Find(c.Root)
	assert.Equal(t, []string{"/tokens/token"}, paths(mounts), "what was found is kept")
	assert.ErrorContains(t, err, "mount table")
	assert.NotContains(t, err.Error(), "rubbish")

	require.NoError(t, os.Remove(table))
	_, err = container.Find(c.Root)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestThisProcessesOwnTable(t *testing.T) {
	_, err := container.Find("/")
	require.NoError(t, err)
}

func TestAnotherProcessesContainer(t *testing.T) {
	own := fmt.Sprintf("/proc/%d/root", os.Getpid())
	_, err := container.Find(own)
	require.NoError(t, err)
	theirs, err := container.Environment(own)
	require.NoError(t, err)
	assert.Contains(t, theirs, "PATH="+os.Getenv("PATH"))
	its, err := container.Started(own)
	require.NoError(t, err)
	ours, err := container.Started("/")
	require.NoError(t, err)
	assert.Equal(t, ours.Unix(), its.Unix())

	const none = "/proc/4194305/root" // above the kernel's limit
	for name, look := range map[string]func() error{
		"tokens":      func() error { _, err := container.Find(none); return err },
		"environment": func() error { _, err := container.Environment(none); return err },
	} {
		assert.ErrorContains(t, look(), "kubectl debug --target", name)
	}
}

// A path that is followed through a rotation must not end in the folder that is
// removed by it.
func TestResolve(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/run/tokens", map[string]string{"token": "t", "deep/er/token": "t"})
	require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "var"), 0o755))
	require.NoError(t, c.File("/etc/passwd", ""))
	for name, target := range map[string]string{
		"var/run": "/run", "absolute": "/run/tokens/token", "out": "../../../../etc/passwd", "trick": "..data/../../../../etc/passwd",
		"round": "round",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(c.Root, name)))
	}
	for path, want := range map[string]string{
		"/run/tokens/token":             "/run/tokens/token",
		"/var/run/tokens/token":         "/run/tokens/token",
		"/var/run/tokens/deep/er/token": "/run/tokens/deep/er/token",
		"/absolute":                     "/run/tokens/token",
		"/out":                          "/etc/passwd",
		"/trick":                        "/etc/passwd",
		"/../../etc/passwd":             "/etc/passwd",
		"/none/at/all":                  "/none/at/all",
		"/round":                        "/round",
	} {
		assert.Equal(t, filepath.Join(c.Root, want), container.Resolve(c.Root, path), path)
	}
	assert.Equal(t, "/var/run/x", container.Resolve("/", "/var/run/x"))
	assert.Equal(t, "relative", container.Resolve(c.Root, "relative"))
}

func TestStarted(t *testing.T) {
	c := newContainer(t)
	got, err := container.Started(c.Root)
	require.NoError(t, err)
	assert.WithinDuration(t, started, got, time.Second)

	for name, stat := range map[string]string{
		"cut short": "1 (app) S 0", "no number": "1 (app) " + strings.Repeat("x ", 30), "empty": "",
	} {
		require.NoError(t, c.File("/proc/1/stat", stat))
		_, err := container.Started(c.Root)
		assert.ErrorContains(t, err, "/proc/1/stat", name)
	}
	require.NoError(t, c.File("/proc/stat", "cpu 1\n"))
	_, err = container.Started(c.Root)
	assert.ErrorContains(t, err, "when the system started")
}

// Containers that share a PID namespace have one first process, which is
// another's: the pod's, with shareProcessNamespace.
func TestTheFirstProcessOfAnotherContainerDoesNotCount(t *testing.T) {
	c := newContainer(t)
	link := func(pid, namespace string) {
		require.NoError(t, os.MkdirAll(filepath.Join(c.Root, "proc", pid, "ns"), 0o755))
		require.NoError(t, os.Symlink(namespace, filepath.Join(c.Root, "proc", pid, "ns/mnt")))
	}
	link("1", "mnt:[1]")
	link("self", "mnt:[2]")
	for pid, at := range map[string]int{"7": 106_000, "8": 103_000, "9": 100_500} { // in hundredths of a second
		link(pid, map[bool]string{true: "mnt:[2]", false: "mnt:[1]"}[pid != "9"])
		require.NoError(t, c.File("/proc/"+pid+"/stat", fmt.Sprintf("%s (app) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0\n", pid, at)))
	}
	got, err := container.Started(c.Root)
	require.NoError(t, err)
	assert.Equal(t, started.Add(30*time.Second).Unix(), got.Unix())
}

func TestIdentify(t *testing.T) {
	c := newContainer(t)
	project(t, c, "/tokens", map[string]string{"token": tokenOf(t, "openbao")})
	require.NoError(t, c.File(container.ServiceAccountDir+"/namespace", "files\n"))
	mounts, err := container.Find(c.Root)
	require.NoError(t, err)
	environment := []string{
		"POD_NAME=variable", "POD_NAMESPACE=variable", "NODE_NAME=variable", "KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=host",
	}
	for name, tc := range map[string]struct {
		mounts      []container.Mount
		environment []string
		want        container.Identity
	}{
		"the token knows best":       {mounts, environment, container.Identity{Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Node: "n1"}},
		"variables, without a token": {nil, environment, container.Identity{Namespace: "variable", Pod: "variable", Node: "variable"}},
		"files and the host's name":  {nil, environment[3:], container.Identity{Namespace: "files", Pod: "host"}},
		"outside of a cluster":       {nil, []string{"HOSTNAME=laptop"}, container.Identity{Namespace: "files"}},
		"what is no name":            {nil, []string{"POD_NAME=a; rm -rf /", "POD_NAMESPACE=$(x)"}, container.Identity{Namespace: "files"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := container.Identify(c.Root, tc.mounts, tc.environment)
			got.PodUID = ""
			assert.Equal(t, tc.want, got)
		})
	}
	text, err := json.Marshal(container.Identity{Namespace: "shop"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"namespace": "shop", "serviceAccount": "", "pod": "", "podUID": "", "node": ""}`, string(text))
}
