package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/reply/startmembers"
)

// TestStartMembers: a member that changes how a prompt is made takes away what the family
// says, and one that can end a thought makes a reply without a marker a thought, in
// whichever object it stands. Values that change nothing do neither.
func TestStartMembers(t *testing.T) {
	v := map[string]*conversation{
		"hide":  converse(t, speakers[0], gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}),
		"field": converse(t, speakers[0], gateway.Config{}),
	}
	const raw = "Hello there."
	shown := func(display, model, path, value string) bool {
		c := v[display]
		names := strings.Split(path, ".")
		for i := len(names) - 1; i > 0; i-- {
			value = `{"` + names[i] + `":` + value + `}`
		}
		body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"q"}],%q:%s}`, model, names[0], value)
		c.raw, c.end = raw, sotto.EndStopped
		w := ask(c, c.s.path, body)
		return string(c.s.listenWhole(t, w.Body.Bytes()).text) == raw
	}
	members := slices.DeleteFunc(slices.Clone(startmembers.All), func(m startmembers.Member) bool { return m.Effect == startmembers.MayRender })
	for _, kwarg := range []string{"deep_thought", "thinking_mode"} {
		members = append(members, startmembers.Member{Path: "chat_template_kwargs." + kwarg, Effect: startmembers.ChangesPrompt})
	}
	for _, m := range members {
		if m.Path == "echo" {
			continue // refused
		}
		// qwen3 never opens the block in the prompt; deepseek-r1 always does.
		display, model := "field", "deepseek-r1"
		if m.Effect != startmembers.CutsReply {
			display, model = "hide", "qwen3"
		}
		for _, in := range []string{"", "extra_body.", "extra_body.nvext."} {
			for _, value := range []string{`"x"`, `["x"]`, `{"x":1}`, `7`} {
				if shown(display, model, in+m.Path, value) {
					t.Errorf("%s%s: %s counts as nothing", in, m.Path, value)
				}
			}
			if strings.HasPrefix(m.Path, "chat_template_kwargs.") {
				continue
			}
			usual := []string{`null`, `""`, `[]`, `{}`, `0`}
			for _, u := range m.Usual {
				usual = append(usual, fmt.Sprintf("%q", u))
			}
			for _, value := range usual {
				if !shown(display, model, in+m.Path, value) {
					t.Errorf("%s%s: %s counts", in, m.Path, value)
				}
			}
		}
	}
	for path, value := range map[string]string{"temperature": "0.5", "chat_template_kwargs.enable_thinking": "true", "metadata.stop": `"x"`, "user": `"stop"`} {
		if !shown("hide", "qwen3", path, value) || !shown("field", "deepseek-r1", path, value) {
			t.Errorf("%s: %s counts", path, value)
		}
	}
}

// TestPromptClaims: a prompt or a text that begins the reply can open the block for every
// server. That it closes the block is believed, where reasoning is hidden, only of a server
// that is known to go on with it.
func TestPromptClaims(t *testing.T) {
	const thought, chat = "I add canary", `{"model":"deepseek-r1","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>a</think>"}]%s}`
	for _, c := range []struct {
		api, path, body string
		shown           bool
	}{
		{"openai.chat", "/v1/chat/completions", fmt.Sprintf(chat, ""), false},
		{"openai.chat", "/v1/chat/completions", fmt.Sprintf(chat, `,"continue_final_message":true,"add_generation_prompt":false`), true},
		{"ollama.chat", "/api/chat", fmt.Sprintf(chat, `,"stream":false`), true},
		{"openai.completions", "/v1/completions", `{"model":"deepseek-r1","prompt":"<|im_start|>assistant\n<think>\n\n</think>\n\n"}`, false},
		{"llamacpp.completion", "/completion", `{"prompt":"<|im_start|>assistant\n<think>\n\n</think>\n\n"}`, true},
		{"llamacpp.completion", "/completion", `{"prompt":["</think>",151667]}`, false},
		{"openai.completions", "/v1/completions", `{"model":"deepseek-r1","prompt":["<think></think>a","b<think>"]}`, false},
		{"openai.completions", "/v1/completions", `{"model":"deepseek-r1","prompt":[1,2,3]}`, false},
		{"openai.chat", "/v1/chat/completions", `{"model":"deepseek-r1","continue_final_message":true,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","reasoning_content":"I add"}]}`, false},
	} {
		v := converse(t, speakerOf(t, c.api), gateway.Config{Default: routing.Route{Display: routing.DisplayHide}})
		v.raw, v.end = thought, sotto.EndStopped
		w := ask(v, c.path, c.body)
		if strings.Contains(w.Body.String(), "canary") != c.shown || w.Code != 200 {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
}

// TestEcho: where reasoning is hidden, no reply begins with its prompt.
func TestEcho(t *testing.T) {
	for display, want := range map[routing.Display]int{routing.DisplayHide: 400, routing.DisplayField: 200} {
		v := converse(t, speakerOf(t, "openai.completions"), gateway.Config{Default: routing.Route{Display: display}})
		v.raw, v.end = "q<think></think> I add", sotto.EndStopped
		if w := ask(v, v.s.path, `{"model":"m","prompt":"q","echo":true}`); w.Code != want {
			t.Errorf("%s: %d %s", display, w.Code, w.Body)
		}
	}
}

// TestStartMembersAreDocumented: the guide has a row for each member.
func TestStartMembersAreDocumented(t *testing.T) {
	guide, err := os.ReadFile("../docs/reference/request-members.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range startmembers.All {
		does := "changes the prompt"
		switch m.Effect {
		case startmembers.CutsReply:
			does = "ends or bends a reply"
		case startmembers.MayRender:
			does = "may change what the server renders"
		}
		row := fmt.Sprintf("| `%s` | %s | %s |\n", m.Path, does, m.Source)
		if !strings.Contains(string(guide), row) {
			t.Errorf("docs/reference/request-members.md lacks the row %s", row)
		}
	}
}

// TestEditedBeginning checks that an empty block which the history's policy takes out of the last message proves
// nothing: the upstream, which goes on with the text alone, may think.
func TestEditedBeginning(t *testing.T) {
	for _, policy := range []history.Policy{history.StripAll, history.Preserve} {
		var got string
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide, History: policy}}, answering(func(r *http.Request) *http.Response {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			got = gjson.GetBytes(body, "messages.1.content").Str
			says := "four"
			if !strings.Contains(got, "</think>") {
				says = "a secret\n</think>\n\nfour"
			}
			return response("application/json", strings.NewReader(fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, says)))
		}))
		const begun = "<think>\n\n</think>\n\nSo: "
		w := ask(g, "/v1/chat/completions", fmt.Sprintf(`{"model":"frobnicator","continue_final_message":true,"add_generation_prompt":false,`+
			`"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":%q}]}`, begun))
		if edits := policy == history.StripAll; edits == (got == begun) {
			t.Errorf("%s: the upstream goes on with %q", policy, got)
		}
		if text := gjson.GetBytes(w.Body.Bytes(), "choices.0.message.content").Str; text != "four" {
			t.Errorf("%s: the client gets %q", policy, text)
		}
	}
}
