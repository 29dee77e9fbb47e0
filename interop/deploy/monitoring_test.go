package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// needsPrometheus skips a test on a machine without the programs of Prometheus. Where
// every test runs in full, as in .ci/long, they must be there.
func needsPrometheus(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s of Debian's prometheus", name)
		}
	}
}

// TestRules: promtool accepts the rules, and each alert fires when it must and no earlier.
func TestRules(t *testing.T) {
	needsPrometheus(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", "alerts.yml"}, {"test", "rules", "alerts.test.yml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = "../../examples/deploy"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// A dashboard is what this test reads of the JSON of Grafana.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

// absent are the metrics that only parts have which this test does not run: the shared
// store, the shipping of the record, TLS, a guard, and what no reply of it brings about.
var absent = []string{
	"sotto_shared_requests_total", "sotto_record_ship_", "sotto_tls_certificate_expires_seconds", "sotto_guard_decisions_total",
	"sotto_json_missing_total", "sotto_json_fences_dropped_total", "sotto_text_calls_total", "sotto_thinking_switched_total",
	"sotto_restore_misses_total", "sotto_otel_spans_total", "sotto_unread_total", "sotto_leaks_passed_total",
	"sotto_upstream_retries_total", "sotto_upstream_lists_failed_total", "sotto_caller_tokens_total", "sotto_caller_limited_total",
}

// TestDashboard: every query of the dashboard, and every expression of the alerts, runs in a
// real Prometheus that scrapes a real gateway under load, and finds something if the gateway
// counts it.
func TestDashboard(t *testing.T) {
	if os.Getenv("SOTTO_EFFORT") == "" {
		t.Skip("runs for some seconds: set SOTTO_EFFORT=1")
	}
	needsPrometheus(t, "prometheus")
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	checkLayout(t, &d)
	x := watched(t)
	asked := 0
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			asked++
			x.asks(p.Title, q.RefID, q.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			series, label, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), ", ")
			x.asks("variable "+v.Name, "", fmt.Sprintf("group by (%s) (%s)", label, series))
		}
	}
	if asked < 40 {
		t.Errorf("only %d queries were found", asked)
	}
	if _, body := get(x.watch + "/api/v1/rules"); strings.Count(body, `"health":"ok"`) < 18 || strings.Contains(body, `"health":"err"`) {
		t.Errorf("rules are not evaluated: %s", body)
	}
}

// checkLayout: no two panels have an id in common, or lie on each other.
func checkLayout(t *testing.T, d *dashboard) {
	t.Helper()
	seen, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if seen[p.ID] || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s: id %d, %d queries", p.Title, p.ID, len(p.Targets))
		}
		seen[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[at]; taken || at[0] >= 24 {
					t.Fatalf("%s lies on %s at %v", p.Title, other, at)
				}
				cells[at] = p.Title
			}
		}
	}
}

// watched runs a gateway under load, and a Prometheus that has scraped it for some seconds.
func watched(t *testing.T) *topology {
	t.Helper()
	ports := freePorts(t, 3)
	x := &topology{t: t, dir: t.TempDir(), sotto: program(t), watch: "http://127.0.0.1:" + ports[1]}
	x.at = []string{"http://127.0.0.1:" + ports[0]}
	// Every fourth request is refused by a model that the scripted upstream does not have.
	x.run(x.sotto, "serve", "--listen", "127.0.0.1:"+ports[0], "--scripted-listen", "127.0.0.1:"+ports[2], "--scripted-pause", "1ms",
		"--data", filepath.Join(x.dir, "data"), "--record", filepath.Join(x.dir, "record"), "--thinking-limit", "20")
	x.ready(0)
	if err := os.WriteFile(filepath.Join(x.dir, "alerts.yml"), []byte(read(t, "alerts.yml")), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(x.dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 500ms, evaluation_interval: 1s}\nrule_files: [alerts.yml]\nscrape_configs:\n  - job_name: sotto\n    static_configs: [{targets: ['127.0.0.1:%s']}]\n", ports[0])
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x.run("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(x.dir, "tsdb"), "--web.listen-address=127.0.0.1:"+ports[1])
	until(t, "Prometheus has scraped the gateway under load", func() bool {
		x.load()
		return x.query(`count_over_time(sotto_open_exchanges[10s]) > bool 8`) == "1" && x.query(`rate(sotto_prompt_tokens_total{model="minimax-m2"}[10s]) > bool 0`) == "1"
	})
	return x
}

// load sends the requests of some clients: streamed and whole, in a conversation, and to a
// model that there is not.
func (x *topology) load() {
	for _, model := range []string{"minimax-m2", "qwen3", "deepseek-r1", "no such model"} {
		for _, stream := range []bool{true, false} {
			body, _ := json.Marshal(map[string]any{"model": model, "stream": stream, "stream_options": map[string]any{"include_usage": true}, "messages": []any{
				map[string]any{"role": "user", "content": "Hello"},
				map[string]any{"role": "assistant", "content": "<think>They greet me.</think>Hello."},
				map[string]any{"role": "user", "content": "What is the capital of Canada?"},
			}})
			resp, err := http.Post(x.at[0]+"/v1/chat/completions", "application/json", strings.NewReader(string(body)))
			if err != nil {
				x.t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// asks runs a query as Grafana would, with all values of its variables.
func (x *topology) asks(title, ref, expr string) {
	x.t.Helper()
	expr = strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*", "$model", ".*").Replace(expr)
	now := float64(time.Now().UnixMilli()) / 1000
	_, body := get(x.watch + "/api/v1/query_range?" + url.Values{
		"query": {expr}, "start": {fmt.Sprint(now - 5)}, "end": {fmt.Sprint(now)}, "step": {"1"},
	}.Encode())
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Status != "success" {
		x.t.Errorf("%s %s: %s\n%v %s", title, ref, expr, err, body)
		return
	}
	if len(answer.Data.Result) == 0 && !slices.ContainsFunc(absent, func(name string) bool { return strings.Contains(expr, name) }) {
		x.t.Errorf("%s %s finds nothing: %s", title, ref, expr)
	}
}
