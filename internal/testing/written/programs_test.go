//go:build unix

package written

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/cli"
)

func TestMain(m *testing.M) {
	if os.Getenv("WRITTEN_CHILD") != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// today is the program of this tree: this test.
var today = os.Args[0]

// What the callers of the samples are asked with, and what their model thinks and says.
const (
	question  = "What did you write?"
	thought   = "A thought that must not be lost."
	said      = "The answer."
	bare      = "All of a reply without a tag."
	madeID    = "resp_of_the_samples_0123456789"
	sharedKey = "a-secret-of-all-replicas"
)

// A speaker is a model server. Its model qwen3 writes both tags of a thought, and qwq only
// the closing one. A reply to "Go on" has no tag.
type speaker struct {
	name string

	mu    sync.Mutex
	asked []string // the bodies and paths of requests
}

func speak(t *testing.T, name string) (*speaker, *httptest.Server) {
	t.Helper()
	s := &speaker{name: name}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server
}

// heard returns the last request.
func (s *speaker) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1]
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+string(body))
	s.mu.Unlock()
	if strings.Contains(r.URL.Path, "/responses") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"object":"response","created_at":1,"status":"completed","model":%q,"output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"From %s.","annotations":[]}]}]}`, madeID, gjson.GetBytes(body, "model").Str, s.name)
		return
	}
	name, text := gjson.GetBytes(body, "model").Str, "<think>\n"+thought+"\n</think>\n\n"+said
	if name == "qwq" {
		text = thought + "\n</think>\n\n" + said
	}
	if messages := gjson.GetBytes(body, "messages").Array(); len(messages) > 0 && messages[len(messages)-1].Get("content").Str == "Go on" {
		text = bare
	}
	choice := func(key string, value any, finish any) string {
		data, _ := json.Marshal(map[string]any{"id": "chatcmpl-1", "object": "chat.completion", "model": name, "choices": []any{map[string]any{"index": 0, key: value, "finish_reason": finish}}})
		return string(data)
	}
	message := map[string]string{"role": "assistant", "content": text}
	if !gjson.GetBytes(body, "stream").Bool() {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, choice("message", message, "stop"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", choice("delta", message, nil), choice("delta", map[string]string{}, "stop"))
}

// run runs a command of a program in a folder, and returns its standard output.
func run(t *testing.T, program, dir string, args ...string) string {
	t.Helper()
	out, errs, err := try(program, dir, args...)
	if err != nil {
		t.Fatalf("sotto %q: %v\n%s%s", args, err, out, errs)
	}
	return out
}

func try(program, dir string, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := command(program, dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func command(program, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"WRITTEN_CHILD=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	return cmd
}

// A gatewayProcess is a sotto serve.
type gatewayProcess struct {
	t             *testing.T
	base, console string
	cmd           *exec.Cmd
	log           *lockedLog
	read          chan struct{} // is closed when the log has ended
}

type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) add(line string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
	return l.text.String()
}

var up = regexp.MustCompile(`(gateway|console) is up.*?(http://[0-9.:]+)`)

// serve starts a gateway of a program in a folder, and waits until it is up.
func serve(t *testing.T, program, dir string, args ...string) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{t: t, log: &lockedLog{}, read: make(chan struct{})}
	g.cmd = command(program, dir, append([]string{"serve", "--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0"}, args...)...)
	out, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill(); _ = g.cmd.Wait() })
	lines := bufio.NewScanner(out)
	text := ""
	for lines.Scan() {
		text = g.log.add(lines.Text())
		if m := up.FindStringSubmatch(lines.Text()); m != nil && m[1] == "console" {
			g.console = m[2]
		} else if m != nil {
			g.base = m[2]
			go func() {
				defer close(g.read)
				for lines.Scan() {
					g.log.add(lines.Text())
				}
			}()
			return g
		}
	}
	t.Fatalf("the gateway does not start: %s", text)
	return nil
}

// stop ends the gateway in good order.
func (g *gatewayProcess) stop() {
	g.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	<-g.read
	if err := g.cmd.Wait(); err != nil {
		g.t.Fatalf("%v: %s", err, g.log.add(""))
	}
}

// ask sends a request to a server, and returns the status and the body.
func ask(t *testing.T, address, token, body string, header ...string) (int, string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	q, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
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

// must is ask for what must succeed.
func must(t *testing.T, address, token, body string, header ...string) string {
	t.Helper()
	status, text := ask(t, address, token, body, header...)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", address, status, text)
	}
	return text
}

// chat is a request of chat completions; the messages are those of a user and of the
// assistant in turn.
func chat(model string, messages ...string) string {
	var list []map[string]string
	for i, text := range messages {
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	data, _ := json.Marshal(map[string]any{"model": model, "messages": list})
	return string(data)
}

// read returns a file.
func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write makes a file, and its folder.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
