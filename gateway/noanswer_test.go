package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// TestOnNoAnswer sends replies that are all thought through every codec, whole and cut
// at every byte, and replies that are not.
func TestOnNoAnswer(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, how := range routing.NoAnswerActions() {
			for _, display := range routing.Displays() {
				if how == routing.NoAnswerPromote && display == routing.DisplayHide {
					continue // refused
				}
				v := converse(t, s, gateway.Config{Default: routing.Route{Display: display, OnNoAnswer: how, Start: sotto.BeginOutside}})
				for raw, thought := range map[string]string{
					"<think>I add.</think>":              "I add.",
					"<think>I add":                       "I add",
					"<think>a</think>\n\n<think>b":       "a\n\nb",
					"<think>I add.</think>It is 4.":      "",
					"It is 4.":                           "",
					"":                                   "",
					"<think> </think>":                   "",
					"<narrate>I look.</narrate><think>a": "",
				} {
					for _, end := range []sotto.Ending{sotto.EndStopped, sotto.EndCut} {
						for _, stream := range []bool{true, false} {
							v.raw, v.cut, v.end = raw, byteByByte(raw), end
							w := ask(v, s.path, v.request("m", stream, ""))
							where := fmt.Sprintf("%s %s %s %q stream=%v", s.name(), how, display, raw, stream)
							acts := thought != "" && display != routing.DisplayKeep
							if how == routing.NoAnswerError && acts {
								if !stream && w.Code != http.StatusBadGateway {
									t.Errorf("%s: status %d: %s", where, w.Code, w.Body)
								}
								if h := (&heard{}); stream {
									h = s.listen(t, w.Body.Bytes())
									if h.failed == "" || h.done {
										t.Errorf("%s: failed %q, done %v\n%s", where, h.failed, h.done, w.Body)
									}
								}
								continue
							}
							if w.Code != http.StatusOK {
								t.Errorf("%s: status %d: %s", where, w.Code, w.Body)
								continue
							}
							h := s.listenWhole
							if stream {
								h = s.listen
							}
							got := h(t, w.Body.Bytes())
							if got.failed != "" || !got.done {
								t.Errorf("%s: failed %q, done %v", where, got.failed, got.done)
							}
							if how == routing.NoAnswerPromote && acts && !strings.HasSuffix(string(got.text), thought) {
								t.Errorf("%s: text %q\n%s", where, got.text, w.Body)
							}
							if how == routing.NoAnswerPromote && acts && display == routing.DisplayField && string(got.text) != thought {
								t.Errorf("%s: text %q\n%s", where, got.text, w.Body)
							}
							if (how == routing.NoAnswerEmpty || !acts) && display == routing.DisplayField && raw != "" && strings.Contains(string(got.text), "I add") {
								t.Errorf("%s: text %q", where, got.text)
							}
						}
					}
				}
			}
		}
	})
}

// TestNativeThoughtAlone checks a reply whose reasoning the upstream itself separated.
func TestNativeThoughtAlone(t *testing.T) {
	r := routing.Route{OnNoAnswer: routing.NoAnswerPromote}
	sayChat(t, r, `{"content":"","reasoning_content":"I "}`, `{"reasoning_content":"add."}`).wants(t, "I add.", "I add.")
	wholeChat(t, r, `{"content":"","reasoning_content":"I add."}`).wants(t, "I add.", "I add.")
	wholeChat(t, r, `{"content":null,"reasoning":"I add."}`).wants(t, "I add.", "I add.")
}

// TestNotBesideCalls checks that nothing is done to a reply that calls a tool, or that
// refuses, in whatever form.
func TestNotBesideCalls(t *testing.T) {
	const thought = `"content":"<think>I call.</think>"`
	calls := `"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for _, how := range []routing.NoAnswerAction{routing.NoAnswerError, routing.NoAnswerPromote} {
		r := routing.Route{OnNoAnswer: how}
		for _, more := range []string{calls, `"function_call":{"name":"f","arguments":"{}"}`, `"refusal":"No."`} {
			for _, h := range []*heard{wholeChat(t, r, `{`+thought+`,`+more+`}`), sayChat(t, r, `{`+thought+`}`, `{`+more+`}`)} {
				if string(h.text) != "" || h.failed != "" || string(h.thought) != "I call." {
					t.Errorf("%s %s: text %q, thought %q, failed %q", how, more, h.text, h.thought, h.failed)
				}
			}
		}
		text := "<think>I call.</think><tool_call>{\"name\":\"f\"}</tool_call>"
		g := handler(t, gateway.Config{Default: routing.Route{OnNoAnswer: how, Dialect: "qwen3"}}, answering(upstreamSends("application/json", `{"choices":[{"index":0,"message":{"content":`+quoted(text)+`},"finish_reason":"stop"}]}`)))
		if w := ask(g, "/v1/chat/completions", `{"model":"m"}`); w.Code != 200 || strings.Contains(gjson.Get(w.Body.String(), "choices.0.message.content").Str, "I call.") {
			t.Errorf("%s: %d %s", how, w.Code, w.Body)
		}

		// In messages and responses the call is a block or an item after the thought.
		anthropic := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"<think>I call.</think>"},{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use"}`
		responses := `{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"<think>I call.</think>"}]},{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":"{}","status":"completed"}]}`
		for path, body := range map[string]string{"/v1/messages": anthropic, "/v1/responses": responses} {
			g := handler(t, gateway.Config{Default: r}, answering(upstreamSends("application/json", body)))
			w := ask(g, path, `{"model":"m","input":"q","messages":[{"role":"user","content":"q"}]}`)
			if w.Code != 200 || strings.Count(w.Body.String(), "I call.") != 1 {
				t.Errorf("%s %s: %d %s", how, path, w.Code, w.Body)
			}
		}
		streams := map[string]string{
			"/v1/messages": anthropicOpen + event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"<think>I call.</think>"}`) + event("content_block_stop", `"index":0`) +
				event("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`) + event("content_block_stop", `"index":1`) +
				event("message_delta", `"delta":{"stop_reason":"tool_use"}`) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			"/v1/responses": event("response.created", `"sequence_number":0,"response":{"id":"r","output":[]}`) +
				event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}`) +
				event("response.output_text.delta", `"sequence_number":2,"output_index":0,"item_id":"m","content_index":0,"delta":"<think>I call.</think>"`) +
				event("response.output_item.done", `"sequence_number":3,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"<think>I call.</think>"}]}`) +
				event("response.output_item.added", `"sequence_number":4,"output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":""}`) +
				event("response.output_item.done", `"sequence_number":5,"output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":"{}"}`) +
				event("response.completed", `"sequence_number":6,"response":`+responses),
		}
		for path, stream := range streams {
			g := handler(t, gateway.Config{Default: r}, answering(upstreamSends("text/event-stream", stream)))
			w := ask(g, path, `{"model":"m","stream":true,"input":"q","messages":[{"role":"user","content":"q"}]}`)
			if strings.Contains(w.Body.String(), `"error"`) || strings.Contains(w.Body.String(), `"text":"I call."}]`) && strings.Contains(w.Body.String(), "msg_sotto_") {
				t.Errorf("%s %s:\n%s", how, path, w.Body)
			}
		}
	}
}

// TestNoAnswerIsNotHidden refuses a configuration that shows hidden reasoning.
func TestNoAnswerIsNotHidden(t *testing.T) {
	for _, c := range []gateway.Config{
		{Default: routing.Route{Display: routing.DisplayHide, OnNoAnswer: routing.NoAnswerPromote}},
		{Default: routing.Route{OnNoAnswer: routing.NoAnswerPromote}, Routes: []routing.Route{{Display: routing.DisplayHide}}},
	} {
		found := false
		for _, err := range c.Check() {
			found = found || strings.Contains(err.Error(), "on-no-answer")
		}
		if !found {
			t.Errorf("%+v is accepted", c.Default)
		}
	}
}

// TestStreamDiagnostics checks that a stream ends with what a whole reply has in its
// header.
func TestStreamDiagnostics(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			v := converse(t, s, gateway.Config{Default: routing.Route{Display: display}})
			for _, raw := range []string{"<think>I add.</think>It is 4.", "<think>I add", "plain"} {
				v.raw, v.cut, v.end = raw, byteByByte(raw), sotto.EndCut
				want := ask(v, s.path, v.request("m", false, "")).Header().Get("Sotto-Diagnostics")
				out := "\n" + ask(v, s.path, v.request("m", true, "")).Body.String()
				got := ""
				if s.codec.Framing() == wire.SSE {
					if i := strings.LastIndex(out, "\n: Sotto-Diagnostics: "); i >= 0 {
						got, _, _ = strings.Cut(out[i+len("\n: Sotto-Diagnostics: "):], "\n")
						if _, after, _ := strings.Cut(out[i:], "\n\n"); !strings.Contains("\n"+after, "\ndata: ") {
							t.Errorf("%s: no frame ends the reply after the diagnostics: %q", s.name(), out)
						}
					}
				} else {
					lines := strings.Split(strings.TrimSpace(out), "\n")
					got = gjson.Get(lines[len(lines)-1], "sotto_diagnostics").Str
				}
				if display == routing.DisplayKeep || s.codec.Capabilities().NoComments {
					want = "" // it passes unchanged, or has no place for them
				}
				if got != want || !s.codec.Capabilities().NoComments && display != routing.DisplayKeep && strings.Contains(raw, "think") && got == "" {
					t.Errorf("%s %s %q: stream %q, whole %q", s.name(), display, raw, got, want)
				}
			}
		}
	})
}

// TestKeepIsUnchanged forwards replies byte for byte, whole and streamed, with their
// usage, whatever is in them.
func TestKeepIsUnchanged(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{Default: routing.Route{Display: routing.DisplayKeep, OnNoAnswer: routing.NoAnswerError}})
		for _, raw := range []string{tagged, "<think>I add", "<think>r</think>a<narrate>n</narrate>", "plain"} {
			for _, cut := range [][]string{{raw}, byteByByte(raw)} {
				v.raw, v.cut = raw, cut
				if got, want := ask(v, s.path, v.request("m", true, "")).Body.String(), s.stream(cut, sotto.EndStopped); got != want {
					t.Errorf("%s %q streamed:\n%s\nwant\n%s", s.name(), raw, got, want)
				}
			}
			if got, want := ask(v, s.path, v.request("m", false, "")).Body.String(), s.whole(raw, sotto.EndStopped); got != want {
				t.Errorf("%s %q whole:\n%s\nwant\n%s", s.name(), raw, got, want)
			}
		}
	})
	body := `{"choices":[{"index":0,"message":{"content":"<think>r</think>a","p":NaN},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}`
	g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayKeep}}, answering(upstreamSends("application/json", body)))
	if got := ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.String(); got != body {
		t.Errorf("%s\nbecame\n%s", body, got)
	}
}

// TestWholeOllamaReplyBreaksOff checks that a whole reply that breaks off has an error
// status in every API.
func TestWholeReplyBreaksOff(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			whole := s.whole("<think>I add.</think>It is 4.", sotto.EndStopped)
			for _, n := range []int{1, len(whole) / 2, len(strings.TrimSpace(whole)) - 1} {
				g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(upstreamSends(s.kind(false), whole[:n])))
				for _, stream := range []string{"true", "false"} {
					w := ask(g, s.path, `{"model":"m","stream":`+stream+`,"messages":[{"role":"user","content":"q"}]}`)
					if w.Code != http.StatusBadGateway && (display != routing.DisplayKeep || s.codec.Framing() == wire.NDJSON) {
						t.Errorf("%s %s stream=%s cut at %d: status %d %s", s.name(), display, stream, n, w.Code, w.Body)
					}
				}
			}
		}
	})
}

// TestNoHoleInPromotion checks reasoning that is longer than what may be kept: nothing
// is promoted, not the pieces that would still fit.
func TestNoHoleInPromotion(t *testing.T) {
	var b strings.Builder
	for _, n := range []int{700, 700, 1} {
		b.WriteString(chatFrame(`{"reasoning_content":"`+strings.Repeat("x", n)+`"}`, "null"))
	}
	b.WriteString(chatFrame("{}", `"stop"`) + "data: [DONE]\n\n")
	c := gateway.Config{Default: routing.Route{OnNoAnswer: routing.NoAnswerPromote}, Limits: gateway.Limits{Frame: 1000}}
	g := handler(t, c, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(b.String()))
	}))
	speakers[0].listen(t, ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.Bytes()).
		wants(t, "", strings.Repeat("x", 1401))
}

// TestPromotedIntoEmptyOutput: a server shows the items of a stream and ends it with an
// empty output. What the client reads of the end has the answer too.
func TestPromotedIntoEmptyOutput(t *testing.T) {
	const thought = `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"I add."}]}`
	message := func(text string) string {
		return event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}`) +
			event("response.output_text.delta", `"sequence_number":2,"output_index":0,"item_id":"m","content_index":0,"delta":`+quoted(text)) +
			event("response.output_item.done", `"sequence_number":3,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":`+quoted(text)+`}]}`)
	}
	for items, want := range map[string]string{
		message("<think>I add.</think>"): "I add.",
		message("It is 4."):              "",
		event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}`) +
			event("response.output_item.done", `"sequence_number":2,"output_index":0,"item":`+thought): "I add.",
	} {
		stream := event("response.created", `"sequence_number":0,"response":{"id":"r","output":[]}`) + items +
			event("response.completed", `"sequence_number":4,"response":{"id":"r","status":"completed","output":[],"output_text":""}`)
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayTags} {
			r := routing.Route{OnNoAnswer: routing.NoAnswerPromote, Display: display}
			g := handler(t, gateway.Config{Default: r}, answering(upstreamSends("text/event-stream", stream)))
			out := ask(g, "/v1/responses", `{"model":"m","stream":true,"input":"q"}`).Body.String()
			last := out[strings.LastIndex(out, `data: {"type":"response.completed"`):]
			got := ""
			for _, part := range gjson.Get(last[len("data: "):], `response.output.#(type=="message")#.content.0.text`).Array() {
				got += part.Str
			}
			if !strings.HasSuffix(got, want) || want == "" && got != "" {
				t.Errorf("%s: the last state says %q, want %q\n%s", display, got, want, out)
			}
		}
	}
}

// TestOtherOutputIsAnAnswer checks replies whose answer is an image, audio or a refusal
// in a part: nothing is done to them.
func TestOtherOutputIsAnAnswer(t *testing.T) {
	const image = `"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]`
	const audio = `"audio":{"id":"a","data":"aGk=","transcript":"Four.","expires_at":1}`
	responses := func(item string) string {
		return `{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"<think>I add.</think>"}]},` + item + `]}`
	}
	part := func(part string) string {
		return `{"type":"message","id":"n","role":"assistant","status":"completed","content":[` + part + `]}`
	}
	whole := map[string]string{}
	for _, more := range []string{image, audio} {
		whole[`{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>I add.</think>",`+more+`},"finish_reason":"stop"}]}`] = "/v1/chat/completions"
	}
	whole[`{"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"<think>I add.</think>"},{"type":"image_url","image_url":{"url":"x"}}]},"finish_reason":"stop"}]}`] = "/v1/chat/completions"
	whole[`{"message":{"role":"assistant","content":"<think>I add.</think>","images":["aGk="]},"done":true,"done_reason":"stop"}`] = "/api/chat"
	whole[`{"response":"<think>I add.</think>","image":"aGk=","done":true,"done_reason":"stop"}`] = "/api/generate"
	whole[`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"<think>I add.</think>"},{"type":"image","source":{"type":"base64","data":"aGk="}}],"stop_reason":"end_turn"}`] = "/v1/messages"
	whole[responses(`{"type":"image_generation_call","id":"i","status":"completed","result":"aGk="}`)] = "/v1/responses"
	whole[responses(part(`{"type":"output_audio","data":"aGk=","transcript":"Four."}`))] = "/v1/responses"
	whole[responses(part(`{"type":"refusal","refusal":"No."}`))] = "/v1/responses"
	streams := map[string]string{}
	for _, more := range []string{image, audio} {
		streams[chatFrame(`{"content":"<think>I add.</think>"}`, "null")+chatFrame(`{`+more+`}`, "null")+chatFrame("{}", `"stop"`)+"data: [DONE]\n\n"] = "/v1/chat/completions"
	}
	added := event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}`) +
		event("response.output_text.delta", `"sequence_number":2,"output_index":0,"item_id":"m","content_index":0,"delta":"<think>I add.</think>"`)
	refusal := `"item_id":"m","output_index":0,"content_index":1,"part":{"type":"refusal","refusal":""}`
	done := `"sequence_number":5,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"<think>I add.</think>"},{"type":"refusal","refusal":"No."}]}`
	for _, begun := range []string{event("response.content_part.added", `"sequence_number":3,`+refusal), ""} {
		streams[event("response.created", `"sequence_number":0,"response":{"id":"r","output":[]}`)+added+begun+event("response.output_item.done", done)+
			event("response.completed", `"sequence_number":6,"response":{"id":"r","status":"completed","output":[`+done[strings.Index(done, `{`):]+`]}`)] = "/v1/responses"
	}
	for _, how := range []routing.NoAnswerAction{routing.NoAnswerError, routing.NoAnswerPromote} {
		for kind, replies := range map[string]map[string]string{"application/json": whole, "text/event-stream": streams} {
			for reply, path := range replies {
				g := handler(t, gateway.Config{Default: routing.Route{OnNoAnswer: how}}, answering(upstreamSends(kind, reply)))
				w := ask(g, path, fmt.Sprintf(`{"model":"m","stream":%v,"max_tokens":9,"input":"q","prompt":"q","messages":[{"role":"user","content":"q"}]}`, kind != "application/json"))
				if out := w.Body.String(); w.Code != http.StatusOK || strings.Contains(out, "no answer") || strings.Contains(out, "answer_promoted") || strings.Contains(w.Header().Get("Sotto-Diagnostics"), "answer_promoted") {
					t.Errorf("%s %s: %d %s\n%s", how, path, w.Code, out, reply)
				}
			}
		}
	}
}
