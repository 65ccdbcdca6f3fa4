package lint_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

const (
	streamed = 100 << 20 // bytes of a list
	bound    = 32 << 20  // bytes of heap while it is read
	faulty   = 250       // one of so many pods was not injected
)

// generated is a list of pods that is made while it is read, and remembers how
// much memory was in use meanwhile.
type generated struct {
	head, tail string
	pod        func(i int, injected bool) string
	size       int

	pods, faults int
	text         bytes.Buffer
	written      int
	peak         uint64
	lines        []int // where the names of the faulty are
	line         int
}

func (g *generated) Read(p []byte) (int, error) {
	for g.text.Len() < len(p) && g.tail != "" {
		text := g.head
		switch {
		case text != "":
			g.head = ""
		case g.written < g.size:
			injected := g.pods%faulty != faulty/2
			text = g.pod(g.pods, injected)
			if !injected {
				g.faults++
				g.lines = append(g.lines, g.line+4) // kind, apiVersion and metadata are before it
			}
			g.pods++
		default:
			text, g.tail = g.tail, ""
		}
		g.written += len(text)
		g.line += bytes.Count([]byte(text), []byte("\n"))
		g.text.WriteString(text)
	}
	if g.pods%100 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		g.peak = max(g.peak, m.HeapAlloc)
	}
	n, _ := g.text.Read(p)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func podJSON(i int, injected bool) string {
	comma, env := ",", ""
	if i == 0 {
		comma = ""
	}
	if injected {
		env = `{"name": "AWS_CONTAINER_CREDENTIALS_FULL_URI", "value": "http://169.254.170.23/v1/credentials"}`
	}
	return fmt.Sprintf(`%s{"kind": "Pod",
"apiVersion": "v1",
"metadata": {"namespace": "shop", "uid": "%d", "ownerReferences": [{"kind": "ReplicaSet"}],
"name": "web-%d"},
"spec": {"nodeName": "n", "serviceAccountName": "web", "containers": [{"name": "app",
  "image": "registry.example/app:1", "args": ["%0800d"],
  "env": [%s]}]},
"status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [
  {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T08:18:22Z"},
  {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-30T08:18:22Z"}]}}
`, comma, i, i, i, env)
}

func podYAML(i int, injected bool) string {
	env := "[]"
	if injected {
		env = "\n      - name: AWS_CONTAINER_CREDENTIALS_FULL_URI\n        value: http://169.254.170.23/v1/credentials"
	}
	return fmt.Sprintf(`- kind: Pod
  apiVersion: v1
  metadata:
    name: web-%d
    namespace: shop
    annotations:
      note: |
        - kind: Pod
        is text here: %0800d
  spec:
    nodeName: n
    serviceAccountName: web
    containers:
    - name: app
      image: registry.example/app:1
      env: %s
  status:
    phase: Running
`, i, i, env)
}

func TestAListOfAHundredMegabytesIsReadInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 116 MB: left out by -short")
	}
	ofJSON, ofYAML := streamed, streamed/6
	if raceEnabled {
		ofJSON, ofYAML = streamed/35, streamed/50
		t.Logf("!!! only %d MB and %d MB of it, because of -race", ofJSON>>20, ofYAML>>20)
	}
	for name, list := range map[string]*generated{
		"JSON": {size: ofJSON, head: "{\"apiVersion\": \"v1\",\n\"items\": [\n", tail: "],\n\"kind\": \"List\"}\n", pod: podJSON},
		"YAML": {size: ofYAML, head: "apiVersion: v1\nitems:\n   # of all namespaces\n", tail: "kind: List\nmetadata:\n  resourceVersion: \"\"\n", pod: podYAML},
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(25)) // or much of what is measured is what nobody holds any more
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)

			linter := &lint.Linter{Associations: []lint.Association{{Namespace: "shop", ServiceAccount: "web"}}}
			var told int64
			linter.Progress = func(read int64) { told = read }
			for finding, err := range linter.Lint("pods", list) {
				require.NoError(t, err)
				require.Fail(t, "a finding before the end", finding)
			}
			var lines []int
			for finding := range linter.Finish() {
				require.Equal(t, "PT016", finding.Rule)
				lines = append(lines, finding.Line)
			}
			require.Greater(t, list.written, list.size)
			assert.Equal(t, int64(list.written), told)
			assert.Greater(t, list.faults, 5)
			assert.Equal(t, list.lines, lines)
			assert.Less(t, int64(list.peak)-int64(before.HeapAlloc), int64(bound))
			t.Logf("%d pods, %d MB, peak %d MB", list.pods, list.written>>20, (int64(list.peak)-int64(before.HeapAlloc))>>20)
		})
	}
}
