package switches_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/switches"
)

// TestTranslate has a request and what becomes of it, for each of the words.
func TestTranslate(t *testing.T) {
	for _, test := range []struct {
		api   string
		words switches.Words
		body  string
		want  string // an error, if it does not begin with {
		says  string
	}{
		{"ollama.chat", "native", `{"model":"m","reasoning_effort":"none"}`, `{"think":false,"model":"m"}`, "off; reasoning_effort -> think; exact"},
		{"ollama.chat", "native", `{"reasoning_effort": "minimal", "x": [1 ]}`, `{"think":"low","x": [1 ]}`, "on minimal; reasoning_effort -> think; approximate"},
		{"ollama.chat", "reasoning", `{"think":"none"}`, `{"think":false}`, "off; think -> think; exact"},
		{"ollama.chat", "native", `{"think":"high","options":{"temperature":1}}`, `{"think":"high","options":{"temperature":1}}`, ""},
		{"ollama.generate", "think", `{"options":{"think":true,"top_k":1}}`, `{"think":true,"options":{"top_k":1}}`, "on; options.think -> think; exact"},
		{"bedrock.converse", "native", `{"additionalModelRequestFields":{"thinking":{"type":"disabled"},"reasoning_effort":"low"}}`, `{"additionalModelRequestFields":{"thinking":{"type":"disabled"},"reasoning_effort":"low"}}`, ""},
		{"bedrock.converse", "native", `{"reasoning_effort":"low"}`, "the request has a switch of thinking, and its API has none", ""},
		{"openai.chat", "chat_template_kwargs", `{"reasoning_effort":"none","chat_template_kwargs":{"custom":1}}`, `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false,"custom":1}}`, "off; reasoning_effort -> chat_template_kwargs; exact"},
		{"openai.chat", "native", `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false},"reasoning_effort":"none"}`, `{"reasoning_effort":"none"}`, "off; reasoning_effort chat_template_kwargs.enable_thinking chat_template_kwargs.thinking -> reasoning_effort; exact"},
		{"openai.chat", "reasoning_effort", `{"enable_thinking":true}`, `{"reasoning_effort":"medium"}`, "on; enable_thinking -> reasoning_effort; approximate"},
		{"openai.chat", "reasoning", `{"thinking":{"type":"enabled","budget_tokens":5000}}`, `{"reasoning":{"max_tokens":5000}}`, "on 5000 tokens; thinking -> reasoning; exact"},
		{"openai.chat", "reasoning", `{"reasoning":{"exclude":true},"reasoning_effort":"max"}`, `{"reasoning":{"effort":"xhigh","exclude":true}}`, "on max; reasoning_effort -> reasoning; approximate"},
		{"openai.chat", "thinking", `{"reasoning_effort":"high"}`, `{"thinking":{"type":"enabled"}}`, "on high; reasoning_effort -> thinking; lost"},
		{"openai.chat", "thinking", `{"thinking":{"type":"adaptive","clear_thinking":false}}`, `{"thinking":{"type":"enabled","clear_thinking":false}}`, "auto; thinking -> thinking; approximate"},
		{"openai.chat", "thinking-and-effort", `{"think":"xhigh"}`, `{"thinking":{"type":"enabled"},"reasoning_effort":"xhigh"}`, "on xhigh; think -> thinking-and-effort; exact"},
		{"openai.chat", "enable_thinking", `{"reasoning_effort":"low"}`, `{"enable_thinking":true,"thinking_budget":1024}`, "on low; reasoning_effort -> enable_thinking; approximate"},
		{"openai.chat", "enable_thinking", `{"enable_thinking":false}`, `{"enable_thinking":false}`, ""},
		{"openai.responses", "reasoning", `{"reasoning":{"summary":"auto","enabled":false}}`, `{"reasoning":{"effort":"none","summary":"auto"}}`, "off; reasoning.enabled -> reasoning; exact"},
		{"anthropic.messages", "thinking", `{"max_tokens":4000,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high","format":{}}}`, `{"max_tokens":4000,"thinking":{"budget_tokens":2000,"type":"enabled","display":"omitted"},"output_config":{"format":{}}}`, "auto high; thinking output_config.effort -> thinking; approximate"},
		{"anthropic.messages", "thinking", `{"max_tokens":1024,"reasoning_effort":"low"}`, "the request turns thinking on, which needs max_tokens of more than 1024, not 1024", ""},
		{"anthropic.messages", "thinking", `{"output_config":{"effort":"high"}}`, `{"output_config":{"effort":"high"}}`, ""},
		{"anthropic.messages", "adaptive", `{"thinking":{"type":"enabled","budget_tokens":9000},"max_tokens":9999}`, `{"output_config":{"effort":"high"},"thinking":{"type":"adaptive"},"max_tokens":9999}`, "on 9000 tokens; thinking -> adaptive; approximate"},
		{"anthropic.messages", "chat_template_kwargs", `{"thinking":{"type":"disabled","display":"x","y":1}}`, `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`, "off; thinking -> chat_template_kwargs; lost; dropped display other"},
		{"cohere.chat", "native", `{"thinking":{"type":"enabled","budget_tokens":7}}`, `{"thinking":{"token_budget":7,"type":"enabled"}}`, "on 7 tokens; thinking -> thinking; exact"},
		{"gemini.generate", "native", `{"generation_config":{"thinking_config":{"include_thoughts":true}},"think":false}`, `{"generation_config":{"thinking_config":{"thinkingBudget":0,"include_thoughts":true}}}`, "off; think -> thinkingBudget; exact"},
		{"gemini.generate", "thinkingLevel", `{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"medium"}}}`, "auto; generationConfig.thinkingConfig.thinkingBudget -> thinkingLevel; approximate"},
		{"gemini.generate", "thinkingLevel", `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, "the request turns thinking off, and thinkingLevel cannot say that: the model has no such setting", ""},
		{"gemini.generate", "thinkingLevel", `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`, ""},
		{"anthropic.messages", "native", `{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`, `{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`, ""},
		{"anthropic.messages", "think", `{"thinking":{"type":"adaptive"}}`, `{"thinking":{"type":"adaptive"}}`, ""},
		{"gemini.generate", "native", `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}`, ""},
		{"openai.completions", "native", `{"think":false}`, "the request has a switch of thinking, and its API has none", ""},
		{"openai.completions", "native", `{"prompt":"x"}`, `{"prompt":"x"}`, ""},
		{"openai.chat", "untouched", `{"think":"CANARY"}`, `{"think":"CANARY"}`, ""},
		{"openai.chat", "native", `{"think":"CANARY"}`, "the value of think is not known, so it cannot be translated", ""},
		{"openai.chat", "native", `{"reasoning_effort":"CANARY"}`, `{"reasoning_effort":"CANARY"}`, ""},
		{"openai.chat", "native", `{"reasoning_effort":"high","think":false}`, "think contradicts reasoning_effort", ""},
		{"openai.chat", "native", `{"think":null,"include_reasoning":true}`, `{"think":null,"include_reasoning":true}`, ""},
	} {
		r, err := switches.Translate(test.api, false, []byte(test.body), test.words)
		got := string(r.Body)
		if err != nil {
			got = err.Error()
		}
		if got != test.want || err == nil && r.String() != test.says {
			t.Errorf("%s, %s, %s:\n%s\n%s\nwant\n%s\n%s", test.api, test.words, test.body, got, r.String(), test.want, test.says)
		}
	}
	if _, err := switches.Translate("ollama.generate", true, []byte(`{"think":false}`), switches.Native); err == nil {
		t.Error("a rendered prompt is told whether to think")
	}
}

// values are what clients write, by the member.
var values = map[string][]string{
	"reasoning_effort": {`"none"`, `"minimal"`, `"low"`, `"medium"`, `"high"`, `"xhigh"`, `"max"`, `"default"`, `"CANARY"`, `7`},
	"reasoning":        {`{"effort":"high","summary":"auto"}`, `{"enabled":false}`, `{"max_tokens":3000}`, `{"exclude":true}`, `{ "effort" : "none" , "max_tokens" : 0 }`},
	"thinking": {`{"type":"enabled","budget_tokens":2048}`, `{"type":"disabled"}`, `{"type":"adaptive","display":"omitted"}`, `{"type":"enabled"}`,
		`{"type":"enabled","token_budget":5}`, `{"type":"CANARY"}`, `true`, `{"keep":"all","type":"enabled"}`, `{}`},
	"output_config":        {`{"effort":"low"}`, `{"effort":"max","format":{"type":"json_schema"}}`},
	"chat_template_kwargs": {`{"enable_thinking":false}`, `{"thinking":true,"x":[1, 2]}`, `{"reasoning_effort":"high","thinking":true}`, `{"enable_thinking":"CANARY"}`, `{"x":1}`},
	"enable_thinking":      {`true`, `false`, `"CANARY"`},
	"thinking_budget":      {`100`, `0`, `-1`, `1e99`, `0.5`},
	"think":                {`true`, `false`, `"high"`, `"none"`, `"max"`, `null`},
	"options":              {`{"think":false,"num_ctx":10}`, `{"num_ctx":1}`},
	"generationConfig":     {`{"thinkingConfig":{"thinkingBudget":0}}`, `{"temperature":1,"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}}`, `{"thinking_config":{"thinking_budget":-1}}`},
	"max_tokens":           {`4096`, `1024`, `99999`},
}

// bodies are requests with one or two members that control thinking.
func bodies() []string {
	var members []string
	for name, list := range values {
		for _, v := range list {
			members = append(members, fmt.Sprintf("%q: %s", name, v))
		}
	}
	slices.Sort(members)
	list := []string{`{}`}
	for i, m := range members {
		list = append(list, `{"model":"m", `+m+`,"messages":[ {"role":"user"}]}`, `{`+m+` }`)
		for _, n := range members[i+1:] {
			if m[:5] != n[:5] {
				list = append(list, `{ `+n+`,"stop":["a", "b"] , `+m+`}`)
			}
		}
	}
	return list
}

func apis() (list []string) {
	for _, c := range providers.Codecs() {
		list = append(list, c.Name())
	}
	return list
}

// without removes all members that control thinking, and the objects that are empty then.
func without(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, name := range []string{"reasoning_effort", "enable_thinking", "thinking_budget", "think"} {
		delete(root, name)
	}
	cut := func(in map[string]any, from string, names ...string) {
		o, ok := in[from].(map[string]any)
		for _, name := range names {
			delete(o, name)
		}
		if len(o) == 0 && (ok || from == "thinking") {
			delete(in, from)
		}
	}
	cut(root, "reasoning", "effort", "enabled", "max_tokens")
	cut(root, "thinking", "type", "budget_tokens", "token_budget", "display", "keep", "clear_thinking")
	cut(root, "output_config", "effort")
	cut(root, "options", "think")
	cut(root, "chat_template_kwargs", "enable_thinking", "thinking", "reasoning_effort", "thinking_budget")
	for _, name := range []string{"generationConfig", "generation_config"} {
		if o, ok := root[name].(map[string]any); ok {
			cut(o, "thinkingConfig", "thinkingBudget", "thinkingLevel", "thinking_budget", "thinking_level")
			cut(o, "thinking_config", "thinkingBudget", "thinkingLevel", "thinking_budget", "thinking_level")
			cut(root, name)
		}
	}
	return root
}

// check checks the laws of one translation.
func check(t *testing.T, api string, words switches.Words, body string) {
	t.Helper()
	where := fmt.Sprintf("%s, %s, %s", api, words, body)
	r, err := switches.Translate(api, false, []byte(body), words)
	if err != nil {
		if strings.Contains(err.Error(), "CANARY") || words == switches.Untouched {
			t.Errorf("%s: %v", where, err)
		}
		return
	}
	if !r.Translated() {
		if string(r.Body) != body || r.String() != "" {
			t.Errorf("%s: the body changed without a word: %s", where, r.Body)
		}
		return
	}
	if foreignjson.Check(r.Body) != nil || foreignjson.Check(r.Client) != nil {
		t.Errorf("%s: not valid JSON: %s\n%s", where, r.Body, r.Client)
		return
	}
	if strings.Contains(r.String(), "CANARY") || words == switches.Untouched || r.Grade == "" || len(r.From) == 0 {
		t.Errorf("%s: %s", where, r.String())
	}
	if was, is := without(t, []byte(body)), without(t, r.Body); !reflect.DeepEqual(was, is) {
		t.Errorf("%s: another member changed: %s", where, r.Body)
	}
	again, err := switches.Translate(api, false, r.Body, words)
	if err != nil || again.Translated() {
		t.Errorf("%s: %s becomes %s (%v)", where, r.Body, again.Body, err)
	}
	// Whoever reads the result in other words reads the same mode, and the same setting if
	// it is exact.
	for _, other := range switches.All()[1:] {
		back, err := switches.Translate(api, false, r.Body, other)
		if err == nil && back.Translated() && ((back.Says.Mode == switches.Off) != (r.Says.Mode == switches.Off) || r.Grade == switches.Exact && back.Says != r.Says) {
			t.Errorf("%s: %v became %v: %s", where, r.Says, back.Says, r.Body)
		}
	}
	// The members of the client that are kept make the request again.
	var client map[string]json.RawMessage
	if err := json.Unmarshal(r.Client, &client); err != nil {
		t.Fatal(err)
	}
	for name, raw := range client {
		if !strings.Contains(body, string(raw)) {
			t.Errorf("%s: the client did not send %s: %s", where, name, raw)
		}
	}
}

// TestLaws translates requests with one or two members, in every API, to all words.
func TestLaws(t *testing.T) {
	list := bodies()
	for i, body := range list {
		for j, api := range apis() {
			for k, words := range switches.All() {
				if effort.Brief() && (i+j+k)%7 > 0 {
					continue
				}
				check(t, api, words, body)
				if t.Failed() {
					return
				}
			}
		}
	}
}

// TestAgree: members that agree are one setting, in whichever order they stand.
func TestAgree(t *testing.T) {
	for body, want := range map[string]string{
		`{"chat_template_kwargs":{"enable_thinking":true,"thinking":true},"reasoning_effort":"medium"}`: "on medium",
		`{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`:                             "auto max",
		`{"think":true,"reasoning":{"max_tokens":2000,"effort":"high"}}`:                                "on high 2000 tokens",
		`{"enable_thinking":false,"thinking_budget":0}`:                                                 "off",
	} {
		if r, err := switches.Translate("ollama.chat", false, []byte(body), "think"); err != nil || r.Says.String() != want {
			t.Errorf("%s: %q, %v", body, r.Says, err)
		}
	}
	for _, body := range []string{
		`{"enable_thinking":false,"thinking_budget":1}`, `{"reasoning":{"effort":"low"},"reasoning_effort":"high"}`,
		`{"thinking":{"type":"enabled","budget_tokens":1,"token_budget":2}}`, `{"options":{"think":true},"enable_thinking":false}`,
	} {
		if r, err := switches.Translate("ollama.chat", false, []byte(body), "think"); err == nil {
			t.Errorf("%s: %s", body, r.Body)
		}
	}
}

// TestEveryPlace: each member that counts for how a model thinks is translated, except
// those that only say what is shown of it, and the members of models in Bedrock's API.
func TestEveryPlace(t *testing.T) {
	shown := []string{"reasoning_split", "reasoning.exclude", "include_reasoning", "generationConfig.thinkingConfig.includeThoughts"}
	for _, path := range chatjson.Switches() {
		value := map[string]string{"thinking": `{"type":"disabled"}`, "output_config.effort": `"low"},"think":true,"x":{"y":1`}[path]
		object := "{"
		names := strings.Split(path, ".")
		for _, name := range names {
			object += fmt.Sprintf("%q:{", name)
		}
		tried := false
		for _, v := range []string{value, "false", `"low"`, "0"} {
			if v == "" {
				continue
			}
			body := strings.TrimSuffix(object, "{") + v + strings.Repeat("}", len(names))
			if r, err := switches.Translate("openai.completions", false, []byte(body), switches.Native); err != nil || r.Translated() {
				tried = true
			}
		}
		if tried == (slices.Contains(shown, path) || names[0] == "additionalModelRequestFields") {
			t.Errorf("%s: read %v", path, tried)
		}
	}
}

// FuzzTranslate: any JSON object is translated by the laws, or refused.
func FuzzTranslate(f *testing.F) {
	for i, body := range bodies() {
		if i%7 == 0 {
			f.Add(body, uint8(i), uint8(i/3))
		}
	}
	f.Fuzz(func(t *testing.T, body string, api, words uint8) {
		if foreignjson.Check([]byte(body)) != nil || !strings.HasPrefix(body, "{") {
			return
		}
		names, list := apis(), switches.All()
		where, to := names[int(api)%len(names)], list[int(words)%len(list)]
		r, err := switches.Translate(where, false, []byte(body), to)
		if err != nil || !r.Translated() {
			return
		}
		if foreignjson.Check(r.Body) != nil || foreignjson.Check(r.Client) != nil {
			t.Fatalf("%s, %s, %s: %s\n%s", where, to, body, r.Body, r.Client)
		}
		if again, err := switches.Translate(where, false, r.Body, to); err != nil || again.Translated() {
			t.Fatalf("%s, %s, %s: %s becomes %s (%v)", where, to, body, r.Body, again.Body, err)
		}
	})
}

// TestFitBudget: a budget is at least the smallest one, and less than the reply's limit.
func TestFitBudget(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 1024}, {512, 0, 1024}, {8192, 0, 8192}, {8192, 8192, 4096}, {8192, 8193, 8192}, {24576, 1500, 1024}, {1, 1025, 1024}} {
		if n, ok := switches.FitBudget(c[0], c[1]); !ok || n != c[2] {
			t.Errorf("%d of %d: %d, %v, want %d", c[0], c[1], n, ok, c[2])
		}
	}
	for _, most := range []int{1, 1024} {
		if n, ok := switches.FitBudget(1024, most); ok {
			t.Errorf("%d fits %d", n, most)
		}
	}
}
