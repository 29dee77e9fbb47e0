package servecmd

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/internal/serve/telemetry"
	"github.com/sotto-llm/sotto/record"
)

// everyMetric returns the metrics of a gateway that has every part which counts, with
// their labels, as they are registered.
func everyMetric(t *testing.T) map[string][]string {
	t.Helper()
	reg := prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	w, err := record.Open(t.TempDir(), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	g, err := gateway.New(gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Recorder: w, Observers: []gateway.Observer{gateway.Metrics(reg)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &settings.Settings{Shared: "redis://127.0.0.1:1", TLS: certificates.Files{Cert: filepath.Join(t.TempDir(), "cert"), Key: filepath.Join(t.TempDir(), "key")}}
	cert, key := certificatestest.NewAuthority(t, "test").Server("localhost", time.Now().Add(time.Hour))
	for name, data := range map[string][]byte{s.TLS.Cert: cert, s.TLS.Key: key} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bound(s, l, reg, log)
	new(reloader).register(reg)
	collector := telemetry.Signal{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}
	signals := telemetry.Signals{Traces: collector, Metrics: collector}
	tracer, err := telemetry.Open(telemetry.Config{Signals: signals, Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(t.Context()) })
	if _, err := certificate(s, reg, log); err != nil {
		t.Fatal(err)
	}
	_, unshare, err := share(s, reg, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unshare)
	ship, err := recordship.Open(t.Context(), w.Dir(), objects.Location{Bucket: "b"}, recordship.Options{
		Head: w.Head, Metrics: reg, Log: log,
		Bucket: objects.Options{Getenv: func(name string) string {
			return map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}[name]
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ship.Close() })
	descs := make(chan *prometheus.Desc, 1000)
	reg.Describe(descs)
	close(descs)
	all := map[string][]string{}
	for d := range descs { // no other way leads to its name
		m := regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`).FindStringSubmatch(d.String())
		if m == nil {
			t.Fatal(d)
		}
		all[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
	}
	return all
}

// root is the folder of the module.
const root = "../../../"

// expressions are the queries in a text: of Prometheus' rules and their tests, of a
// dashboard, or of a page.
func expressions(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".json") {
		return strings.Split(string(data), "\n")
	}
	var list []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"expr", "definition"} {
				if text, ok := v[name].(string); ok {
					list = append(list, text)
				}
			}
			for _, w := range v {
				walk(w)
			}
		case []any:
			for _, w := range v {
				walk(w)
			}
		}
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return list
}

var (
	metricUse = regexp.MustCompile(`(sotto_[a-z0-9_]+)(\{[^}]*\})?`)
	labelUse  = regexp.MustCompile(`([a-z_]+) *(=~|!~|!=|=)`)
	byLabels  = regexp.MustCompile(`\bby *\(([^)]*)\)`)
)

// TestMonitoring: what alerts, their tests, the dashboard and the documents say of metrics
// and of their labels holds for those that the program registers. So whoever renames one
// changes all of them. And the guide has every metric.
func TestMonitoring(t *testing.T) {
	metrics := everyMetric(t)
	if len(metrics) < 35 {
		t.Fatalf("only %d metrics are registered", len(metrics))
	}
	target := []string{"instance", "job", "namespace", "pod"} // Prometheus adds them
	metrics["sotto_diagnostics"] = nil                        // a member of replies, in the guide
	for file, least := range map[string]int{
		"examples/deploy/alerts.yml": 18, "examples/deploy/alerts.test.yml": 30, "examples/deploy/dashboard.json": 50,
		"examples/deploy/kubernetes/autoscaler.yaml": 1, "docs/howto/alerts.md": 2, "docs/howto/kubernetes.md": 1, "docs/reference/metrics.md": 50,
	} {
		used := 0
		for _, expression := range expressions(t, file) {
			labels := slices.Clone(target)
			for _, m := range metricUse.FindAllStringSubmatch(expression, -1) {
				used++
				name := m[1]
				own, known := metrics[name]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base, cut := strings.CutSuffix(name, suffix); cut && !known {
						own, known = metrics[base]
						own = append(slices.Clone(own), "le")
					}
				}
				if !known {
					t.Errorf("%s: there is no metric %s", file, name)
					continue
				}
				labels = append(labels, own...)
				for _, l := range labelUse.FindAllStringSubmatch(m[2], -1) {
					if !slices.Contains(slices.Concat(target, own), l[1]) {
						t.Errorf("%s: %s has no label %s: %s", file, name, l[1], expression)
					}
				}
			}
			for _, by := range byLabels.FindAllStringSubmatch(expression, -1) {
				for label := range strings.SplitSeq(by[1], ",") {
					if label = strings.TrimSpace(label); len(labels) > len(target) && !slices.Contains(labels, label) {
						t.Errorf("%s: no metric has the label %s: %s", file, label, expression)
					}
				}
			}
		}
		if used < least {
			t.Errorf("%s: only %d uses of metrics were found", file, used)
		}
	}
	guide, err := os.ReadFile(root + "docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	delete(metrics, "sotto_diagnostics")
	for name, labels := range metrics {
		row := regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\|([^|]*)\\|").FindSubmatch(guide)
		if row == nil {
			t.Errorf("docs/reference/metrics.md has no row for %s", name)
			continue
		}
		for _, l := range labels {
			if !strings.Contains(string(row[1]), "`"+l+"`") {
				t.Errorf("docs/reference/metrics.md does not say that %s has the label %s", name, l)
			}
		}
	}
}

// TestAlerts: each alert has a test, and a row in the guide that says what it means and
// what to do. There are no others.
func TestAlerts(t *testing.T) {
	named := regexp.MustCompile(`Sotto[A-Z][A-Za-z]+`)
	names := func(file string) []string {
		data, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Compact(slices.Sorted(slices.Values(named.FindAllString(string(data), -1))))
	}
	alerts := names("examples/deploy/alerts.yml")
	if len(alerts) < 18 {
		t.Fatalf("only %q are there", alerts)
	}
	for _, file := range []string{"examples/deploy/alerts.test.yml", "docs/howto/alerts.md"} {
		if got := names(file); !slices.Equal(got, alerts) {
			t.Errorf("%s has %q, want %q", file, got, alerts)
		}
	}
}
