package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

func ask(text string) []model.Message { return []model.Message{{Role: model.User, Text: text}} }

// A conversation: text comes as it is certain, calls are made and seen, and the
// answer is visible text.
func TestConverse(t *testing.T) {
	var seen []string
	turn := Turn{
		Model: scripted(t, `
- when: {step: 1}
  text: "<think>Add.</think>I add.<narrate>Adding.</narrate>"
  calls: [{name: add, arguments: {a: 2, b: 3}}, {name: add, arguments: {a: x}}]
- text: "<think>5.</think>It is 5."
`),
		Start: sotto.BeginOutside,
		Tools: []Tool{&Func{Name: "add", Schema: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`,
			Do: func(_ context.Context, u Use) (string, error) {
				var n struct{ A, B int }
				err := json.Unmarshal(u.Arguments, &n)
				return fmt.Sprint(n.A + n.B), err
			}}},
		Observer: Observer{
			OnText:      func(s string) { seen = append(seen, "text "+s) },
			OnNarration: func(s string) { seen = append(seen, "narration "+s) },
			OnToolStart: func(u Use) { seen = append(seen, "start "+u.Name+string(u.Arguments)) },
			OnToolEnd:   func(u Use, r string, failed bool) { seen = append(seen, fmt.Sprintf("end %s %v", r, failed)) },
			OnReply:     func(v string, answer bool) { seen = append(seen, fmt.Sprintf("reply %q %v", v, answer)) },
		},
	}
	o, err := turn.Converse(t.Context(), ask("2 + 3?"))
	if err != nil || o.Status != Answered || o.Answer != "It is 5." {
		t.Fatalf("%+v, %v", o, err)
	}
	want := `text I |text add.|narration Adding.|reply "I add." false|start add{"a":2,"b":3}|end 5 false|start add|end error: the arguments: missing property 'b'; a: got string, want integer. Call add again with arguments that fit its schema true|text It |text is |text 5.|reply "It is 5." true`
	if d := cmp.Diff(strings.Split(want, "|"), seen); d != "" {
		t.Error(d)
	}
	if n := len(o.Messages); n != 4 {
		t.Errorf("%d messages are added", n)
	}
}

// TestThoughtMentionsTool: a call in a thought ends it only if the model may call that tool.
// The record keeps the names, so that the reply is read again as it was.
func TestThoughtMentionsTool(t *testing.T) {
	qwen, err := sotto.Named("qwen3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		calls CallMode
		named string
		ends  bool
	}{
		{NativeCalls, "launch", false}, {NativeCalls, "add", true}, {TextCalls, "launch", false}, {TextCalls, "add", true},
	} {
		raw := fmt.Sprintf("<think>I could <tool_call>{\"name\": %q, \"arguments\": {}}</tool_call> SECRET", tt.named)
		dir := t.TempDir()
		w, err := record.Open(filepath.Join(dir, "record"), record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		turn := Turn{
			Model: &parrot{replies: []model.Reply{{Raw: raw, End: sotto.EndStopped}, {Raw: "It is 5.", End: sotto.EndStopped}}}, Grammar: qwen, Calls: tt.calls, Record: w, Run: "r", Cycle: 1,
			Tools:    []Tool{&Func{Name: "add", Schema: `{"type":"object"}`, Do: func(context.Context, Use) (string, error) { return "5", nil }}},
			Observer: Observer{OnText: func(s string) { shown += s }},
		}
		_, err = turn.Converse(t.Context(), ask("2 + 3?"))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(shown, "SECRET"); got != tt.ends {
			t.Errorf("%s, %s: shown %q", tt.calls, tt.named, shown)
		}
		r := events(t, dir, record.Query{Types: []record.Type{record.TypeInvocation}})[0].Payload.(record.Invocation).Replies[0]
		again, err := qwen.ParseWith(string(r.Raw.Text), r.Options(), r.End)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(record.ReplyOf(again).Segments, r.Segments); diff != "" || !slices.Equal(r.Tools, []string{"add"}) {
			t.Errorf("%s, %s: tools %q, read otherwise: %s", tt.calls, tt.named, r.Tools, diff)
		}
	}
}

// paused asks the operator, who is not there yet.
type paused struct{ deaf }

func (*paused) Ask(_ context.Context, m OperatorMessage) (string, error) {
	return "", &Pause{Question: m.Text}
}

// A question pauses the turn; what waits can be kept as JSON, and goes on with the
// answer, in another process too.
func TestPause(t *testing.T) {
	m := scripted(t, `
- when: {step: 1}
  text: "<think>I must ask.</think>"
  calls: [{name: send_message_to_operator, arguments: {message: "Red or blue?"}}]
- when: {contains: red}
  text: "Red it is."
`)
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	turn := Turn{Model: m, Tools: []Tool{OperatorTool(&paused{}, time.Minute)}, Record: w, Run: "p", Cycle: 1}
	o, err := turn.Converse(t.Context(), ask("Which colour?"))
	if err != nil || o.Status != Paused || o.Waiting.Question != "Red or blue?" {
		t.Fatalf("%+v, %v", o, err)
	}
	data, err := json.Marshal(o.Waiting)
	if err != nil {
		t.Fatal(err)
	}
	var waiting Waiting
	if err := json.Unmarshal(data, &waiting); err != nil {
		t.Fatal(err)
	}
	o, err = turn.Continue(t.Context(), waiting, "red")
	if err != nil || o.Status != Answered || o.Answer != "Red it is." || o.Metrics.ToolCalls != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := turn.Continue(t.Context(), Waiting{}, "red"); err == nil {
		t.Error("a turn that waits for nothing went on")
	}
}

// What a model does wrong is a status with the bound it ran into.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		limits Limits
		calls  CallMode
		want   string
	}{
		"nothing visible":   {`- text: "<think>Hm.</think>"`, Limits{}, "", "no_visible_answer retries 2 1"},
		"no retry":          {`- text: "<think>Hm.</think>"`, Limits{Retries: -1}, "", "no_visible_answer retries 1 0"},
		"visible then":      {"- when: {contains: showed nothing}\n  text: Aloud.\n- text: \"<think>Hm.</think>\"", Limits{}, "", "answered  2 1 Aloud."},
		"text call":         {`- text: "<list/>"`, Limits{}, "", "text_call retries 2 1"},
		"text call, made":   {"- when: {contains: Result of list}\n  text: Empty.\n- text: \"<list/>\"", Limits{}, TextCalls, "answered  2 0 Empty."},
		"calls without end": {"- text: x\n  calls: [{name: list}]", Limits{Invocations: 3}, "", "bounded invocations 3 0 x"},
		"too many calls":    {"- when: {offers: list}\n  calls: [{name: list}, {name: list}]\n- text: Enough.", Limits{Calls: 3}, "", "answered calls 3 0 Enough."},
		"broken off":        {"- text: \"I am\"\n  error: {kind: broken_off}", Limits{Attempts: 3, RetryWait: 1}, "", "failed attempts 3 0"},
		"refused":           {"- error: {status: 400}", Limits{Attempts: 3, RetryWait: 1}, "", "failed attempts 1 0"},
		"too long":          {"- text: \"" + strings.Repeat("a ", 100) + "\"", Limits{Reply: 50, Attempts: 1}, "", "failed attempts 1 0"},
		"too slow":          {"- text: a b c d e f\n  pause: 20ms", Limits{ReplyTime: 30 * time.Millisecond, Attempts: 1}, "", "failed attempts 1 0"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := Turn{Model: scripted(t, tt.script), Tools: NewMemory().Tools(), Limits: tt.limits, Calls: tt.calls}
			o, err := turn.Converse(t.Context(), ask("Go."))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSpace(fmt.Sprint(o.Status, " ", o.Bound, " ", o.Metrics.Invocations, " ", o.Metrics.Retries, " ", o.Answer))
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// An endpoint gets the arguments and a key, and its answer is bounded; what it
// does wrong the model is told.
func TestHTTPTool(t *testing.T) {
	asked := make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Method + " " + r.Header.Get("Idempotency-Key") + " " + r.Header.Get("X-Key") + " " + string(body)
		switch r.URL.Path {
		case "/long":
			io.WriteString(w, strings.Repeat("x", 100))
		case "/away":
			http.Redirect(w, r, "/long", http.StatusFound)
		case "/slow":
			<-r.Context().Done()
		default:
			http.Error(w, "no such thing", http.StatusNotFound)
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{
		"/long": strings.Repeat("x", 10) + "\n[the answer is longer than 10 bytes]",
		"/away": "status 302",
		"/slow": "did not answer in time",
		"/none": "status 404: no such thing",
	} {
		tool := HTTPTool{Name: "t", URL: s.URL + path, Limit: 10, Timeout: 200 * time.Millisecond, Header: http.Header{"X-Key": {"secret"}}}
		if path == "/none" {
			tool.Limit = 0
		}
		text, err := tool.Call(t.Context(), Use{Run: "r", Number: 7, Arguments: json.RawMessage(`{"a":1}`)})
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, want) && !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
	s.CloseClientConnections()
	s.Close() // The handlers have ended: the slow one may outlive its client's patience.
	close(asked)
	for got := range asked {
		if got != `POST r#7 secret {"a":1}` {
			t.Errorf("asked %q", got)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// An inbox shows messages and hands over answers, to its own machine only.
func TestInbox(t *testing.T) {
	b := new(Inbox)
	s := httptest.NewServer(b)
	defer s.Close()
	client := s.Client()
	answer := make(chan string, 1)
	go func() {
		text, err := b.Ask(t.Context(), OperatorMessage{ID: "r#1", Run: "r", Cycle: 2, Text: "Red or blue?"})
		answer <- fmt.Sprint(text, err)
	}()
	for open := false; !open; time.Sleep(time.Millisecond) {
		res, err := client.Get(s.URL + "/messages")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		open = strings.Contains(string(body), `"text":"Red or blue?","open":true`)
	}
	post := func(body, kind, origin string) int {
		req, _ := http.NewRequest(http.MethodPost, s.URL+"/answers", strings.NewReader(body))
		req.Header.Set("Content-Type", kind)
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	good := `{"id":"r#1","answer":"red"}`
	for _, tt := range []struct {
		body, kind, origin string
		want               int
	}{
		{good, "text/plain", "", http.StatusUnsupportedMediaType},
		{good, "application/json", "https://evil.example", http.StatusForbidden},
		{`{"id":"r#2","answer":"red"}`, "application/json", "", http.StatusNotFound},
		{`{"id":"r#1"}`, "application/json", "", http.StatusBadRequest},
		{strings.Repeat("x", MaxAnswer+2000), "application/json", "", http.StatusRequestEntityTooLarge},
		{good, "application/json", s.URL, http.StatusNoContent},
		{good, "application/json", "", http.StatusNotFound},
	} {
		if got := post(tt.body, tt.kind, tt.origin); got != tt.want {
			t.Errorf("%.40s from %q: status %d, want %d", tt.body, tt.origin, got, tt.want)
		}
	}
	if got := <-answer; got != "red<nil>" {
		t.Errorf("the answer is %s", got)
	}
	r := httptest.NewRequest("GET", "http://evil.example/messages", nil)
	rec := httptest.NewRecorder()
	if b.ServeHTTP(rec, r); rec.Code != http.StatusForbidden {
		t.Errorf("under another name: status %d", rec.Code)
	}
}

// An operator who does not answer in time is not waited for.
func TestOperatorWait(t *testing.T) {
	tool := OperatorTool(new(Inbox), 10*time.Millisecond)
	text, err := tool.Call(t.Context(), Use{Arguments: json.RawMessage(`{"message":"there?"}`)})
	if err != nil || text != "delivered; no answer came within 10ms" {
		t.Errorf("%q, %v", text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Call(ctx, Use{Arguments: json.RawMessage(`{"message":"there?"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Of a call that a crash left open, of a tool that must not be called twice, the
// model is told that its end is not known; and it is not made again.
func TestOpenCall(t *testing.T) {
	dir := t.TempDir()
	uses := 0
	x := Experiment{
		Name: "open", Cycles: 1,
		Model: scripted(t, "- when: {step: 1}\n  calls: [{name: fire}]\n- text: \"Done.\""),
	}
	ctx, cancel := context.WithCancel(t.Context())
	x.Tools = []Tool{&Func{Name: "fire", Do: func(ctx context.Context, _ Use) (string, error) {
		uses++
		cancel() // the process ends while the tool is at it
		return "", ctx.Err()
	}}}
	if _, err := Run(ctx, x, in(dir)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s := run1(t, x, dir)
	if uses != 1 || s.Status != Done || s.Last != "Done." {
		t.Errorf("%d uses, %+v", uses, s)
	}
	list := events(t, dir, record.Query{Types: []record.Type{record.TypeToolCall}})
	end := list[len(list)-1].Payload.(record.ToolCall)
	if len(list) != 2 || end.Error != "interrupted" || string(end.Result.Text) != unknownEnd {
		t.Errorf("%d events, the last is %+v", len(list), end)
	}
}
