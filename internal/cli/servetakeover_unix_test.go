//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// A load is clients that come at a constant rate, each with a connection of its own.
type load struct {
	t       *testing.T
	url     string
	stop    chan struct{}
	clients sync.WaitGroup

	mu     sync.Mutex
	ids    []string // of the exchanges
	faults []string
}

// loadKinds are the requests that the clients send in turn, and what is in a whole answer
// alone.
var loadKinds = []struct{ path, body, whole string }{
	{"/v1/chat/completions", `{"model":"minimax-m2","stream":true,"messages":[{"role":"user","content":"hi"}]}`, "data: [DONE]"},
	{"/v1/chat/completions", `{"model":"minimax-m2","messages":[{"role":"user","content":"hi"}]}`, `"finish_reason":"stop"`},
	{"/v1/messages", `{"model":"minimax-m2","stream":true,"max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`, "event: message_stop"},
	{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"load-","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`, "Ottawa"},
}

// begin lets clients come until end is called.
func (l *load) begin(every time.Duration) {
	l.clients.Go(func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for n := 0; ; n++ {
			select {
			case <-l.stop:
				return
			case <-beat.C:
				l.clients.Go(func() { l.ask(n) })
			}
		}
	})
}

// ask sends one request.
func (l *load) ask(n int) {
	kind, id := loadKinds[n%3], fmt.Sprintf("client-%d", n)
	if n%40 == 39 { // few, because a caller may have 16 at a time
		kind = loadKinds[3]
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequest(http.MethodPost, l.url+kind.path, strings.NewReader(strings.Replace(kind.body, `"load-"`, strconv.Quote(id), 1)))
	if err != nil {
		l.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Load", id)
	resp, err := (&http.Client{Transport: transport}).Do(r)
	var data []byte
	if err == nil {
		data, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if text := string(data); err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(text, kind.whole) || strings.Contains(text, `"error"`)) {
			err = fmt.Errorf("%s: %.300q", resp.Status, data[max(0, len(data)-300):])
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.faults = append(l.faults, fmt.Sprintf("%s: %v", id, err))
	}
	if kind.path != "/a2a" {
		l.ids = append(l.ids, id)
	}
}

// end waits for the last client.
func (l *load) end() {
	close(l.stop)
	l.clients.Wait()
}

// A gatewayUnderLoad is a process with what it says.
type gatewayUnderLoad struct {
	cmd *exec.Cmd
	url string
	log strings.Builder // complete when the process has ended
	saw func(string)    // called with each line until it serves; may be nil
	all sync.WaitGroup
}

// follow reads what a process says until it serves, and the rest in the background.
func (g *gatewayUnderLoad) follow(t *testing.T, stderr io.Reader) {
	t.Helper()
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for g.url == "" && lines.Scan() {
		fmt.Fprintln(&g.log, lines.Text())
		if g.saw != nil {
			g.saw(lines.Text())
		}
		if m := upAt.FindStringSubmatch(lines.Text()); m != nil {
			g.url = m[1]
		}
	}
	if g.url == "" {
		t.Fatalf("the gateway does not serve: %v\n%s", g.cmd.Wait(), g.log.String())
	}
	g.all.Go(func() {
		for lines.Scan() {
			fmt.Fprintln(&g.log, lines.Text())
		}
	})
}

// ended waits until the process has ended well.
func (g *gatewayUnderLoad) ended(t *testing.T) {
	t.Helper()
	g.all.Wait()
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, g.log.String())
	}
}

// TestReplacedUnderLoad: a gateway is replaced again and again while clients come, by a
// process that takes its sockets over, and by one that gets them from systemd. No client
// is refused, every stream arrives whole, and the record has each exchange once.
func TestReplacedUnderLoad(t *testing.T) {
	if effort.Brief() {
		t.Skip("seconds of traffic: SOTTO_EFFORT=1 runs it")
	}
	times, every := 2, 10*time.Millisecond
	if !effort.Brief() {
		times = 10 * effort.Times()
	}
	for _, how := range []string{"takeover", "systemd"} {
		t.Run(how, func(t *testing.T) {
			upstream := httptest.NewServer(scripted.New(scripted.Options{Pause: 5 * time.Millisecond}))
			defer upstream.Close()
			dir := t.TempDir()
			audit := filepath.Join(dir, "audit")
			args := []string{
				"--upstream=" + upstream.URL, "--listen=127.0.0.1:0", "--data=" + filepath.Join(dir, "data"), "--record=" + audit, "--record-header=X-Load",
				"--a2a", "--a2a-model=minimax-m2", "--console", "--console-listen=127.0.0.1:0",
			}
			p := pass(t, "gateway", "tcp")
			p.notify = "" // nobody reads what the processes say
			start := func() *gatewayUnderLoad {
				g := &gatewayUnderLoad{}
				stderr, said, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { stderr.Close() })
				if how == "systemd" {
					g.cmd = p.start(said, args...)
				} else {
					g.cmd = exec.Command("sotto", append([]string{"serve", "--takeover"}, args...)...)
					g.cmd.Stderr = said
					if err := g.cmd.Start(); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = g.cmd.Process.Kill() })
				}
				said.Close()
				g.follow(t, stderr)
				return g
			}
			current := start()
			first := current.url
			l := &load{t: t, url: first, stop: make(chan struct{})}
			l.begin(every)
			for range times {
				for before := l.count(); l.count() < before+20; {
					time.Sleep(every)
				}
				old := current
				if how == "systemd" {
					_ = old.cmd.Process.Signal(syscall.SIGTERM)
					old.ended(t)
				}
				current = start()
				if how == "takeover" {
					old.ended(t)
				}
				if current.url != first {
					t.Fatalf("the next gateway is at %s, not at %s", current.url, first)
				}
			}
			l.end()
			_ = current.cmd.Process.Signal(syscall.SIGTERM)
			current.ended(t)
			l.check(audit)
			if _, err := os.Stat(filepath.Join(dir, "data", "takeover.sock")); err == nil {
				t.Error("the last process left its Unix socket")
			}
		})
	}
}

// count returns how many clients have their answers.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids)
}

// check checks what the clients got, and that the record has each exchange once.
func (l *load) check(dir string) {
	l.t.Helper()
	for i, f := range l.faults {
		if i == 5 {
			l.t.Errorf("… and %d more", len(l.faults)-i)
			break
		}
		l.t.Error(f)
	}
	seen := map[string]int{}
	for _, e := range exchangesIn(l.t, dir) {
		if id := e.IDs["X-Load"]; id != "" {
			seen[id]++
			if e.Outcome != "answered" {
				l.t.Errorf("%s is recorded as %s: %s", id, e.Outcome, e.Error)
			}
		}
	}
	for _, id := range l.ids {
		if seen[id] != 1 {
			l.t.Errorf("%s is recorded %d times", id, seen[id])
		}
	}
	if len(seen) != len(l.ids) || len(seen) < 40 {
		l.t.Errorf("%d exchanges of %d clients are recorded", len(seen), len(l.ids))
	}
	if report, err := record.Verify(dir, record.VerifyOptions{}); err != nil || report.Err() != nil {
		l.t.Error(err, report.Err())
	}
	l.t.Logf("%d clients, %d faults", len(l.ids), len(l.faults))
}

// TestTakeoverGivenUp: if the next process cannot serve, the one that runs goes on. After
// one that was killed, the next begins as if there had been none.
func TestTakeoverGivenUp(t *testing.T) {
	data := t.TempDir()
	start := func(args ...string) *gatewayUnderLoad {
		t.Helper()
		stderr, said, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stderr.Close() })
		g := &gatewayUnderLoad{cmd: exec.Command("sotto", append([]string{"serve", "--takeover", "--scripted-listen=127.0.0.1:0", "--log-format=json", "--data=" + data}, args...)...)}
		g.cmd.Stderr = said
		if err := g.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said.Close()
		t.Cleanup(func() { _ = g.cmd.Process.Kill() })
		g.follow(t, stderr)
		return g
	}
	current := start("--listen=127.0.0.1:0")
	taken := strings.TrimPrefix(current.url, "http://")
	out, err := exec.Command("sotto", "serve", "--takeover", "--data="+data, "--listen="+taken, "--scripted-listen=127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "address already in use") {
		t.Errorf("%v\n%s", err, out)
	}
	resp, err := http.Get(current.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	_ = current.cmd.Process.Kill()
	current.all.Wait()
	_ = current.cmd.Wait()
	if log := current.log.String(); !strings.Contains(log, "did not take over") {
		t.Errorf("the log: %s", log)
	}
	next := start("--listen=" + taken)
	_ = next.cmd.Process.Signal(syscall.SIGTERM)
	next.ended(t)
}

// TestTakeoverRefused: the gateway that runs is found by a folder, whose name must fit a
// Unix socket, and sockets of systemd are not passed on.
func TestTakeoverRefused(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if status, _, errs := runWith(nil, "serve", "--takeover", "--data", long); status == 0 || !strings.Contains(errs, "too long for a Unix socket") || !strings.Contains(errs, "shorter path") {
		t.Errorf("%d %s", status, errs)
	}
	var said strings.Builder
	if err := pass(t, "gateway", "tcp").start(&said, "--takeover").Wait(); err == nil || !strings.Contains(said.String(), "a service manager has passed sockets") {
		t.Errorf("%v %s", err, said.String())
	}
}
