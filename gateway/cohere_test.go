package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// What only Cohere's chat API has: a plan of the calls in a member of its own, and
// citations that name the part they are about.

const coherePlan = `{"id":"m1","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"I plan it.",` +
	`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}}`

// coherePlanned is the same as a stream, with the plan in pieces.
func coherePlanned() string {
	return event("message-start", `"id":"m1","delta":{"message":{"role":"assistant","tool_plan":""}}`) +
		event("tool-plan-delta", `"delta":{"message":{"tool_plan":"I plan"}}`) + event("tool-plan-delta", `"delta":{"message":{"tool_plan":" it."}}`) +
		event("tool-call-start", `"index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}}}`) +
		event("tool-call-end", `"index":0`) + event("message-end", `"delta":{"finish_reason":"TOOL_CALL"}`)
}

// TestCoherePlan: the plan of a model's calls is reasoning. It stays where it is, or is
// hidden, or goes into the text, as every other reasoning does. A guard that passes all
// changes nothing.
func TestCoherePlan(t *testing.T) {
	for display, want := range map[routing.Display][2]string{ // the plan and the text
		routing.DisplayField: {"I plan it.", ""}, routing.DisplayKeep: {"I plan it.", ""}, routing.DisplayHide: {"", ""},
		routing.DisplayTags: {"", "<think>\nI plan it.\n</think>"},
	} {
		for _, rule := range []guard.Rule{{}, {Guard: &judgeFunc{}}} {
			config := gateway.Config{Default: routing.Route{Display: display, Guard: rule}}
			body := ask(handler(t, config, answering(upstreamSends("application/json", coherePlan))), "/v2/chat", `{"model":"m","messages":[]}`).Body.String()
			message := gjson.Get(body, "message")
			if plan, text := message.Get("tool_plan").Str, message.Get("content.0.text").Str; plan != want[0] || text != want[1] || message.Get("tool_calls.#").Int() != 1 {
				t.Errorf("%s, whole: %s", display, body)
			}
			stream := ask(handler(t, config, answering(upstreamSends("text/event-stream", coherePlanned()))), "/v2/chat", `{"model":"m","stream":true,"messages":[]}`).Body.String()
			plan, text, calls := "", "", ""
			for f := range framesOf(cohereSpeaker.codec, []byte(stream)) {
				root := gjson.ParseBytes(f.Data)
				m := root.Get("delta.message")
				plan, text = plan+m.Get("tool_plan").Str, text+m.Get("content.text").Str
				if kind, ok := strings.CutPrefix(root.Get("type").Str, "tool-call-"); ok {
					calls += kind + root.Get("index").Raw + " "
				}
			}
			if plan != want[0] || text != want[1] || calls != "start0 end0 " {
				t.Errorf("%s, streamed: %q, %q, calls: %s\n%s", display, plan, text, calls, stream)
			}
		}
	}
}

// TestCohereIndices: where parts are added or left out, the indices of the others and
// those in citations follow, streamed and whole alike.
func TestCohereIndices(t *testing.T) {
	cited := func(part int) string {
		return fmt.Sprintf(`{"start":0,"end":2,"text":"It","sources":[],"content_index":%d}`, part)
	}
	parts := []string{`{"type":"thinking","thinking":"I add."}`, `{"type":"text","text":"<think>More.</think>It is 4."}`}
	whole := `{"id":"m1","finish_reason":"COMPLETE","message":{"role":"assistant","content":[` + strings.Join(parts, ",") + `],"citations":[` + cited(1) + `]}}`
	stream := event("message-start", `"id":"m1"`)
	for i, part := range parts {
		stream += event("content-start", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":%s}}`, i, part))
		if i == 1 {
			stream += event("citation-start", `"index":0,"delta":{"message":{"citations":`+cited(1)+`}}`) + event("citation-end", `"index":0`)
		}
		stream += event("content-end", fmt.Sprintf(`"index":%d`, i))
	}
	stream += event("message-end", `"delta":{"finish_reason":"COMPLETE"}`)
	for display, want := range map[routing.Display]string{
		routing.DisplayField: "thinking=I add. thinking=\n\nMore. text=It is 4. cited=2",
		routing.DisplayHide:  "text=It is 4. cited=0",
		routing.DisplayTags:  "text=<think>\nI add.\n\nMore.\n</think>\n\nIt is 4. cited=0",
		routing.DisplayKeep:  "thinking=I add. text=<think>More.</think>It is 4. cited=1",
	} {
		for _, rule := range []guard.Rule{{}, {Guard: &judgeFunc{}}} {
			config := gateway.Config{Default: routing.Route{Display: display, Guard: rule}}
			body := ask(handler(t, config, answering(upstreamSends("application/json", whole))), "/v2/chat", `{"model":"m","messages":[]}`).Body.String()
			var got []string
			for _, part := range gjson.Get(body, "message.content").Array() {
				kind := part.Get("type").Str
				got = append(got, kind+"="+part.Get(kind).Str)
			}
			got = append(got, "cited="+gjson.Get(body, "message.citations.0.content_index").Raw)
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s, whole: %q, want %q", display, text, want)
			}
			out := ask(handler(t, config, answering(upstreamSends("text/event-stream", stream))), "/v2/chat", `{"model":"m","stream":true,"messages":[]}`).Body.String()
			if text := cohereParts(t, out); text != want {
				t.Errorf("%s, streamed: %q, want %q\n%s", display, text, want, out)
			}
			if display == routing.DisplayKeep && rule.Guard == nil && (body != whole || out != stream) {
				t.Errorf("kept: %s\n%s", body, out)
			}
		}
	}
}

// cohereParts reads the parts of a stream, whose indices must count up from 0 and whose
// parts must end before the next begins.
func cohereParts(t *testing.T, stream string) string {
	t.Helper()
	var kinds, texts []string
	cited, open := "", false
	for f := range framesOf(cohereSpeaker.codec, []byte(stream)) {
		root := gjson.ParseBytes(f.Data)
		content := root.Get("delta.message.content")
		switch kind := root.Get("type").Str; kind {
		case "content-start":
			if open || root.Get("index").Int() != int64(len(kinds)) {
				t.Errorf("the index %s at part %d, open %v:\n%s", root.Get("index"), len(kinds), open, stream)
			}
			open, kinds, texts = true, append(kinds, content.Get("type").Str), append(texts, content.Get(content.Get("type").Str).Str)
		case "content-delta":
			texts[root.Get("index").Int()] += content.Get(kinds[root.Get("index").Int()]).Str
		case "content-end":
			open = false
		case "citation-start":
			cited = " cited=" + root.Get("delta.message.citations.content_index").Raw
		}
	}
	var all []string
	for i, kind := range kinds {
		all = append(all, kind+"="+texts[i])
	}
	return strings.Join(all, " ") + cited
}

// TestCohereStrayDelta: a piece of a part that has ended, or that never began, is read as
// every other text: hidden reasoning does not come out.
func TestCohereStrayDelta(t *testing.T) {
	say := func(i int, text string) string {
		return event("content-delta", fmt.Sprintf(`"index":%d,"delta":{"message":{"content":{"text":%q}}}`, i, text))
	}
	for _, stream := range []string{
		say(0, "It is 4.") + event("content-end", `"index":0`) + event("tool-call-end", `"index":0`) + say(0, "<think>canary</think>"),
		say(7, "<think>canary</think>It is 4."),
		event("content-start", `"index":0,"delta":{"message":{"content":{"type":"text"}}}`) + say(1, "<think>canary</think>") + say(0, "It is 4."),
		say(0, "It is 4.") + event("content-end", `"index":9`) + say(0, "<think>can") + say(0, "ary</think>"),
	} {
		got := hiddenAnswer(t, "/v2/chat", true, "text/event-stream", stream+event("message-end", `"delta":{"finish_reason":"COMPLETE"}`), 200)
		if text := cohereParts(t, got); !strings.Contains(text, "It is 4.") {
			t.Errorf("%q of\n%s", text, stream)
		}
	}
}
