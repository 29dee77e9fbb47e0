package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// snapshotPlaces are where a stream of the Responses API repeats the text of a message. An
// honest server repeats what its deltas said.
var snapshotPlaces = []string{"item added", "text done", "part done", "item done", "completed", "output_text"}

// snapshotStream says "It is 4." in two deltas, and repeats in one place something else. If
// bare, it has no other event of the message than its beginning and its end.
func snapshotStream(at, repeated string, bare bool) string {
	const place = `"item_id":"m1","output_index":0,"content_index":0`
	text := func(here string) string {
		if here == at {
			return quoted(repeated)
		}
		return `"It is 4."`
	}
	content := func(here string) string {
		return `[{"type":"output_text","text":` + text(here) + `,"annotations":[]}]`
	}
	item := func(status, content string) string {
		return `{"id":"m1","type":"message","role":"assistant","status":"` + status + `","content":` + content + `}`
	}
	var b strings.Builder
	event := func(name, rest string) {
		fmt.Fprintf(&b, "event: response.%s\ndata: {\"type\":\"response.%s\",%s}\n\n", name, name, rest)
	}
	event("created", `"response":{"id":"r1","object":"response","status":"in_progress","model":"m","output":[]}`)
	added := "[]"
	if at == "item added" {
		added = content(at)
	}
	event("output_item.added", `"output_index":0,"item":`+item("in_progress", added))
	if !bare {
		event("content_part.added", place+`,"part":{"type":"output_text","text":"","annotations":[]}`)
		event("output_text.delta", place+`,"delta":"It is "`)
		event("output_text.delta", place+`,"delta":"4."`)
		event("output_text.done", place+`,"text":`+text("text done"))
		event("content_part.done", place+`,"part":{"type":"output_text","text":`+text("part done")+`,"annotations":[]}`)
		event("output_item.done", `"output_index":0,"item":`+item("completed", content("item done")))
	}
	event("completed", `"response":{"id":"r1","object":"response","status":"completed","model":"m","output":[`+
		item("completed", content("completed"))+`],"output_text":`+text("output_text")+`}`)
	return b.String()
}

// spokenTexts returns every text that an event gives as the text of an answer.
func spokenTexts(event gjson.Result) (list []string) {
	switch event.Get("type").Str {
	case "response.output_text.delta":
		list = append(list, event.Get("delta").Str)
	case "response.output_text.done":
		list = append(list, event.Get("text").Str)
	}
	parts := []gjson.Result{event.Get("part")}
	for _, item := range append(event.Get("response.output").Array(), event.Get("item")) {
		parts = append(parts, item.Get("content").Array()...)
	}
	for _, part := range parts {
		if part.Get("type").Str == "output_text" {
			list = append(list, part.Get("text").Str)
		}
	}
	return append(list, event.Get("response.output_text").Str)
}

// TestRepeatedTexts: whatever text a server repeats at the end of a part, a message or a
// response, the client gets the text of the deltas there, which was read and judged. Under
// keep without a guard the reply passes as it is.
func TestRepeatedTexts(t *testing.T) {
	for _, judged := range []bool{false, true} {
		for _, display := range routing.Displays() {
			for _, bare := range []bool{false, true} {
				for _, repeated := range []string{"<think>SECRET</think>It is 4.", "SECRET, it is 4.", "It is SECRET"} {
					for _, at := range snapshotPlaces {
						if bare && (at != "item added" && at != "output_text") { // its only text is that of the end
							continue
						}
						route := routing.Route{Display: display, Start: sotto.BeginOutside}
						if judged {
							route.Guard = guard.Rule{Guard: judging("SECRET", guard.Verdict{Action: guard.Cut})}
						}
						answer := snapshotStream(at, repeated, bare)
						g := handler(t, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response {
							return response("text/event-stream", strings.NewReader(answer))
						}))
						where := fmt.Sprintf("%s, guard %v, bare %v, %q in %s", display, judged, bare, repeated, at)
						w := ask(g, "/v1/responses", `{"model":"m","stream":true,"input":"hi"}`)
						if display == routing.DisplayKeep && !judged {
							if w.Body.String() != answer {
								t.Errorf("%s: it is changed:\n%s", where, w.Body)
							}
							continue
						}
						checkRepeated(t, where, dataOf(w.Body.String()))
						c := connected(t, g)
						checkRepeated(t, where+", over a socket", c.turn(`"input":"hi"`))
					}
				}
			}
		}
	}
}

func checkRepeated(t *testing.T, where string, events []string) {
	t.Helper()
	said, last := "", ""
	for _, data := range events {
		event := gjson.Parse(data)
		if event.Get("type").Str == "response.output_text.delta" {
			said += event.Get("delta").Str
		}
		if slices.ContainsFunc(spokenTexts(event), func(s string) bool { return strings.Contains(s, "SECRET") }) {
			t.Errorf("%s: %s", where, data)
		}
		if event.Get("type").Str == "response.completed" {
			last = event.Get("response.output.0.content.0.text").Str
		}
	}
	if last != "It is 4." || said != "" && said != last {
		t.Errorf("%s: the deltas say %q, the end %q\n%s", where, said, last, strings.Join(events, "\n"))
	}
}

// dataOf returns the data of the events of a stream.
func dataOf(stream string) (list []string) {
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			list = append(list, strings.TrimSpace(data))
		}
	}
	return list
}

// TestRepeatedTextsWhole: the same of a response that comes whole.
func TestRepeatedTextsWhole(t *testing.T) {
	const message = `{"id":"m1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"It is 4.","annotations":[]}]}`
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayTags, routing.DisplayHide} {
		for _, output := range []string{"[" + message + "]", "[]"} {
			g := handler(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response {
				return response("application/json", strings.NewReader(`{"id":"r1","object":"response","status":"completed","model":"m","output":`+output+
					`,"output_text":"<think>SECRET</think>It is 4."}`))
			}))
			w := ask(g, "/v1/responses", `{"model":"m","input":"hi"}`)
			want := "It is 4."
			if got := gjson.Get(w.Body.String(), "output_text").Str; got != want && !(display == routing.DisplayTags && output == "[]") {
				t.Errorf("%s, %s: %q, want %q", display, output, got, want)
			}
			if display == routing.DisplayHide && strings.Contains(w.Body.String(), "SECRET") {
				t.Errorf("%s, %s: %s", display, output, w.Body)
			}
		}
	}
}

// TestTextAtTheEnd: a text that only the end of a stream has is an answer.
func TestTextAtTheEnd(t *testing.T) {
	for _, how := range []routing.NoAnswerAction{routing.NoAnswerError, routing.NoAnswerPromote} {
		const thought = `data: {"type":"response.output_item.done","output_index":1,"item":{"id":"rs1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I add."}]}}` + "\n\n"
		answer := strings.Replace(snapshotStream("completed", "<think>t</think>It is 4.", true), "event: response.completed", thought+"event: response.completed", 1)
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayField, OnNoAnswer: how, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response {
			return response("text/event-stream", strings.NewReader(answer))
		}))
		events := dataOf(ask(g, "/v1/responses", `{"model":"m","stream":true,"input":"hi"}`).Body.String())
		last := gjson.Parse(events[len(events)-1])
		if text := last.Get(`response.output.#(type=="message").content.0.text`).Str; last.Get("type").Str != "response.completed" || text != "It is 4." {
			t.Errorf("%s: %q\n%s", how, text, strings.Join(events, "\n"))
		}
	}
}
