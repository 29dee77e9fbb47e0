package ollamawire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/interop/ollamawire"
)

// The template of models that Ollama reads for thoughts by its template.
const tagged = `{{- range .Messages }}{{ if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Thinking }}<think>{{ .Thinking }}</think>
{{ end }}{{ .Content }}{{ end }}{{ end }}<|im_start|>assistant
{{ if and .IsThinkSet (not .Think) }}<think>

</think>

{{ else }}<think>
{{ end }}`

var models = []ollamawire.Model{
	{Name: "qwen3.5:4b", Template: tagged, Say: say},
	{Name: "glm-4.7", Renderer: "glm-4.7", Parser: "glm-4.7", Say: say},
	{Name: "deepseek-v3.1", Renderer: "deepseek3.1", Parser: "deepseek3", Say: say},
	{Name: "nemotron-3-nano", Renderer: "nemotron-3-nano", Parser: "nemotron-3-nano", Say: say},
	// A model that somebody imported with a template without the tags of Ollama.
	{Name: "deepseek-r1:imported", Template: "<｜User｜>{{ .Prompt }}<｜Assistant｜><think>\n", Say: say},
	{Name: "frobnicator", Template: "<|user|>{{ .Prompt }}<|assistant|><think>\n", Say: say},
}

// say is a model that thinks unless the prompt closed the thought.
func say(prompt string) []string { return cut(reply(prompt)) }

// cut makes tokens of one to seven letters.
func cut(text string) (pieces []string) {
	letters := []rune(text)
	for n := 1; len(letters) > 0; n = n%7 + 1 {
		n := min(n, len(letters))
		pieces = append(pieces, string(letters[:n]))
		letters = letters[n:]
	}
	return pieces
}

func reply(prompt string) string {
	const thought = "canary one, so I keep it.\nThe canary two.\n</think>\n\n"
	const answer = "It is four."
	opened, closed := strings.LastIndex(prompt, "<think>"), strings.LastIndex(prompt, "</think>")
	switch {
	case opened > closed:
		return thought + answer
	case strings.HasSuffix(strings.TrimSpace(prompt), "</think>"):
		return answer
	}
	return "<think>\n" + thought + answer
}

// A question is a request over one of Ollama's APIs, with the members for a model.
type question struct{ path, members string }

var questions = []question{
	{"/api/chat", `"messages":[{"role":"user","content":"2+2?"}]`},
	{"/api/generate", `"prompt":"2+2?"`},
	{"/v1/chat/completions", `"messages":[{"role":"user","content":"2+2?"}]`},
	{"/v1/completions", `"prompt":"2+2?"`},
	{"/v1/responses", `"input":"2+2?"`},
	{"/v1/messages", `"max_tokens":1000,"messages":[{"role":"user","content":"2+2?"}]`},
}

// tweaks are members that any client may add, by path.
var tweaks = map[string][]string{
	"/api/chat": {
		`"options":{"stop":["\n"]}`, `"options":{"stop":["</think>"]}`, `"options":{"num_predict":2}`, `"think":false`, `"think":true`,
		`"think":false,"options":{"stop":["keep"]}`,
	},
	"/api/generate": {
		`"options":{"stop":["\n"]}`, `"options":{"num_predict":2}`, `"think":false`, `"template":"{{ .Prompt }}<think>\nok"`,
		`"raw":true,"think":false`, `"template":"{{ .Prompt }}<think>\nok","options":{"stop":["keep"]}`,
	},
	"/v1/chat/completions": {`"stop":["\n"]`, `"stop":"</"`, `"max_tokens":2`, `"reasoning_effort":"none"`},
	"/v1/completions":      {`"stop":["\n"]`, `"max_tokens":2`},
	"/v1/responses":        {`"max_output_tokens":2`},
	"/v1/messages":         {`"stop_sequences":["\n"]`, `"thinking":{"type":"disabled"}`},
}

// TestThoughts asks models of Ollama for their thoughts, with the members that its API
// has. Under hide no client gets any.
func TestThoughts(t *testing.T) {
	up := httptest.NewServer(ollamawire.Handler(models...))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		for _, q := range questions {
			for _, more := range append([]string{""}, tweaks[q.path]...) {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s%s/%s/%v", m.Name, q.path, strings.ReplaceAll(more, "/", "|"), stream), func(t *testing.T) {
						g, err := gateway.New(gateway.Config{Upstream: u, Templates: true, Default: routing.Route{Display: routing.DisplayHide}})
						if err != nil {
							t.Fatal(err)
						}
						defer g.Close()
						body := fmt.Sprintf(`{"model":%q,"stream":%v,%s}`, m.Name, stream, strings.TrimSuffix(q.members+","+more, ","))
						w := httptest.NewRecorder()
						g.ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1"+q.path, strings.NewReader(body)))
						if got := w.Body.String(); strings.Contains(texts(got), "canary") {
							t.Errorf("%s\n%s", body, got)
						}
						// Completions of Ollama leave a thought out that its parser finds. Then
						// nothing shows that the text is the answer.
						direct := texts(ask(t, up.URL+q.path, body))
						thinks := strings.Contains(direct, "canary")
						if more == "" && q.path != "/v1/completions" && !thinks {
							t.Errorf("%s: the model does not think\n%s", body, direct)
						}
						if more == "" && thinks && !strings.Contains(texts(w.Body.String()), "It is four.") {
							t.Errorf("%s: no answer\n%s", body, w.Body)
						}
					})
				}
			}
		}
	}
}

// TestAsOllama asks the server itself: a thought is in its own member, and the answer in
// the text.
func TestAsOllama(t *testing.T) {
	up := httptest.NewServer(ollamawire.Handler(models...))
	defer up.Close()
	data := ask(t, up.URL+"/v1/chat/completions", `{"model":"glm-4.7","messages":[{"role":"user","content":"2+2?"}]}`)
	var got struct {
		Choices []struct {
			Message struct{ Content, Reasoning string }
		}
	}
	if json.Unmarshal([]byte(data), &got) != nil || len(got.Choices) != 1 {
		t.Fatal(data)
	}
	if m := got.Choices[0].Message; m.Content != "It is four." || !strings.HasPrefix(m.Reasoning, "canary one") {
		t.Errorf("%+v", m)
	}
}

// ask posts a body, and returns the reply.
func ask(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// texts joins the texts of a reply, member by member, as a client joins its pieces.
func texts(reply string) string {
	all := map[string]*strings.Builder{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(path+"."+k, e)
			}
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case string:
			if all[path] == nil {
				all[path] = &strings.Builder{}
			}
			all[path].WriteString(v)
		}
	}
	for line := range bytes.Lines([]byte(reply)) {
		var v any
		if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: ")), &v) == nil {
			walk("", v)
		}
	}
	var b strings.Builder
	for _, text := range all {
		b.WriteString(text.String() + "\n")
	}
	return b.String()
}
