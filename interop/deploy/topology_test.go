package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
)

// A provider streams slowly, and demands its reasoning back in each turn that calls a
// tool.
type provider struct {
	mu       sync.Mutex
	thoughts map[string]string // by the ids of calls
	served   atomic.Int64
	refused  atomic.Int64
	pace     atomic.Int64 // between frames, in ns
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct {
			Reasoning *string               `json:"reasoning_content"`
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
	}
	if r.Header.Get("Authorization") != "Bearer "+strings.Repeat("upstream-key.", 3) || json.NewDecoder(r.Body).Decode(&q) != nil {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	p.served.Add(1)
	p.mu.Lock()
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls {
			if m.Reasoning == nil || *m.Reasoning != p.thoughts[c.ID] {
				p.mu.Unlock()
				p.refused.Add(1)
				http.Error(w, `{"error":{"message":"The reasoning_content in the thinking mode must be passed back"}}`, http.StatusBadRequest)
				return
			}
		}
	}
	n := len(p.thoughts)
	id, thought := fmt.Sprintf("call_%08dxK9", n), fmt.Sprintf("thought %d", n)
	p.thoughts[id] = thought
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	frame := func(delta map[string]any, finish any) {
		data, _ := json.Marshal(map[string]any{"model": "deepseek-v3.2", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Duration(p.pace.Load()))
	}
	frame(map[string]any{"role": "assistant", "reasoning_content": thought}, nil)
	for range 20 {
		frame(map[string]any{"content": "word "}, nil)
	}
	frame(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}}, nil)
	frame(map[string]any{}, "tool_calls")
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// A topology is that of compose.yaml, as processes of this machine.
type topology struct {
	t        *testing.T
	dir      string
	sotto    string
	files    []string // the settings of each gateway
	gateways []*exec.Cmd
	at       []string // the address of each gateway
	proxy    string
	watch    string // Prometheus
	objects  *objectstest.Server
}

// freePorts are ports that nothing uses now.
func freePorts(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	}
	return all
}

func (x *topology) run(name string, args ...string) *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command(name, args...)
	log, err := os.Create(filepath.Join(x.dir, fmt.Sprintf("%s.%d.log", filepath.Base(name), time.Now().UnixNano())))
	if err != nil {
		x.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, x.dir
	if x.objects != nil {
		cmd.Env = append(os.Environ(), x.objects.Environ()...)
	}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if x.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			x.t.Logf("%s:\n%.4000s", name, text)
		}
	})
	return cmd
}

// write writes a file of examples/deploy, with the addresses of this machine.
func (x *topology) write(name string, replace ...string) string {
	x.t.Helper()
	text := read(x.t, name)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			x.t.Fatalf("%s has no %q", name, replace[i])
		}
	}
	to := filepath.Join(x.dir, filepath.Base(name))
	if err := os.WriteFile(to, []byte(strings.NewReplacer(replace...).Replace(text)), 0o600); err != nil {
		x.t.Fatal(err)
	}
	return to
}

// until waits until a condition holds, for a minute.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func get(address string) (status int, body string) {
	resp, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

func start(t *testing.T, upstream string) *topology {
	t.Helper()
	x := &topology{t: t, dir: t.TempDir(), sotto: program(t), objects: objectstest.Start(t, "records")}
	ports := freePorts(t, 7)
	store, proxy, health, watch := ports[3], ports[4], ports[5], ports[6]
	password := strings.Repeat("shared-password.", 3)

	redis := x.write("valkey.conf", "maxmemory 512mb", "maxmemory 64mb\nport "+store+"\nbind 127.0.0.1\nrequirepass "+password)
	x.run("redis-server", redis)
	for i := range 3 {
		text := strings.NewReplacer("redis://valkey:6379", "redis://127.0.0.1:"+store, "0.0.0.0:8383", "127.0.0.1:"+ports[i],
			"shutdown-delay: 5s", "shutdown-delay: 3s").Replace(read(t, "gateway.yaml"))
		file, _ := here(t, text)
		x.files = append(x.files, file)
		x.at = append(x.at, "http://127.0.0.1:"+ports[i])
		x.gateways = append(x.gateways, nil)
		x.serve(i, upstream)
	}
	servers := []string{"maxconn 50000", "maxconn 2000", ":8080", "127.0.0.1:" + proxy, "127.0.0.1:8081", "127.0.0.1:" + health}
	targets := []string{"/run/secrets/metrics-token", filepath.Join(filepath.Dir(x.files[0]), "secrets", "metrics-token"), "15s", "1s"}
	for i, name := range gateways {
		servers = append(servers, name+":8383", "127.0.0.1:"+ports[i])
		targets = append(targets, name+":8383", "127.0.0.1:"+ports[i])
	}
	x.run("haproxy", "-db", "-f", x.write("haproxy.cfg", servers...))
	x.write("alerts.yml")
	scrape := x.write("prometheus.yml", targets...)
	if out, err := exec.Command("promtool", "check", "config", scrape).CombinedOutput(); err != nil || !bytes.Contains(out, []byte(" rules found")) {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	x.run("prometheus", "--config.file="+scrape, "--storage.tsdb.path="+filepath.Join(x.dir, "tsdb"), "--web.listen-address=127.0.0.1:"+watch)
	x.proxy, x.watch = "http://127.0.0.1:"+proxy, "http://127.0.0.1:"+watch
	until(t, "the proxy is ready", func() bool { status, _ := get("http://127.0.0.1:" + health + "/ready"); return status == http.StatusOK })
	for i := range x.at {
		x.ready(i)
	}
	return x
}

// serve starts a gateway.
func (x *topology) serve(i int, upstream string) {
	x.gateways[i] = x.run(x.sotto, "serve", "--config", x.files[i], "--upstream", upstream)
}

func (x *topology) ready(i int) {
	x.t.Helper()
	until(x.t, "a gateway is ready", func() bool { status, _ := get(x.at[i] + "/readyz"); return status == http.StatusOK })
}

// errRefused is the provider's answer to a request without its reasoning.
var errRefused = errors.New("the provider wants its reasoning back")

// ask sends a conversation to the proxy, and returns the id of the call at the reply's
// end. A reply that is not whole is an error.
func (x *topology) ask(token string, messages []any, begun func()) (id string, err error) {
	body, _ := json.Marshal(map[string]any{"model": "deepseek-v3.2", "stream": true, "messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "look"}}}})
	r, _ := http.NewRequest("POST", x.proxy+"/v1/chat/completions", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest:
		return "", errRefused
	default:
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	if begun != nil {
		begun()
	}
	whole := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), `"id":"call_`); ok {
			id, _, _ = strings.Cut("call_"+rest, `"`)
		}
		whole = whole || strings.Contains(lines.Text(), "[DONE]")
	}
	if !whole || id == "" {
		return "", fmt.Errorf("the reply broke off")
	}
	return id, nil
}

// loop is a tool loop of three turns whose client drops the reasoning.
func (x *topology) loop(n int) error {
	messages := []any{map[string]any{"role": "user", "content": fmt.Sprint("Question ", n)}}
	for turn := range 3 {
		id, err := x.ask(strings.Repeat("client-token.", 3), messages, nil)
		if err != nil {
			return fmt.Errorf("loop %d, turn %d: %w", n, turn, err)
		}
		messages = append(messages,
			map[string]any{"role": "assistant", "content": strings.Repeat("word ", 20), "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": "found"})
	}
	return nil
}

// query asks Prometheus for the value of an expression.
func (x *topology) query(expression string) string {
	_, body := get(x.watch + "/api/v1/query?query=" + url.QueryEscape(expression))
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if json.Unmarshal([]byte(body), &answer) != nil || len(answer.Data.Result) != 1 {
		return body
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}

// TestTopology runs the compose file's topology with its own configurations of the
// proxy, the store and Prometheus: tool loops across replicas, a rolling restart under
// load that breaks no stream, and a replica that is killed.
func TestTopology(t *testing.T) {
	if os.Getenv("SOTTO_EFFORT") == "" {
		t.Skip("runs for a minute: set SOTTO_EFFORT=1")
	}
	for _, name := range []string{"haproxy", "redis-server", "prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s of Debian", name)
		}
	}
	p := &provider{thoughts: map[string]string{}}
	up := httptest.NewServer(p)
	defer up.Close()
	x := start(t, up.URL)

	if _, err := x.ask("wrong", []any{map[string]any{"role": "user", "content": "Hello"}}, nil); err == nil || err.Error() != "status 401" {
		t.Errorf("a wrong token: %v", err)
	}
	if status, _ := get(x.proxy + "/metrics"); status != http.StatusNotFound {
		t.Errorf("the proxy answers /metrics with %d", status)
	}
	x.loops(120)
	until(t, "Prometheus counts all replies of three gateways", func() bool {
		return x.query(`sum(up{job="sotto"})`) == "3" && x.query(`sum(sotto_exchanges_total)`) == fmt.Sprint(p.served.Load()) &&
			x.query(`count(sotto_exchanges_total{outcome="answered"} > 0)`) == "3"
	})
	// A gateway gives the store 50 ms for a write. On a busy machine that may be too
	// little, and what was not written cannot be restored elsewhere.
	late := x.query(`sum(sotto_shared_requests_total{outcome!="ok"}) or vector(0)`)
	if n, missed := p.refused.Load(), x.query(`sum(sotto_restore_misses_total) or vector(0)`); late == "0" && (n != 0 || missed != "0") {
		t.Errorf("the provider refused %d requests, %s misses", n, missed)
	} else if p.served.Load() < 240 {
		t.Errorf("only %d requests came to the provider; %s requests to the store were late", p.served.Load(), late)
	}
	x.rolling(up.URL, p)
	x.killed(p)
	x.shipped()
}

// shipped waits until the bucket has the records of three gateways, whole, with more
// than the loops before the restart.
func (x *topology) shipped() {
	run := func(args ...string) (string, error) {
		cmd := exec.Command(x.sotto, args...)
		cmd.Env = append(append(os.Environ(), x.objects.Environ()...), "SOTTO_CACHE_DIR="+x.t.TempDir())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	var said string
	until(x.t, "the bucket has three records", func() bool {
		out, err := run("record", "verify", "s3://records/production")
		said = out
		ids, _ := filepath.Glob(filepath.Join(x.objects.Dir, "records", "production", "*", "heads"))
		return err == nil && len(ids) == 3
	})
	x.t.Logf("%s", said)
	out, err := run("record", "stats", "s3://records/production", "--json")
	if err != nil {
		x.t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(out, "deepseek-v3.2"); n == 0 {
		x.t.Errorf("the bucket has no replies:\n%s", out)
	}
}

// loops runs tool loops, eight at a time.
func (x *topology) loops(n int) {
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				if err := x.loop(i); err != nil && !errors.Is(err, errRefused) {
					x.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// rolling stops and starts one gateway after the other, while clients ask. No request
// fails, and no stream breaks.
func (x *topology) rolling(upstream string, p *provider) {
	p.pace.Store(int64(20 * time.Millisecond))
	done, asked := make(chan bool), atomic.Int64{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := x.loop(1000 + w); err != nil && !errors.Is(err, errRefused) {
					x.t.Errorf("during the rolling restart: %v", err)
				}
				asked.Add(1)
			}
		})
	}
	for i, cmd := range x.gateways {
		before := asked.Load()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			x.t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			x.t.Errorf("a gateway that was stopped: %v", err)
		}
		x.serve(i, upstream)
		x.ready(i)
		until(x.t, "the others are asked", func() bool { return asked.Load() >= before+8 })
	}
	close(done)
	wg.Wait()
	p.pace.Store(0)
}

// killed kills a gateway in the middle of streams. Those of the others go on, and the
// next requests are answered.
func (x *topology) killed(p *provider) {
	p.pace.Store(int64(100 * time.Millisecond))
	const streams = 12
	var wg, begun sync.WaitGroup
	var broken atomic.Int64
	begun.Add(streams)
	for n := range streams {
		wg.Go(func() {
			if _, err := x.ask(strings.Repeat("client-token.", 3), []any{map[string]any{"role": "user", "content": fmt.Sprint("Last ", n)}}, begun.Done); err != nil {
				broken.Add(1)
			}
		})
	}
	begun.Wait()
	_ = x.gateways[0].Process.Kill()
	wg.Wait()
	p.pace.Store(0)
	// Least connections: each has a third of the streams.
	if n := broken.Load(); n != streams/3 {
		x.t.Errorf("%d of %d streams broke", n, streams)
	}
	x.loops(40)
	until(x.t, "Prometheus sees that one is down", func() bool { return x.query(`sum(up{job="sotto"})`) == "2" })
}
