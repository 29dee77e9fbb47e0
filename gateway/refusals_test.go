package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestRefusalsAreRead: where reasoning is hidden, a refusal that the prompt made begin inside
// a thought has only what follows that, wherever its pieces are cut. Nothing of it is lost.
func TestRefusalsAreRead(t *testing.T) {
	for raw, want := range map[string]string{
		"SECRET one</think>I cannot.": "I cannot.", "<think>SECRET</think>I cannot.": "I cannot.", "I cannot, sorry.": "I cannot, sorry.",
		"<think>SECRET</think>I cannot. <": "I cannot. <",
	} {
		whole := `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":` + quoted(raw) + `},"finish_reason":"stop"}]}`
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(upstreamSends("application/json", whole)))
		got := ask(g, "/v1/chat/completions", `{"model":"m","messages":[]}`).Body.String()
		if gjson.Get(got, "choices.0.message.refusal").Str != want || strings.Count(got, `"refusal"`) != 1 {
			t.Errorf("%q, whole: %s", raw, got)
		}
		for cut := range len(raw) {
			for path, frame := range map[string]func(piece string) string{
				"/v1/chat/completions": func(piece string) string { return chatFrame(`{"refusal":`+quoted(piece)+`}`, "null") },
				"/v1/responses": func(piece string) string {
					return event("response.refusal.delta", `"output_index":0,"content_index":0,"item_id":"msg_1","delta":`+quoted(piece))
				},
			} {
				stream := frame(raw[:cut]) + frame(raw[cut:])
				if path == "/v1/responses" {
					stream = event("response.output_item.added", `"output_index":0,"item":`+messageOpen) +
						event("response.content_part.added", `"output_index":0,"content_index":0,"item_id":"msg_1","part":{"type":"refusal","refusal":""}`) + stream +
						event("response.completed", `"response":{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":`+quoted(raw)+`}]}]}`)
				} else {
					stream += chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
				}
				g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
					return response("text/event-stream", strings.NewReader(stream))
				}))
				got, said := ask(g, path, `{"model":"m","stream":true,"messages":[]}`).Body.String(), ""
				for line := range strings.Lines(got) {
					data := strings.TrimPrefix(line, "data: ")
					said += gjson.Get(data, "choices.0.delta.refusal").Str
					if gjson.Get(data, "type").Str == "response.refusal.delta" {
						said += gjson.Get(data, "delta").Str
					}
				}
				if strings.Contains(got, "SECRET") || said != want {
					t.Fatalf("%s cut at %d of %q: %q\n%.900s", path, cut, raw, said, got)
				}
			}
		}
	}
}
