package gateway_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestErrorsInBatches: neither do the errors in the results of a batch, of the whole line,
// of its request and in the body of its response, at every endpoint; nor a refusal of the
// file.
func TestErrorsInBatches(t *testing.T) {
	chosen := effort.OneIn(5, "")
	for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayTags} {
		for _, form := range errorBodies {
			for spelling, spell := range spellings {
				for i, quotation := range []string{quotations[0], quotations[1], "too busy"} {
					body := errorBody(form, quotation, spell)
					fault := gjson.Get(body, "error")
					lines := `{"id":"b","custom_id":"a","response":{"status_code":500,"request_id":"r","body":` + body + `},"error":null}` + "\n" +
						`{"custom_id":"c","result":{"type":"errored","error":` + body + `}}` + "\n" + `{"key":"d","response":` + body + `}` + "\n"
					if fault.Exists() {
						lines += `{"custom_id":"e","response":null,"error":` + fault.Raw + `}` + "\n"
					}
					for _, file := range resultFiles {
						if !chosen() {
							continue
						}
						got := fetchResults(t, gateway.Config{Default: routing.Route{Display: display}}, file.path, lines)
						if strings.Contains(got, "SECRET") {
							t.Fatalf("%s, %s, %s: %q comes out:\n%s", display, file.path, spelling, quotation, got)
						}
						if i == 2 && display != routing.DisplayHide && got != lines {
							t.Fatalf("%s: changed:\n%s\nwas\n%s", file.path, got, lines)
						}
						for _, id := range []string{`"a"`, `"c"`, `"d"`} {
							if !strings.Contains(got, id) {
								t.Fatalf("%s, %s: no line of %s:\n%s", display, file.path, id, got)
							}
						}
					}
				}
			}
		}
	}
}

// TestResultsByTheirForm: a result is read by its own form, whichever provider's endpoint
// it comes from; vectors stay, and a form that nobody knows is withheld by name.
func TestResultsByTheirForm(t *testing.T) {
	const raw = "<think>SECRET</think>It is 4."
	form := map[string]string{
		"openai.chat": resultFiles[0].line("o", speakerOf(t, "openai.chat").whole(raw, sotto.EndStopped)), "openai.responses": resultFiles[0].line("r", speakerOf(t, "openai.responses").whole(raw, sotto.EndStopped)),
		"anthropic.messages":    resultFiles[1].line("a", speakerOf(t, "anthropic.messages").whole(raw, sotto.EndStopped)),
		"anthropic in openai's": resultFiles[0].line("x", speakerOf(t, "anthropic.messages").whole(raw, sotto.EndStopped)),
		"gemini":                `{"key":"g","response":` + geminiSpeaker.whole(raw, sotto.EndStopped) + `}` + "\n",
		"gemini in openai's":    resultFiles[0].line("y", geminiSpeaker.whole(raw, sotto.EndStopped)),
	}
	for _, file := range resultFiles {
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField} {
			config := gateway.Config{Default: routing.Route{Display: display}}
			for name, line := range form {
				got := fetchResults(t, config, file.path, line)
				if strings.Contains(got, "<think>") || display == routing.DisplayHide && strings.Contains(got, "SECRET") || !strings.Contains(got, "It is 4.") {
					t.Errorf("%s, %s at %s:\n%s", display, name, file.path, got)
				}
			}
			for _, body := range []string{
				`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1e-3]},{"object":"embedding","index":1,"embedding":"AACAPg=="}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`,
				`{"id":"m1","model":"m","results":[{"flagged":true,"categories":{"hate":true},"category_scores":{"hate":0.9}}]}`,
			} {
				if line := resultFiles[0].line("v", body); fetchResults(t, config, file.path, line) != line {
					t.Errorf("%s at %s: %s is changed: %s", display, file.path, line, fetchResults(t, config, file.path, line))
				}
			}
		}
		for id, line := range map[string]string{
			"u": resultFiles[0].line("u", `{"object":"list","data":[{"text":"SECRET"}]}`), "k": `{"key":"k","response":{"steps":["SECRET"]}}` + "\n", "n": `{"custom_id":"n","modelOutput":{"x":"SECRET"},"response":{"body":[]}}` + "\n",
			"two": `{"custom_id":"two","response":{"body":` + speakerOf(t, "openai.chat").whole("It is", sotto.EndStopped) + `},"result":{"message":` + speakerOf(t, "anthropic.messages").whole("SECRET", sotto.EndStopped) + `}}` + "\n",
		} {
			got := fetchResults(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, file.path, "\n"+line)
			if strings.Contains(got, "SECRET") || !strings.Contains(got, `"`+id+`"`) || gjson.Get(got, "error.code").Str != "unread" || !strings.Contains(got, "line 1") {
				t.Errorf("%s at %s: %s", id, file.path, got)
			}
		}
	}
}
