package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// edgeToken opens every server of these tests.
const edgeToken = "the-token-of-everything"

// An edge is a server of a program that runs, with an ordinary request that it answers.
type edge struct {
	at, method, path, body string
}

// ask sends the ordinary request with more of a header, over a connection of its own, and
// returns the connection.
func (e edge) ask(t *testing.T, query, header, body string) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", e.at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s\r\n%s", e.method, e.path+query, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(c)
}

// status reads an answer.
func status(t *testing.T, from *bufio.Reader) (code int, text string) {
	t.Helper()
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// startEdges starts the programs that serve, each a process, and returns their servers.
func startEdges(t *testing.T) map[string]edge {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(edgeToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := "--token-file=" + filepath.Join(dir, "token")
	start := func(last string, args ...string) (said string) {
		cmd := exec.Command("sotto", args...)
		cmd.Dir = dir
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		drained := make(chan struct{})
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-drained
			_ = cmd.Wait()
		})
		for !strings.Contains(said, last) {
			line, err := lines.ReadString('\n')
			if said += line; err != nil {
				close(drained)
				t.Fatalf("%v: %s", args, said)
			}
		}
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, lines)
		}()
		return said
	}
	host := func(address string) string {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.Host == "" {
			t.Fatalf("%q %v", address, err)
		}
		return u.Host
	}
	serve := start("For your own model server", "serve", "--listen=127.0.0.1:0", "--scripted-listen=127.0.0.1:0", "--scripted-pause=0s", "--data="+filepath.Join(dir, "data"), token,
		"--a2a", "--console", "--console-listen=127.0.0.1:0", "--debug-listen=127.0.0.1:0")
	gateway := host(gatewayAt.FindStringSubmatch(serve)[1])
	_, mcp, _ := strings.Cut(start(" is at ", "mcp", "--listen=127.0.0.1:0", token), " is at ")
	_, alone, _ := strings.Cut(start(" is at ", "console", "--listen=127.0.0.1:0", token), " is at ")
	const play = "text=hi"
	return map[string]edge{
		"gateway": {gateway, "POST", "/v1/chat/completions", `{"model":"minimax-m2","messages":[{"role":"user","content":"hi"}]}`},
		"a2a":     {gateway, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`},
		"beside":  {host(consoleAt.FindStringSubmatch(serve)[1]), "POST", "/playground/read", play},
		"alone":   {host(alone), "POST", "/playground/read", play},
		"mcp":     {host(mcp), "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`},
		"debug":   {host(debugAt.FindStringSubmatch(serve)[1]), "PUT", "/debug/log-level", "info"},
	}
}

// TestEdges: what every server of every program does with requests that are not as they
// should be, over connections of their own.
func TestEdges(t *testing.T) {
	effort.OneGoroutine(t)
	const bearer = "Authorization: Bearer " + edgeToken + "\r\n"
	for name, e := range startEdges(t) {
		t.Run(name, func(t *testing.T) {
			length := fmt.Sprintf("Content-Length: %d\r\n", len(e.body))
			good := func() {
				t.Helper()
				if code, text := status(t, e.ask(t, "", bearer+length, e.body)); code != http.StatusOK {
					t.Fatalf("an ordinary request: %d %s", code, text)
				}
			}
			good()
			for query, want := range map[string]map[string]int{
				"?key=" + edgeToken:          {"": 400, bearer: 400},
				"?token=" + edgeToken:        {"": 400, bearer: 400},
				"?access_token=" + edgeToken: {"": 400, bearer: 400},
				"?api_key=" + edgeToken:      {"": 400, bearer: 400},
			} {
				for header, code := range want {
					if name == "gateway" { // where Google's clients send it; elsewhere it does not count
						code = map[string]int{"": 401, bearer: 200}[header]
					}
					if got, text := status(t, e.ask(t, query, header+length, e.body)); got != code || strings.Contains(text, edgeToken) {
						t.Errorf("%s with %q: %d %s, want %d", query, header, got, text, code)
					}
				}
			}
			for _, twice := range []string{
				"Origin: http://127.0.0.1\r\nOrigin: http://attacker.invalid\r\n", "Origin: \r\nOrigin: http://attacker.invalid\r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
				"Authorization: Bearer wrong\r\n", bearer, "Host: attacker.invalid\r\n",
			} {
				if code, text := status(t, e.ask(t, "", bearer+twice+length, e.body)); code != http.StatusBadRequest {
					t.Errorf("%q beside another: %d %s", twice, code, text)
				}
			}
			e.oneReading(t, bearer)
			for range 300 {
				e.ask(t, "", bearer+"Content-Length: 1000\r\n", "{")
			}
			good()
		})
	}
}

// oneReading checks that a request with a length and chunks is the last of its connection.
func (e edge) oneReading(t *testing.T, bearer string) {
	t.Helper()
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(e.body), e.body)
	hidden := "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + bearer + "\r\n"
	length, coding := fmt.Sprintf("Content-Length: %d\r\n", len(chunks)+len(hidden)), "Transfer-Encoding: chunked\r\n"
	for _, header := range []string{length + coding, coding + length} {
		from := e.ask(t, "", bearer+header, chunks+hidden)
		if code, text := status(t, from); code != http.StatusOK {
			t.Errorf("%q: %d %s", header, code, text)
		}
		if more, _ := io.ReadAll(from); len(more) > 0 {
			t.Errorf("%q: a second answer: %.100q", header, more)
		}
	}
}
