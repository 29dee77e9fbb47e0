package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A running gateway under test.
type running struct {
	t       *testing.T
	gateway string // its URL
	console string // its URL, if there is one
	debug   string // its URL, if there is one
	signals chan os.Signal
	ended   chan error
	log     chan string // what standard error says after the start
	client  *http.Client
}

// startServe runs sotto serve with the scripted upstream, on free ports.
func startServe(t *testing.T, args ...string) *running {
	t.Helper()
	return startServeWith(t, func(string) string { return "" }, args...)
}

// startServeWith is startServe with an environment.
func startServeWith(t *testing.T, getenv func(string) string, args ...string) *running {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	fromServe, stderr := io.Pipe()
	sh := shell.New(strings.NewReader(""), io.Discard, stderr, getenv)
	var line commandLine
	parser, err := newParser(&line, sh)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--scripted-listen=127.0.0.1:0", "--data=" + t.TempDir()}, args...)
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, signals: make(chan os.Signal, 2), ended: make(chan error, 1), log: make(chan string, 1), client: &http.Client{Transport: &http.Transport{}}}
	go func() {
		err := line.Serve.Serve(sh, new(dialectset.Set), ctx, r.signals)
		stderr.Close()
		r.ended <- err
	}()
	r.readStart(fromServe)
	return r
}

var consoleAt = lazyregexp.New(`the console is up" at=(\S+)`)

var debugAt = lazyregexp.New(`the debug server is up" at=(\S+)/debug/`)

var gatewayAt = lazyregexp.New(`The gateway: +(\S+)`)

// upAt is in the last line of the start of a gateway with an upstream of its own.
var upAt = lazyregexp.New(`the gateway is up",? ?"?at"?[=:]"?([^\s"]+)`)

// readStart reads standard error to the end of the start messages, and the rest of
// it in the background.
func (r *running) readStart(stderr io.Reader) {
	r.t.Helper()
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.t.Fatalf("serve has ended: %v", <-r.ended)
		}
		if m := consoleAt.FindStringSubmatch(line); m != nil {
			r.console = m[1]
		}
		if m := debugAt.FindStringSubmatch(line); m != nil {
			r.debug = m[1]
		}
		if m := gatewayAt.FindStringSubmatch(line); m != nil {
			r.gateway = m[1]
		}
		if m := upAt.FindStringSubmatch(line); m != nil {
			r.gateway = m[1]
			break
		}
		if strings.HasPrefix(line, "For your own model server") {
			break
		}
	}
	go func() {
		rest, _ := io.ReadAll(lines)
		r.log <- string(rest)
	}()
}

func (r *running) chat(model string, stream bool) *http.Response {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"model": model, "stream": stream, "messages": []map[string]string{{"role": "user", "content": "hi"}}})
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.client.Post(r.gateway+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close(); r.client.CloseIdleConnections() })
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("status %s", resp.Status)
	}
	return resp
}

// begun reads the first event of a stream.
func begun(t *testing.T, resp *http.Response) *bufio.Reader {
	t.Helper()
	frames := bufio.NewReader(resp.Body)
	if _, err := frames.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return frames
}

func TestServe(t *testing.T) {
	r := startServe(t, "--scripted-pause=0s")
	var reply struct {
		Choices []struct {
			Message struct {
				Content          string
				ReasoningContent string `json:"reasoning_content"`
			}
		}
	}
	resp := r.chat("minimax-m2", false)
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if m := reply.Choices[0].Message; m.Content != "Ottawa." || !strings.HasPrefix(m.ReasoningContent, "Short question") {
		t.Errorf("content %q, reasoning %q", m.Content, m.ReasoningContent)
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; !strings.Contains(log, "model=minimax-m2") || !strings.Contains(log, `msg="shutting down"`) {
		t.Errorf("the log: %s", log)
	}
}

// TestServeShutdown: a stream that is running when the signal comes continues to
// its end, and no new connection is accepted.
func TestServeShutdown(t *testing.T) {
	r := startServe(t, "--scripted-pause=3ms")
	frames := begun(t, r.chat("long", true))
	r.signals <- syscall.SIGTERM
	rest, err := io.ReadAll(frames)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the stream ended with %v, %.200q", err, rest[max(0, len(rest)-200):])
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(r.gateway, "http://")); err == nil {
		c.Close()
		t.Error("the gateway still takes connections")
	}
	<-r.log
}

// TestServeShutdownWait: a stream that takes too long is ended, and does not look
// complete.
func TestServeShutdownWait(t *testing.T) {
	r := startServe(t, "--scripted-pause=100ms", "--shutdown-wait=20ms")
	frames := begun(t, r.chat("long", true))
	r.signals <- syscall.SIGTERM
	rest, _ := io.ReadAll(frames)
	if strings.Contains(string(rest), "[DONE]") || !strings.Contains(string(rest), `"error"`) {
		t.Errorf("the stream ended without an error: %.200q", rest)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; !strings.Contains(log, "streams were ended") {
		t.Errorf("the log: %s", log)
	}
}

// TestServeSecondSignal: a second signal does not wait.
func TestServeSecondSignal(t *testing.T) {
	r := startServe(t, "--scripted-pause=100ms", "--shutdown-wait=1h")
	frames := begun(t, r.chat("long", true))
	r.signals <- os.Interrupt
	r.signals <- os.Interrupt
	rest, _ := io.ReadAll(frames)
	if strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream ended as if it were whole: %.200q", rest)
	}
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "second signal") {
		t.Errorf("serve ended with %v", err)
	}
	<-r.log
}

// TestServePortTaken: the error names the address, and the hint names the flag.
func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, flag := range []string{"--listen", "--scripted-listen"} {
		args := map[string]string{"--listen": "127.0.0.1:0", "--scripted-listen": "127.0.0.1:0"}
		args[flag] = taken
		var said bytes.Buffer
		status := Run([]string{"serve", "--listen", args["--listen"], "--scripted-listen", args["--scripted-listen"], "--data", t.TempDir()},
			strings.NewReader(""), io.Discard, &said, func(string) string { return "" })
		want := "sotto: error: listen on " + taken + ": address already in use\nsotto: hint: another program, maybe another sotto, uses this port: choose another with " + flag + "\n"
		if status != shell.StatusFailed || said.String() != want {
			t.Errorf("%s: status %d, %s", flag, status, said.String())
		}
	}
}

// TestServeSecrets: a token and a key never appear in the output, whatever is
// wrong.
func TestServeSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("t0psecret one\n"), 0o604); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--token-file", file, "--check"},
		{"--token-file", file},
		{"--check"},
		{"--check", "--upstream", "http://me:t0psecret@host/"},
		{"--check", "--display", "x"},
		{"--listen", "300.0.0.1:1", "--insecure-public"},
	} {
		var out bytes.Buffer
		env := map[string]string{"SOTTO_UPSTREAM_KEY": "t0psecret", "HOME": t.TempDir(), "SOTTO_TOKEN": "t0psecret"}
		Run(append([]string{"serve"}, args...), strings.NewReader(""), &out, &out, func(name string) string { return env[name] })
		if out.Len() == 0 || strings.Contains(out.String(), "t0psecret") {
			t.Errorf("%q:\n%s", args, out.String())
		}
	}
}
