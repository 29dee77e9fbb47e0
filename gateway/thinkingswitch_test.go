package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire/switches"
)

// foreignSwitch turns thinking off in words that no API has as its own.
const foreignSwitch = `,"enable_thinking": false`

// nativeOff is how each API itself says that: a member's path and value. An API that is
// missing has no words.
var nativeOff = map[string][2]string{
	"openai.chat":        {"reasoning_effort", `"none"`},
	"openai.responses":   {"reasoning.effort", `"none"`},
	"anthropic.messages": {"thinking", `{"type":"disabled"}`},
	"cohere.chat":        {"thinking", `{"type":"disabled"}`},
	"ollama.chat":        {"think", `false`},
	"ollama.generate":    {"think", `false`},
	"gemini.generate":    {"generationConfig.thinkingConfig.thinkingBudget", `0`},
}

// TestThinkingSwitch sends a request that turns thinking off in other words, over every
// API, streamed and whole: the upstream gets it in the API's own words, and no other byte
// of it changes. The header, the record and the metrics say so. Without the setting, or
// without a switch in the request, nothing changes.
func TestThinkingSwitch(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			for _, more := range []string{foreignSwitch, ""} {
				for _, words := range []switches.Words{"", switches.Untouched, switches.Native} {
					switchOnce(t, s, stream, more, words)
				}
			}
		}
	})
}

func switchOnce(t *testing.T, s speaker, stream bool, more string, words switches.Words) {
	t.Helper()
	where := fmt.Sprintf("stream=%v %q %q", stream, more, words)
	w, dir := openRecord(t, record.Options{})
	v := converse(t, s, gateway.Config{Recorder: w, Default: routing.Route{ThinkingSwitch: words}})
	v.raw, v.cut = "Yes.", []string{"Yes."}
	sent := v.request("m", stream, more)
	got := ask(v, s.path, sent)
	own, speaks := nativeOff[s.name()]
	e := only(t, w, dir)
	switch {
	case words != switches.Native || more == "":
		if got.Code != http.StatusOK || v.got != sent || got.Header().Get("Sotto-Thinking") != "" || e.Switch != nil || strings.Contains(metricsOf(v), "sotto_thinking_switched_total{") {
			t.Errorf("%s: %d, the upstream got %s", where, got.Code, v.got)
		}
		return
	case !speaks:
		if got.Code != http.StatusBadRequest || v.got != "" || e.Outcome != "refused" || !strings.Contains(got.Body.String(), "thinking-switch: ") {
			t.Errorf("%s: %d, the upstream got %q, recorded %q", where, got.Code, v.got, e.Outcome)
		}
		return
	}
	if v := gjson.Get(v.got, own[0]).Raw; v != own[1] {
		t.Errorf("%s: %s is %s", where, own[0], v)
	}
	if rest := strings.Replace(sent, more, "", 1); !strings.HasSuffix(v.got, ","+rest[1:]) {
		t.Errorf("%s: the upstream got\n%s\nof\n%s", where, v.got, rest)
	}
	said := got.Header().Get("Sotto-Thinking")
	if !strings.HasPrefix(said, "off; enable_thinking -> ") || !strings.HasSuffix(said, "; exact") {
		t.Errorf("%s: header %q", where, said)
	}
	if e.Switch == nil || e.Switch.Client.Text != `{"enable_thinking":false}` || e.Switch.Translated != said || len(e.Revisions) > 0 || strings.Contains(string(e.Parameters.Text), "enable_thinking") {
		t.Errorf("%s: recorded %+v, revisions %v, parameters %s", where, e.Switch, e.Revisions, e.Parameters.Text)
	}
	if count := fmt.Sprintf(`sotto_thinking_switched_total{api=%q,model=%q,result="exact"} 1`, s.name(), e.Model); !strings.Contains(metricsOf(v), count) {
		t.Errorf("%s: not counted: %s", where, count)
	}
}

// TestThinkingSwitchRefused: a request that cannot be translated is refused in the shape
// of its API, and the upstream does not see it. The error does not quote the request.
func TestThinkingSwitchRefused(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, more := range []string{`,"think":true,"enable_thinking":false`, `,"enable_thinking":"CANARY"`} {
			v := converse(t, s, gateway.Config{Default: routing.Route{ThinkingSwitch: switches.Native}})
			w := ask(v, s.path, v.request("m", true, more))
			said := errorOf(w.Body.String())
			if w.Code != http.StatusBadRequest || v.got != "" || !strings.HasPrefix(said, "thinking-switch: ") || strings.Contains(said, "CANARY") || w.Body.String() != string(s.codec.Error(400, said))+"\n" {
				t.Errorf("%s: %d %s", more, w.Code, w.Body)
			}
		}
	})
}

// errorOf is the message of an error.
func errorOf(body string) string {
	for _, path := range []string{"error.message", "error", "message"} {
		if v := gjson.Get(body, path); v.Type == gjson.String {
			return v.Str
		}
	}
	return ""
}

// TestThinkingSwitchLearns: what is learned of how replies begin belongs to the switch
// that the upstream got, so it holds for a client that says the same in other words.
func TestThinkingSwitchLearns(t *testing.T) {
	s := speakerOf(t, "ollama.chat")
	v := converse(t, s, gateway.Config{Default: routing.Route{ThinkingSwitch: switches.Native}})
	const raw = "a thought\n</think>\n\nYes."
	for range 2 { // teach
		v.hear(t, raw, true, `,"think":"high"`)
	}
	v.hear(t, raw, true, `,"reasoning_effort":"high"`).wants(t, "Yes.", "a thought")
	if list := v.Learned().Starts(); len(list) != 1 || list[0].Switch != "think=high" {
		t.Errorf("learned: %+v", list)
	}
}

// TestThinkingSwitchBesideHistory: a request whose history changes too is edited in both
// ways, and an upstream's error still says so.
func TestThinkingSwitchBesideHistory(t *testing.T) {
	var got string
	w, dir := openRecord(t, record.Options{})
	h := handler(t, gateway.Config{Recorder: w, Default: routing.Route{ThinkingSwitch: switches.ChatTemplateKwargs, History: "strip"}}, answering(func(r *http.Request) *http.Response {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		resp := response("application/json", strings.NewReader(`{"error":{"message":"no"}}`))
		resp.StatusCode = http.StatusBadRequest
		return resp
	}))
	answer := ask(h, "/v1/chat/completions", `{"model":"qwen3","reasoning_effort":"none","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"<think>b</think>c"},{"role":"user","content":"d"}]}`)
	const want = `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false},"model":"qwen3","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`
	if got != want || answer.Header().Get("Sotto-Thinking") == "" || answer.Header().Get("Sotto-History") == "" || answer.Code != http.StatusBadRequest {
		t.Errorf("%d %v\n%s\nwant\n%s", answer.Code, answer.Header(), got, want)
	}
	if e := only(t, w, dir); len(e.Revisions) != 1 || e.Switch == nil || e.Switch.Client.Text != `{"reasoning_effort":"none"}` {
		t.Errorf("recorded: %v, %+v", e.Revisions, e.Switch)
	}
}

// TestThinkingSwitchOfRoutes: a route may leave alone what the default translates.
func TestThinkingSwitchOfRoutes(t *testing.T) {
	s := speakerOf(t, "ollama.chat")
	v := converse(t, s, gateway.Config{
		Default: routing.Route{ThinkingSwitch: switches.Native},
		Routes:  []routing.Route{{Models: []string{"plain"}, ThinkingSwitch: switches.Untouched}},
	})
	v.raw, v.end = "a", sotto.EndStopped
	for model, want := range map[string]bool{"plain": false, "m": true} {
		ask(v, s.path, v.request(model, false, foreignSwitch))
		if got := strings.Contains(v.got, `"think":false`); got != want {
			t.Errorf("%s: %s", model, v.got)
		}
	}
}

// TestThinkingSwitchOfAgents: a model whose reasoning is apart, such as an agent, has
// settings of its own, so nothing is translated for it.
func TestThinkingSwitchOfAgents(t *testing.T) {
	s := speakerOf(t, "ollama.chat")
	v := converse(t, s, gateway.Config{
		Default:   routing.Route{ThinkingSwitch: switches.Native},
		Separated: func(model string) bool { return model == "agent/a" },
	})
	v.raw = "a"
	for model, want := range map[string]bool{"agent/a": false, "m": true} {
		w := ask(v, s.path, v.request(model, false, foreignSwitch))
		if got := strings.Contains(v.got, `"think":false`); got != want || w.Header().Get("Sotto-Thinking") != "" != want {
			t.Errorf("%s: %s", model, v.got)
		}
	}
}

// TestThinkingSwitchOfTransport: the transport of a Go client translates like the gateway,
// and the length of the body is that of the translation.
func TestThinkingSwitchOfTransport(t *testing.T) {
	var got string
	var length int64
	tr, err := gateway.NewTransport(gateway.TransportConfig{Default: routing.Route{ThinkingSwitch: switches.Native}, Transport: answering(func(r *http.Request) *http.Response {
		b, _ := io.ReadAll(r.Body)
		got, length = string(b), r.ContentLength
		return response("application/json", strings.NewReader(`{"model":"m","message":{"role":"assistant","content":"a"},"done":true}`))
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	resp, err := (&http.Client{Transport: tr}).Post("http://upstream/api/chat", "application/json", strings.NewReader(`{"model":"m","stream":false,"reasoning_effort":"none","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if want := `{"think":false,"model":"m","stream":false,"messages":[]}`; got != want || length != int64(len(want)) || resp.Header.Get("Sotto-Thinking") == "" || resp.Header.Get("Sotto-Figures") == "" {
		t.Errorf("%d bytes: %s, %v", length, got, resp.Header)
	}
}

// TestThinkingSwitchMemory: the translation is held for as long as the exchange, and all of
// it is given back.
func TestThinkingSwitchMemory(t *testing.T) {
	s := speakerOf(t, "ollama.chat")
	v := converse(t, s, gateway.Config{Default: routing.Route{ThinkingSwitch: switches.Native}})
	v.raw = "a"
	for _, more := range []string{foreignSwitch, `,"enable_thinking":7`} {
		ask(v, s.path, v.request("m", false, more))
		if page := metricsOf(v); !strings.Contains(page, "\nsotto_memory_bytes 0\n") {
			t.Errorf("%s: memory stays reserved", more)
		}
	}
}
