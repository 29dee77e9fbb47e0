package gateway_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// What Mistral's servers have in OpenAI's chat completions: content that is a list of
// parts, with parts of thinking that may be signed, and paths of their own.

var mistralPaths = []string{"/v1/chat/completions", "/v1/agents/completions", "/v1/fim/completions"}

// mistralParts is a content with a thought, signed or not, in one part or in several.
func mistralParts(signature string) string {
	return `[{"type":"thinking","thinking":[{"type":"text","text":"I "},{"type":"text","text":"add."}],"closed":true` + signature + `},{"type":"text","text":"It is 4."}]`
}

// TestMistralParts: a thought in parts of the content goes where the display wants it, on
// every path, streamed and whole.
func TestMistralParts(t *testing.T) {
	for _, path := range mistralPaths {
		for display, want := range map[routing.Display][2]string{
			routing.DisplayField: {"It is 4.", "I add."}, routing.DisplayHide: {"It is 4.", ""}, routing.DisplayTags: {"<think>\nI add.\n</think>\n\nIt is 4.", ""},
		} {
			config := gateway.Config{Default: routing.Route{Display: display}}
			message := `{"role":"assistant","content":` + mistralParts("") + `}`
			body := `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
			s := speakers[0]
			got := s.listenWhole(t, ask(handler(t, config, answering(upstreamSends("application/json", body))), path, `{"agent_id":"a","messages":[]}`).Body.Bytes())
			got.wants(t, want[0], want[1])
			stream := chatFrame(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"I "}],"closed":false}]}`, "null") +
				chatFrame(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"add."}],"closed":true}]}`, "null") +
				chatFrame(`{"content":"It is "}`, "null") + chatFrame(`{"content":[{"type":"text","text":"4."}]}`, "null") + chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
			got = s.listen(t, ask(handler(t, config, answering(upstreamSends("text/event-stream", stream))), path, `{"agent_id":"a","stream":true,"messages":[]}`).Body.Bytes())
			got.wants(t, want[0], want[1])
		}
	}
}

// TestMistralSigned: a part of thinking that is signed reaches the client byte for byte,
// because the provider wants it back. Where no reasoning may be shown, its text does not.
func TestMistralSigned(t *testing.T) {
	for display, stays := range map[routing.Display]bool{
		routing.DisplayField: true, routing.DisplayKeep: true, routing.DisplayHide: false, routing.DisplayTags: false,
	} {
		config := gateway.Config{Default: routing.Route{Display: display}}
		for _, signature := range []string{`,"signature":"c2lnbmVk"`, `,"signature":null`, `,"signature":""`} {
			parts := mistralParts(signature)
			body := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + parts + `},"finish_reason":"stop"}]}`
			got := ask(handler(t, config, answering(upstreamSends("application/json", body))), "/v1/chat/completions", `{"model":"m","messages":[]}`).Body.String()
			content := gjson.Get(got, "choices.0.message.content")
			if kept := content.Raw == parts; kept != (stays && (strings.Contains(signature, "c2ln") || display == routing.DisplayKeep)) {
				t.Errorf("%s, %s: %s", display, signature, got)
			}
			if display == routing.DisplayHide && strings.Contains(got, "add") {
				t.Errorf("the hidden thought came out: %s", got)
			}
		}
	}
}
