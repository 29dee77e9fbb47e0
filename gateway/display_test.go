package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

const tagged = "<think>I add.</think>\n\nIt is <think>sure</think>4."

// TestDisplay shows reasoning in each of the ways, streamed and whole.
func TestDisplay(t *testing.T) {
	for display, want := range map[routing.Display][2]string{
		routing.DisplayField: {"It is 4.", "I add.\n\nsure"},
		routing.DisplayHide:  {"It is 4.", ""},
		routing.DisplayKeep:  {tagged, ""},
		routing.DisplayTags:  {"<think>\nI add.\n</think>\n\nIt is <think>\nsure\n</think>\n\n4.", ""},
	} {
		t.Run(string(display), func(t *testing.T) {
			each(t, func(t *testing.T, s speaker) {
				v := converse(t, s, gateway.Config{Default: routing.Route{Display: display}})
				for _, stream := range []bool{true, false} {
					v.hear(t, tagged, stream, "").wants(t, want[0], want[1])
				}
			})
		})
	}
}

// TestDisplayTagsClose: a tag of ours is closed where the reply ends in a
// thought, whatever its end.
func TestDisplayTagsClose(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{Default: routing.Route{Display: routing.DisplayTags}})
		for _, v.end = range []sotto.Ending{sotto.EndStopped, sotto.EndCut} {
			for _, stream := range []bool{true, false} {
				v.hear(t, "<think>I add", stream, "").wants(t, "<think>\nI add\n</think>", "")
			}
		}
	})
}

// TestDisplayTagsRedacted: what stands between a thought and the answer, such as a
// block that only the provider can read, does not glue the tag to the answer.
func TestDisplayTagsRedacted(t *testing.T) {
	block := func(i int, b, delta string) string {
		s := event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, i, b))
		if delta != "" {
			s += event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, i, delta))
		}
		return s + event("content_block_stop", fmt.Sprintf(`"index":%d`, i))
	}
	const thinking, redacted, text = `{"type":"thinking","thinking":"I add"}`, `{"type":"redacted_thinking","data":"x"}`, `{"type":"text","text":"Four"}`
	streamed := event("message_start", `"message":{"type":"message","role":"assistant","content":[]}`) +
		block(0, `{"type":"thinking","thinking":""}`, `{"type":"thinking_delta","thinking":"I add"}`) + block(1, redacted, "") +
		block(2, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Four"}`) +
		event("message_delta", `"delta":{"stop_reason":"end_turn"}`) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	whole := `{"type":"message","role":"assistant","content":[` + thinking + "," + redacted + "," + text + `],"stop_reason":"end_turn"}`
	s := speakerOf(t, "anthropic.messages")
	for _, stream := range []bool{true, false} {
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayTags}}, answering(func(*http.Request) *http.Response {
			if stream {
				return response(s.kind(true), strings.NewReader(streamed))
			}
			return response(s.kind(false), strings.NewReader(whole))
		}))
		out := ask(g, s.path, fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream)).Body.Bytes()
		got := s.listenWhole
		if stream {
			got = s.listen
		}
		got(t, out).wants(t, "<think>\nI add\n</think>\n\nFour", "")
	}
}

// TestKeepIsUntouched: with display keep the upstream's bytes pass as they are,
// whatever they hold.
func TestKeepIsUntouched(t *testing.T) {
	bodies := []string{
		chatFrame(`{"role":"assistant","content":"<think>a</th"}`, "null") + chatFrame(`{"content":"ink>b"}`, "null") +
			chatFrame(`{"content":"c","reasoning_content":"r"}`, "null") + chatFrame(`{}`, `"stop"`) + "data: [DONE]\n\n",
		chatFrame(`{"content":"","reasoning_details":[{"type":"reasoning.text","text":"r"}]}`, "null") +
			chatFrame(`{"reasoning_details":[{"type":"reasoning.text","text":"s"}]}`, "null") + chatFrame(`{"content":"x"}`, `"stop"`) + "data: [DONE]\n\n",
		chatFrame(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]}`, "null") +
			chatFrame(`{"content":[{"type":"text","text":"b"}]}`, "null") + chatFrame(`{"content":"x"}`, `"stop"`) + "data: [DONE]\n\n",
	}
	for _, body := range bodies {
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayKeep}}, answering(func(*http.Request) *http.Response {
			return response("text/event-stream", strings.NewReader(body))
		}))
		if got := ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.String(); got != body {
			t.Errorf("got\n%s\nwant\n%s", got, body)
		}
	}
	for _, message := range []string{
		`{"role":"assistant","content":"<think>a</think>b","reasoning_content":"r"}`,
		`{"reasoning_details":[{"text":"r"}],"content":"b"}`,
		`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"b"}]}`,
	} {
		body := `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayKeep}}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(body))
		}))
		if got := ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.String(); got != body {
			t.Errorf("got  %s\nwant %s", got, body)
		}
	}
}

// TestKeepsPings: under keep a ping, a comment or an unknown event of a message's stream stays where it is,
// between any two events.
func TestKeepsPings(t *testing.T) {
	block := func(i int, b, delta string) []string {
		return []string{
			event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, i, b)),
			event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, i, delta)),
			event("content_block_stop", fmt.Sprintf(`"index":%d`, i)),
		}
	}
	events := slices.Concat(
		[]string{event("message_start", `"message":{"type":"message","role":"assistant","content":[]}`)},
		block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"I add"}`),
		block(1, `{"type":"text","text":""}`, `{"type":"text_delta","text":"<think>x</think>Four"}`),
		block(2, `{"type":"text","text":"First"}`, `{"type":"text_delta","text":"ly"}`),
		block(3, `{"type":"tool_use","id":"t","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`),
		[]string{event("message_delta", `"delta":{"stop_reason":"tool_use"}`), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
	)
	for at := range events {
		for _, more := range []string{"event: ping\ndata: {\"type\": \"ping\"}\n\n", ": comment\n\n", "event: new\ndata: {\"type\":\"new\"}\n\n"} {
			body := strings.Join(slices.Insert(slices.Clone(events), at, more), "")
			g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayKeep}}, answering(func(*http.Request) *http.Response {
				return response("text/event-stream", strings.NewReader(body))
			}))
			if got := ask(g, "/v1/messages", `{"model":"m","stream":true,"messages":[]}`).Body.String(); got != body {
				t.Errorf("%q before event %d: got\n%s\nwant\n%s", more, at, got, body)
			}
		}
	}
}

// TestNarration sends narration to the text, to a field, or nowhere.
func TestNarration(t *testing.T) {
	raw := "<narrate>Looking.</narrate>\nIt is 4."
	for narration, want := range map[routing.Narration][2]string{
		routing.NarrationText:  {"Looking.\nIt is 4.", ""},
		routing.NarrationField: {"It is 4.", "Looking."},
		routing.NarrationDrop:  {"It is 4.", ""},
	} {
		each(t, func(t *testing.T, s speaker) {
			want := want
			if narration == routing.NarrationField && !s.codec.Capabilities().Members {
				want = [2]string{"Looking.\nIt is 4.", ""} // its blocks, parts and items have no place for it
			}
			v := converse(t, s, gateway.Config{Default: routing.Route{Narration: narration}})
			for _, stream := range []bool{true, false} {
				h := v.hear(t, raw, stream, "")
				h.wants(t, want[0], "")
				if string(h.narration) != want[1] {
					t.Errorf("%s, stream=%v: narration %q, want %q", narration, stream, h.narration, want[1])
				}
			}
		})
	}
}

// TestReasoningFields writes reasoning to each of several names.
func TestReasoningFields(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{Default: routing.Route{ReasoningFields: []string{"reasoning", "reasoning_content", "x_thought"}}})
	for _, stream := range []bool{true, false} {
		v.raw, v.cut = tagged, byteByByte(tagged)
		w := ask(v, v.s.path, v.request("m", stream, ""))
		for _, name := range []string{"reasoning", "reasoning_content", "x_thought"} {
			var got strings.Builder
			add := func(root gjson.Result) {
				for _, at := range []string{"choices.0.delta.", "choices.0.message."} {
					got.WriteString(root.Get(at + name).Str)
				}
			}
			if stream {
				for f := range framesOf(v.s.codec, w.Body.Bytes()) {
					add(gjson.ParseBytes(f.Data))
				}
			} else {
				add(gjson.ParseBytes(w.Body.Bytes()))
			}
			if got.String() != "I add.\n\nsure" {
				t.Errorf("stream=%v: %s is %q", stream, name, got.String())
			}
		}
	}
}

// sayChat is a gateway before an upstream that sends deltas, or a message.
func sayChat(t *testing.T, r routing.Route, deltas ...string) *heard {
	t.Helper()
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(chatFrame(d, "null"))
	}
	b.WriteString(chatFrame("{}", `"stop"`) + "data: [DONE]\n\n")
	g := handler(t, gateway.Config{Default: r}, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(b.String()))
	}))
	return speakers[0].listen(t, ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.Bytes())
}

func wholeChat(t *testing.T, r routing.Route, message string) *heard {
	t.Helper()
	g := handler(t, gateway.Config{Default: r}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`))
	}))
	return speakers[0].listenWhole(t, ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.Bytes())
}

// TestNativeNames reads every form in which servers send reasoning themselves.
func TestNativeNames(t *testing.T) {
	for _, name := range []string{"reasoning_content", "reasoning", "thinking", "reasoning_text", "thinking_content"} {
		sayChat(t, routing.Route{}, `{"role":"assistant","content":null,"`+name+`":"I "}`, `{"`+name+`":"add."}`, `{"`+name+`":"","content":"It is 4."}`).
			wants(t, "It is 4.", "I add.")
		wholeChat(t, routing.Route{}, `{"content":"It is 4.","`+name+`":"I add."}`).wants(t, "It is 4.", "I add.")
		sayChat(t, routing.Route{Display: routing.DisplayHide}, `{"content":"","`+name+`":"I "}`, `{"`+name+`":"add."}`, `{"content":"It is 4."}`).
			wants(t, "It is 4.", "")
		sayChat(t, routing.Route{Display: routing.DisplayTags}, `{"`+name+`":"I "}`, `{"`+name+`":"add."}`, `{"content":"It is 4."}`).
			wants(t, "<think>\nI add.\n</think>\n\nIt is 4.", "")
	}
	t.Run("details", func(t *testing.T) {
		detail := func(text string) string {
			return `{"reasoning_details":[{"type":"reasoning.text","text":` + quoted(text) + `,"index":0}]}`
		}
		sayChat(t, routing.Route{}, detail("I"), detail("I add"), detail("I add"), detail("I add two."), `{"content":"It is 4."}`).
			wants(t, "It is 4.", "I add two.")
		sayChat(t, routing.Route{}, detail("I add"), detail(" two"), detail(" and"), detail(" two"), detail(" two"), detail("."), `{"content":"It is 4."}`).
			wants(t, "It is 4.", "I add two and two two.")
		wholeChat(t, routing.Route{}, `{"content":"It is 4.","reasoning_details":[{"type":"reasoning.text","text":"I add."}]}`).
			wants(t, "It is 4.", "I add.")
		// The same, beside a plain field that says it too.
		wholeChat(t, routing.Route{}, `{"content":"It is 4.","reasoning":"I add.","reasoning_details":[{"type":"reasoning.text","text":"I add."}]}`).
			wants(t, "It is 4.", "I add.")
	})
	t.Run("parts", func(t *testing.T) {
		thinking := func(text string) string {
			return `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + text + `"}]}]}`
		}
		sayChat(t, routing.Route{}, thinking("I "), thinking("add."), `{"content":[{"type":"text","text":"It "}]}`, `{"content":"is 4."}`).
			wants(t, "It is 4.", "I add.")
		wholeChat(t, routing.Route{}, `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"I add."}]},{"type":"text","text":"It is 4."}]}`).
			wants(t, "It is 4.", "I add.")
		wholeChat(t, routing.Route{}, `{"content":[{"type":"text","text":"<think>I add.</think>It is 4."}]}`).
			wants(t, "It is 4.", "I add.")
	})
}

// TestHiddenDetails: hidden is hidden in every form, the details that say
// nothing new too.
func TestHiddenDetails(t *testing.T) {
	for _, deltas := range [][]string{
		{`{"reasoning_details":[{"text":"canary"}]}`, `{"reasoning_details":[{"text":"canary"}]}`, `{"content":"a"}`},
		{`{"reasoning":"canary","reasoning_details":[{"text":"canary"}]}`, `{"content":"a"}`},
		{`{"content":"a","reasoning_details":[{"type":"reasoning.summary","summary":"canary"}]}`},
		{`{"reasoning_details":[{"type":"reasoning.text","text":"","data":"canary"}]}`, `{"content":"a"}`},
		{`{"content":[{"type":"thinking","thinking":"canary"}]}`, `{"content":"a"}`},
		{`{"content":"<think>canary"}`, `{"content":"</think>a"}`},
	} {
		var b strings.Builder
		for _, d := range deltas {
			b.WriteString(chatFrame(d, "null"))
		}
		b.WriteString(chatFrame("{}", `"stop"`) + "data: [DONE]\n\n")
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
			return response("text/event-stream", strings.NewReader(b.String()))
		}))
		out := ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.Bytes()
		if strings.Contains(string(out), "canary") {
			t.Errorf("%s\ncame out as\n%s", b.String(), out)
		}
		speakers[0].listen(t, out).wants(t, "a", "")
	}
}

// TestHiddenLogprobs: the log probabilities of hidden tokens spell them.
func TestHiddenLogprobs(t *testing.T) {
	frame := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":` + quoted(text) + `},"logprobs":{"content":[{"token":` + quoted(text) + `}]},"finish_reason":null}]}` + "\n\n"
	}
	body := frame("<think>") + frame("canary") + frame("canary2") + frame("canary3</think>So ") + frame("it is") + frame(" 4.") + chatFrame("{}", `"stop"`) + "data: [DONE]\n\n"
	g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(body))
	}))
	out := ask(g, "/v1/chat/completions", `{"model":"m","stream":true}`).Body.String()
	if strings.Contains(out, "canary") {
		t.Errorf("came out as\n%s", out)
	}
	if !strings.Contains(out, `{"token":" 4."}`) {
		t.Errorf("the answer's log probabilities are gone:\n%s", out)
	}
}

// TestNothingTwice: a reply that brings its reasoning in a field and in tags is
// not doubled, whichever comes first.
func TestNothingTwice(t *testing.T) {
	field, tags, answer := `{"reasoning_content":"I add two\nand two."}`, `{"content":"<think>\nI add two\nand two.\n</think>\n\n"}`, `{"content":"It is 4."}`
	sayChat(t, routing.Route{}, field, tags, answer).wants(t, "It is 4.", "I add two\nand two.")
	sayChat(t, routing.Route{}, tags, field, answer).wants(t, "It is 4.", "I add two\nand two.")
	var fields, contents, both, swapped []string
	for _, b := range byteByByte("I add two and two.") {
		fields = append(fields, `{"reasoning_content":`+quoted(b)+`}`)
		contents = append(contents, `{"content":`+quoted(b)+`}`)
		both = append(both, fields[len(fields)-1], contents[len(contents)-1])
		swapped = append(swapped, contents[len(contents)-1], fields[len(fields)-1])
	}
	closed := []string{`{"content":"</th"}`, `{"content":"ink>It is "}`, `{"content":"4."}`}
	opened := []string{`{"content":"<think>"}`}
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for name, deltas := range map[string][]string{
		"field first":   join(fields, opened, contents, closed),
		"tags first":    join(opened, contents, closed[:1], fields, closed[1:]),
		"field by tag":  join(opened, both, closed),
		"tag by field":  join(opened, swapped, closed),
		"field at end":  join(opened, contents, closed, fields),
		"in one frame":  {`{"reasoning_content":"I add two and two.","content":"<think>I add two and two.</think>It is 4."}`},
		"in the answer": join(fields, []string{`{"content":"It is "}`}, opened, contents, []string{`{"content":"</think>4."}`}),
	} {
		t.Run(name, func(t *testing.T) {
			sayChat(t, routing.Route{}, deltas...).wants(t, "It is 4.", "I add two and two.")
		})
	}
	for _, message := range []string{
		`{"content":"<think>\nI add.\n</think>\n\nIt is 4.","reasoning_content":"I add."}`,
		`{"reasoning":"\nI add.\n","content":"<think>I add.</think>\n\nIt is 4."}`,
		`{"reasoning":"I add.","reasoning_content":"I add.","content":"It is 4."}`,
	} {
		h := wholeChat(t, routing.Route{}, message)
		if string(h.text) != "It is 4." || strings.Count(string(h.thought), "I add.") != 1 {
			t.Errorf("text %q, thought %q of %s", h.text, h.thought, message)
		}
	}
	// Two thoughts that differ are both given.
	h := sayChat(t, routing.Route{}, `{"reasoning_content":"First."}`, `{"content":"<think>Second.</think>It is 4."}`)
	h.wants(t, "It is 4.", "First.\n\nSecond.")
	h = sayChat(t, routing.Route{}, `{"reasoning_content":"First one."}`, `{"content":"<think>First two.</think>It is 4."}`)
	if string(h.text) != "It is 4." || !strings.Contains(string(h.thought), "First two.") {
		t.Errorf("text %q, thought %q", h.text, h.thought)
	}
}

// TestOtherPartsStay: a part that is neither text nor reasoning is not lost when the
// other parts of its list are rewritten.
func TestOtherPartsStay(t *testing.T) {
	image := `{"type":"image_url","image_url":{"url":"data:,x"}}`
	for _, message := range []string{
		`{"content":[{"type":"text","text":"<think>r</think>a"},` + image + `]}`,
		`{"reasoning":"r","content":[{"type":"text","text":"a"},` + image + `]}`,
		`{"content":[{"type":"thinking","thinking":"r"},` + image + `,{"type":"text","text":"a"}]}`,
	} {
		body := `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(body))
		}))
		got := gjson.Parse(ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.String()).Get("choices.0.message")
		if got.Get("reasoning_content").Str != "r" || !strings.Contains(got.Get("content").Raw, image) ||
			got.Get(`content.#(type=="text").text`).Str != "a" || strings.Contains(got.Get("content").Raw, `"r"`) {
			t.Errorf("%s\nbecame\n%s", message, got.Raw)
		}
	}
}

// TestWholeChoices: choices without an index are not mixed up.
func TestWholeChoices(t *testing.T) {
	body := `{"choices":[{"message":{"content":"<think>r</think>a"},"finish_reason":"stop"},{"message":{"content":"<think>s</think>b"},"finish_reason":"stop"}]}`
	g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(body))
	}))
	speakers[0].listenWhole(t, ask(g, "/v1/chat/completions", `{"model":"m"}`).Body.Bytes()).wants(t, "ab", "rs")
}

// TestStreamIsWhatAsked: an upstream that answers a request for a stream with a
// whole reply, or the other way round, is read as it answers.
func TestStreamIsWhatAsked(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		raw := preOpened
		g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
			b, _ := io.ReadAll(r.Body)
			if strings.Contains(string(b), `"stream":true`) {
				return response("application/json", strings.NewReader(s.whole(raw, sotto.EndStopped)))
			}
			return response(s.kind(true), strings.NewReader(s.stream(byteByByte(raw), sotto.EndStopped)))
		}))
		body := `{"model":"m","stream":%,"messages":[{"role":"user","content":"q"}]}`
		w := ask(g, s.path, strings.Replace(body, "%", "true", 1))
		if s.kind(true) == "application/x-ndjson" {
			raw = tagged // a line of JSON is a stream of one
			w = ask(g, s.path, strings.Replace(body, "%", "true", 1))
			s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.\n\nsure")
		} else {
			s.listenWhole(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
		}
		raw = preOpened
		w = ask(g, s.path, strings.Replace(body, "%", "false", 1))
		s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
	})
}

// TestLateOutput: an output block after visible text and a scratch pad is the
// answer's second part, streamed, whole and in history alike.
func TestLateOutput(t *testing.T) {
	const reply, shown = "Sure! <scratch_pad>I add.</scratch_pad><output>It is 4.</output>Bye", "Sure! \n\nIt is 4."
	for size := 1; size <= len(reply); size++ {
		var deltas []string
		for rest := reply; rest != ""; rest = rest[min(size, len(rest)):] {
			deltas = append(deltas, `{"content":`+quoted(rest[:min(size, len(rest))])+`}`)
		}
		sayChat(t, routing.Route{}, deltas...).wants(t, shown, "I add.")
	}
	wholeChat(t, routing.Route{}, `{"content":`+quoted(reply)+`}`).wants(t, shown, "I add.")
	if got := sotto.Strip(reply); got != shown {
		t.Errorf("history keeps %q", got)
	}
}
