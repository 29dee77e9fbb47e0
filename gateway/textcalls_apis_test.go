package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

const (
	callMarkup = `<tool_call>{"name":"f","arguments":{"n": 1}}</tool_call>`
	callThere  = `f {"n": 1}`
)

// TestTextCallsDisplays sends calls in every display and API: with reasoning before them,
// between them, and after them.
func TestTextCallsDisplays(t *testing.T) {
	const raw = "<think>one</think>See.\n" + callMarkup + "\n<think>two</think>" + callMarkup
	for _, s := range callSpeakers(t) {
		for display, want := range map[routing.Display][2]string{
			routing.DisplayField: {"See.", "one\n\ntwo"}, routing.DisplayHide: {"See.", ""}, routing.DisplayTags: {"<think>\none\n</think>\n\nSee.<think>\ntwo\n</think>", ""},
		} {
			for _, whole := range []bool{false, true} {
				got := callers(t, s, "qwen3", routing.Route{Calls: routing.CallsField, Display: display}, byteByByte(raw), whole, sotto.EndStopped, declared)
				text := strings.ReplaceAll(got.text, "|", "")
				if strings.ReplaceAll(text, "\n", "") != strings.ReplaceAll(want[0], "\n", "") || strings.TrimSpace(strings.ReplaceAll(got.thought, "\n", "")) != strings.ReplaceAll(want[1], "\n", "") ||
					got.calls != callThere+"; "+callThere || got.reason != callReasons[s.name()][1] {
					t.Errorf("%s %s, whole %v: text %q, thought %q, calls %s, %s", s.name(), display, whole, got.text, got.thought, got.calls, got.reason)
				}
			}
		}
	}
}

// TestTextCallsBeforeACut: a call that was whole when a reply is ended at a limit is sent,
// the reason stays the limit, and what follows is not sent.
func TestTextCallsBeforeACut(t *testing.T) {
	raw := "See." + callMarkup + "<think>" + strings.Repeat("Wait, let me check that again. ", 400) + "</think>" + callMarkup
	for _, s := range callSpeakers(t) {
		route := routing.Route{Calls: routing.CallsField, ThinkingLimit: 3000, OnThinkingLimit: routing.ThinkingStop}
		got := callers(t, s, "qwen3", route, inPieces(raw, 40), false, sotto.EndStopped, declared)
		says := s.name() != "mistral.conversations" // why it ended
		if got.calls != callThere || got.reason == "" || says && got.reason == callReasons[s.name()][0] || strings.Contains(strings.ToLower(got.reason), "tool") {
			t.Errorf("%s: calls %s, the reason is %q", s.name(), got.calls, got.reason)
		}
		for _, whole := range []bool{false, true} {
			got = callers(t, s, "qwen3", routing.Route{Calls: routing.CallsField}, byteByByte("See."+callMarkup+callMarkup[:30]), whole, sotto.EndCut, declared)
			if got.calls != callThere || !strings.HasSuffix(got.text, callMarkup[:30]) || strings.Contains(strings.ToLower(got.reason), "tool") {
				t.Errorf("%s, whole %v: text %q, calls %s, the reason is %q", s.name(), whole, got.text, got.calls, got.reason)
			}
		}
	}
}

// TestTextCallsGuarded: a guard judges the text beside a call, and not the call. Where it
// passes, the client gets what it gets without one; where it cuts the answer, or ends the
// reply, no call follows what it refused. Markup that stays text is judged.
func TestTextCallsGuarded(t *testing.T) {
	raw := "First we look. " + callMarkup + "BAD text. " + callMarkup + strings.Replace(callMarkup, `"f"`, `"other"`, 1)
	for _, s := range callSpeakers(t) {
		for _, whole := range []bool{false, true} {
			for _, n := range []int{1, 7, len(raw)} {
				where := fmt.Sprintf("%s, whole %v, pieces of %d", s.name(), whole, n)
				ask := func(action guard.Action) (caller, *judgeFunc) {
					g := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
						if p.Channel == guard.Answer && strings.Contains(p.Before+p.Text, "BAD") {
							return guard.Verdict{Action: action}, nil
						}
						return guard.Verdict{Action: guard.Pass}, nil
					}}
					route := routing.Route{Calls: routing.CallsField, Guard: guard.Rule{Guard: g, Every: 4}}
					return heldCallers(t, s, route, inPieces(raw, n), whole), g
				}
				plain := heldCallers(t, s, routing.Route{Calls: routing.CallsField}, inPieces(raw, n), whole)
				passed, g := ask(guard.Pass)
				if passed.text != plain.text || passed.calls != plain.calls || passed.calls != callThere+"; "+callThere || passed.reason != plain.reason {
					t.Errorf("%s: passed: %+v\nwant %+v", where, passed, plain)
				}
				if seen := g.seen[guard.Answer]; !strings.Contains(seen, `"other"`) || strings.Contains(seen, `"f"`) {
					t.Errorf("%s: the guard saw %q", where, seen)
				}
				before := callThere // the first call comes before what is cut
				if whole || n == len(raw) {
					before = "" // it stands inside the piece
				}
				if cut, _ := ask(guard.Cut); cut.calls != before || strings.Contains(cut.text, "BAD") || before != "" && cut.reason != plain.reason {
					t.Errorf("%s: cut: %+v", where, cut)
				}
				ended, _ := ask(guard.End)
				if strings.Contains(ended.text, "BAD") || strings.Count(ended.calls, "f ") > 1 || strings.Contains(strings.ToLower(ended.reason), "tool") {
					t.Errorf("%s: ended: %+v", where, ended)
				}
			}
		}
	}
}

// heldCallers asks for a reply that may be refused.
func heldCallers(t *testing.T, s speaker, route routing.Route, pieces []string, whole bool) caller {
	t.Helper()
	v := converse(t, s, gateway.Config{Default: route})
	v.raw, v.cut, v.end = strings.Join(pieces, ""), pieces, sotto.EndStopped
	return callerOf(ask(v, s.path, v.request("qwen3", !whole, s.declares(declared))))
}

// TestTextCallsItems has responses of several items: a call is an item after its message,
// or before it if the message had no text yet; a message of which nothing else is left is
// left out; the items of the upstream's own keep their order; the numbers of events have
// no gaps; and a stream gives the same output as a whole response.
func TestTextCallsItems(t *testing.T) {
	message := func(text string) string { return responsesItem("completed", responsesPart(text)) }
	const native = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"n1","name":"g","arguments":"{}"}`
	for _, test := range []struct {
		items []string
		want  string
	}{
		{[]string{message(callMarkup)}, `call`},
		{[]string{message("<think>a</think>" + callMarkup)}, `reasoning call`},
		{[]string{message("See.\n" + callMarkup + "\n" + callMarkup)}, `message:See. call call`},
		{[]string{message(callMarkup + "Then.")}, `call message:Then.`},
		{[]string{message("One.\n" + callMarkup + "\nTwo.")}, "message:One.\nTwo. call"},
		{[]string{message(callMarkup), native, message("See." + callMarkup), native}, `call native message:See. call native`},
		{[]string{message("<think>a</think>" + callMarkup + "<think>b</think>"), native}, `reasoning call reasoning native`},
		{[]string{message("<tool_call>half"), native}, `message:<tool_call>half native`},
	} {
		end := `"status":"completed","error":null,"incomplete_details":null`
		whole := responsesBody(end, strings.Join(test.items, ","), "")
		stream, seq := "", 0
		add := func(kind, data string) {
			stream += event(kind, fmt.Sprintf(`"sequence_number":%d,`, seq)+data)
			seq++
		}
		add("response.created", `"response":`+responsesBody(responsesBegun, "", ""))
		for i, item := range test.items {
			place := fmt.Sprintf(`"output_index":%d`, i)
			if item == native {
				add("response.output_item.added", place+`,"item":`+native)
				add("response.output_item.done", place+`,"item":`+native)
				continue
			}
			place += `,"item_id":"msg_1","content_index":0`
			add("response.output_item.added", place+`,"item":`+responsesItem("in_progress", ""))
			add("response.content_part.added", place+`,"part":`+responsesPart(""))
			for _, piece := range inPieces(gjson.Get(item, "content.0.text").Str, 3) {
				add("response.output_text.delta", place+`,"delta":`+quoted(piece))
			}
			add("response.output_text.done", place+`,"text":`+quoted(gjson.Get(item, "content.0.text").Str))
			add("response.content_part.done", place+`,"part":`+gjson.Get(item, "content.0").Raw)
			add("response.output_item.done", place+`,"item":`+item)
		}
		add("response.completed", `"response":`+whole)
		for _, streamed := range []bool{false, true} {
			body := map[bool]string{false: whole, true: stream}[streamed]
			h := handler(t, gateway.Config{Default: routing.Route{Calls: routing.CallsField}}, answering(func(*http.Request) *http.Response {
				return response(responsesSpeaker.kind(streamed), strings.NewReader(body))
			}))
			w := ask(h, "/v1/responses", fmt.Sprintf(`{"model":"qwen3","stream":%v,"input":"x"%s}`, streamed, responsesSpeaker.declares(declared)))
			if got := strings.Join(itemsOf(t, w.Body.String(), streamed), " "); got != test.want {
				t.Errorf("streamed %v: %s\ngot  %s\nwant %s\n%s", streamed, test.items, got, test.want, w.Body)
			}
		}
	}
}

// itemsOf returns what the items of a response are. Those of a stream must be those that
// its events began, at their places.
func itemsOf(t *testing.T, body string, streamed bool) (list []string) {
	t.Helper()
	response, began, next := gjson.Parse(body), map[int]string{}, 0
	if streamed {
		for line := range strings.Lines(body) {
			root := gjson.Parse(strings.TrimPrefix(line, "data: "))
			if !root.IsObject() {
				continue
			}
			if n := int(root.Get("sequence_number").Int()); n != next {
				t.Errorf("event %d has the number %d", next, n)
			}
			next++
			switch at := int(root.Get("output_index").Int()); root.Get("type").Str {
			case "response.output_item.added":
				if began[at] != "" {
					t.Errorf("two items at %d", at)
				}
				began[at] = root.Get("item.type").Str
			case "response.completed":
				response = root.Get("response")
			}
		}
	}
	for i, item := range response.Get("output").Array() {
		kind := item.Get("type").Str
		if streamed && began[i] != kind {
			t.Errorf("item %d is %q in the events", i, began[i])
		}
		switch {
		case kind == "message":
			kind += ":" + item.Get("content.0.text").Str
		case kind == "function_call" && item.Get("call_id").Str == "n1":
			kind = "native"
		case kind == "function_call":
			if item.Get("arguments").Str != `{"n": 1}` || item.Get("name").Str != "f" || !strings.HasPrefix(item.Get("call_id").Str, "S0") {
				t.Errorf("a call is %s", item.Raw)
			}
			kind = "call"
		}
		list = append(list, kind)
	}
	if streamed && len(list) != len(began) {
		t.Errorf("%d items of %d", len(list), len(began))
	}
	return list
}

// TestTextCallsLaw: however a reply is cut, a stream gives the calls, the text and the
// thoughts that the whole reply gives, in every API, and its frames have the API's form.
func TestTextCallsLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{callMarkup, callMarkup, `<tool_call>{"name":"g"}`, `<tool_call>{"name":"other"}</tool_call>`, "</tool_call>", "<function=f><parameter=n>1</parameter></function>",
		"<think>a</think>", "<think>", "</think>", "text", " ", "\n", "\n\n", "<", "`<tool_call>`", "é"}
	ends := []sotto.Ending{sotto.EndStopped, sotto.EndStopped, sotto.EndCut}
	for range 6 * effort.Times() {
		raw := ""
		for range 1 + r.IntN(6) {
			raw += pieces[r.IntN(len(pieces))]
		}
		end, n := ends[r.IntN(len(ends))], 1+r.IntN(9)
		for _, s := range callSpeakers(t) {
			for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
				route := routing.Route{Calls: routing.CallsField, Display: display, Start: "outside"}
				whole := callers(t, s, "qwen3", route, []string{raw}, true, end, declared)
				streamed := callers(t, s, "qwen3", route, inPieces(raw, n), false, end, declared)
				if whole.text != streamed.text || whole.thought != streamed.thought || whole.calls != streamed.calls || whole.reason != streamed.reason {
					t.Fatalf("%s %s: %q in pieces of %d:\nwhole  %q %q %s %s\nstream %q %q %s %s", s.name(), display, raw, n,
						whole.text, whole.thought, whole.calls, whole.reason, streamed.text, streamed.thought, streamed.calls, streamed.reason)
				}
			}
		}
	}
}

// TestTextCallsGemini has what only Gemini's API has: a schema under either of its keys,
// which says what the text of an argument is, and a stream that is one JSON array.
func TestTextCallsGemini(t *testing.T) {
	const raw = "<tool_call><function=f><parameter=n>3</parameter></function></tool_call>"
	stream := "[" + geminiObject(geminiText(raw[:30]), "") + "\r\n,\r\n" + geminiObject(geminiText(raw[30:]), geminiEnd(sotto.EndStopped)) + "\r\n]\r\n"
	for _, key := range []string{"parameters", "parametersJsonSchema", "parameters_json_schema"} {
		h := handler(t, gateway.Config{Default: routing.Route{Calls: routing.CallsField}}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(stream))
		}))
		w := ask(h, "/v1beta/models/qwen3:streamGenerateContent", `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f","`+key+`":`+functionSchema+`}]}]}`)
		if !gjson.ValidBytes(w.Body.Bytes()) {
			t.Fatalf("not valid JSON: %s", w.Body)
		}
		var got []string
		for _, o := range gjson.ParseBytes(w.Body.Bytes()).Array() {
			for _, p := range o.Get("candidates.0.content.parts").Array() {
				if call := p.Get("functionCall"); call.Exists() {
					got = append(got, call.Get("name").Str+" "+call.Get("args").Raw)
				} else if p.Get("text").Str != "" {
					got = append(got, p.Raw)
				}
			}
		}
		if strings.Join(got, "; ") != `f {"n":3}` {
			t.Errorf("%s: got %q", key, got)
		}
	}
}

// TestTextAndNativeBlocks has a call in a text before one of the upstream's own: each has
// an index of its own, streamed and whole.
func TestTextAndNativeBlocks(t *testing.T) {
	usage := `"usage":{"input_tokens":5,"output_tokens":9}`
	messages := func(text string) (stream, whole string) {
		stream = anthropicOpen + event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+quoted(text)+`}`) + event("content_block_stop", `"index":0`) +
			event("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"n1","name":"g","input":{}}`) +
			event("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"k\":2}"}`) + event("content_block_stop", `"index":1`) +
			event("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},`+usage) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		return stream, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":` + quoted(text) + `},{"type":"tool_use","id":"n1","name":"g","input":{"k":2}}],"stop_reason":"tool_use","stop_sequence":null,` + usage + `}`
	}
	const native = `{"id":"n1","type":"function","function":{"name":"g","arguments":`
	cohere := func(text string) (stream, whole string) {
		stream = cohereSpeaker.open + cohereSpeaker.say(text) + event("content-end", `"index":0`) +
			event("tool-call-start", `"index":0,"delta":{"message":{"tool_calls":`+native+`""}}}}`) +
			event("tool-call-delta", `"index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"k\":2}"}}}}`) + event("tool-call-end", `"index":0`) +
			event("message-end", `"delta":{"finish_reason":"TOOL_CALL"}`)
		return stream, `{"id":"m1","finish_reason":"TOOL_CALL","message":{"role":"assistant","content":[{"type":"text","text":` + quoted(text) + `}],"tool_calls":[` + native + `"{\"k\":2}"}}]}}`
	}
	for name, says := range map[string]func(string) (string, string){"anthropic.messages": messages, "cohere.chat": cohere} {
		s := speakerOf(t, name)
		for _, text := range []string{callMarkup, "See." + callMarkup, "See." + callMarkup + "More."} {
			stream, whole := says(text)
			for _, streamed := range []bool{false, true} {
				body := map[bool]string{false: whole, true: stream}[streamed]
				h := handler(t, gateway.Config{Default: routing.Route{Calls: routing.CallsField}}, answering(func(*http.Request) *http.Response {
					return response(s.kind(streamed), strings.NewReader(body))
				}))
				v := &conversation{s: s}
				w := ask(h, s.path, v.request("qwen3", streamed, s.declares(declared)))
				got, calls := callerOf(w), []string{callThere, `g {"k":2}`}
				if !streamed && name == "cohere.chat" {
					calls[0], calls[1] = calls[1], calls[0] // the list has the upstream's first
				}
				if got.fault != "" || got.calls != strings.Join(calls, "; ") || got.reason != callReasons[name][1] || strings.Contains(got.text, "tool_call") {
					t.Errorf("%s, streamed %v, %q: %+v\n%s", name, streamed, text, got, w.Body)
				}
			}
		}
	}
}
