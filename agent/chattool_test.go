package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// An expert is a server of the chat completions API, which thinks in its text.
type expert struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func newExpert(t *testing.T, reply string) *expert {
	e := &expert{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		e.mu.Lock()
		defer e.mu.Unlock()
		if r.Method == http.MethodGet { // is there such a model
			fmt.Fprint(w, `{"data":[{"id":"oracle-1"}]}`)
			return
		}
		e.bodies, e.heads = append(e.bodies, string(body)), append(e.heads, r.Header)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(e.Close)
	return e
}

// thinks is a reply of an expert that thinks before it answers.
const thinks = `data: {"choices":[{"delta":{"content":"<think>CANARY: a guess.</think>"}}]}

data: {"choices":[{"delta":{"content":"Forty-two."},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":70,"completion_tokens":30}}

data: [DONE]

`

const expertFile = `
v: 1
name: asker
goal: Ask.
cycles: 2
model: {provider: scripted, script: script.yaml}
advisory: {method: "off"}
tools:
  - {name: oracle, model: oracle-1, url: "%s/v1", system: "You are brief.", start: outside, token-env: ORACLE, max-tokens: 99}
agents: [{name: helper, system: You help., tools: [oracle]}]
`

const expertScript = `
- when: {system: You help, tool: oracle}
  text: The oracle said so.
- when: {system: You help}
  calls: [{name: oracle, arguments: {task: Again?}}]
- when: {user: "cycle 2 of", tool: helper}
  text: Two.
- when: {user: "cycle 2 of"}
  calls: [{name: helper, arguments: {task: Help.}}]
- when: {tool: oracle}
  text: One.
- calls: [{name: oracle, arguments: {task: "What is it?"}}]
`

// TestModelAsTool: a model of another server is a tool, of the agent and of those below it. Its
// visible text is the result, and its thoughts are in the record alone. Each call is a new
// conversation in the trace of the run. It counts, and only its server gets its key. The run is
// replayed without the server.
func TestModelAsTool(t *testing.T) {
	e := newExpert(t, thinks)
	dir := write(t, map[string]string{"a.yaml": fmt.Sprintf(expertFile, e.URL), "script.yaml": expertScript})
	x := experimentOf(t, filepath.Join(dir, "a.yaml"), Dependencies{Getenv: func(string) string { return "key-of-the-oracle" }})
	s := run1(t, x, dir)
	if s.Last != "Two." || s.Usage.Calls != 2+1+2+2+1 || s.Usage.Input < 140 || s.Usage.Output < 60 || s.Usage.Reasoning < 2 {
		t.Errorf("%+v", s)
	}
	if len(e.bodies) != 2 {
		t.Fatalf("%d requests", len(e.bodies))
	}
	for i, task := range []string{"What is it?", "Again?"} {
		if b := e.bodies[i]; !strings.Contains(b, task) || !strings.Contains(b, "You are brief.") || !strings.Contains(b, "99") || strings.Contains(b, "Forty") || strings.Count(b, `"role"`) != 2 {
			t.Errorf("request %d: %s", i, b)
		}
		if h := e.heads[i]; h.Get("Authorization") != "Bearer key-of-the-oracle" || h.Get("Traceparent")[:35] != e.heads[0].Get("Traceparent")[:35] {
			t.Errorf("request %d: %v", i, h)
		}
	}
	thoughts := 0
	for _, ev := range events(t, dir, record.Query{}) {
		switch p := ev.Payload.(type) {
		case record.Invocation:
			for _, m := range p.Messages {
				if strings.Contains(string(m.Text.Text), canary) {
					t.Errorf("a prompt of %s has a thought: %s", ev.Run, m.Text.Text)
				}
			}
			if len(p.Replies) > 0 && strings.Contains(string(p.Replies[0].Raw.Text), canary) {
				thoughts++
			}
		case record.ToolCall:
			if p.Phase == "end" && p.Name == "oracle" && (string(p.Result.Text) != "Forty-two." || p.Child == nil || !regexp.MustCompile(`^asker(\+helper\.2)?\+oracle\.\d$`).MatchString(p.Child.Run)) {
				t.Errorf("%+v", p)
			}
		}
	}
	if text := plain(t, dir); thoughts != 2 || strings.Contains(fmt.Sprint(text), "key-of-the-oracle") {
		t.Errorf("the record has %d thoughts", thoughts)
	}
	e.Close()
	x = experimentOf(t, filepath.Join(dir, "a.yaml"), Dependencies{Getenv: func(string) string { return "another-key" }})
	if p, err := Replay(t.Context(), x, in(dir).Record, Options{}); err != nil || p.Difference != nil || p.Usage != s.Usage {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestModelAsToolWithholds: a reply that is cut before it shows how it began may be a thought,
// so it is no result.
func TestModelAsToolWithholds(t *testing.T) {
	e := newExpert(t, `data: {"choices":[{"delta":{"content":"CANARY: let me think"},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
	dir := write(t, map[string]string{"a.yaml": strings.ReplaceAll(fmt.Sprintf(expertFile, e.URL), "start: outside, ", ""), "script.yaml": expertScript})
	x := experimentOf(t, filepath.Join(dir, "a.yaml"), Dependencies{Getenv: func(string) string { return "key-of-the-oracle" }})
	x.Cycles = 1
	run1(t, x, dir)
	for _, ev := range events(t, dir, record.Query{Types: []record.Type{record.TypeToolCall}}) {
		if p := ev.Payload.(record.ToolCall); p.Phase == "end" && string(p.Result.Text) != "error: oracle gave no answer (no_visible_answer)" {
			t.Errorf("%s", p.Result.Text)
		}
	}
}

// TestModelAsToolFaults: what is wrong with the entry is said at its place.
func TestModelAsToolFaults(t *testing.T) {
	for entry, want := range map[string]string{
		`{name: o, model: m}`:                                     "tools[0].url: want an http or https URL",
		`{name: o, model: m, url: "http://a:b@h"}`:                "tools[0].url: this file may not hold credentials",
		`{name: o, model: m, url: "http://h", api: soap}`:         `tools[0].api: "soap": want chat, messages, ollama`,
		`{name: o, model: m, url: "http://h", max-tokens: -1}`:    "tools[0].max-tokens: want",
		`{name: "o o", model: m, url: "http://h"}`:                `tools[0].name: agent "o o"`,
		`{name: o, model: m, url: "http://h", schema: {a: b}}`:    "tools[0].schema: is not a key of a model",
		`{name: o, url: "http://h", api: chat}`:                   "tools[0].api: is not a key of an endpoint",
		`{name: o, model: m, url: "http://h", token-env: ABSENT}`: "tools[0].token-env: the environment has no ABSENT",
		`{name: o, model: m, url: "http://h", start: middle}`:     "tools[0].start: ",
		`{name: o, model: m, url: "http://h"}`:                    `agents[2].tools[0]: "o": agents nest deeper than 3 levels: the model o counts as one`,
	} {
		dir := write(t, map[string]string{"s.yaml": "- text: t\n", "a.yaml": "v: 1\nname: a\ngoal: g\nmodel: {provider: scripted, script: s.yaml}\ntools: [" + entry + "]\n" +
			"agents: [{name: a1, agents: [a2]}, {name: a2, tools: [o], agents: [a3]}, {name: a3, tools: [o]}]\n"})
		c, err := ReadConfig(filepath.Join(dir, "a.yaml"))
		if err == nil {
			_, err = c.Experiment(Dependencies{Getenv: func(string) string { return "" }})
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
}
