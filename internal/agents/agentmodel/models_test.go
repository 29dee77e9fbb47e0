package agentmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// childProcess is what the test binary does where it is the process to be killed.
var childProcess func(dir string)

func TestMain(m *testing.M) {
	if dir := os.Getenv("AGENTMODEL_CHILD"); dir != "" {
		childProcess(dir)
	}
	goleak.VerifyTestMain(m)
}

const canary = "CANARY"

// The agent thinks in every way before and between its calls, and so does the agent
// below it. What it says has a marker in it that it only writes about.
const script = `
- when: {system: "^You mix", step: 1}
  thought: CANARY below, native
  text: "<think>CANARY below</think>Mixed <think>CANARY again</think>red."
  usage: {input: 100, output: 10}
- when: {step: 1, user: Paint}
  text: "<think>CANARY one</think><narrate>I mix.</narrate>Let me see."
  calls: [{name: mixer, arguments: {task: "<think>CANARY</think>Mix."}}, {name: "<think>CANARY</think>", arguments: {}}]
  usage: {input: 1000, output: 20}
- when: {tool: unknown}
  text: "<think>CANARY two</think>It is red. Write ` + "`<think>`" + ` so."
  usage: {input: 3000, output: 30}
- when: {user: Fail}
  text: "<think>CANARY</think>So f"
  error: {kind: broken_off}
- text: "What?"
`

const said = "Let me see.\n\nIt is red. Write `<think>` so."

func painter(t testing.TB, tools ...agent.Tool) *agent.Agent {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(script), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Agent{
		Name: "painter", Description: "Paints.", System: "You paint.",
		Turn: agent.Turn{
			Model: model.NewScripted("scripted", s), Start: "outside", Tools: tools, Limits: agent.Limits{Attempts: 1},
			Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}},
		},
	}
}

// serve runs a gateway with an agent before the scripted upstream.
func serve(t testing.TB, a *agent.Agent, w *record.Writer, edit func(*gateway.Config)) string {
	t.Helper()
	return serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{a}, Record: w}, edit)
}

// serveModels is serve with other settings of the models.
func serveModels(t testing.TB, m *agentmodel.Models, edit func(*gateway.Config)) string {
	t.Helper()
	base, stop := serveUntil(t, m, edit)
	t.Cleanup(stop)
	return base
}

// serveUntil serves agents until a function is called.
func serveUntil(t testing.TB, m *agentmodel.Models, edit func(*gateway.Config)) (base string, stop func()) {
	t.Helper()
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(upstream.Close)
	u, _ := url.Parse(upstream.URL)
	m.Base = gateway.UpstreamTransport(gateway.Limits{})
	c := gateway.Config{Upstream: u, Transport: m, Separated: m.Has, Templates: true}
	if m.Record != nil {
		c.Recorder = m.Record
	}
	if edit != nil {
		edit(&c)
	}
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	return front.URL, func() { front.Close(); g.Close(); m.Close(); http.DefaultClient.CloseIdleConnections() }
}

// An api is a way to ask an agent. read takes out of a frame or a body what a client
// reads as text, as thought and as narration.
type api struct {
	path, request     string
	text, thought, by []string
	whole             []string // paths of the text, the thought and the narration in a whole reply
}

var apis = map[string]api{
	"chat": {
		path: "/v1/chat/completions", request: `{"model":"agent/painter","stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]}`,
		text: []string{"choices.0.delta.content"}, thought: []string{"choices.0.delta.reasoning_content"}, by: []string{"choices.0.delta.narration"},
		whole: []string{"choices.0.message.content", "choices.0.message.reasoning_content", "choices.0.message.narration"},
	},
	"ollama": {
		path: "/api/chat", request: `{"model":"agent/painter:latest","stream":%v,"messages":[{"role":"user","content":%q}]}`,
		text: []string{"message.content"}, thought: []string{"message.thinking"}, by: []string{"message.narration"},
		whole: []string{"message.content", "message.thinking", "message.narration"},
	},
	"responses": {
		path: "/v1/responses", request: `{"model":"agent/painter","stream":%v,"instructions":"Be brief.","input":%q}`,
		text: []string{"response.output_text.delta"}, thought: []string{"response.reasoning_text.delta"},
		whole: []string{"output.#(type==\"message\")#.content.0.text", "output.#(type==\"reasoning\")#.content.0.text", "none"},
	},
}

type reading struct {
	text, thought, narration string
	raw                      string
	status                   int
}

func (a api) ask(t testing.TB, base, what string, stream bool) (r reading) {
	t.Helper()
	resp, err := http.Post(base+a.path, "application/json", strings.NewReader(fmt.Sprintf(a.request, stream, what)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.raw, r.status = string(body), resp.StatusCode
	joined := func(v gjson.Result) string {
		var b strings.Builder
		if v.IsArray() {
			for _, one := range v.Array() {
				b.WriteString(one.String())
			}
			return b.String()
		}
		return v.String()
	}
	if !stream {
		root := gjson.ParseBytes(body)
		r.text, r.thought, r.narration = joined(root.Get(a.whole[0])), joined(root.Get(a.whole[1])), joined(root.Get(a.whole[2]))
		return r
	}
	for line := range bytes.Lines(body) {
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !gjson.ValidBytes(line) {
			continue
		}
		root := gjson.ParseBytes(line)
		for _, part := range []struct {
			to    *string
			paths []string
		}{{&r.text, a.text}, {&r.thought, a.thought}, {&r.narration, a.by}} {
			for _, path := range part.paths {
				if path == root.Get("type").Str {
					*part.to += root.Get("delta").Str
				} else if !strings.HasPrefix(path, "response.") {
					*part.to += root.Get(path).Str
				}
			}
		}
	}
	return r
}

// By every API, streamed and whole, the content is the visible text and nothing
// else, and thoughts of the agent are where the display puts them: in the field, in
// tags before the text, or nowhere in the response. Thoughts of the agent below reach
// no client, nor does any reach what is kept of the conversation.
func TestVisibleOnly(t *testing.T) {
	for name, a := range apis {
		for _, stream := range []bool{true, false} {
			for _, display := range routing.Displays() {
				t.Run(fmt.Sprintf("%s/stream=%v/%s", name, stream, display), func(t *testing.T) {
					folder := t.TempDir()
					m := &agentmodel.Models{Agents: []*agent.Agent{painter(t)}, Kept: &conversation.Store{Folder: folder}}
					base := serveModels(t, m, func(c *gateway.Config) { c.Default.Display = display })
					r := a.ask(t, base, "Paint.", stream)
					checkDisplay(t, r, display)
					if strings.Contains(r.raw, "below") || strings.Contains(r.narration, canary) {
						t.Error(r.raw)
					}
					if name != "responses" && (!strings.Contains(r.narration, "I mix.") || !strings.Contains(r.narration, "mixer: started") || !strings.Contains(r.narration, "unknown tool: failed")) {
						t.Errorf("narration %q", r.narration)
					}
					if !strings.Contains(r.raw, "4100") || !strings.Contains(r.raw, `:60`) {
						t.Error("the tokens are not summed:", r.raw)
					}
					m.Close()
					kept := filesBelow(t, folder)
					if strings.Contains(kept, canary) || strings.Contains(kept, "It is red.") != (name == "responses") {
						t.Errorf("kept: %s", kept)
					}
				})
			}
		}
	}
}

// checkDisplay checks where a reading has the text and the thoughts of painter.
func checkDisplay(t *testing.T, r reading, display routing.Display) {
	t.Helper()
	thoughts := "CANARY one\n\nCANARY two"
	text, thought := said, thoughts
	switch display {
	case routing.DisplayHide:
		if thought = ""; strings.Contains(r.raw, canary) {
			t.Error("hidden, but in the response:", r.raw)
		}
	case routing.DisplayTags:
		thought = ""
		reading, err := sotto.Default().Parse(r.text, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(strings.Fields(strings.Join(reading.Reasoning(), " ")), " "); all != "CANARY one CANARY two" {
			t.Errorf("the tags hold %q", all)
		}
		text, r.text = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(reading.Visible()), " ")
	}
	if r.text != text || r.status != 200 {
		t.Errorf("%d %q, want %q\n%s", r.status, r.text, text, r.raw)
	}
	if got := strings.ReplaceAll(r.thought, "oneCANARY", "one\n\nCANARY"); got != thought {
		t.Errorf("the thought is %q, want %q", got, thought)
	}
}

// filesBelow returns the files of a folder, joined.
func filesBelow(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The tokens of reasoning are those that the servers counted, or an estimate that says
// so.
func TestReasoningTokens(t *testing.T) {
	for usage, want := range map[string]string{"{input: 10, output: 9, reasoning: 2}": `{"reasoning_tokens":2}`, "{input: 10, output: 36}": `{"reasoning_tokens":6,"reasoning_tokens_estimated":true}`} {
		a := painter(t)
		s, err := model.ReadScript(strings.NewReader("- text: \"<think>12345</think>678901\"\n  usage: "+usage+"\n"), "s.yaml")
		if err != nil {
			t.Fatal(err)
		}
		a.Turn.Model = model.NewScripted("scripted", s)
		base := serve(t, a, nil, nil)
		for _, name := range []string{"chat", "responses"} {
			for _, stream := range []bool{true, false} {
				if r := apis[name].ask(t, base, "Go.", stream); !strings.Contains(r.raw, want) {
					t.Errorf("%s, stream=%v: %s, want %s", name, stream, r.raw, want)
				}
			}
		}
	}
}

// An agent that fails says so in the API's form, without its thoughts; what the
// client asks for and no agent can do is refused.
func TestAgentFails(t *testing.T) {
	base := serve(t, painter(t), nil, func(c *gateway.Config) { c.Default.Display = routing.DisplayHide })
	for name, a := range apis {
		for _, stream := range []bool{true, false} {
			r := a.ask(t, base, "Fail.", stream)
			if wantStatus := map[bool]int{true: 200, false: 502}[stream]; r.status != wantStatus || strings.Contains(r.raw, canary) || !strings.Contains(r.raw, "agent failed") && !strings.Contains(r.raw, `"failed"`) {
				t.Errorf("%s, stream=%v: %d %s", name, stream, r.status, r.raw)
			}
		}
		if r := a.ask(t, base, " ", false); r.status != 400 || !strings.Contains(r.raw, "the last message must be a user's") {
			t.Errorf("%s: %d %s", name, r.status, r.raw)
		}
	}
}

// The agents are in the lists of models beside the upstream's, and are known by
// their names.
func TestLists(t *testing.T) {
	base := serve(t, painter(t), nil, nil)
	get := func(path string) gjson.Result {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if !json.Valid(body) {
			t.Fatalf("%s: %s", path, body)
		}
		return gjson.ParseBytes(body)
	}
	for path, member := range map[string]string{"/v1/models": "data.#.id", "/api/tags": "models.#.name"} {
		var names []string
		for _, v := range get(path).Get(member).Array() {
			names = append(names, v.Str)
		}
		if len(names) < 3 || names[len(names)-1] != "agent/painter" {
			t.Errorf("%s: %q", path, names)
		}
	}
	if got := get("/v1/models/agent/painter").Get("id").Str; got != "agent/painter" {
		t.Errorf("%q", got)
	}
	resp, err := http.Post(base+"/api/show", "application/json", strings.NewReader(`{"model":"agent/painter"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); gjson.GetBytes(body, "capabilities.0").Str != "completion" {
		t.Errorf("%s", body)
	}
}

// A client that leaves ends the agent's tool. The run is recorded with what came.
func TestClientLeaves(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan struct{})
	wait := &agent.Func{Name: "wait", Do: func(ctx context.Context, _ agent.Use) (string, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	}}
	a := painter(t, wait)
	s, err := model.ReadScript(strings.NewReader("- text: \"<think>CANARY</think>I wait.\"\n  calls: [{name: wait, arguments: {}}]\n"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a.Turn.Model = model.NewScripted("scripted", s)
	t.Cleanup(func() { // after the gateway and the agents are closed
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		r, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for e, err := range r.Events(record.Query{NoCheckpoints: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Run != "" && strings.HasPrefix(e.Run, "painter:") {
				types = append(types, string(e.Type))
			}
			if end, ok := e.Payload.(record.RunEnd); ok && end.Status != "aborted" {
				t.Errorf("the run ended as %s", end.Status)
			}
		}
		want := []string{"RUN_START", "CYCLE_START", "LLM_INVOCATION", "TOOL_CALL", "CYCLE_END", "RUN_END"}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Error(diff)
		}
	})
	base := serve(t, a, w, nil)
	ctx, leave := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(apis["chat"].request, true, "Go.")))
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	leave()
	resp.Body.Close()
	<-ended
}
