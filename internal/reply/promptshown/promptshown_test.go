package promptshown

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/startmembers"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// A server answers paths as model servers do.
type server map[string]func(body gjson.Result) string

func (s server) send(asked *[]string) Send {
	return func(method, path string, body []byte, read func(gjson.Result)) (int, error) {
		*asked = append(*asked, path)
		answer, ok := s[path]
		if !ok {
			return http.StatusNotFound, nil
		}
		text := answer(gjson.ParseBytes(body))
		if text == "" {
			return http.StatusBadRequest, nil
		}
		read(gjson.Parse(text))
		return http.StatusOK, nil
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// chatML renders a conversation as templates of Qwen's family do. The switch opens or
// closes the block.
func chatML(body gjson.Result, opens string) string {
	prompt := ""
	for _, m := range body.Get("messages").Array() {
		prompt += "<|im_start|>" + m.Get("role").Str + "\n" + m.Get("content").Str + "<|im_end|>\n"
	}
	return prompt + "<|im_start|>assistant\n" + opens
}

// hybrid opens the block unless the arguments of the template turn thinking off.
func hybrid(body gjson.Result) string {
	if v := body.Get("chat_template_kwargs.enable_thinking"); v.Exists() && !v.Bool() {
		return chatML(body, "<think>\n\n</think>\n\n")
	}
	return chatML(body, "<think>\n")
}

// reluctant opens the block only if the arguments of the template turn thinking on.
func reluctant(body gjson.Result) string {
	if body.Get("chat_template_kwargs.thinking").Bool() {
		return chatML(body, "<think>\n")
	}
	return chatML(body, "</think>")
}

func never(body gjson.Result) string { return chatML(body, "") }

// The servers' own forms of an answer. letters writes a text as GPT-2's tokenizer stores
// its tokens.
func applied(render func(gjson.Result) string) server {
	return server{"/apply-template": func(b gjson.Result) string { return `{"prompt":` + quoted(render(b)) + `}` }}
}

func tokenized(render func(gjson.Result) string) server {
	letters := strings.NewReplacer(" ", "Ġ", "\n", "Ċ")
	return server{"/tokenize": func(b gjson.Result) string {
		if !b.Get("add_generation_prompt").Bool() || !b.Get("return_token_strs").Bool() || b.Get("think").Exists() || b.Get("reasoning_effort").Exists() {
			return ""
		}
		text := []rune(letters.Replace(render(b)))
		var list []string
		for piece := range slices.Chunk(text, 5) {
			list = append(list, quoted(string(piece)))
		}
		return fmt.Sprintf(`{"count":%d,"max_model_len":4096,"tokens":[1],"token_strs":[%s]}`, len(list), strings.Join(list, ","))
	}}
}

func rendered(render func(gjson.Result) string) server {
	var prompt []rune
	return server{
		"/v1/chat/completions/render": func(b gjson.Result) string {
			prompt = []rune(render(b))
			ids, _ := json.Marshal(prompt)
			return `{"request_id":"r","token_ids":` + string(ids) + `,"sampling_params":{}}`
		},
		"/detokenize": func(b gjson.Result) string {
			text := ""
			for _, id := range b.Get("tokens").Array() {
				text += string(rune(id.Int()))
			}
			return `{"prompt":` + quoted(text) + `}`
		},
	}
}

func chatTokenized(render func(gjson.Result) string) server {
	return server{"/chat_tokenize": func(b gjson.Result) string {
		return `{"tokenize_response":[{"id":1,"text":"x","start":0,"stop":1}],"templated_text":` + quoted(render(b)) + `}`
	}}
}

func fixed(path, answer string) server {
	return server{path: func(gjson.Result) string { return answer }}
}

const user = `"messages":[{"role":"user","content":"SECRET of the user"}]`

func questionOf(t *testing.T, body string) Question {
	t.Helper()
	q, err := openai.Chat.Request([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return QuestionOf("openai.chat", q, gjson.Parse(body))
}

// TestAsk asks servers in their own forms. What they show is never more than their
// rendering says of this request.
func TestAsk(t *testing.T) {
	const inside, outside = "inside:think", "outside"
	for _, tt := range []struct {
		name   string
		server server
		body   string // members of the request
		want   string // the start, "may" for a prompt that may open, or "separates"
	}{
		{"llama.cpp, thinking", applied(hybrid), `{` + user + `}`, inside},
		{"llama.cpp, thinking off", applied(hybrid), `{` + user + `,"chat_template_kwargs":{"enable_thinking":false}}`, outside},
		{"llama.cpp, no marker", applied(never), `{` + user + `}`, outside},
		{"llama.cpp, its members are all read", applied(never), `{` + user + `,"reasoning_effort":"high"}`, outside},
		{"vLLM, thinking", tokenized(hybrid), `{` + user + `}`, inside},
		{"vLLM, thinking off", tokenized(hybrid), `{` + user + `,"chat_template_kwargs":{"enable_thinking":false}}`, outside},
		{"vLLM, no marker", tokenized(never), `{` + user + `}`, outside},
		{"vLLM, the default may think", tokenized(reluctant), `{` + user + `}`, "may"},
		{"vLLM, thinking is off in the request", tokenized(reluctant), `{` + user + `,"chat_template_kwargs":{"thinking":false}}`, outside},
		{"vLLM, a member that /tokenize does not read", tokenized(never), `{` + user + `,"reasoning_effort":"high"}`, ""},
		{"vLLM, render", rendered(hybrid), `{` + user + `}`, inside},
		{"vLLM, render, off", rendered(reluctant), `{` + user + `,"reasoning_effort":"high"}`, outside},
		{"TGI", chatTokenized(hybrid), `{` + user + `}`, inside},
		{"TGI, no marker", chatTokenized(never), `{` + user + `}`, outside},
		{"Ollama, opens", fixed("/api/show", `{"template":`+quoted("{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n<think>\n")+`,"capabilities":["completion"]}`), `{` + user + `}`, "may"},
		{"Ollama, no opener", fixed("/api/show", `{"template":"{{ .Prompt }}","capabilities":["completion"]}`), `{` + user + `}`, outside},
		{"Ollama, names the tag", fixed("/api/show", `{"template":"{{ .Prompt }} {{ if .Think }}x{{ end }}","capabilities":["completion"]}`), `{` + user + `}`, ""},
		{"Ollama, separates", fixed("/api/show", `{"template":"{{ .Prompt }}{{ .Thinking }}","capabilities":["completion","thinking"]}`), `{` + user + `,"reasoning_effort":"high"}`, "separates"},
		{"Ollama, nobody asked to think", fixed("/api/show", `{"template":"{{ .Prompt }}{{ .Thinking }}","capabilities":["completion","thinking"]}`), `{` + user + `}`, ""},
		{"Ollama, a parser", fixed("/api/show", `{"template":"{{ .Prompt }}","renderer":"qwen3","parser":"qwen3","capabilities":["thinking"]}`), `{` + user + `}`, "may separates"},
		{"Ollama, a parser, thinking off", fixed("/api/show", `{"template":"{{ .Prompt }}","renderer":"qwen3","parser":"qwen3","capabilities":["thinking"]}`), `{` + user + `,"reasoning_effort":"none"}`, "may"},
		{"SGLang, forced", fixed("/get_server_info", `{"reasoning_parser":"deepseek-r1","api_key":"k"}`), `{` + user + `}`, "separates"},
		{"SGLang, the request turns it off", fixed("/get_server_info", `{"reasoning_parser":"deepseek-r1"}`), `{` + user + `,"separate_reasoning":false}`, "may"},
		{"SGLang, not forced", fixed("/server_info", `{"reasoning_parser":"qwen3"}`), `{` + user + `}`, ""},

		{"a template of the client's", applied(never), `{` + user + `,"chat_template":"x"}`, "may"},
		{"an unknown argument", applied(never), `{` + user + `,"chat_template_kwargs":{"mode":"deep"}}`, "may"},
		{"an unknown value", applied(never), `{` + user + `,"chat_template_kwargs":{"enable_thinking":"SECRET"}}`, "may"},
		{"a switch in a text", applied(never), `{"messages":[{"role":"user","content":"x/thinking"}]}`, "may"},
		{"continued", applied(never), `{` + user + `,"continue_final_message":true}`, "may"},
		{"a result of a tool", applied(hybrid), `{"messages":[{"role":"user","content":"a"},{"role":"tool","content":"SECRET"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, inside},

		{"another prompt", fixed("/apply-template", `{"prompt":"<|im_start|>assistant\n"}`), `{` + user + `}`, ""},
		{"special tokens are missing", fixed("/apply-template", `{"prompt":"Hi\nassistant\n"}`), `{` + user + `}`, ""},
		{"a marker in another form", fixed("/apply-template", `{"prompt":"Hi<|im_end|><|im_start|>assistant\n<think mode=1"}`), `{` + user + `}`, ""},
		{"wrong types", fixed("/apply-template", `{"prompt":["Hi<|im_end|>"]}`), `{` + user + `}`, ""},
		{"wrong types of tokens", fixed("/tokenize", `{"token_strs":[1,{"a":[]},null]}`), `{` + user + `}`, ""},
		{"a list", fixed("/apply-template", `[1]`), `{` + user + `}`, ""},
		{"a long tail", fixed("/apply-template", `{"prompt":"Hi<|im_end|>`+strings.Repeat("x", maxTail)+`"}`), `{` + user + `}`, ""},
		{"ids that are no ids", fixed("/v1/chat/completions/render", `{"token_ids":[-1,1.5,1e300,"a"]}`), `{` + user + `}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			sent := 0
			inner := tt.server.send(&asked)
			send := func(method, path string, body []byte, read func(gjson.Result)) (int, error) {
				if sent++; strings.Contains(string(body), "SECRET") {
					t.Errorf("%s got a text of the request: %s", path, body)
				}
				return inner(method, path, body, read)
			}
			e, _, ok := Ask(sotto.Default(), questionOf(t, tt.body), send, "")
			got := string(e.Start)
			if e.MayOpen {
				got += "may"
			}
			if e.Separates {
				got += " separates"
			}
			if strings.TrimSpace(got) != tt.want || !ok || sent > MaxRequests {
				t.Errorf("%q, %v after %v; want %q", got, ok, asked, tt.want)
			}
		})
	}
}

// TestAskAgain: a server that cannot be reached, or refuses, may answer later; one that
// has none of the endpoints will not. The way that answered is tried first.
func TestAskAgain(t *testing.T) {
	q := questionOf(t, `{`+user+`}`)
	for status, again := range map[int]bool{401: true, 403: true, 404: false, 405: false, 429: true, 500: true, 501: false, 503: true, 0: true} {
		send := func(string, string, []byte, func(gjson.Result)) (int, error) {
			if status == 0 {
				return 0, errors.New("down")
			}
			return status, nil
		}
		if _, _, ok := Ask(sotto.Default(), q, send, ""); ok == again {
			t.Errorf("%d: %v", status, ok)
		}
	}
	var asked []string
	_, from, _ := Ask(sotto.Default(), q, tokenized(hybrid).send(&asked), "")
	asked = nil
	if Ask(sotto.Default(), q, tokenized(hybrid).send(&asked), from); !slices.Equal(asked, []string{"/tokenize"}) {
		t.Errorf("asked %v after %q", asked, from)
	}
}

// TestQuestionOf: the same switch gives the same question, another one another.
func TestQuestionOf(t *testing.T) {
	body := func(more string) Question { return questionOf(t, `{"model":"m",`+user+more+`}`) }
	same := [][2]string{
		{`,"think":true,"reasoning_effort":"low"`, `,"reasoning_effort":"low","think":true`},
		{`,"chat_template_kwargs":{"thinking":true,"enable_thinking":true}`, `,"chat_template_kwargs":{"enable_thinking":true,"thinking":true}`},
		{``, `,"temperature":1,"stop":["x"],"think":null`},
	}
	for _, pair := range same {
		if a, b := body(pair[0]), body(pair[1]); a != b {
			t.Errorf("%+v and %+v", a, b)
		}
	}
	seen := map[Question]string{}
	for _, more := range []string{``, `,"think":true`, `,"think":false`, `,"think":"high"`, `,"chat_template_kwargs":{"enable_thinking":false}`, `,"chat_template_kwargs":{"thinking":false}`, `,"reasoning":{"effort":"low"}`, `,"tools":[{"type":"function","function":{"name":"f"}}]`} {
		q := body(more)
		if other, ok := seen[q]; ok {
			t.Errorf("%q and %q are one question: %+v", more, other, q)
		}
		seen[q] = more
	}
	for _, twice := range []string{`{"think":false,"think":true}`, `{"Think":true}`, `{"chat_template_kwargs":{"thinking":true,"thinking":false}}`, `{"CHAT_TEMPLATE_KWARGS":{}}`} {
		if q := QuestionOf("openai.chat", &wire.Request{Model: "m", Messages: []wire.Message{{Role: "user"}}}, gjson.Parse(twice)); !q.Altered {
			t.Errorf("%s: %+v", twice, q)
		}
	}
	for _, api := range []string{"ollama.chat", "anthropic.messages"} {
		q := QuestionOf(api, &wire.Request{Model: "m", Messages: []wire.Message{{Role: "user"}}}, gjson.Parse(`{"think":true}`))
		if e, _, _ := Ask(sotto.Default(), q, applied(never).send(new([]string)), ""); e.Start != "" {
			t.Errorf("%s: %+v although llama.cpp does not read its members", api, e)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(`{"prompt":"Hi<|im_end|><|im_start|>assistant\n<think>"}`)
	f.Add(`{"token_strs":["Hi","<|im_end|>"]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		if !gjson.Valid(answer) {
			return
		}
		q := Question{Model: "m", Chat: true}
		for _, path := range []string{"/apply-template", "/api/show", "/tokenize", "/get_server_info"} {
			e, _, _ := Ask(sotto.Default(), q, fixed(path, answer).send(new([]string)), "")
			if !isStart(e.Start) {
				t.Errorf("start %q", e.Start)
			}
		}
	})
}

// TestAltered: what a server renders for a question holds for no request with another
// member that matters for its prompt.
func TestAltered(t *testing.T) {
	for _, m := range startmembers.All {
		name, _, _ := strings.Cut(m.Path, ".")
		if m.Effect == startmembers.CutsReply && m.Path != name {
			continue // its object may have other members
		}
		value := `"x"`
		if name == "options" {
			value = `{"think":true}`
		}
		body := `{"` + name + `":` + value + `}`
		q := QuestionOf("openai.chat", &wire.Request{Model: "m", Messages: []wire.Message{{Role: "user"}}}, gjson.Parse(body))
		if q.Altered != (m.Effect != startmembers.CutsReply) {
			t.Errorf("%s: altered %v", body, q.Altered)
		}
	}
}

// TestHostileFile: entries that this program would not write are dropped, and so are the
// oldest beyond the limit. A file of a newer program, or one that is not readable, is
// refused.
func TestHostileFile(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"upstream":"h","model":"%s","start":"outside","seen":"2026-11-0%dT00:00:00Z"}`
	list := []string{fmt.Sprintf(good, "old", 1), fmt.Sprintf(good, "new", 2)}
	list = append(list, []string{
		`{"upstream":"h\u001b[31m","model":"m","start":"outside"}`, `{"upstream":"h","model":"a\nb","start":"outside"}`, `{"upstream":"h","model":""}`,
		`{"upstream":"h","model":"m","start":"inside:a\u001bb"}`, `{"upstream":"h","model":"m","start":"auto"}`,
		`{"upstream":"h","model":"m","members":"{\"think\":\"CANARY\"}"}`, `{"upstream":"h","model":"m","members":"{\"prompt\":true}"}`, `{"upstream":"h","model":"m","members":"{"}`,
		`{"upstream":"h","model":"` + strings.Repeat("x", 10_000) + `"}`,
	}...)
	write(`{"v":1,"prompts":[` + strings.Join(list, ",") + `]}`)
	all, err := OpenExamined(dir, 0)
	if err != nil || len(all.entries) != 2 {
		t.Errorf("%v, %+v", err, all)
	}
	one, err := OpenExamined(dir, 1)
	if err != nil || len(one.entries) != 1 || one.entries[Entry{Upstream: "h", Model: "new"}].Start != sotto.BeginOutside {
		t.Errorf("%v, %+v", err, one)
	}
	for _, bad := range []string{`{`, `{"v":2,"prompts":[]}`, `{"v":1,"prompts":{}}`, `{"v":1,"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, strings.Repeat(" ", maxFile+1)} {
		write(bad)
		if _, err := OpenExamined(dir, 0); err == nil || !strings.Contains(err.Error(), File) {
			t.Errorf("%.20s: %v", bad, err)
		}
		if err := Keep(dir, nil); err == nil {
			t.Errorf("%.20s is written over", bad)
		}
	}
	if got := one.Reopen(); got != one {
		t.Error("a damaged file takes away what was read before")
	}
}
