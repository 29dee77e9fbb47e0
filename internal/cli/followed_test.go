package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// TestFollowedAcross: an agent calls a model of another server, and an agent of another
// server by A2A. What the two servers record of one message is one trace: that of the client
// if it names one, in the header or in the message, and a new one if what it names is not a
// trace. It is shown as one, and each call leads to what it became on the other server.
func TestFollowedAcross(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"far.jsonl": `{"text":"<think>SECRET far</think>Far answer."}` + "\n",
		"far.yaml":  "v: 1\nname: far\nmodel: {provider: scripted, script: far.jsonl}\n",
	}
	put := func() {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		message := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"far","arguments":"{\"message\":\"Well?\"}"}}]}`
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			message = `{"role":"assistant","content":"<think>SECRET near</think>Near answer."}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","model":"minimax-m2","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}`, message)
	}))
	defer up.Close()
	farAudit, nearAudit := filepath.Join(dir, "records", "far"), filepath.Join(dir, "records", "near")
	if err := os.Mkdir(filepath.Join(dir, "records"), 0o700); err != nil {
		t.Fatal(err)
	}
	far := startServe(t, "--a2a", "--record="+farAudit, "--a2a-agent="+filepath.Join(dir, "far.yaml"), "--upstream="+up.URL)
	files["near.yaml"] = fmt.Sprintf("v: 1\nname: near\nmodel: {provider: openai, url: %s/v1, name: minimax-m2}\ntools: [{name: far, a2a: %q}]\n", far.gateway, far.gateway)
	put()
	near := startServe(t, "--a2a", "--record="+nearAudit, "--a2a-agent="+filepath.Join(dir, "near.yaml"))

	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	other := strings.Replace(trace, "0af", "1af", 1)
	hostile := "00-" + trace + "-" + span + "-01\"><script>SECRET of a client</script>"
	tasks := map[string]string{}
	for _, c := range []struct{ name, header, inMessage string }{
		{"header", "00-" + trace + "-" + span + "-01", hostile},
		{"message", hostile, "00-" + other + "-" + span + "-00"},
		{"hostile", hostile, hostile},
		{"none", "", ""},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"How many?"}],"metadata":{"traceparent":%q}}}}`, c.name, c.inMessage)
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, near.gateway+"/a2a", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Traceparent", c.header)
		resp, err := near.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		var reply struct {
			Result struct{ Task struct{ ID string } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		tasks[c.name] = reply.Result.Task.ID
	}
	for _, r := range []*running{near, far} {
		r.client.CloseIdleConnections()
		r.signals <- syscall.SIGTERM
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	}

	nearEvents, farEvents := eventsIn(t, nearAudit), eventsIn(t, farAudit)
	seen := map[string]bool{}
	for name, task := range tasks {
		var spans []string
		peer, found := "", ""
		for _, e := range nearEvents {
			if e.Run != task {
				continue
			}
			switch p := e.Payload.(type) {
			case record.RunStart:
				found = p.IDs[record.IDTrace]
				if parent := p.IDs[record.IDParentSpan]; (parent == span) != (name == "header" || name == "message") {
					t.Errorf("%s: the parent is %q", name, parent)
				}
			case record.Invocation:
				spans = append(spans, p.IDs[record.IDSpan])
			case record.ToolCall:
				if p.Phase == "end" {
					spans = append(spans, p.IDs[record.IDSpan])
					if p.Peer != nil {
						peer = p.Peer.Task
					}
				}
			}
		}
		if want := map[string]string{"header": trace, "message": other}[name]; found != cmp.Or(want, found) || len(found) != 32 || seen[found] {
			t.Errorf("%s: the trace is %q", name, found)
		}
		seen[found] = true
		// What the other server has of this trace: two exchanges and a run, each below one
		// of the calls.
		var parents []string
		for _, e := range farEvents {
			switch p := e.Payload.(type) {
			case record.Exchange:
				if p.IDs[record.IDTrace] == found {
					parents = append(parents, p.IDs[record.IDParentSpan])
				}
			case record.RunStart:
				if p.IDs[record.IDTrace] == found {
					if parents = append(parents, p.IDs[record.IDParentSpan]); e.Run != peer {
						t.Errorf("%s: the task there is %s, and the call has %q", name, e.Run, peer)
					}
				}
			}
		}
		slices.Sort(spans)
		slices.Sort(parents)
		if len(spans) != 3 || !slices.Equal(slices.Compact(spans), parents) {
			t.Errorf("%s: the calls are %v, and on the other server %v", name, spans, parents)
		}
		// Both records as one.
		var out, errs bytes.Buffer
		if status := Run([]string{"record", "show", filepath.Join(dir, "records"), "--trace", found}, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
			t.Fatal(errs.String())
		}
		for _, want := range []string{"#near:", "#far:", task, peer, "Near answer.", "Far answer.", "EXCHANGE", "RUN_END"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not shown", name, want)
			}
		}
		for another, task := range tasks {
			if another != name && strings.Contains(out.String(), task) {
				t.Errorf("%s: the task of %s is shown", name, another)
			}
		}
	}
	// Exported, the spans of each trace are one tree, below the client's span if it named one.
	var out, errs bytes.Buffer
	if status := Run([]string{"record", "export", filepath.Join(dir, "records")}, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
		t.Fatal(errs.String())
	}
	type exported struct{ TraceID, SpanID, ParentSpanID, Name string }
	spans := map[string]map[string]exported{}
	for text := range strings.Lines(out.String()) {
		var line struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []exported } }
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		s := line.ResourceSpans[0].ScopeSpans[0].Spans[0]
		if spans[s.TraceID] == nil {
			spans[s.TraceID] = map[string]exported{}
		}
		spans[s.TraceID][s.SpanID] = s
	}
	for trace, list := range spans {
		roots := 0
		for _, s := range list {
			if _, ok := list[s.ParentSpanID]; !ok {
				if roots++; s.ParentSpanID != "" && s.ParentSpanID != span {
					t.Errorf("%+v is below a span that is not there", s)
				}
			}
		}
		// near: a run, a cycle, two invocations, a call; far: two exchanges, a run, a cycle, an invocation.
		if !seen[trace] || roots != 1 || len(list) != 10 {
			t.Errorf("trace %s has %d roots and %d spans: %+v", trace, roots, len(list), list)
		}
	}
	for _, e := range append(nearEvents, farEvents...) {
		if strings.Contains(string(e.Line()), "SECRET of a client") {
			t.Errorf("a hostile traceparent is recorded: %s", e.Line())
		}
	}
}

// eventsIn returns the events of a record.
func eventsIn(t *testing.T, dir string) (list []record.Event) {
	t.Helper()
	in, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range in.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
