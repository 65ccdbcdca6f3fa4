package prometheus

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deployed(name string) string { return filepath.Join("..", "..", "..", "deploy", name) }

// pod is the series of a state of a container, as kube-state-metrics has it.
func pod(metric, name, more string) string {
	return fmt.Sprintf(`kube_pod_%s{namespace="shop",pod=%q,container="c"%s}`, metric, name, more)
}

const (
	waiting     = "container_status_waiting_reason"
	initWaiting = "init_container_status_waiting_reason"
	creating    = `,reason="ContainerCreating"`
	beginning   = `,reason="PodInitializing"`
)

// rejected is a series of rejected logins. A further label tells it from
// others of the same identity, such as those of another server.
func rejected(role, values string, more ...string) string {
	return fmt.Sprintf("podtoken_login_rejections_total{mount=\"auth/kubernetes/\",role=%q%s} %s", role, strings.Join(more, ""), values)
}

func TestAlertsFire(t *testing.T) {
	const stuck, lacking, logins = "PodStuckInContainerCreating", "ReplicaSetCannotCreatePods", "WorkloadLoginsRejected"
	for name, c := range map[string]struct {
		series []string
		alert  string
		firing string // the minutes in which it fires, and for whom
	}{
		"a pod is in ContainerCreating for ever": {
			series: []string{pod(waiting, "web-0", creating) + " 1x10"},
			alert:  stuck, firing: "5-10 web-0",
		},
		"a pod is in ContainerCreating for four minutes": {
			series: []string{pod(waiting, "web-0", creating) + " 1x4 stale _x5"},
			alert:  stuck,
		},
		"one of two pods is": {
			series: []string{pod(waiting, "web-0", creating) + " 1x10", pod(waiting, "web-1", creating) + " 1x2 stale _x7"},
			alert:  stuck, firing: "5-10 web-0",
		},
		"a pod waits for something else": {
			series: []string{pod(waiting, "web-0", `,reason="CrashLoopBackOff"`) + " 1x10"},
			alert:  stuck,
		},
		"a pod with an init container does not get to start it": {
			series: []string{pod(initWaiting, "web-0", beginning) + " 1x10", pod(waiting, "web-0", beginning) + " 1x10"},
			alert:  stuck, firing: "5-10 web-0",
		},
		"an init container runs for long": {
			series: []string{
				pod("init_container_status_running", "web-0", "") + " 1x10", pod(waiting, "web-0", beginning) + " 1x10",
			},
			alert: stuck,
		},
		"a second init container waits for the first": {
			series: []string{
				pod("init_container_status_running", "web-0", `,init="1"`) + " 1x10",
				pod(initWaiting, "web-0", beginning+`,init="2"`) + " 1x10",
			},
			alert: stuck,
		},
		"an init container that fails has its own reason": {
			series: []string{
				pod("init_container_status_terminated", "web-0", `,init="1"`) + " 1x10",
				pod(initWaiting, "web-0", beginning+`,init="2"`) + " 1x10",
			},
			alert: stuck,
		},
		"an init container that starts again and again has its own reason, too": {
			series: []string{
				pod(initWaiting, "web-0", `,reason="CrashLoopBackOff",init="1"`) + " 1x10",
				pod(initWaiting, "web-0", beginning+`,init="2"`) + " 1x10",
			},
			alert: stuck,
		},

		"a ReplicaSet's pods are refused for ever": {
			series: []string{
				`kube_replicaset_spec_replicas{namespace="shop",replicaset="web-7d"} 3x20`,
				`kube_replicaset_status_replicas{namespace="shop",replicaset="web-7d"} 1x20`,
			},
			alert: lacking, firing: "10-20 web-7d",
		},
		"a ReplicaSet's pods are refused until the webhook is warm": {
			series: []string{
				`kube_replicaset_spec_replicas{namespace="shop",replicaset="web-7d"} 3x20`,
				`kube_replicaset_status_replicas{namespace="shop",replicaset="web-7d"} 0 0 3x18`,
			},
			alert: lacking,
		},

		"two logins are rejected": {
			series: []string{rejected("web", "0x9 1 2x10")},
			alert:  logins,
		},
		"two logins are rejected between two scrapes, and the series is new": {
			series: []string{rejected("web", "_x9 2x10")},
			alert:  logins,
		},
		"three are, one a minute": {
			series: []string{rejected("web", "0x9 1 2 3x10")},
			alert:  logins, firing: "12-14 web",
		},
		"three are at once, and the series is new": {
			series: []string{rejected("web", "_x9 3x10")},
			alert:  logins, firing: "9-13 web",
		},
		"three are in a quarter of an hour": {
			series: []string{rejected("web", "0 0 1x4 2x4 3x4 3x10")},
			alert:  logins,
		},
		"one a minute for ever": {
			series: []string{rejected("web", "0+1x20")},
			alert:  logins, firing: "3-20 web",
		},
		"three workloads have one each": {
			series: []string{rejected("web", "0x9 1x10"), rejected("api", "0x9 1x10"), rejected("job", "0x9 1x10")},
			alert:  logins,
		},
		"three servers have one each of the same workload": {
			series: []string{
				rejected("web", "0x9 1x10", `,instance="a"`), rejected("web", "0x9 1x10", `,instance="b"`),
				rejected("web", "0x9 1x10", `,instance="c"`),
			},
			alert: logins, firing: "10-14 web",
		},
		"the collector restarts, and three are rejected then": {
			series: []string{rejected("web", "0 7x9 0 3x10")},
			alert:  logins, firing: "1-5 web, 12-16 web",
		},
		"the collector restarts, and counts to where it was": {
			series: []string{rejected("web", "0 3x9 0 3x10")},
			alert:  logins, firing: "1-5 web, 12-16 web",
		},
		"the collector restarts, and nothing is rejected": {
			series: []string{rejected("web", "0 7x9 0x11")},
			alert:  logins, firing: "1-5 web",
		},
		"Prometheus was away for twenty minutes, and nothing is rejected": {
			series: []string{rejected("web", "0 7x5 _x20 7x10")},
			alert:  logins, firing: "1-5 web",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.firing, play(t, c.series)[c.alert])
		})
	}
}

// play evaluates the rules each minute while the series, of a value a minute,
// go on. For each alert it returns in which minutes it fires, and for whom.
func play(t *testing.T, series []string) map[string]string {
	t.Helper()
	load := "load 1m\n  " + strings.Join(series, "\n  ") + "\n"
	played, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	defer played.Close()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(played.QueryEngine(), played.Storage()),
		Appendable: played.Storage(),
		Context:    t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     slog.New(slog.DiscardHandler),
		Parser:     parser.NewParser(parser.Options{}),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, deployed("alerts.yaml"))
	require.Empty(t, errs)

	fired := map[string]map[string][]int{}
	for minute := range lengthOf(series) {
		now := time.Unix(0, 0).UTC().Add(time.Duration(minute) * time.Minute)
		played.WithSamplesTill(now, func(err error) {
			require.NoError(t, err)
			for _, group := range groups {
				group.Eval(played.Context(), now)
				for _, rule := range group.Rules() {
					require.NoError(t, rule.LastError())
					for _, alert := range firing(rule) {
						if fired[rule.Name()] == nil {
							fired[rule.Name()] = map[string][]int{}
						}
						fired[rule.Name()][subject(alert)] = append(fired[rule.Name()][subject(alert)], minute)
						requireReadable(t, alert)
					}
				}
			}
		})
	}
	told := map[string]string{}
	for alert, subjects := range fired {
		var all []string
		for _, whom := range slices.Sorted(maps.Keys(subjects)) {
			all = append(all, runs(subjects[whom], whom)...)
		}
		told[alert] = strings.Join(all, ", ")
	}
	return told
}

// runs puts minutes that follow each other together.
func runs(minutes []int, whom string) (all []string) {
	first := 0
	for i := range minutes {
		if i+1 == len(minutes) || minutes[i+1] != minutes[i]+1 {
			all = append(all, fmt.Sprintf("%d-%d %s", minutes[first], minutes[i], whom))
			first = i + 1
		}
	}
	return all
}

func firing(rule rules.Rule) (alerts []*rules.Alert) {
	for _, alert := range rule.(*rules.AlertingRule).ActiveAlerts() {
		if alert.State == rules.StateFiring {
			alerts = append(alerts, alert)
		}
	}
	return alerts
}

// subject is what an alert is about.
func subject(alert *rules.Alert) string {
	for _, name := range []string{"pod", "replicaset", "role"} {
		if value := alert.Labels.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// requireReadable checks what whoever is paged gets to read.
func requireReadable(t *testing.T, alert *rules.Alert) {
	t.Helper()
	require.Equal(t, "warning", alert.Labels.Get("severity"))
	for _, name := range []string{"summary", "description"} {
		text := alert.Annotations.Get(name)
		require.Contains(t, text, subject(alert))
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "<") // what a template says of an error, or of a value that is not there
	}
	section, ours := strings.CutPrefix(alert.Annotations.Get("runbook_url"), "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#")
	require.True(t, ours)
	require.Contains(t, sections(t), section)
}

// sections are the headings of the runbook, as links name them.
func sections(t *testing.T) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if heading, found := strings.CutPrefix(line, "### "); found {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), " ", "-"))
		}
	}
	return anchors
}

// The operator's resource wraps the rule file. README.md has the command, and
// its output is what the operator hands on.
func TestTheOperatorsResourceHasTheSameRules(t *testing.T) {
	readme, err := os.ReadFile(deployed("README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "kubectl apply -f - <<EOF\n")
	require.True(t, found)
	document, _, found := strings.Cut(rest, "\nEOF\n")
	require.True(t, found)
	printed := shell(t, "cat <<EOF\n"+document+"\nEOF\n")

	var resource struct {
		Kind string
		Spec any
	}
	decode(t, printed, &resource)
	var rules any
	text, err := os.ReadFile(deployed("alerts.yaml"))
	require.NoError(t, err)
	decode(t, text, &rules)
	assert.Equal(t, "PrometheusRule", resource.Kind)
	assert.Equal(t, rules, resource.Spec)
}
