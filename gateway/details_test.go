package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestHiddenSections holds that a section of HTML that says it is reasoning is hidden,
// streamed at any cut and whole, and that other sections are not.
func TestHiddenSections(t *testing.T) {
	const fold = "<details>\n<summary>More</summary>\nIt is 4.\n</details>"
	for text, want := range map[string]string{
		"<details type=\"reasoning\" done=\"true\" duration=\"3\">\n<summary>Thought for 3 seconds</summary>\n> canary\n</details>\nIt is 4.": "It is 4.",
		"<think>canary</think>a <details type='reasoning'>canary</details>b":                                                                  "a b",
		"a\n<details type=\"reasoning\">canary":                                                                                               "a\n",
		fold:                                                                                                                                  fold,
		"a `<details type=\"reasoning\">` b":                                                                                                  "a `<details type=\"reasoning\">` b",
	} {
		frames := []string{}
		for _, b := range byteByByte(text) {
			frames = append(frames, chatFrame(`{"content":`+quoted(b)+`}`, "null"))
		}
		stream := strings.Join(frames, "") + chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
		whole := `{"choices":[{"index":0,"message":{"role":"assistant","content":` + quoted(text) + `},"finish_reason":"stop"}]}`
		for kind, body := range map[string]string{"text/event-stream": stream, "application/json": whole} {
			g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response {
				return response(kind, strings.NewReader(body))
			}))
			out := ask(g, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`).Body.Bytes()
			if kind == "application/json" {
				if !strings.Contains(string(out), `"content":`+quoted(want)) {
					t.Errorf("%q became\n%s", text, out)
				}
				continue
			}
			speakers[0].listen(t, out).wants(t, want, "")
		}
	}
}
