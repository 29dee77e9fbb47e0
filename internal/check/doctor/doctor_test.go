package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// examine runs a diagnosis, and returns its checks by their names.
func examine(t *testing.T, base string, o Options) (*Report, map[string]checks.Check) {
	t.Helper()
	if o.Time == 0 {
		o.Time = time.Minute
	}
	r, err := Run(t.Context(), base, o)
	if err != nil && !errors.Is(err, checks.ErrUnreachable) {
		t.Fatal(err)
	}
	made := map[string]checks.Check{}
	findings, unknown := 0, 0
	for _, c := range r.Checks {
		made[c.Name] = c
		switch c.Status {
		case checks.Finding:
			findings++
		case checks.Unknown, checks.Skipped:
			unknown++
			if c.Detail == "" {
				t.Errorf("%s is %s, and does not say why", c.Name, c.Status)
			}
		}
		if wrong := c.Status != checks.OK && c.Status != checks.Skipped; wrong && c.Explain == "" || c.Status == checks.OK && c.Explain != "" {
			t.Errorf("%s is %s, with the name %q: %s", c.Name, c.Status, c.Explain, c.Detail)
		}
	}
	if cost := o.Cost(); findings != r.Findings || unknown != r.Unknown || r.Requests > cost.Requests {
		t.Errorf("%d findings, %d unknown, %d requests of %d: %+v", r.Findings, r.Unknown, r.Requests, cost.Requests, r.Checks)
	}
	return r, made
}

// TestFoundHaveNames: whatever is wrong or not known is noted with its name. Package explain
// holds that each name has an entry.
func TestFoundHaveNames(t *testing.T) {
	unnamed := regexp.MustCompile(`note\(.*checks\.(Finding|Mended|Unknown)|found\{checks\.(Finding|Mended|Unknown), ""`)
	names, _ := filepath.Glob("*.go")
	found := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		found += strings.Count(string(data), "found{checks.")
		if m := unnamed.Find(data); m != nil {
			t.Errorf("%s: %s: this has no name", name, m)
		}
	}
	if found < 20 {
		t.Errorf("only %d places say what was found", found)
	}
}

func started(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// accepts reports whether sotto serve takes a configuration.
func accepts(t *testing.T, configuration string) {
	t.Helper()
	file := t.TempDir() + "/sotto.yaml"
	write(t, file, configuration)
	s, err := settings.Read(settings.Sources{File: file, Getenv: func(string) string { return "" }, Given: func(string) bool { return false }}, new(dialectset.Set))
	if err != nil || len(s.Faults) > 0 {
		t.Errorf("%s\n%v %v", configuration, err, s.Faults)
	}
}

// TestScripted: of every scripted model, in each API, the diagnosis says whether its
// reasoning comes in the text. Sotto mends all of it, so there is no finding, and the
// model is asked no more often than announced.
func TestScripted(t *testing.T) {
	upstream := scripted.New(scripted.Options{})
	var questions atomic.Int32
	url := started(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "chat") || r.URL.Path == "/v1/messages" {
			questions.Add(1)
		}
		upstream.ServeHTTP(w, r)
	})
	models, leaking := 0, 0
	for _, m := range scripted.Models() {
		if m.Fault != "" {
			continue
		}
		models++
		g, err := sotto.Named(m.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		reading, err := g.Parse(m.Reply.Text(), m.Reply.Start, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		leaks := slices.ContainsFunc(reading.Reasoning(), func(s string) bool { return strings.TrimSpace(s) != "" })
		if leaks {
			leaking++
		}
		for _, api := range APIs() {
			questions.Store(0)
			r, made := examine(t, url, Options{Model: m.Name, API: api})
			for _, way := range []string{"whole", "stream"} {
				if got := made[way].Status; got != map[bool]checks.Status{true: checks.Mended, false: checks.OK}[leaks] && m.Name != "cut-off" {
					t.Errorf("%s in %s: %s is %s, the text has thoughts: %v\n%+v", m.Name, api, way, got, leaks, made[way])
				}
			}
			if r.Findings > 0 {
				t.Errorf("%s in %s: %+v", m.Name, api, r.Checks)
			}
			// An empty request to /v1/messages, to see whether it is there, has no model.
			if n := int(questions.Load()) - 1; n > r.Cost.Questions || n < len(ways) {
				t.Errorf("%s in %s: %d questions of %d", m.Name, api, n, r.Cost.Questions)
			}
			for _, a := range r.Asks {
				if a.Behind != nil && (a.Behind.Leak || a.Answer > 0 && len(a.Markers) == 0 && a.Behind.Answer == 0) {
					t.Errorf("%s in %s: %+v %+v", m.Name, api, a, a.Behind)
				}
			}
			accepts(t, r.Configuration)
		}
	}
	if models < 15 || leaking < 5 {
		t.Errorf("%d models, of which %d leak: the test sees too little", models, leaking)
	}
}

// A fake is a server of OpenAI's API by hand.
type fake struct {
	extra  map[string]string // bodies by path
	models string            // the list
	// say returns the message for a request, and its finish reason. A message without
	// content has null there.
	say  func(q map[string]any) (message map[string]any, finish string)
	seen []map[string]any
	key  string // that requests must have
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"message":"Incorrect API key provided"}}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if body, ok := f.extra[r.URL.Path]; ok {
		io.WriteString(w, body)
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		if f.models == "" {
			f.models = `{"object":"list","data":[{"id":"mystery","object":"model"}]}`
		}
		io.WriteString(w, f.models)
		return
	case "/v1/chat/completions":
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"detail":"Not Found"}`)
		return
	}
	var q map[string]any
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	f.seen = append(f.seen, q)
	message, finish := f.say(q)
	if message == nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, finish)
		return
	}
	message["role"] = "assistant"
	if q["stream"] != true {
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}, "usage": map[string]any{"prompt_tokens": 20, "completion_tokens": 10}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []map[string]any{{"delta": message}, {"delta": map[string]any{}, "finish_reason": finish}} {
		chunk["index"] = 0
		data, _ := json.Marshal(map[string]any{"choices": []any{chunk}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// always says the same.
func always(message map[string]any) func(map[string]any) (map[string]any, string) {
	return func(map[string]any) (map[string]any, string) {
		again := map[string]any{}
		for k, v := range message {
			again[k] = v
		}
		return again, "stop"
	}
}

var separated = map[string]any{"content": "Four.", "reasoning_content": "23, 29, 31, 37."}

// TestSwitchSetting: where a server turns thinking on and off by other members than those
// of its API, the report names the setting for clients that use these.
func TestSwitchSetting(t *testing.T) {
	for version, want := range map[string]string{
		`{"version":"0.11.0"}`: "requests turn thinking on and off with chat_template_kwargs; for clients that use another switch, set thinking-switch: chat_template_kwargs",
		"":                     "requests turn thinking on and off",
	} {
		f := &fake{models: `{"object":"list","data":[{"id":"mystery","owned_by":"vllm","max_model_len":32768}]}`}
		if version == "" {
			f.models = ""
		} else {
			f.extra = map[string]string{"/version": version}
		}
		f.say = func(q map[string]any) (map[string]any, string) {
			kwargs, _ := q["chat_template_kwargs"].(map[string]any)
			if q["reasoning_effort"] == "none" || kwargs["enable_thinking"] == false {
				return always(map[string]any{"content": "Four."})(q)
			}
			return always(separated)(q)
		}
		if _, made := examine(t, started(t, f.ServeHTTP), Options{}); made["switch"].Detail != want {
			t.Errorf("%q: %q, want %q", version, made["switch"].Detail, want)
		}
	}
}

// TestServers: each server is recognized by what only it answers, with its version and
// the size of the model's context, and thinking is switched in its own way.
func TestServers(t *testing.T) {
	kwargs := func(q map[string]any) (any, bool) {
		k, ok := q["chat_template_kwargs"].(map[string]any)
		return k["enable_thinking"], ok
	}
	effort := func(q map[string]any) (any, bool) {
		e, ok := q["reasoning_effort"]
		return e == "high", ok
	}
	for name, c := range map[string]struct {
		fake    *fake
		server  Server
		context int64
		opens   string
		think   func(map[string]any) (any, bool)
	}{
		"llama.cpp": {
			&fake{extra: map[string]string{"/props": `{"default_generation_settings":{"n_ctx":8192,"params":{}},"total_slots":1,"model_path":"m.gguf","chat_template":"{{ '<|im_start|>assistant\n<think>\n' }}","build_info":"b7000-abc"}`},
				models: `{"object":"list","data":[{"id":"mystery","owned_by":"llamacpp","meta":{"n_ctx_train":40960}}]}`},
			Server{LlamaCPP, "b7000-abc", "GET /props"}, 8192, "yes", kwargs,
		},
		"vLLM": {
			&fake{extra: map[string]string{"/version": `{"version":"0.11.0"}`}, models: `{"object":"list","data":[{"id":"mystery","owned_by":"vllm","max_model_len":32768}]}`},
			Server{VLLM, "0.11.0", "GET /version"}, 32768, "", kwargs,
		},
		"vLLM with its template": {
			&fake{extra: map[string]string{"/version": `{"version":"0.11.0"}`, "/tokenizer_info": `{"tokenizer_class":"T","chat_template":"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"}`}, models: `{"data":[{"id":"mystery","owned_by":"vllm","max_model_len":32768}]}`},
			Server{VLLM, "0.11.0", "GET /version"}, 32768, "no", kwargs,
		},
		"SGLang": {
			&fake{extra: map[string]string{"/get_server_info": `{"model_path":"m","tokenizer_path":"m","version":"0.5.4"}`}, models: `{"data":[{"id":"mystery","owned_by":"sglang","max_model_len":131072}]}`},
			Server{SGLang, "0.5.4", "GET /get_server_info"}, 131072, "", kwargs,
		},
		"LM Studio": {
			&fake{extra: map[string]string{"/api/v0/models": `{"data":[{"id":"mystery","object":"model","type":"llm","compatibility_type":"gguf","state":"loaded","max_context_length":40960,"loaded_context_length":4096}],"object":"list"}`}},
			Server{LMStudio, "", "GET /api/v0/models"}, 40960, "", effort,
		},
		"another": {&fake{}, Server{}, 0, "", effort},
	} {
		t.Run(name, func(t *testing.T) {
			c.fake.say = always(separated)
			r, made := examine(t, started(t, c.fake.ServeHTTP), Options{})
			if r.Server != c.server || r.Context.Tokens != c.context || r.Template.Opens != c.opens || r.Model != "mystery" {
				t.Errorf("%+v, %+v, %+v\n%+v", r.Server, r.Context, r.Template, r.Checks)
			}
			if r.Findings != 0 || made["whole"].Detail != "reasoning arrives in reasoning_content" {
				t.Errorf("%+v", r.Checks)
			}
			if c.server.Name == "" && made["server"].Status != checks.Unknown || c.context == 0 && made["context"].Status != checks.Unknown ||
				c.opens == "" && made["template"].Status != checks.Unknown {
				t.Errorf("what is not known is not said: %+v", r.Checks)
			}
			var switches []any
			for _, q := range c.fake.seen {
				if f, ok := q["response_format"].(map[string]any); ok && (f["type"] == "json_schema") != (name == "LM Studio") {
					t.Errorf("JSON is asked for by %v", f)
				}
				if v, ok := c.think(q); ok {
					switches = append(switches, v)
				}
			}
			if !slices.Equal(switches, []any{true, false}) {
				t.Errorf("thinking was switched to %v", switches)
			}
		})
	}
}

// TestContextOfOllama: what Ollama makes room for is not what the model could take.
func TestContextOfOllama(t *testing.T) {
	upstream := scripted.New(scripted.Options{})
	url := started(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/show":
			io.WriteString(w, `{"template":"{{ .Prompt }}<|assistant|>\n<think>\n","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`)
		case "/api/ps":
			io.WriteString(w, `{"models":[{"name":"qwen3:8b","context_length":4096}]}`)
		default:
			upstream.ServeHTTP(w, r)
		}
	})
	r, made := examine(t, url, Options{Model: "qwen3:8b"})
	if r.Context != (Context{40960, 4096, "qwen3.context_length in POST /api/show"}) || !strings.Contains(made["context"].Do, "num_ctx") || r.Template.Opens != "yes" {
		t.Errorf("%+v %+v %+v", r.Context, made["context"], r.Template)
	}
}

// TestFixes: where Sotto needs a setting, the configuration has it, and with it the reply
// that came is read right.
func TestFixes(t *testing.T) {
	for name, c := range map[string]struct {
		say     func(map[string]any) (map[string]any, string)
		finding string // the check
		want    string // in the configuration
	}{
		"markers of another family": {always(map[string]any{"content": "[THINK]23, 29, 31, 37.[/THINK]Four."}), "whole", "dialect: magistral"},
		"the answer is taken for reasoning": {func(q map[string]any) (map[string]any, string) {
			if e := q["reasoning_effort"]; e == "none" {
				return map[string]any{"content": nil, "reasoning_content": "Four."}, "stop"
			}
			return always(separated)(q)
		}, "thinking off", "on-no-answer: promote"},
		"a call must come back with its reasoning": {func(q map[string]any) (map[string]any, string) {
			messages := q["messages"].([]any)
			if messages[len(messages)-1].(map[string]any)["role"] == "tool" {
				if messages[1].(map[string]any)["reasoning_content"] == nil {
					return nil, "Missing `reasoning_content` field in the assistant message"
				}
				return always(separated)(q)
			}
			if q["tools"] != nil {
				return map[string]any{"content": "", "reasoning_content": "I look.", "tool_calls": []any{map[string]any{
					"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": "get_weather", "arguments": `{"city":"Oslo"}`},
				}}}, "tool_calls"
			}
			return always(separated)(q)
		}, "history", "history: restore"},
	} {
		t.Run(name, func(t *testing.T) {
			r, made := examine(t, started(t, (&fake{say: c.say}).ServeHTTP), Options{})
			if made[c.finding].Status != checks.Finding || made[c.finding].Do == "" || !strings.Contains(r.Configuration, c.want) || !strings.Contains(r.Configuration, "models:\n      - mystery") {
				t.Errorf("%+v\n%s", r.Checks, r.Configuration)
			}
			accepts(t, r.Configuration)
		})
	}
}

// TestNothingNeeded: a server that needs no setting gets a configuration without routes,
// and an unknown family whose server takes a call back is not guessed about.
func TestNothingNeeded(t *testing.T) {
	r, made := examine(t, started(t, (&fake{say: always(map[string]any{"content": "Four."})}).ServeHTTP), Options{})
	if strings.Contains(r.Configuration, "routes") || r.Findings > 0 || made["history"].Status != checks.Unknown || made["whole"].Detail != "no reasoning" {
		t.Errorf("%s%+v", r.Configuration, r.Checks)
	}
	if made["delivery"].Status != checks.Unknown || !strings.Contains(made["tools"].Detail, "called no tool") || !strings.Contains(made["JSON"].Detail, "not JSON") {
		t.Errorf("%+v", r.Checks)
	}
}

// TestFaultyModels: a reply that breaks off, with and without an error, is a finding, and
// so is one that fails. Nothing is concluded from a server that is busy.
func TestFaultyModels(t *testing.T) {
	url := started(t, scripted.New(scripted.Options{}).ServeHTTP)
	seen := 0
	for _, m := range scripted.Models() {
		want := checks.Finding
		switch m.Fault {
		case "":
			continue
		case scripted.Busy:
			want = checks.Unknown
		}
		for _, api := range APIs() {
			r, made := examine(t, url, Options{Model: m.Name, API: api})
			if c := made["stream"]; c.Status != want && !(want == checks.Unknown && c.Status == checks.Skipped) {
				t.Errorf("%s (%s) in %s: %+v", m.Name, m.Fault, api, r.Checks)
			}
		}
		seen++
	}
	if seen < 4 {
		t.Errorf("%d models fail: the test sees too little", seen)
	}
}

// TestLimit: a server that knows the limit on tokens by its other name is asked again,
// once.
func TestLimit(t *testing.T) {
	f := &fake{say: func(q map[string]any) (map[string]any, string) {
		if q["max_tokens"] != nil {
			return nil, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
		}
		return always(separated)(q)
	}}
	if r, _ := examine(t, started(t, f.ServeHTTP), Options{Tokens: 77}); r.Findings > 0 || len(f.seen) != len(ways)+1 || f.seen[1]["max_completion_tokens"] != 77.0 {
		t.Errorf("%d questions: %+v", len(f.seen), r.Checks)
	}
}

// TestBlocks: a message of Anthropic's API may have several texts.
func TestBlocks(t *testing.T) {
	body := `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":5}}`
	r := modelserver.Read(findAPI("anthropic").codec, &modelserver.Response{Status: 200, Kind: "application/json", Body: []byte(body)}, false)
	if r.Text != "ab" || r.Reasoning != "t" || !slices.Equal(r.Fields, []string{"thinking"}) || r.Output != 5 || r.Fault != "" {
		t.Errorf("%+v", r)
	}
}

// TestSilent: without questions no token is used, and what is then not known is said.
func TestSilent(t *testing.T) {
	f := &fake{say: always(separated)}
	r, made := examine(t, started(t, f.ServeHTTP), Options{Silent: true})
	if len(f.seen) > 0 || r.Cost.Questions+r.Cost.Replies+r.Cost.Prompts > 0 || made["questions"].Status != checks.Skipped || r.Findings > 0 {
		t.Errorf("%d questions: %+v", len(f.seen), r)
	}
}

// TestKey: the key goes to the server, and into no report. Without it, or with a wrong
// one, one question is enough.
func TestKey(t *testing.T) {
	f := &fake{say: always(separated), key: "canary-of-the-key"}
	url := started(t, f.ServeHTTP)
	r, _ := examine(t, url, Options{Key: "canary-of-the-key"})
	if data, _ := json.Marshal(r); r.Findings > 0 || strings.Contains(string(data), "canary") {
		t.Errorf("%s", data)
	}
	for _, key := range []string{"", "canary-of-another"} {
		r, made := examine(t, url, Options{Key: key})
		if c := made["API key"]; c.Status != checks.Finding || !strings.Contains(c.Detail, "401") || !strings.Contains(c.Do, "SOTTO_UPSTREAM_KEY") || r.Requests != 1 {
			t.Errorf("%q: %d requests, %+v", key, r.Requests, r.Checks)
		}
	}
}
