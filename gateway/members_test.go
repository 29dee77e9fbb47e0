package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// The members of the frames and bodies of APIs whose messages have members: which
// stay, which are added, and under which name.

// memberAPI is where such an API has its text and its reasoning.
type memberAPI struct {
	s              speaker
	frame, whole   string // the path of the object that speaks
	text, thinking string
}

func memberAPIs(t *testing.T) []memberAPI {
	return []memberAPI{
		{speakerOf(t, "openai.chat"), "choices.0.delta", "choices.0.message", "content", "reasoning_content"},
		{speakerOf(t, "openai.completions"), "choices.0", "choices.0", "text", "reasoning_content"},
		{speakerOf(t, "llamacpp.completion"), "@this", "@this", "content", "reasoning_content"},
		{speakerOf(t, "ollama.chat"), "message", "message", "content", "thinking"},
		{speakerOf(t, "ollama.generate"), "@this", "@this", "response", "thinking"},
	}
}

// TestTextMemberStays checks that a text that Sotto empties stays as "": clients add
// the member of each frame to what they have, and of a whole reply they take it.
func TestTextMemberStays(t *testing.T) {
	for _, api := range memberAPIs(t) {
		for _, raw := range []string{"<think>I add.</think>It is 4.", "<think>I add", "<narrate>n</narrate>a", "<think>r</think>"} {
			for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
				for _, narration := range routing.Narrations() {
					v := converse(t, api.s, gateway.Config{Default: routing.Route{Display: display, Narration: narration}})
					v.raw, v.cut, v.end = raw, byteByByte(raw), sotto.EndCut
					out := ask(v, api.s.path, v.request("m", true, "")).Body.Bytes()
					for f := range framesOf(api.s.codec, out) {
						o := gjson.GetBytes(f.Data, api.frame)
						ends := gjson.GetBytes(f.Data, "choices.0.finish_reason").Str != "" // that frame came without text
						if o.IsObject() && !ends && o.Get(api.text).Type != gjson.String {
							t.Errorf("%s %s %s %q: a frame without text: %s", api.s.name(), display, narration, raw, f.Data)
						}
					}
					body := ask(v, api.s.path, v.request("m", false, "")).Body.Bytes()
					if o := gjson.GetBytes(body, api.whole); o.Get(api.text).Type != gjson.String {
						t.Errorf("%s %s %s %q: a reply without text: %s", api.s.name(), display, narration, raw, body)
					}
				}
			}
		}
	}
}

// TestNoTextMemberGained checks that an object that came without a text, or with null,
// stays so while it has none.
func TestNoTextMemberGained(t *testing.T) {
	for _, frame := range []string{`{"reasoning":"I "}`, `{"role":"assistant","content":null,"reasoning":"add."}`, `{"reasoning_content":"r"}`, `{"role":"assistant"}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`} {
		for _, display := range routing.Displays() {
			stream := chatFrame(frame, "null") + chatFrame(frame, "null") + chatFrame(`{"content":"a"}`, "null") + chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(upstreamSends("text/event-stream", stream)))
			out := ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.Bytes()
			for f := range framesOf(speakers[0].codec, out) {
				content := gjson.GetBytes(f.Data, "choices.0.delta.content")
				if content.Type == gjson.String && content.Str == "" {
					t.Errorf("%s: %s became %s", display, frame, f.Data)
				}
			}
		}
	}
}

// TestNativeNameStays checks that reasoning that the upstream separated keeps its
// member, and that the configured one is added where it is absent.
func TestNativeNameStays(t *testing.T) {
	for _, native := range []string{"reasoning", "reasoning_content", "thinking", "thought"} {
		for _, fields := range [][]string{nil, {"reasoning"}, {"x_thought", "reasoning_content"}} {
			names := fields
			if names == nil {
				names = []string{"reasoning_content"}
			}
			want := map[string]string{native: "I add."}
			for _, name := range names {
				want[name] = "I add."
			}
			route := routing.Route{ReasoningFields: fields}
			deltas := []string{`{"role":"assistant","content":"","` + native + `":"I "}`, `{"` + native + `":"ad"}`, `{"` + native + `":"d."}`, `{"content":"It is 4."}`}
			wantMembers(t, streamMembers(t, route, deltas...), want, fmt.Sprint(native, fields, " streamed"))
			wantMembers(t, wholeMembers(t, route, `{"content":"It is 4.","`+native+`":"I add."}`), want, fmt.Sprint(native, fields, " whole"))
			for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayTags} {
				route.Display = display
				wantMembers(t, streamMembers(t, route, deltas...), nil, fmt.Sprint(native, fields, display))
				wantMembers(t, wholeMembers(t, route, `{"content":"It is 4.","`+native+`":"I add."}`), nil, fmt.Sprint(native, fields, display))
			}
		}
	}
	// Two names that the upstream sends both stay, and so do its details.
	both := map[string]string{"reasoning": "I add.", "reasoning_content": "I add."}
	message := `{"content":"It is 4.","reasoning":"I add.","reasoning_details":[{"type":"reasoning.text","text":"I add."}]}`
	wantMembers(t, wholeMembers(t, routing.Route{}, message), both, "details")
	if got := wholeBody(t, routing.Route{}, message); !strings.Contains(got, `"reasoning_details":[{"type":"reasoning.text","text":"I add."}]`) {
		t.Errorf("details changed: %s", got)
	}
	// In tags the client has the reasoning once; what the provider wants back stays.
	for details, stays := range map[string]bool{
		`[{"type":"reasoning.text","text":"I add."}]`:                   false,
		`[{"type":"reasoning.text","text":"I add.","signature":"c2k"}]`: true,
		`[{"type":"reasoning.encrypted","data":"c2k"}]`:                 true,
	} {
		got := wholeBody(t, routing.Route{Display: routing.DisplayTags}, `{"content":"It is 4.","reasoning":"I add.","reasoning_details":`+details+`}`)
		if strings.Contains(got, "reasoning_details") != stays {
			t.Errorf("%s: %s", details, got)
		}
	}
}

// TestNativeAndTags checks a reply that has reasoning both in a member and in its text,
// in one message: the names say the same.
func TestNativeAndTags(t *testing.T) {
	message := `{"content":"<think>Second.</think>It is 4.","reasoning":"First."}`
	got := gjson.Get(wholeBody(t, routing.Route{}, message), "choices.0.message")
	if a, b := got.Get("reasoning").Str, got.Get("reasoning_content").Str; a != b || !strings.Contains(a, "First.") || !strings.Contains(a, "Second.") || got.Get("content").Str != "It is 4." {
		t.Errorf("%s", got.Raw)
	}
}

func wantMembers(t *testing.T, got, want map[string]string, how string) {
	t.Helper()
	for _, name := range []string{"reasoning", "reasoning_content", "thinking", "thought", "x_thought"} {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %q, want %q", how, name, got[name], want[name])
		}
	}
}

func addMembers(to map[string]string, o gjson.Result) {
	o.ForEach(func(key, value gjson.Result) bool {
		to[key.Str] += value.Str
		return true
	})
}

func streamMembers(t *testing.T, r routing.Route, deltas ...string) map[string]string {
	t.Helper()
	var b bytes.Buffer
	for _, d := range deltas {
		b.WriteString(chatFrame(d, "null"))
	}
	b.WriteString(chatFrame("{}", `"stop"`) + "data: [DONE]\n\n")
	g := handler(t, gateway.Config{Default: r}, answering(upstreamSends("text/event-stream", b.String())))
	got := map[string]string{}
	for f := range framesOf(speakers[0].codec, ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.Bytes()) {
		addMembers(got, gjson.GetBytes(f.Data, "choices.0.delta"))
	}
	return got
}

func wholeBody(t *testing.T, r routing.Route, message string) string {
	t.Helper()
	body := `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
	g := handler(t, gateway.Config{Default: r}, answering(upstreamSends("application/json", body)))
	got := ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.String()
	if !gjson.Valid(got) {
		t.Errorf("%s became %s", body, got)
	}
	return got
}

func wholeMembers(t *testing.T, r routing.Route, message string) map[string]string {
	t.Helper()
	got := map[string]string{}
	addMembers(got, gjson.Get(wholeBody(t, r, message), "choices.0.message"))
	return got
}

// upstreamSends is an upstream that sends one body to every request.
func upstreamSends(kind, body string) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response { return response(kind, strings.NewReader(body)) }
}

// TestBothNamesGoUpOnce sends back what a client got under two names: the upstream
// gets its own member alone, also before it is known which one that is.
func TestBothNamesGoUpOnce(t *testing.T) {
	got := ""
	g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning":"I add."},"finish_reason":"stop"}]}`))
	}))
	for turn := range 3 { // at first nothing is known of the upstream
		ask(g, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","reasoning_content":"I add.","content":"a","reasoning":"I add."},{"role":"user","content":"q"}]}`)
		if m := gjson.Get(got, "messages.1").Raw; m != `{"role":"assistant","content":"a","reasoning":"I add."}` {
			t.Errorf("turn %d: the upstream got %s", turn, m)
		}
	}
}

// TestNarrationDropped: where narration is dropped, also what the upstream has in a member
// of its own is, whether frames are edited or written. In a written reply both stand in one
// member.
func TestNarrationDropped(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"choices":[{"index":0,"message":{"reasoning":"r","content":"<narrate>Hm.</narrate>It is 4.","narration":"Wait."},"finish_reason":"stop"}]}`,
		"/v1/completions":      `{"choices":[{"index":0,"reasoning":"r","text":"<narrate>Hm.</narrate>It is 4.","narration":"Wait.","finish_reason":"stop"}]}`,
		"/api/chat":            `{"model":"m","message":{"role":"assistant","thinking":"r","content":"<narrate>Hm.</narrate>It is 4.","narration":"Wait."},"done":true,"done_reason":"stop"}`,
		"/api/generate":        `{"model":"m","thinking":"r","response":"<narrate>Hm.</narrate>It is 4.","narration":"Wait.","done":true,"done_reason":"stop"}`,
		"/completion":          `{"reasoning_content":"r","content":"<narrate>Hm.</narrate>It is 4.","narration":"Wait.","stop":true,"stop_type":"eos"}`,
	} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
			for narration, shown := range map[routing.Narration]bool{routing.NarrationDrop: false, routing.NarrationField: true} {
				g := handler(t, gateway.Config{Default: routing.Route{Display: display, Narration: narration}}, answering(upstreamSends("application/json", body)))
				got := ask(g, path, `{"model":"m","stream":false,"messages":[]}`).Body.String()
				if n := strings.Count(got, `"narration"`); display == routing.DisplayHide && (n == 1) != shown || strings.Contains(got, "Hm.") != shown {
					t.Errorf("%s %s %s: %s", path, display, narration, got)
				}
				if strings.Contains(got, "Wait.") != shown || !strings.Contains(got, "It is 4.") {
					t.Errorf("%s %s %s: %s", path, display, narration, got)
				}
			}
		}
	}
}
