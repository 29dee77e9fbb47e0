package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/record"
)

// newServer returns a server with a record, if there is one.
func newServer(t *testing.T, r *sidecar.Store, reasoning bool) *Server {
	t.Helper()
	names, err := dialectset.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Version: "v1.2.3", Catalogue: names, Record: r, Reasoning: reasoning})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// overStdio connects the official client over two pipes.
func overStdio(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(t.Context(), toServer, fromServer) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(session.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return session
}

// overHTTP connects the official client over HTTP.
func overHTTP(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	front := httptest.NewServer(s.Handler(access.Rules{}))
	t.Cleanup(front.Close)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// ask calls a tool, and returns its text and whether that is an error. The text is
// also the structured content.
func ask(t *testing.T, c *mcp.ClientSession, name string, arguments any) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d contents", name, len(r.Content))
	}
	text = r.Content[0].(*mcp.TextContent).Text
	if !r.IsError {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := json.Marshal(r.StructuredContent); string(got) != asJSON(t, want) {
			t.Errorf("%s: structured content %s, text %s", name, got, text)
		}
	}
	return text, r.IsError
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each tool for replies gives what the command of its name prints, over both
// transports.
func TestReplyTools(t *testing.T) {
	s := newServer(t, nil, false)
	for transport, connect := range map[string]func(*testing.T, *Server) *mcp.ClientSession{"stdio": overStdio, "http": overHTTP} {
		t.Run(transport, func(t *testing.T) {
			c := connect(t, s)
			tools, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
				if !tool.Annotations.ReadOnlyHint {
					t.Errorf("%s is not marked as read-only", tool.Name)
				}
			}
			slices.Sort(names)
			if want := []string{"extract", "score", "split"}; !slices.Equal(names, want) {
				t.Errorf("tools %q, want %q", names, want)
			}
			for _, x := range []struct {
				name, arguments string
				want            string // in the text
				failed          bool
			}{
				{"split", `{"text":"<think>6 × 7</think>Forty-two."}`, `"visible":"Forty-two.","reasoning":["6 × 7"]`, false},
				{"split", `{"text":"[THINK]a[/THINK]b","model":"magistral-small"}`, `"visible":"b","reasoning":["a"]`, false},
				{"split", `{"text":"[THINK]a[/THINK]b","dialect":"magistral"}`, `"dialect":"magistral"`, false},
				{"split", `{"text":"a</think>b","start":"inside"}`, `"visible":"b"`, false},
				{"split", `{"text":"<think>a","end":"cut"}`, `"code":"truncated"`, false},
				{"split", `{"text":"x","gold":["not read"]}`, `"visible":"x"`, false},
				{"extract", `{"text":"<think>B</think>**Answer: C**","task":"choice"}`, `"candidate":"C","method":"marker:answer"`, false},
				{"score", `{"text":"<think>x</think>The answer is 5.","task":"number","gold":"5"}`, `"ok":true`, false},
				{"score", `{"text":"<answer>(8-5)*(11-2)</answer>","task":"game24","input":"2 5 8 11"}`, `"reason":"math_error"`, false},
				{"score", `{"text":"Answer: Rome","task":"choice","options":["Paris","Rome"],"gold":1}`, `"ok":true`, false},

				{"split", `{}`, "field text is missing", true},
				{"split", `{"text":7}`, "field text is not a string", true},
				{"split", `{"text":"x","dialect":"hamony"}`, `did you mean "harmony"`, true},
				{"split", `{"text":"x","start":"upside"}`, "start", true},
				{"extract", `{"text":"x"}`, "there is no task; want one of", true},
				{"extract", `{"text":"x","task":"chioce"}`, "want one of", true},
				{"score", `{"text":"Answer: 5","task":"number","gold":"five or so"}`, "the gold cannot be", true},
			} {
				text, failed := ask(t, c, x.name, json.RawMessage(x.arguments))
				if failed != x.failed || !strings.Contains(text, x.want) {
					t.Errorf("%s %s: %s, want %s (an error: %v)", x.name, x.arguments, text, x.want, x.failed)
				}
			}
		})
	}
}

// The thoughts of a record that must not reach a client, wherever they stand in an
// event, and the texts that must.
const thoughtful = "CANARY"

func writeRecord(t *testing.T) *sidecar.Store {
	t.Helper()
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	raw := "<think>" + thoughtful + " six</think>said on the line <think>" + thoughtful + " seven</think>after it"
	reply := record.ReplyOf(sotto.Parse(raw, sotto.EndStopped))
	reply.Reasoning = []record.Thought{{Field: "reasoning_content", Text: record.Say(thoughtful + " native")}}
	reply.ToolCalls = []record.Call{{Name: "add", Arguments: record.Say(`{"a":1}`), Extra: record.Say(`{"sig":"` + thoughtful + `"}`)}}
	for _, p := range []record.Payload{
		record.RunStart{Agent: "a", Goal: record.Say("the goal")},
		record.Invocation{Model: "m", Replies: []record.Reply{reply}, Messages: []record.Message{
			{Role: "user", Text: record.Say("hello")},
			{Role: "assistant", Text: record.Say("<think>" + thoughtful + "</think>earlier"), Reasoning: []record.Thought{{Text: record.Say(thoughtful)}}},
		}},
		record.ToolCall{Name: "add", Phase: "end", Arguments: record.Say(`{"a":1}`), Result: record.Say("the result")},
		record.Extraction{Method: "boxed", Candidate: record.Say("42"), Written: record.Say("42")},
		record.Extraction{Method: "boxed_in_reasoning", Candidate: record.Say(thoughtful), Written: record.Say(thoughtful)},
		record.Extraction{FromReasoning: true, Candidate: record.Say(thoughtful), Written: record.Say(thoughtful)},
		record.Exchange{Model: "m", Outcome: "answered", Replies: []record.Reply{reply}, Delivered: &record.Delivery{Display: "tags", Texts: []record.Delivered{
			{Place: record.PlaceText, Bytes: 12, Spans: []record.DeliveredSpan{{Start: 7, End: 19}}},
		}}},
	} {
		if _, err := w.Append(t.Context(), record.Event{Run: "run-1", Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sidecar.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// No tool gives a thought of the record, unless the operator allows it; then all
// texts are given. Sidecars change nothing.
func TestRecordTools(t *testing.T) {
	r := writeRecord(t)
	for i, reasoning := range []bool{false, true, false, true} {
		if i == 2 {
			if m, err := sidecar.Make(t.Context(), r.Reader().Dir(), sidecar.Options{Small: true}); err != nil || m.Made != 1 {
				t.Fatalf("%+v, %v", m, err)
			}
		}
		t.Run(fmt.Sprintf("reasoning %v", reasoning), func(t *testing.T) {
			c := overStdio(t, newServer(t, r, reasoning))
			var all strings.Builder
			call := func(name, arguments string) string {
				text, failed := ask(t, c, name, json.RawMessage(arguments))
				if failed {
					t.Errorf("%s %s: %s", name, arguments, text)
				}
				all.WriteString(text)
				return text
			}
			list := call("record_list", `{"run":"run-1"}`)
			if n := strings.Count(list, `"seq":`); n != 7 || strings.Contains(list, `"more"`) {
				t.Errorf("%d events: %s", n, list)
			}
			if page := call("record_list", `{"after":2,"limit":2}`); strings.Count(page, `"seq":`) != 2 || !strings.Contains(page, `"more":true`) {
				t.Errorf("a page: %s", page)
			}
			if page := call("record_list", `{"type":"tool_call"}`); strings.Count(page, `"seq":`) != 1 {
				t.Errorf("by type: %s", page)
			}
			for seq := 1; seq <= 7; seq++ {
				call("record_show", fmt.Sprintf(`{"seq":%d}`, seq))
			}
			for _, pattern := range []string{".*", "said", "after", "six|seven|native", thoughtful} {
				found := call("record_search", `{"pattern":`+asJSON(t, pattern)+`}`)
				thought := strings.HasSuffix(pattern, "native") || pattern == thoughtful
				if got := !strings.Contains(found, `"matches":[]`); got != (reasoning || !thought) {
					t.Errorf("pattern %s: %s", pattern, found)
				}
			}
			if got := strings.Contains(all.String(), thoughtful); got != reasoning {
				t.Errorf("a thought is given: %v, want %v\n%s", got, reasoning, all.String())
			}
			for _, want := range []string{"said on the line ", "after it", "the goal", "the result", `{\"a\":1}`, "42", `"client_got":"display tags: 12 bytes in the text"`, `"thought":"sent in the text"`} {
				if !strings.Contains(all.String(), want) {
					t.Errorf("%q is missing", want)
				}
			}
			if got := strings.Contains(all.String(), "withheld_bytes"); got == reasoning {
				t.Errorf("withheld bytes are counted: %v", got)
			}
			for arguments, want := range map[string]string{
				`{"seq":99}`:           "there is no event 99",
				`{"seq":1,"secret":1}`: "secret",
				`{"seq":"one"}`:        "the arguments",
			} {
				if text, failed := ask(t, c, "record_show", json.RawMessage(arguments)); !failed || !strings.Contains(text, want) {
					t.Errorf("record_show %s: %s", arguments, text)
				}
			}
			for _, pattern := range []string{"(", strings.Repeat("a", maxPattern+1)} {
				if text, failed := ask(t, c, "record_search", map[string]any{"pattern": pattern}); !failed {
					t.Errorf("pattern %.20s: %s", pattern, text)
				}
			}
		})
	}
}

// A large event is cut to a result that a model can read, and says so.
func TestLongEvent(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", maxShown)
	_, err = w.Append(t.Context(), record.Event{Payload: record.ToolCall{Name: long, Arguments: record.Say(long), Result: record.Say(long)}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := sidecar.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := overStdio(t, newServer(t, r, true))
	text, failed := ask(t, c, "record_show", map[string]any{"seq": 1})
	if failed || len(text) > 2*maxShown || !strings.Contains(text, `"cut":true`) || strings.Contains(text, "\ufffd") {
		t.Errorf("%d bytes, an error: %v, %.200s", len(text), failed, text)
	}
	// A match as long as the text, and as many matches as it has characters.
	for pattern, matches := range map[string]int{"é+": 3, "é": maxMatches} {
		text, failed := ask(t, c, "record_search", map[string]any{"pattern": pattern})
		if failed || len(text) > maxMatches*(maxLine+512) || strings.Count(text, `"line"`) < matches-1 {
			t.Errorf("pattern %s: %d bytes, an error: %v, %.200s", pattern, len(text), failed, text)
		}
	}
}

// talk sends lines to a server over stdio, and returns what it answers.
func talk(t *testing.T, lines ...string) []string {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := newServer(t, nil, false).ServeStdio(t.Context(), toServer, fromServer)
		fromServer.Close()
		ended <- err
	}()
	go func() {
		for _, line := range lines {
			io.WriteString(in, line+"\n")
		}
	}()
	var answers []string
	answered := bufio.NewScanner(out)
	answered.Buffer(nil, 2*MaxMessage)
	for len(answers) < len(lines) && answered.Scan() {
		answers = append(answers, answered.Text())
	}
	in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return answers
}

// A message that is not JSON, nests too deeply or is too long is refused; the
// session goes on.
func TestHostileMessages(t *testing.T) {
	ping, again := `{"jsonrpc":"2.0","id":70,"method":"ping"}`, `{"jsonrpc":"2.0","id":71,"method":"ping"}`
	for name, bad := range map[string]string{
		"not JSON":     `{"jsonrpc":`,
		"deep":         strings.Repeat("[", 1<<20),
		"deep members": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 1<<16) + "1" + strings.Repeat("}", 1<<16) + "}",
		"many":         `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[` + strings.Repeat("0,", 2_000_000) + "0]}}",
		"long":         `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", MaxMessage) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			answers := talk(t, bad, ping, bad, again)
			refused, answered := 0, 0
			for _, a := range answers {
				if strings.Contains(a, `"code":-32700`) {
					refused++
				}
				if strings.Contains(a, `"id":7`) && strings.Contains(a, `"result"`) {
					answered++
				}
			}
			if refused != 2 || answered != 2 {
				t.Errorf("%d refused, %d answered: %.300q", refused, answered, answers)
			}
		})
	}
}

// Over HTTP, the same messages are refused, and callers without the token.
func TestHostileRequests(t *testing.T) {
	front := httptest.NewServer(newServer(t, nil, false).Handler(access.Rules{Tokens: []access.Token{{Name: "a", Secret: "s3cret"}}}))
	defer front.Close()
	post := func(token, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"split","arguments":{"text":"<think>a</think>b"}}}`
	for _, x := range []struct {
		token, body string
		status      int
		want        string
	}{
		{"s3cret", call, 200, `"visible\":\"b\"`},
		{"", call, 401, `"error"`},
		{"wrong", call, 401, `"error"`},
		{"s3cret", strings.Repeat("[", 1<<20), 400, "-32700"},
		{"s3cret", strings.Repeat(" ", MaxMessage+1), 400, "-32700"},
	} {
		if status, text := post(x.token, x.body); status != x.status || !strings.Contains(text, x.want) {
			t.Errorf("%q %.60s: status %d, %.200s", x.token, x.body, status, text)
		}
	}
}
