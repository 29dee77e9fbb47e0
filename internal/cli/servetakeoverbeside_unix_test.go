//go:build unix

package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/record"
)

// A replacement is a gateway with everything that it can have beside it, which is replaced
// while all of that is in use.
type replacement struct {
	t        *testing.T
	dir      string
	args     []string
	env      []string
	upstream http.Handler
	asked    atomic.Int64 // the guard
	mu       sync.Mutex
	bodies   []string // that the upstream got
}

// TestTakeoverBeside: a gateway is replaced while a reply over a WebSocket runs, while its
// settings are reloaded, and while its data folder is backed up, with a guard that judges its
// replies. A hangup ends neither process. The reply ends whole, an idle WebSocket is closed with status 1001, and so is the other
// after its reply; clients connect again to the next gateway. The backup, the record and the
// next gateway are whole. In full, replicas share their state in Redis, and the record is
// shipped: the next gateway restores what the first one knew, and ships what it left.
func TestTakeoverBeside(t *testing.T) {
	if effort.Brief() {
		t.Skip("seconds of traffic: SOTTO_EFFORT=1 runs it")
	}
	v := &replacement{t: t, dir: t.TempDir(), upstream: scripted.New(scripted.Options{Pause: 2 * time.Millisecond})}
	upstream := httptest.NewServer(v)
	defer upstream.Close()
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.asked.Add(1)
		fmt.Fprint(w, `{"action":"pass"}`)
	}))
	defer guard.Close()
	v.configure("display: field\n")
	v.args = []string{
		"serve", "--takeover", "--config=" + v.path("sotto.yaml"), "--upstream=" + upstream.URL, "--guard=" + guard.URL, "--history=restore",
		"--listen=127.0.0.1:0", "--data=" + v.path("data"), "--record=" + v.path("audit"),
	}
	v.env = os.Environ()
	bucket := v.beside()
	for range effort.Times() {
		v.replace()
	}
	v.check(bucket)
}

func (v *replacement) path(name string) string { return filepath.Join(v.dir, name) }

func (v *replacement) configure(text string) {
	v.t.Helper()
	if err := os.WriteFile(v.path("new"), []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	if err := os.Rename(v.path("new"), v.path("sotto.yaml")); err != nil {
		v.t.Fatal(err)
	}
}

// ServeHTTP is the upstream. It keeps what it was asked.
func (v *replacement) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	v.mu.Lock()
	v.bodies = append(v.bodies, string(body))
	v.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	v.upstream.ServeHTTP(w, r)
}

// beside starts Redis and an object store, if the tests are run in full.
func (v *replacement) beside() (bucket *objectstest.Server) {
	v.t.Helper()
	if effort.Brief() {
		return nil
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		v.t.Fatal("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	redis := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", v.dir)
	if err := redis.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = redis.Process.Kill(); _ = redis.Wait() })
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(until) {
			v.t.Fatal(err)
		}
	}
	bucket = objectstest.Start(v.t, "records")
	v.args = append(v.args, fmt.Sprintf("--shared=redis://127.0.0.1:%d", port), "--record-ship=s3://records/prod")
	v.env = slices.Concat(v.env, bucket.Environ(), []string{"SOTTO_SHARED_SECRET=a-secret-of-all-replicas", "SOTTO_CACHE_DIR=" + v.path("cache")})
	return bucket
}

// start starts a gateway, and waits until it serves.
func (v *replacement) start() *gatewayUnderLoad {
	v.t.Helper()
	g := &gatewayUnderLoad{}
	stderr, said, err := os.Pipe()
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { stderr.Close() })
	g.cmd = exec.Command("sotto", v.args...)
	g.cmd.Stderr, g.cmd.Env = said, v.env
	if err := g.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	said.Close()
	g.saw = func(line string) {
		if strings.Contains(line, "this process takes over") { // and waits for the other
			_ = g.cmd.Process.Signal(syscall.SIGHUP)
		}
	}
	g.follow(v.t, stderr)
	return g
}

// A socket is a client's WebSocket, with what came over it.
type socket struct {
	c      *websocket.Conn
	events []string
	err    error
}

func (v *replacement) dial(g *gatewayUnderLoad) *socket {
	v.t.Helper()
	c, _, err := websocket.Dial(v.t.Context(), g.url+"/v1/responses", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(-1)
	return &socket{c: c}
}

// ask sends a turn, and reads events up to one of a type.
func (s *socket) ask(t *testing.T, model, until string) {
	t.Helper()
	if err := s.c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"`+model+`","input":"hi"}`)); err != nil {
		t.Fatal(err)
	}
	if !s.read(until) {
		t.Fatalf("%v after %q", s.err, s.events)
	}
}

func (s *socket) read(until string) bool {
	for {
		_, event, err := s.c.Read(context.Background())
		if err != nil {
			s.err = err
			return false
		}
		s.events = append(s.events, gjson.GetBytes(event, "type").Str)
		if s.events[len(s.events)-1] == until {
			return true
		}
	}
}

// closed reads the rest, and checks that the gateway has closed the connection as one that
// goes away, after a last event.
func (s *socket) closed(t *testing.T, which, last string) {
	t.Helper()
	s.read("")
	if code := websocket.CloseStatus(s.err); code != websocket.StatusGoingAway {
		t.Errorf("the %s WebSocket: closed with %d: %v", which, code, s.err)
	}
	if got := s.events[len(s.events)-1]; got != last {
		t.Errorf("the %s WebSocket: the last event is %s, want %s", which, got, last)
	}
}

// chat asks for a whole reply to messages.
func (v *replacement) chat(g *gatewayUnderLoad, messages string) gjson.Result {
	v.t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(g.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"minimax-m2","messages":`+messages+`}`))
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatal(resp.Status, err, string(body))
	}
	return gjson.GetBytes(body, "choices.0.message")
}

// replace starts a gateway, uses it, and replaces it.
func (v *replacement) replace() {
	t := v.t
	old := v.start()
	said := v.chat(old, `[{"role":"user","content":"hi"}]`)
	thought := said.Get("reasoning_content").Str
	if thought == "" {
		t.Fatalf("no reasoning: %s", said.Raw)
	}
	idle, busy := v.dial(old), v.dial(old)
	idle.ask(t, "minimax-m2", "response.completed")
	busy.ask(t, "long", "response.created")

	// A reload and a backup, and at the same time the next process.
	v.configure("display: field\nsilence: 9m\n")
	_ = old.cmd.Process.Signal(syscall.SIGHUP)
	archive := filepath.Join(t.TempDir(), "backup")
	backup := exec.Command("sotto", "data", "backup", v.path("data"), "--to", archive)
	backup.Env = v.env
	var saved strings.Builder
	backup.Stdout, backup.Stderr = &saved, &saved
	if err := backup.Start(); err != nil {
		t.Fatal(err)
	}
	again := make(chan struct{})
	var hangups sync.WaitGroup
	hangups.Go(func() { // until the process is gone, the next one has asked for its sockets at some of them
		for {
			select {
			case <-again:
				return
			case <-time.After(5 * time.Millisecond):
				_ = old.cmd.Process.Signal(syscall.SIGHUP)
			}
		}
	})
	next := v.start()
	close(again)
	hangups.Wait()
	idle.closed(t, "idle", "response.completed")
	busy.closed(t, "busy", "response.completed")
	old.ended(t)
	if err := backup.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &saved)
	}
	if out, err := exec.Command("sotto", "data", "verify", archive).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if log := old.log.String(); !strings.Contains(log, "the settings are reloaded") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log of the first: %s", log)
	}

	// The next gateway knows what the first one has shared, and has all the rest again.
	v.chat(next, `[{"role":"user","content":"hi"},{"role":"assistant","content":`+said.Get("content").Raw+`},{"role":"user","content":"and now?"}]`)
	v.mu.Lock()
	last := v.bodies[len(v.bodies)-1]
	v.mu.Unlock()
	if restored := strings.Contains(gjson.Get(last, "messages").String(), thought); restored == effort.Brief() {
		t.Errorf("the thought is restored: %t; the upstream got %s", restored, last)
	}
	before := v.asked.Load()
	v.dial(next).ask(t, "minimax-m2", "response.completed")
	if v.asked.Load() == before {
		t.Error("the next gateway does not ask the guard")
	}
	_ = next.cmd.Process.Signal(syscall.SIGTERM)
	next.ended(t)
}

// check checks the record, and what was shipped of it.
func (v *replacement) check(bucket *objectstest.Server) {
	v.t.Helper()
	report, err := record.Verify(v.path("audit"), record.VerifyOptions{})
	if err != nil || report.Err() != nil {
		v.t.Error(err, report.Err())
	}
	outcomes := map[string]int{}
	for _, e := range exchangesIn(v.t, v.path("audit")) {
		outcomes[e.Outcome]++
	}
	if want := 5 * effort.Times(); outcomes["answered"] != want || len(outcomes) != 1 {
		v.t.Errorf("the record has %v, want %d that are answered", outcomes, want)
	}
	if bucket == nil {
		return
	}
	if local, shipped := v.head(v.path("audit")), v.head("s3://records/prod"); local != shipped || local == "" {
		v.t.Errorf("the record ends with %q, and what was shipped with %q", local, shipped)
	}
}

// head verifies a record, and returns its last event.
func (v *replacement) head(at string) string {
	v.t.Helper()
	verify := exec.Command("sotto", "record", "verify", at)
	verify.Env = v.env
	out, err := verify.CombinedOutput()
	if err != nil {
		v.t.Errorf("%s: %v\n%s", at, err, out)
	}
	_, head, _ := strings.Cut(string(out), "\nhead: ")
	return head
}
