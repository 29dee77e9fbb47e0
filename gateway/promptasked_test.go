package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

const (
	preOpening = `{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}`
	plainChat  = `{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}`
)

// TestTemplatesAreRead streams from a model that no dialect knows, whose template
// opens the block in the prompt. Not even the first stream gives thoughts as text. The
// template is read once, however many ask at once.
func TestTemplatesAreRead(t *testing.T) {
	for _, tt := range []struct {
		name, path, answer string
		config             gateway.Config
		model, more        string
		asked              int32 // requests for the template
		leaks              bool
	}{
		{name: "Ollama", path: "/api/show", answer: `{"template":` + quoted(preOpening) + `,"model_info":{}}`, asked: 1},
		{name: "llama.cpp", path: "/props", answer: `{"chat_template":` + quoted(preOpening) + `}`, asked: 1},
		{name: "llama.cpp, rendered", path: "/apply-template", answer: `{"prompt":"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"}`, asked: 1},
		{name: "vLLM", path: "/tokenize", answer: `{"tokens":[1,2],"token_strs":["Hi","<|im_end|>","Ċ","<|im_start|>","assistant","Ċ","<think>","Ċ"]}`, asked: 1},
		{name: "text-generation-inference", path: "/chat_tokenize", answer: `{"tokenize_response":[],"templated_text":"Hi<|im_end|>\n<|im_start|>assistant\n<think>\n"}`, asked: 1},
		{name: "a template that does not open", path: "/props", answer: `{"chat_template":` + quoted(plainChat) + `}`, asked: 1, leaks: true},
		{name: "no template", asked: 0, leaks: true},
		{name: "not JSON", path: "/props", answer: preOpening, asked: 1, leaks: true},
		{name: "too large", path: "/props", answer: `{"chat_template":` + quoted(preOpening+strings.Repeat(" ", 5<<20)) + `}`, asked: 1, leaks: true},
		{name: "a family that opens the block", path: "/props", answer: `{"chat_template":` + quoted(preOpening) + `}`, model: "deepseek-r1", asked: 1},
		{name: "a family that does not", path: "/props", answer: `{"chat_template":` + quoted(preOpening) + `}`, model: "qwen3", leaks: true},
		{name: "a prefill", path: "/props", answer: `{"chat_template":` + quoted(preOpening) + `}`, more: `,{"role":"assistant","content":"So: "}`, leaks: true},
		{name: "configured", path: "/props", answer: `{"chat_template":` + quoted(preOpening) + `}`, config: gateway.Config{Default: routing.Route{Start: "outside"}}, leaks: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32
			base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := readAll(t, r.Body)
				switch {
				case r.URL.Path == "/v1/chat/completions":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, chatFrame(`{"role":"assistant","content":"I add."}`, "null"), chatFrame(`{"content":"\n</think>\n\nIt is 4."}`, "null"), chatFrame("{}", `"stop"`), "data: [DONE]\n\n")
				case r.URL.Path == tt.path:
					if asked.Add(1); r.URL.Path == "/api/show" && body != `{"model":"frobnicator"}` || strings.Contains(body, "2+2") || r.Header.Get("Authorization") != "Bearer key" {
						t.Errorf("asked %s with %q", body, r.Header)
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, tt.answer)
				default:
					http.NotFound(w, r)
				}
			}), withTemplates(tt.config))
			model := tt.model
			if model == "" {
				model = "frobnicator"
			}
			body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"2+2?"}%s]}`, model, tt.more)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					_, got := post(t, base+"/v1/chat/completions", body, http.Header{"Authorization": {"Bearer key"}})
					h := speakers[0].listen(t, got)
					if leaks := strings.Contains(string(h.text), "I add."); leaks != tt.leaks {
						t.Errorf("text %q, reasoning %q", h.text, h.thought)
					}
				})
				if tt.leaks {
					break // two alike teach
				}
			}
			all.Wait()
			if n := asked.Load(); n != tt.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// TestTemplatesOfUpstreamsBelow reads the template beside the version of a base URL.
func TestTemplatesOfUpstreamsBelow(t *testing.T) {
	var paths []string
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		http.NotFound(w, r)
	})
	base := startBelow(t, upstream, "/v1")
	post(t, base+"/v1/chat/completions", `{"model":"frobnicator","stream":true,"messages":[]}`, nil)
	post(t, base+"/v1/chat/completions", `{"model":"frobnicator","stream":true,"messages":[]}`, nil)
	want := "/apply-template /props /api/show /v1/chat/completions/render /tokenize /chat_tokenize /get_server_info /server_info /v1/chat/completions /v1/chat/completions"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("asked for %s", got)
	}
}

func startBelow(t *testing.T, upstream http.Handler, path string) string {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	return before(t, up.URL+path, withTemplates(gateway.Config{}))
}

func withTemplates(c gateway.Config) gateway.Config {
	c.Templates = true
	return c
}

// TestTemplateCountsUntilLearned asks one after the other: what one reply showed is not
// enough, so the template counts for the second stream too.
func TestTemplateCountsUntilLearned(t *testing.T) {
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/props" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"chat_template":`+quoted(preOpening)+`}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, chatFrame(`{"role":"assistant","content":"I add.\n</think>\n\nIt is 4."}`, "null"), chatFrame("{}", `"stop"`), "data: [DONE]\n\n")
	}), withTemplates(gateway.Config{}))
	for range 4 {
		_, got := post(t, base+"/v1/chat/completions", `{"model":"frobnicator","stream":true,"messages":[{"role":"user","content":"2+2?"}]}`, nil)
		speakers[0].listen(t, got).wants(t, "It is 4.", "I add.")
	}
}
