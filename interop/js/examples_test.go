package js

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A modelServer streams a reply with a thought in tags, in pieces of three bytes, and notes what
// it is sent.
type modelServer struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string // the messages of each request
}

func newModelServer(t *testing.T) *modelServer {
	s := &modelServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *modelServer) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	if r.Method == http.MethodOptions {
		return
	}
	var asked struct{ Messages json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.sent = append(s.sent, string(asked.Messages))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	text := "<think>\nsix times seven\n</think>\n\nForty-two."
	for len(text) > 0 {
		n := min(3, len(text))
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text[:n])
		text = text[n:]
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// requests returns the messages that were sent.
func (s *modelServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sent...)
}

// TestPage asks twice on a page that has no server of its own.
func TestPage(t *testing.T) {
	built(t)
	model := newModelServer(t)
	b := open(t, "/js/examples/page.html")
	b.until(`document.body.dataset.ready === "yes"`)
	ask := fmt.Sprintf(`(() => {
		const f = document.querySelector("form");
		f.server.value = %q; f.question.value = "6 × 7?";
		f.requestSubmit(); return true; })()`, model.URL)
	for range 2 {
		evaluate[bool](b, ask)
		b.until(`document.getElementById("state").textContent !== ""`)
		got := evaluate[string](b, `["answer", "thought", "state"].map((id) => document.getElementById(id).textContent.trim()).join("|")`)
		if want := "Forty-two.|six times seven|stopped"; got != want {
			t.Errorf("the page shows %q, want %q", got, want)
		}
	}
	const user = `{"role":"user","content":"6 × 7?"}`
	want := []string{"[" + user + "]", "[" + user + `,{"role":"assistant","content":"Forty-two."},` + user + "]"}
	if got := model.requests(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the page sent %q, want %q", got, want)
	}
}

// TestRoute serves the route handler, and asks it with a thought in the history.
func TestRoute(t *testing.T) {
	built(t)
	model := newModelServer(t)
	cmd := exec.CommandContext(t.Context(), "node", "examples/serve.mjs")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "MODEL_SERVER="+model.URL, "PORT=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	const asked = `{"model":"qwen3:8b","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"<think>b</think>c"},{"role":"user","content":"d"}]}`
	resp, err := http.Post(strings.TrimSpace(address), "application/json", strings.NewReader(asked))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || strings.TrimSpace(string(text)) != "Forty-two." {
		t.Errorf("the route answers %s %q, %v", resp.Status, text, err)
	}
	want := `[{"role":"user","content":"a"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]`
	if got := model.requests(); len(got) != 1 || got[0] != want {
		t.Errorf("the route sent %q, want %s", got, want)
	}
}
