//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A gatewayProcess is a gateway that runs.
type gatewayProcess struct {
	cmd         *exec.Cmd
	lines       chan string // of standard error
	at, console string
}

// start starts the program, and waits until it serves.
func start(t *testing.T, args ...string) *gatewayProcess {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &gatewayProcess{cmd: &exec.Cmd{Path: program, Args: append([]string{"sotto-gateway"}, args...), Env: []string{"HOME=" + t.TempDir()}}, lines: make(chan string, 1000)}
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	go func() {
		defer close(g.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			g.lines <- in.Text()
		}
	}()
	g.console = strings.TrimSuffix(g.said(t, `the console is up.* at=(\S+)`), "/")
	g.at = strings.TrimSuffix(g.said(t, `The gateway: +(\S+)`), "/")
	return g
}

// said waits for a line, and returns what its group matches.
func (g *gatewayProcess) said(t *testing.T, line string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case text, ok := <-g.lines:
			if m := regexp.MustCompile(line).FindStringSubmatch(text); m != nil {
				return m[len(m)-1]
			}
			if !ok {
				t.Fatalf("the gateway ended before it said %s", line)
			}
		case <-late:
			t.Fatalf("the gateway has not said %s", line)
		}
	}
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestServe: the program serves a gateway with its record and its page. The page has no
// screens of experiments, and leads to none. A file with agents is refused while it runs.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "sotto.yaml")
	text := fmt.Sprintf("v: 1\nlisten: 127.0.0.1:0\ndata: %[1]s/data\nrecord: %[1]s/audit\nconsole: true\nconsole-listen: 127.0.0.1:0\n", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, "serve", "--config", config, "--scripted-listen=127.0.0.1:0")
	if _, page := get(t, g.console+"/exchanges"); !strings.Contains(page, "sotto-gateway serve --upstream ") || strings.Contains(page, "sotto serve ") {
		t.Errorf("the page of an empty record does not name this program:\n%s", page)
	}
	r, err := http.NewRequest(http.MethodPost, g.at+"/v1/chat/completions", strings.NewReader(`{"model":"minimax-m2","messages":[{"role":"user","content":"Which tower is taller?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Claude-Code-Session-Id", "the-session")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 200 || !bytes.Contains(answer, []byte(`"content"`)) || bytes.Contains(answer, []byte("<think>")) {
		t.Errorf("%s: %s", resp.Status, answer)
	}
	page := ""
	for late := time.Now().Add(time.Minute); !strings.Contains(page, "minimax-m2") && time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		_, page = get(t, g.console+"/exchanges")
	}
	_, one := get(t, g.console+"/exchanges/1")
	if !strings.Contains(one, "the-session") {
		t.Errorf("the exchange has no session:\n%s", one)
	}
	for _, page := range []string{page, one} {
		if !strings.Contains(page, "minimax-m2") || regexp.MustCompile(`href="[^"]*(runs|sessions|memory|studies|evaluation)\b`).MatchString(page) {
			t.Errorf("a page without experiments:\n%s", page)
		}
	}
	if status, _ := get(t, g.console+"/runs"); status != 404 {
		t.Errorf("runs: %d", status)
	}
	if err := os.WriteFile(config, []byte(text+"agents: [a.yaml]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	g.said(t, `sotto.yaml:7:\d+: agents: (this program has no agents)`)
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range g.lines { // to its end
	}
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
