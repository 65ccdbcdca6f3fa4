package prometheus

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/countconnector"
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/deltatocumulativeprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/filelogreceiver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

const patience = 30 * time.Second

// The lines are those that a real server wrote: internal/e2e/vault compares
// them with what it writes now.
func TestRejectedLoginsAreCounted(t *testing.T) {
	lines, err := os.ReadFile(filepath.Join("testdata", "audit.log"))
	require.NoError(t, err)
	c := startCollector(t)
	c.write(t, string(lines))

	want := []string{
		`podtoken_login_rejections_total{mount="auth/jwt/",role="web"} 1`,
		`podtoken_login_rejections_total{mount="auth/kubernetes/",role=""} 1`,
		`podtoken_login_rejections_total{mount="auth/kubernetes/",role="hmac-sha256:HASH"} 1`,
		`podtoken_login_rejections_total{mount="auth/kubernetes/",role="web"} 1`,
	}
	require.EventuallyWithT(t, func(e *assert.CollectT) { assert.Equal(e, want, c.rejections()) }, patience, 100*time.Millisecond)

	t.Run("every rejection counts", func(t *testing.T) {
		c.write(t, string(lines)+string(lines))
		for i := range want {
			want[i] = strings.TrimSuffix(want[i], "1") + "3"
		}
		require.EventuallyWithT(t, func(e *assert.CollectT) { assert.Equal(e, want, c.rejections()) }, patience, 100*time.Millisecond)
	})
	t.Run("the alert reads this metric", func(t *testing.T) {
		rules, err := os.ReadFile(deployed("alerts.yaml"))
		require.NoError(t, err)
		assert.Contains(t, string(rules), "sum by (cluster, mount, role)")
		assert.Contains(t, string(rules), "podtoken_login_rejections_total")
	})
	t.Run("within a namespace of the server", func(t *testing.T) {
		c.write(t, line("team/", "api"))
		require.Eventually(t, func() bool {
			return slices.Contains(c.rejections(), `podtoken_login_rejections_total{mount="team/auth/kubernetes/",role="api"} 1`)
		}, patience, 100*time.Millisecond)
	})
	t.Run("what is no audit line is left out", func(t *testing.T) {
		before := c.rejections()
		c.write(t, "not JSON\n{\"type\":\"response\"}\n"+line("", "last"))
		require.Eventually(t, func() bool { return len(c.rejections()) > len(before) }, patience, 100*time.Millisecond)
		assert.Len(t, c.rejections(), len(before)+1)
	})
}

// line is the shortest line of a rejected login.
func line(namespace, role string) string {
	return fmt.Sprintf(`{"type":"response","error":"permission denied","request":{"mount_class":"auth",`+
		`"mount_point":"auth/kubernetes/","path":"auth/kubernetes/login","namespace":{"path":%q},"data":{"role":%q}}}`+"\n", namespace, role)
}

// A collector runs the configuration of deploy/, in this process.
type collector struct {
	file string // the audit log
	url  string // what Prometheus scrapes
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	c := &collector{file: filepath.Join(dir, "audit.log"), url: "http://" + address + "/metrics"}
	text, err := os.ReadFile(deployed("login-rejections.yaml"))
	require.NoError(t, err)
	config := string(text)
	for was, is := range map[string]string{"/var/log/audit/*.log": c.file, "localhost:9464": address} {
		require.Contains(t, config, was)
		config = strings.Replace(config, was, is, 1)
	}
	path := filepath.Join(dir, "collector.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	c.run(t, path)

	// Only what is written after the collector has found the file counts.
	require.Eventually(t, func() bool {
		c.write(t, line("", "probe"))
		return strings.Contains(c.scrape(), `role="probe"`)
	}, patience, 200*time.Millisecond, "the collector follows the file")
	return c
}

func (c *collector) run(t *testing.T, config string) {
	t.Helper()
	running, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.NewDefaultBuildInfo(),
		Factories:               factories,
		DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"file:" + config}, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- running.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		running.Shutdown()
		assert.NoError(t, <-ended)
	})
}

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](filelogreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](deltatocumulativeprocessor.NewFactory()); err != nil {
		return f, err
	}
	if f.Connectors, err = otelcol.MakeFactoryMap[connector.Factory](countconnector.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](prometheusexporter.NewFactory())
	return f, err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (c *collector) write(t *testing.T, lines string) {
	t.Helper()
	file, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString(lines)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// rejections are the series that Prometheus would scrape, but for the probe's.
func (c *collector) rejections() (series []string) {
	for line := range strings.Lines(c.scrape()) {
		if strings.HasPrefix(line, "podtoken_") && !strings.Contains(line, `role="probe"`) {
			series = append(series, strings.TrimSpace(line))
		}
	}
	slices.Sort(series)
	return series
}

// scrape is empty until the collector answers.
func (c *collector) scrape() string {
	answer, err := http.Get(c.url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}
