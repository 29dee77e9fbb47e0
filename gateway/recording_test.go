package gateway_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// openRecord opens a record in a folder of the test's.
func openRecord(t testing.TB, o record.Options) (*record.Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "record")
	if o.Policy == record.Always {
		o.Policy = record.None // the tests lose no power
	}
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, dir
}

// recordedBy has the handlers and transports that record with a recorder.
var recordedBy sync.Map

type drainer interface{ HandOver() }

// draining has exchanges wait for what g has to record.
func draining(t testing.TB, to gateway.Recorder, g drainer) {
	if to == nil {
		return
	}
	all, _ := recordedBy.LoadOrStore(to, new(sync.Map))
	all.(*sync.Map).Store(g, true)
	t.Cleanup(func() { recordedBy.Delete(to) })
}

// drain waits until all that is to be recorded is handed over.
func drain(to gateway.Recorder) {
	if all, ok := recordedBy.Load(to); ok {
		all.(*sync.Map).Range(func(g, _ any) bool {
			g.(drainer).HandOver()
			return true
		})
	}
}

// exchanges closes a record and returns the exchanges in it.
func exchanges(t testing.TB, w *record.Writer, dir string) []record.Exchange {
	t.Helper()
	drain(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []record.Exchange
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeExchange}}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Payload.(record.Exchange))
	}
	return list
}

// only is the one exchange of a record.
func only(t testing.TB, w *record.Writer, dir string) record.Exchange {
	t.Helper()
	list := exchanges(t, w, dir)
	if len(list) != 1 {
		t.Fatalf("%d exchanges", len(list))
	}
	return list[0]
}

// rawOf and thoughtOf join what the replies of an exchange say.
func rawOf(e record.Exchange) string {
	var b strings.Builder
	for _, r := range e.Replies {
		b.WriteString(string(r.Raw.Text))
	}
	return b.String()
}

func thoughtOf(e record.Exchange) string {
	var b strings.Builder
	for _, r := range e.Replies {
		for _, th := range r.Reasoning {
			if !th.Sealed || th.Field == "thinking" || th.Field == "reasoning_details" {
				b.WriteString(string(th.Text.Text))
			}
		}
	}
	return b.String()
}

// tools offers a tool over every API.
const (
	chatTools      = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}],`
	responsesTools = `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object"}}],`
	geminiTools    = `"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":{"type":"OBJECT"}}]}],`
	bedrockTools   = `"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","inputSchema":{"json":{"type":"object"}}}}]},`
	anthropicTools = `"tools":[{"name":"get_weather","input_schema":{"type":"object"}}],`
)

func withTools(api, body string) string {
	tools := map[string]string{"openai.chat": chatTools, "ollama.chat": chatTools, "openai.responses": responsesTools, "anthropic.messages": anthropicTools, "cohere.chat": chatTools, "gemini.generate": geminiTools, "bedrock.converse": bedrockTools}[api]
	return "{" + tools + body[1:]
}

// TestRecordModels asks every scripted model over every API, streamed and whole,
// with and without tools, whatever the client sees of it: the record has what the
// model wrote, byte for byte, what stood in fields of its own, and the calls; and
// the segments are the whole of it.
func TestRecordModels(t *testing.T) {
	displays := routing.Displays()
	for i, m := range scripted.Models() {
		if m.Fault != "" {
			continue
		}
		if effort.Brief() { // one each
			displays = routing.Displays()[i%len(routing.Displays()):][:1]
		}
		t.Run(m.Name, func(t *testing.T) {
			for j, a := range apis {
				if m.Reply.Thought != nil && (a.name == "openai.completions" || a.name == "llamacpp.completion") {
					continue // it has no field for thoughts
				}
				for k, stream := range []bool{true, false} {
					if effort.Brief() && (i+j+k)%4 > 0 {
						continue
					}
					for _, display := range displays {
						recordModel(t, m, a, stream, false, display)
					}
					if m.Call != nil && withTools(a.name, "{}") != "{}" {
						recordModel(t, m, a, stream, true, routing.DisplayField)
					}
				}
			}
		})
	}
}

func recordModel(t *testing.T, m scripted.Model, a api, stream, tools bool, display routing.Display) {
	t.Helper()
	name := fmt.Sprintf("%s, stream %v, tools %v, display %s", a.name, stream, tools, display)
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	g := inFront(t, up.URL, gateway.Config{Recorder: w, Default: routing.Route{Display: display}})
	body, reply := a.body(m.Name, stream), &m.Reply
	if tools {
		body, reply = withTools(a.name, body), m.Call
	}
	if code := ask(g, a.path, body).Code; code != http.StatusOK {
		t.Fatalf("%s: %d", name, code)
	}
	e := only(t, w, dir)
	if got := rawOf(e); got != reply.Text() {
		t.Errorf("%s: raw %q\nwant %q", name, got, reply.Text())
	}
	if got, want := thoughtOf(e), strings.Join(reply.Thought, ""); got != want {
		t.Errorf("%s: thought %q\nwant %q", name, got, want)
	}
	var calls []string
	for _, r := range e.Replies {
		for _, c := range r.ToolCalls {
			calls = append(calls, c.Name+strings.ReplaceAll(string(c.Arguments.Text), " ", ""))
		}
		if n := len(r.Segments); n > 0 && (r.Segments[0].Start != 0 || r.Segments[n-1].End != len(r.Raw.Text)) || n == 0 && r.Raw.Text != "" {
			t.Errorf("%s: segments %v of %d bytes", name, r.Segments, len(r.Raw.Text))
		}
		if r.Dialect != m.Dialect && !strings.Contains(string(r.Raw.Text), "<|channel|>") || r.Raw.Text != "" && r.End != reply.End {
			t.Errorf("%s: dialect %q, end %v", name, r.Dialect, r.End)
		}
	}
	if c := reply.ToolCall; c != nil && !c.InText && !slices.Equal(calls, []string{c.Name + strings.ReplaceAll(c.Arguments, " ", "")}) {
		t.Errorf("%s: calls %q", name, calls)
	}
	if e.API != a.name || e.Model != m.Name || e.Path != addressedPath(a.path, body) || e.Upstream != up.URL || e.Status != 200 || e.Streamed != stream || e.Outcome != "answered" || e.Error != "" {
		t.Errorf("%s: %+v", name, e)
	}
	if e.Usage != nil && e.Usage.Output == 0 {
		t.Errorf("%s: usage %+v", name, e.Usage)
	}
	if len(e.Messages) != 1 || e.Messages[0].Text.Text != question {
		t.Errorf("%s: messages %+v", name, e.Messages)
	}
}

// TestRecordFaults: an exchange that fails is recorded too, with what came.
func TestRecordFaults(t *testing.T) {
	outcomes := map[scripted.Fault]string{scripted.Busy: "refused"}
	for _, m := range scripted.Models() {
		if m.Fault == "" {
			continue
		}
		for _, a := range apis {
			w, dir := openRecord(t, record.Options{})
			up := httptest.NewServer(scripted.New(scripted.Options{}))
			g := inFront(t, up.URL, gateway.Config{Recorder: w})
			ask(g, a.path, a.body(m.Name, true))
			up.Close()
			e := only(t, w, dir)
			want := outcomes[m.Fault]
			if want == "" {
				want = "failed"
			}
			if m.Fault == scripted.Fails && a.name == "openai.responses" {
				want = e.Outcome // a response that says of itself that it failed
			}
			if raw := rawOf(e); !strings.HasPrefix(m.Reply.Text(), raw) || e.Outcome != want || (raw == "") != (want == "refused") {
				t.Errorf("%s, %s: outcome %q, raw %q", m.Name, a.name, e.Outcome, raw)
			}
			if e.Error == "" || want == "refused" && e.Status < 400 {
				t.Errorf("%s, %s: %d %q", m.Name, a.name, e.Status, e.Error)
			}
		}
	}
}

// TestRecordBytes: any bytes, cut anywhere, are in the record as they came.
func TestRecordBytes(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		seeds := uint64(60)
		if effort.Brief() {
			seeds = 12
		}
		for seed := range seeds {
			rnd := rand.New(rand.NewPCG(seed, 7))
			raw, cut := wild(rnd)
			w, dir := openRecord(t, record.Options{})
			v := converse(t, s, gateway.Config{Recorder: w})
			v.raw, v.cut = raw, cut
			stream := seed%3 > 0
			ask(v, s.path, v.request("m", stream, ""))
			e := only(t, w, dir)
			if got := rawOf(e); got != raw {
				t.Fatalf("seed %d, stream %v: %q\nwant %q", seed, stream, got, raw)
			}
			if raw == "" {
				continue
			}
			r := e.Replies[0]
			at := 0
			for _, g := range r.Segments {
				if g.Start != at || g.End <= g.Start {
					t.Fatalf("seed %d: segments %v", seed, r.Segments)
				}
				at = g.End
			}
			if at != len(raw) {
				t.Fatalf("seed %d: segments end at %d of %d", seed, at, len(raw))
			}
			again, err := sotto.Default().ParseWith(raw, r.Options(), r.End)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(record.ReplyOf(again).Segments, r.Segments); diff != "" {
				t.Fatalf("seed %d: read otherwise than %q whole: %s", seed, raw, diff)
			}
		}
	})
}

// TestRecordTools: a later reading of a recorded reply is the same as the first, because
// the record keeps the names of the tools that the request let the model call.
func TestRecordTools(t *testing.T) {
	const call = "<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>"
	raw := "<think>Shall I " + call + "? SECRET</think>Oslo."
	declared := func(name string) string {
		return `,"tools":[{"type":"function","function":{"name":` + strconv.Quote(name) + `,"parameters":{"type":"object"}}}]`
	}
	for _, tt := range []struct {
		members string
		tools   []string
		ends    bool // the call ends the thought
	}{
		{"", []string{}, false},
		{declared("see"), []string{"see"}, false},
		{declared("look") + `,"tool_choice":"none"`, []string{}, false},
		{declared("look"), []string{"look"}, true},
		{declared(strings.Repeat("n", 20_000)), nil, false}, // too long to be kept
	} {
		for _, stream := range []bool{false, true} {
			w, dir := openRecord(t, record.Options{})
			s := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.path == "/v1/chat/completions" })]
			v := converse(t, s, gateway.Config{Recorder: w})
			v.raw, v.cut = raw, strings.SplitAfter(raw, " ")
			ask(v, s.path, v.request("qwen3:8b", stream, tt.members))
			r := only(t, w, dir).Replies[0]
			if diff := cmp.Diff(tt.tools, r.Tools); diff != "" {
				t.Errorf("%.40s: %s", tt.members, diff)
			}
			if tt.tools == nil {
				continue
			}
			g, err := sotto.Named(r.Dialect)
			if err != nil {
				t.Fatal(err)
			}
			again, err := g.ParseWith(string(r.Raw.Text), r.Options(), r.End)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(record.ReplyOf(again).Segments, r.Segments); diff != "" {
				t.Errorf("%.40s, stream %v: read otherwise: %s", tt.members, stream, diff)
			}
			ended := slices.ContainsFunc(r.Segments, func(s record.Segment) bool { return s.Channel == sotto.ChannelTool })
			if ended != tt.ends {
				t.Errorf("%.40s, stream %v: %v", tt.members, stream, r.Segments)
			}
		}
	}
}

// wild is a reply of markers, prose, broken UTF-8 and control characters, and cuts
// of it.
func wild(rnd *rand.Rand) (raw string, cut []string) {
	words := []string{"<think>", "</think>", "\n", "so ", "é", "\xff", "\x00", "\"", "\\", "<output>", "</output>", "```", " 世界", "<", "base64:", "\u2028"}
	var b strings.Builder
	for range rnd.IntN(40) {
		b.WriteString(words[rnd.IntN(len(words))])
	}
	raw = b.String()
	for rest := raw; rest != ""; {
		n := 1 + rnd.IntN(min(len(rest), 9))
		cut, rest = append(cut, rest[:n]), rest[n:]
	}
	return raw, cut
}

// TestRecordMessages: the messages are as they went to the upstream.
func TestRecordMessages(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	v := converse(t, speakers[0], gateway.Config{Recorder: w, Default: routing.Route{History: "strip"}})
	v.raw, v.end = "ok", sotto.EndStopped
	ask(v, v.s.path, `{"model":"qwen3","messages":[{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,x"}},{"type":"text","text":"b"}]},
		{"role":"assistant","content":"<think>old</think>c","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":"r"},{"role":"assistant","content":"<think>older</think>d"},{"role":"user","content":"e"}]}`)
	e := only(t, w, dir)
	say := record.Say
	want := []record.Message{
		{Role: "system", Text: say("be brief")}, {Role: "user", Text: say("a\nb")},
		{Role: "assistant", Text: say("c"), ToolCalls: []record.Call{{ID: "1", Name: "f", Arguments: say("{}")}}},
		{Role: "tool", Text: say("r"), CallID: "1"}, {Role: "assistant", Text: say("d")}, {Role: "user", Text: say("e")},
	}
	if diff := cmp.Diff(want, e.Messages); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(e.History, "removed=") {
		t.Errorf("history %q", e.History)
	}
}

// TestRecordRefusals: what the gateway itself refuses after access control is
// recorded; what access control refuses is not.
func TestRecordRefusals(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	v := converse(t, speakers[0], gateway.Config{Recorder: w, Token: "right-token-123", Limits: gateway.Limits{Body: 50}})
	send := func(token, body string) int {
		r := httptest.NewRequest("POST", v.s.path, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		v.ServeHTTP(rec, r)
		return rec.Code
	}
	for body, want := range map[string]int{"[]": 400, strings.Repeat(" ", 51): 413} {
		if got := send("right-token-123", body); got != want {
			t.Errorf("%q: %d, want %d", body, got, want)
		}
	}
	if got := send("wrong-token-456", "[]"); got != 401 {
		t.Error(got)
	}
	list := exchanges(t, w, dir)
	if len(list) != 2 {
		t.Fatalf("%d exchanges", len(list))
	}
	for _, e := range list {
		if e.Outcome != "refused" || e.Status < 400 || e.Error == "" || e.Path != v.s.path {
			t.Errorf("%+v", e)
		}
	}
}

// TestRecordCanceled: a client that leaves ends the exchange, which is recorded
// with what came until then.
func TestRecordCanceled(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	said := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chatFrame(`{"content":"<think>half a th"}`, "null"))
		w.(http.Flusher).Flush()
		close(said)
		<-r.Context().Done()
	}))
	defer up.Close()
	g := inFront(t, up.URL, gateway.Config{Recorder: w})
	srv := httptest.NewServer(g)
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(chatBody("m", true)))
	if err != nil {
		t.Fatal(err)
	}
	<-said
	buf := make([]byte, 1)
	resp.Body.Read(buf)
	resp.Body.Close()
	srv.Close() // waits for the handler
	e := only(t, w, dir)
	if e.Outcome != "canceled" || rawOf(e) != "<think>half a th" || e.Replies[0].End != sotto.EndAborted {
		t.Errorf("%+v", e)
	}
}
