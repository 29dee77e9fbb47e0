//go:build unix

package replicas_test

import (
	"bufio"
	"bytes"
	"context"
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
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/record"
)

const canary = "CANARY"

func TestMain(m *testing.M) {
	if os.Getenv("REPLICAS_CHILD") != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// A speaker is the agents' model. What it says shows which messages it was asked with.
// It answers a message that begins with Slow when the test lets it.
type speaker struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	asked   chan string // the messages that wait
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	var list []string
	for _, m := range q.Messages {
		if strings.Contains(m.Content, canary) {
			list = append(list, "a thought")
		}
		if m.Role == "user" {
			list = append(list, m.Content)
		}
	}
	if last := list[len(list)-1]; strings.HasPrefix(last, "Slow") {
		s.mu.Lock()
		free := make(chan struct{})
		s.waiting[last] = free
		s.mu.Unlock()
		s.asked <- last
		select {
		case <-free:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, delta := range []map[string]any{{"role": "assistant", "content": "<think>" + canary + "</think>"}, {"content": strings.Join(list, "|")}} {
		data, _ := json.Marshal(map[string]any{"model": "qwen3", "choices": []any{map[string]any{"index": 0, "delta": delta}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	io.WriteString(w, `data: {"model":"qwen3","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

func (s *speaker) release(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.waiting[message])
}

// A gatewayProcess is a sotto serve.
type gatewayProcess struct {
	base   string
	record string
	cmd    *exec.Cmd
}

// serve starts a replica that serves an agent.
func serve(t *testing.T, model, shared string) *gatewayProcess {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.yaml")
	text := fmt.Sprintf("v: 1\nname: parrot\nmodel: {provider: openai, name: qwen3, url: %s/v1}\nstart: outside\nmemory: []\n", model)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := launch(t, os.Args[0], "--upstream", model, "--agent", file, "--shared", shared, "--data", filepath.Join(dir, "data"), "--record", filepath.Join(dir, "record"))
	g.record = filepath.Join(dir, "record")
	return g
}

// launch starts a gateway of a program, which is this test or another version.
func launch(t *testing.T, program string, args ...string) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{}
	g.cmd = exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	g.cmd.Env = append(os.Environ(), "REPLICAS_CHILD=1", "SOTTO_SHARED_SECRET=a-secret-of-all-replicas")
	out, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	t.Cleanup(func() { g.kill(); done.Wait() })
	var log strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if m := regexp.MustCompile(`gateway is up.*?(http://[0-9.:]+)`).FindStringSubmatch(lines.Text()); m != nil {
			g.base = m[1]
			done.Go(func() { _, _ = io.Copy(io.Discard, out) })
			return g
		}
	}
	t.Fatalf("the gateway does not start: %s", log.String())
	return nil
}

func (g *gatewayProcess) kill() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

// said asks for one turn of a conversation over one of three APIs, and returns the
// status and what the agent said, or the error.
func (g *gatewayProcess) said(t *testing.T, api int, name, text string) (int, string) {
	t.Helper()
	path, body := "/v1/chat/completions", fmt.Sprintf(`{"model":"agent/parrot","messages":[{"role":"user","content":%q}]}`, text)
	switch api % 3 {
	case 1:
		path, body = "/api/chat", fmt.Sprintf(`{"model":"agent/parrot","stream":false,"messages":[{"role":"user","content":%q}]}`, text)
	case 2:
		path, body = "/v1/responses", fmt.Sprintf(`{"model":"agent/parrot","input":%q}`, text)
	}
	status, root := g.post(t, path, body, name)
	return status, root.Get("choices.0.message.content").Str + root.Get("message.content").Str + root.Get(`output.#(type=="message").content.0.text`).Str + strings.TrimPrefix(root.Get("error").Raw, "null")
}

func (g *gatewayProcess) post(t *testing.T, path, body, name string) (int, gjson.Result) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", g.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if name != "" {
		q.Header.Set("Sotto-Conversation", name)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Error(err)
		return 0, gjson.Result{}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, gjson.ParseBytes(data)
}

// A slow turn is being answered.
type slow struct {
	done   chan struct{}
	status int
	text   string
}

// begin asks a replica for a turn that waits for the test.
func (s *speaker) begin(t *testing.T, g *gatewayProcess, name, text string) *slow {
	t.Helper()
	return s.beginAt(t, g, "/v1/chat/completions", fmt.Sprintf(`{"model":"agent/parrot","messages":[{"role":"user","content":%q}]}`, text), name, text)
}

func (s *speaker) beginAt(t *testing.T, g *gatewayProcess, path, body, name, text string) *slow {
	t.Helper()
	turn := &slow{done: make(chan struct{})}
	go func() {
		defer close(turn.done)
		q, _ := http.NewRequestWithContext(context.Background(), "POST", g.base+path, strings.NewReader(body))
		q.Header.Set("Sotto-Conversation", name)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		turn.status, turn.text = resp.StatusCode, string(data)
	}()
	select {
	case got := <-s.asked:
		if !strings.HasSuffix(got, text) {
			t.Fatalf("the model is asked %q", got)
		}
	case <-turn.done:
		t.Fatalf("%d %s", turn.status, turn.text)
	case <-time.After(time.Minute):
		t.Fatal("the model is not asked")
	}
	return turn
}

// expire waits until the lease of a process that is dead or stopped has ended.
func expire(t *testing.T, g *gatewayProcess, name string) {
	t.Helper()
	for range 300 {
		status, _ := g.said(t, 0, name, "Again")
		if status == http.StatusOK {
			return
		}
		if status != http.StatusConflict {
			t.Fatalf("status %d", status)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the lease does not end")
}

// TestServe: three sotto serve answer the turns of one conversation in turn, over three
// APIs. It survives the death of the process that answers a turn, a process that was
// stopped for longer than its lease, and a restart of the store in the middle of a turn.
func TestServe(t *testing.T) {
	r := redisserver.RunPersistent(t)
	model := &speaker{waiting: map[string]chan struct{}{}, asked: make(chan string, 16)}
	up := httptest.NewServer(model)
	t.Cleanup(up.Close)
	t.Cleanup(up.CloseClientConnections)
	var all [3]*gatewayProcess
	for i := range all {
		all[i] = serve(t, up.URL, r.Address())
	}
	turns := 30
	if effort.Brief() {
		turns = 9
	}
	var texts []string
	turn := func(g *gatewayProcess, api int, text string) {
		t.Helper()
		texts = append(texts, text)
		if status, got := g.said(t, api, "n", text); status != 200 || got != strings.Join(texts, "|") {
			t.Fatalf("%s: %d %s, want %s", text, status, got, strings.Join(texts, "|"))
		}
	}
	for n := range turns {
		turn(all[n%3], n/3+n, fmt.Sprint("Turn ", n))
	}

	// A branch from a response in the middle, on other replicas.
	_, one := all[0].post(t, "/v1/responses", `{"model":"agent/parrot","input":"One"}`, "")
	for i, text := range []string{"Two", "Two again"} {
		body := fmt.Sprintf(`{"model":"agent/parrot","input":%q,"previous_response_id":%q}`, text, one.Get("id").Str)
		if status, root := all[1+i].post(t, "/v1/responses", body, ""); status != 200 || root.Get(`output.#(type=="message").content.0.text`).Str != "One|"+text {
			t.Errorf("%d %s", status, root.Raw)
		}
	}

	// The process dies that answers a turn.
	late := model.begin(t, all[0], "n", "Slow death")
	if status, text := all[1].said(t, 2, "n", "Too early"); status != http.StatusConflict || !strings.Contains(text, "is being answered") {
		t.Errorf("%d %s", status, text)
	}
	all[0].kill()
	<-late.done
	expire(t, all[1], "n")
	texts = append(texts, "Again")
	turn(all[2], 1, "After a death")

	// A process stops for longer than its lease, and answers after another one has.
	late = model.begin(t, all[1], "n", "Slow stop")
	if err := all[1].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	expire(t, all[2], "n")
	texts = append(texts, "Again")
	if err := all[1].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	model.release("Slow stop")
	<-late.done
	if got := gjson.Parse(late.text); late.status != http.StatusOK || !strings.HasSuffix(got.Get("choices.0.message.content").Str, "|Slow stop") || !strings.Contains(got.Get("sotto_unkept").Str, "another request") {
		t.Errorf("%d %s", late.status, late.text)
	}
	turn(all[1], 2, "After a stop")

	// The store restarts in the middle of a turn.
	late = model.begin(t, all[1], "n", "Slow store")
	r.Kill()
	for api := range 3 {
		status, text := all[2].said(t, api, "n", "Without a store")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "cannot be reached") {
			t.Errorf("%d %s", status, text)
		}
	}
	if status, text := all[2].said(t, 0, "", "Alone"); status != 200 || text != "Alone" {
		t.Errorf("%d %s", status, text)
	}
	model.release("Slow store")
	r.Start()
	<-late.done
	texts = append(texts, "Slow store")
	if got := gjson.Get(late.text, "choices.0.message.content").Str; late.status != 200 || got != strings.Join(texts, "|") {
		t.Errorf("%d %s", late.status, late.text)
	}
	turn(all[2], 0, "After a restart")

	checkDump(t, r.Command, r.Dir)
	all[2].checkRecord(t)
}

// checkDump looks for texts in what the store has.
func checkDump(t *testing.T, command func(...string) string, dir string) {
	t.Helper()
	command("SAVE")
	dump, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{canary, "Turn", "parrot"} {
		if bytes.Contains(dump, []byte(text)) {
			t.Errorf("the dump of %d bytes holds %q", len(dump), text)
		}
	}
	if len(dump) < 2000 {
		t.Errorf("the dump has %d bytes", len(dump))
	}
}

// checkRecord checks that each run begins once in the record of a replica, before its
// cycles.
func (g *gatewayProcess) checkRecord(t *testing.T) {
	t.Helper()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	_ = g.cmd.Wait()
	r, err := record.OpenReader(g.record, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	starts, cycles := map[string]int{}, map[string]int{}
	for e, err := range r.Events(record.Query{NoCheckpoints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Payload.(type) {
		case record.RunStart:
			starts[e.Run]++
		case record.CycleEnd:
			if cycles[e.Run]++; starts[e.Run] != 1 {
				t.Errorf("%s begins %d times before cycle %d", e.Run, starts[e.Run], e.Cycle)
			}
		}
	}
	most := 0
	for _, n := range cycles {
		most = max(most, n)
	}
	if most < 5 {
		t.Errorf("cycles: %v", cycles)
	}
}
