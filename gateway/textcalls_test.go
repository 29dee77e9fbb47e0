package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// declared are the tools of the requests below.
const declared = `,"tools":[{"type":"function","function":{"name":"f","parameters":` + functionSchema + `}},{"type":"function","function":{"name":"g"}}]`

// textBlocks are texts around calls as blocks have them, which a call divides.
var textBlocks = map[string]string{"One.\nTwo.\n": "One.|Two.\n", "One. Two.": "One.|Two."}

// TestTextCalls sends the calls in replies of several families: whole, and streamed byte
// by byte.
func TestTextCalls(t *testing.T) {
	field := routing.Route{Calls: routing.CallsField}
	for _, test := range []struct{ model, raw, text, thought, calls string }{
		{"qwen3", `<think>a</think>Let me see.` + "\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"S\\u00e3o\",  \"n\": 1.0}}\n</tool_call>", "Let me see.", "a", `f {"city": "S\u00e3o",  "n": 1.0}`},
		{"qwen3", `<tool_call>{"name":"f","arguments":{}}</tool_call>` + "\n" + `<tool_call>{"name":"g"}</tool_call>` + "\n", "", "", `f {}; g {}`},
		{"qwen3", "One.\n" + `<tool_call>{"name":"g"}</tool_call>` + "\nTwo.\n", "One.\nTwo.\n", "", `g {}`},
		{"qwen3", "One." + `<tool_call>{"name":"g"}</tool_call>` + " Two.", "One. Two.", "", `g {}`},
		{"qwen3", `A < b. <tool_call>{"name":"h","arguments":{}}</tool_call> after`, `A < b. <tool_call>{"name":"h","arguments":{}}</tool_call> after`, "", ""},
		{"qwen3", "\n" + `<tool_call>{"name":"g"}</tool_call>`, "", "", "g {}"},
		{"qwen3", `<tool_call>{"name":"g"}`, "", "", "g {}"}, // it left out the close
		{"qwen3", "<tool_call>\n<function=f>\n<parameter=city>\n3\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>", "", "", `f {"city":"3","n":3}`},
		{"qwen3", "<function=f>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call> done", "done", "", `f {"n":3}`},
		{"qwen3", "<function=f><parameter=n>three</parameter></function>", "<function=f><parameter=n>three</parameter></function>", "", ""},
		{"gpt-oss", `<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"n":1}<|call|>`, "", "a", `f {"n":1}`},
		{"gpt-oss", `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"n":1}`, "", "", `f {"n":1}`},
		{"magistral", `[THINK]a[/THINK]See.[TOOL_CALLS]f[ARGS]{"n": 1}[TOOL_CALLS]g[ARGS]{}`, "See.", "a", `f {"n": 1}; g {}`},
		{"magistral", `[TOOL_CALLS][{"name":"f","arguments":{"n": 1}},{"name":"g","arguments":{}}]`, "", "", `f {"n": 1}; g {}`},
		{"hermes-3-llama-3.1", "<think>a</think>See.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>", "See.", "a", `f {"n": 1}`},
		{"qwen2.5:7b", `<tool_call>{"name":"g"}</tool_call>`, "", "", `g {}`},
		{"llama3.1:8b", `<|python_tag|>{"name": "f", "parameters": {"city": "S\u00e3o"}}`, "", "", `f {"city": "S\u00e3o"}`},
		{"llama3.1:8b", `See.<|python_tag|>{"name": "f", "parameters": {"n": 1}}; {"name": "g", "parameters": {}}<|eom_id|>`, "See.", "", `f {"n": 1}; g {}`},
		{"llama3.2:3b", `<|python_tag|>[f(city='Paris', n=3), g()]`, "", "", `f {"city":"Paris","n":3}; g {}`},
		{"llama3.1:8b", `<|python_tag|>brave_search.call(query="x")`, `<|python_tag|>brave_search.call(query="x")`, "", ""},
		{"llama-3.1-8b", `<function=f>{"n": 1}</function>`, "", "", `f {"n": 1}`},
		{"llama-4-scout", `<|python_start|>[f(city="Paris")]<|python_end|> After.`, "After.", "", `f {"city":"Paris"}`},
		{"lfm2", `<|tool_call_start|>[f(city="Paris", n=3)]<|tool_call_end|>`, "", "", `f {"city":"Paris","n":3}`},
		{"deepseek-v3.1", "See.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"n\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "", "See.", `f {"n": 1}`}, // its prompt may have opened a block
	} {
		for _, s := range callSpeakers(t) {
			for _, whole := range []bool{false, true} {
				got := callers(t, s, test.model, field, byteByByte(test.raw), whole, sotto.EndStopped, declared)
				reason, text := callReasons[s.name()][0], test.text
				if test.calls != "" {
					reason = callReasons[s.name()][1]
				}
				if blocks, ok := textBlocks[text]; ok && s.codec.Capabilities().Texts && !s.codec.Capabilities().Items {
					text = blocks
				}
				if got.text != text || got.thought != test.thought || got.calls != test.calls || got.reason != reason {
					t.Errorf("%s, whole %v: %s\ngot text %q, thought %q, calls %s, %s\nwant text %q, thought %q, calls %s, %s", s.codec.Name(), whole, test.raw,
						got.text, got.thought, got.calls, got.reason, text, test.thought, test.calls, reason)
				}
				for _, id := range got.ids {
					if len(id) != 9 || !strings.HasPrefix(id, "S0") || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
						t.Errorf("the id %q is not nine letters and digits", id)
					}
				}
			}
		}
	}
}

// TestTextCallsStay has calls that stay text: the client gets byte for byte what it gets
// without the setting.
func TestTextCallsStay(t *testing.T) {
	effort.OneGoroutine(t)
	const call = "See. \n<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1}}</tool_call>\n"
	for _, test := range []struct {
		name, raw, more string
		end             sotto.Ending
	}{
		{"no tools", call, "", sotto.EndStopped},
		{"another tool", strings.Replace(call, `"f"`, `"h"`, 1), declared, sotto.EndStopped},
		{"none may be called", call, declared + `,"tool_choice":"none"`, sotto.EndStopped},
		{"cut", strings.TrimSuffix(call, "</tool_call>\n"), declared, sotto.EndCut},
		{"half a call", "See. <tool_call>{\"name\":\"f\",", declared, sotto.EndStopped},
		{"one of two", `<tool_call>{"name":"f"}{"name":"h"}</tool_call>`, declared, sotto.EndStopped},
		{"too large", "<tool_call>" + strings.Repeat(" x", 1<<19) + "</tool_call>", declared, sotto.EndStopped},
		{"white space before", "\n \n" + strings.Replace(call, `"f"`, `"h"`, 1), declared, sotto.EndStopped},
		{"white space", "a \n \n b \n", declared, sotto.EndStopped},
	} {
		chosen := effort.OneIn(3, test.name)
		for _, s := range callSpeakers(t) {
			for _, whole := range []bool{false, true} {
				if !chosen() {
					continue
				}
				pieces := byteByByte(test.raw)
				if len(test.raw) > 10_000 {
					pieces = []string{test.raw[:5000], test.raw[5000:]}
				}
				got := callers(t, s, "qwen3", routing.Route{Calls: routing.CallsField}, pieces, whole, test.end, test.more)
				want := callers(t, s, "qwen3", routing.Route{}, pieces, whole, test.end, test.more)
				if got.text != want.text || got.calls != "" || got.reason != want.reason || !strings.HasPrefix(strings.TrimLeft(got.text, "\n "), strings.TrimSpace(test.raw)[:5]) {
					t.Errorf("%s %s, whole %v: got %.100q, %s, %s, want %.100q, %s", s.codec.Name(), test.name, whole, got.text, got.calls, got.reason, want.text, want.reason)
				}
			}
		}
	}
	// The default is text.
	if got := callers(t, speakers[0], "qwen3", routing.Route{}, []string{call}, false, sotto.EndStopped, declared); got.calls != "" || got.text != call || got.reason != "stop" {
		t.Errorf("without the setting: got %q, %s", got.text, got.calls)
	}
}

// TestTextCallsAnywhere cuts a reply at any two places: what the client gets is the same,
// and text before a call is not held.
func TestTextCallsAnywhere(t *testing.T) {
	const raw = "See.\n<tool_call>\n<function=g>\n</function>\n</tool_call>\nAnd.<tool_call>{\"name\":\"g\"}</tool_call>"
	for a := 0; a <= len(raw); a += 3 {
		for b := a; b <= len(raw); b += 7 {
			got := callers(t, speakers[0], "qwen3", routing.Route{Calls: routing.CallsField}, []string{raw[:a], raw[a:b], raw[b:]}, false, sotto.EndStopped, declared)
			if got.text != "See.\nAnd." || got.calls != "g {}; g {}" {
				t.Fatalf("cut at %d and %d: got %q, %s", a, b, got.text, got.calls)
			}
		}
	}
	v := converse(t, speakers[0], gateway.Config{Default: routing.Route{Calls: routing.CallsField}})
	v.cut, v.end = []string{"See.", " <tool_call>", `{"name":"g"}`, "</tool_call>", "\n", "Then."}, sotto.EndStopped
	var order []string
	for line := range strings.Lines(ask(v, "/v1/chat/completions", v.request("qwen3", true, declared)).Body.String()) {
		delta := gjson.Get(strings.TrimPrefix(line, "data: "), "choices.0.delta")
		if text := delta.Get("content").Str; text != "" {
			order = append(order, text)
		}
		if delta.Get("tool_calls").Exists() {
			order = append(order, "call")
		}
	}
	if got := strings.Join(order, "|"); got != "See.|call| Then." {
		t.Errorf("the frames are %s", got)
	}
}

// TestTextCallsInThoughts has calls inside thoughts. Where the dialect has calls, one ends
// the thought, and it is sent. Elsewhere it is a thought, and no byte of it leaves.
func TestTextCallsInThoughts(t *testing.T) {
	const call = `<tool_call>{"name":"f","arguments":{"city":"CANARY"}}</tool_call>`
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
		for _, whole := range []bool{false, true} {
			for _, calls := range routing.CallsValues() {
				route := routing.Route{Calls: calls, Display: display}
				where := fmt.Sprintf("%s, %s, whole %v", display, calls, whole)
				got := callers(t, speakers[0], "qwen3", route, byteByByte("<think>I call "+call), whole, sotto.EndStopped, declared)
				if moved := got.calls == `f {"city":"CANARY"}`; moved != (calls == routing.CallsField) || moved == strings.Contains(got.text, "CANARY") {
					t.Errorf("%s: got text %q, calls %s", where, got.text, got.calls)
				}
				if display != routing.DisplayHide && !strings.Contains(got.findings, "call_in_thought") {
					t.Errorf("%s: the findings are %q", where, got.findings)
				}
				got = callers(t, speakers[0], "some-model", route, byteByByte("<think>I call "+call+"</think>Done."), whole, sotto.EndStopped, declared)
				if got.calls != "" || display == routing.DisplayHide && strings.Contains(got.text+got.thought, "CANARY") {
					t.Errorf("%s: a thought left: text %q, calls %s", where, got.text, got.calls)
				}
				if display != routing.DisplayHide && !strings.Contains(got.findings, "call_in_thought") {
					t.Errorf("%s: the findings are %q", where, got.findings)
				}
			}
		}
	}
}

// TestTextAndNativeCalls has calls of the upstream's own beside those in the text, and
// several choices: each call has an index of its own in its choice.
func TestTextAndNativeCalls(t *testing.T) {
	native := func(index int, rest string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,%s}]},"finish_reason":null}]}`+"\n\n", index, rest)
	}
	text := func(choice int, s string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"content":%s},"finish_reason":null}]}`+"\n\n", choice, quoted(s))
	}
	const call = `<tool_call>{"name":"g"}</tool_call>`
	stream := native(0, `"id":"n1","type":"function","function":{"name":"f","arguments":"{"}`) + text(0, call) + native(0, `"function":{"arguments":"}"}`) +
		native(1, `"id":"n2","type":"function","function":{"name":"f","arguments":"{\"n\":2}"}`) + text(1, call) + text(0, call) +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"},{"index":1,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	g := handler(t, gateway.Config{Default: routing.Route{Calls: routing.CallsField}}, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(stream))
	}))
	w := ask(g, "/v1/chat/completions", `{"model":"qwen3","stream":true,"n":2,"messages":[{"role":"user","content":"x"}]`+declared+`}`)
	if got := callerOf(w); got.calls != `f {}; g {}; f {"n":2}; g {}` && fmt.Sprint(got.indices) != "[0 1 2 3]" {
		t.Errorf("got %s at %v\n%s", got.calls, got.indices, w.Body)
	}
	if body := w.Body.String(); !strings.Contains(body, `{"index":1,"delta":{},"finish_reason":"tool_calls"}`) || !strings.Contains(body, `{"index":1,"delta":{"tool_calls":[{"index":0,"id":"S0`) {
		t.Errorf("the second choice has no call of its own:\n%s", body)
	}
	// Whole, the calls join the list of the upstream.
	g = handler(t, gateway.Config{Default: routing.Route{Calls: routing.CallsField}}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":`+quoted(call)+`,"tool_calls":[{"id":"n1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`))
	}))
	w = ask(g, "/v1/chat/completions", `{"model":"qwen3","messages":[{"role":"user","content":"x"}]`+declared+`}`)
	if got := callerOf(w); got.calls != `f {}; g {}` || got.text != "" || strings.Contains(w.Body.String(), `"index":1`) {
		t.Errorf("whole: got %s\n%s", got.calls, w.Body)
	}
}

// TestTextCallsComeBack sends a call and its result to the model, in each API: the call
// stays in the field, whence the model's template writes it, and the thought beside it,
// which the client dropped, comes back once and without markup.
func TestTextCallsComeBack(t *testing.T) {
	const arguments = `{"n":1}`
	for _, s := range callSpeakers(t) {
		for _, whole := range []bool{false, true} {
			v := converse(t, s, gateway.Config{Default: routing.Route{Calls: routing.CallsField, History: "restore"}})
			v.raw = "<think>a thought</think>See.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1}}</tool_call>"
			v.cut, v.end = byteByByte(v.raw), sotto.EndStopped
			first := v.request("qwen3", !whole, s.declares(declared))
			if s.name() == "openai.responses" || s.name() == "gemini.interactions" {
				first = strings.Replace(first, `"messages"`, `"input"`, 1)
			} else if s.name() == "mistral.conversations" {
				first = strings.Replace(first, `"messages"`, `"inputs"`, 1)
			} else if s.name() == "gemini.generate" {
				first = strings.Replace(first, `"messages":[{"role":"user","content":"What is it?"}]`, `"contents":[{"role":"user","parts":[{"text":"What is it?"}]}]`, 1)
			}
			got := callerOf(ask(v, s.path, first))
			if got.calls != "f "+arguments {
				t.Fatalf("%s: got calls %s", s.name(), got.calls)
			}
			id, said := quoted(got.ids[0]), strings.TrimPrefix(got.text, "|")
			turn := map[string]string{
				"openai.chat":           `{"role":"assistant","content":"` + said + `","tool_calls":[{"id":` + id + `,"type":"function","function":{"name":"f","arguments":` + quoted(arguments) + `}}]},{"role":"tool","tool_call_id":` + id + `,"content":"3"}`,
				"ollama.chat":           `{"role":"assistant","content":"` + said + `","tool_calls":[{"id":` + id + `,"function":{"name":"f","arguments":` + arguments + `}}]},{"role":"tool","tool_name":"f","tool_call_id":` + id + `,"content":"3"}`,
				"cohere.chat":           `{"role":"assistant","content":[{"type":"text","text":"` + said + `"}],"tool_calls":[{"id":` + id + `,"type":"function","function":{"name":"f","arguments":` + quoted(arguments) + `}}]},{"role":"tool","tool_call_id":` + id + `,"content":"3"}`,
				"anthropic.messages":    `{"role":"assistant","content":[{"type":"text","text":"` + said + `"},{"type":"tool_use","id":` + id + `,"name":"f","input":` + arguments + `}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":` + id + `,"content":"3"}]}`,
				"bedrock.converse":      `{"role":"assistant","content":[{"text":"` + said + `"},{"toolUse":{"toolUseId":` + id + `,"name":"f","input":` + arguments + `}}]},{"role":"user","content":[{"toolResult":{"toolUseId":` + id + `,"content":[{"text":"3"}]}}]}`,
				"openai.responses":      `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said + `"}]},{"type":"function_call","call_id":` + id + `,"name":"f","arguments":` + quoted(arguments) + `},{"type":"function_call_output","call_id":` + id + `,"output":"3"}`,
				"gemini.interactions":   `{"type":"model_output","content":[{"type":"text","text":"` + said + `"}]},{"type":"function_call","id":` + id + `,"name":"f","arguments":` + arguments + `},{"type":"function_result","call_id":` + id + `,"name":"f","result":"3"}`,
				"mistral.conversations": `{"type":"message.output","role":"assistant","content":"` + said + `"},{"type":"function.call","tool_call_id":` + id + `,"name":"f","arguments":` + quoted(arguments) + `},{"type":"function.result","tool_call_id":` + id + `,"result":"3"}`,
				"gemini.generate":       `{"role":"model","parts":[{"text":"` + said + `"},{"functionCall":{"id":` + id + `,"name":"f","args":` + arguments + `}}]},{"role":"user","parts":[{"functionResponse":{"id":` + id + `,"name":"f","response":{"output":"3"}}}]}`,
			}[s.name()]
			end := strings.LastIndex(first, "]")
			ask(v, s.path, first[:end]+","+turn+first[end:])
			if strings.Contains(v.got, "tool_call>") || strings.Count(v.got, id) != 2 || strings.Count(v.got, "a thought") != 1 || strings.Count(v.got, "See.") != 1 {
				t.Errorf("%s, whole %v: the model gets %s", s.name(), whole, v.got)
			}
		}
	}
}

// TestTextCallsSettings refuses the setting where it cannot work.
func TestTextCallsSettings(t *testing.T) {
	for _, r := range []routing.Route{
		{Calls: "some"}, {Calls: routing.CallsField, Display: routing.DisplayKeep}, {Calls: routing.CallsField, APIs: []string{"openai.completions"}},
	} {
		c := gateway.Config{Routes: []routing.Route{r}}
		if err := errors.Join(c.Check()...); err == nil || !strings.Contains(err.Error(), "calls") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestTextCallsRecorded: the record has a call that was sent, with its id, and the text as
// the model wrote it; the metrics have the calls that were sent and the blocks that stayed
// text.
func TestTextCallsRecorded(t *testing.T) {
	const raw = `<think>I call <tool_call>{"name":"f","arguments":{"n": 1}}</tool_call><tool_call>{"name":"h"}</tool_call>`
	for _, s := range callSpeakers(t) {
		for _, whole := range []bool{false, true} {
			k, reg := &eventList{}, prometheus.NewRegistry()
			v := converse(t, s, gateway.Config{Recorder: k, Observers: []gateway.Observer{gateway.Metrics(reg)}, Default: routing.Route{Calls: routing.CallsField}})
			v.raw, v.cut, v.end = raw, byteByByte(raw), sotto.EndStopped
			got := callerOf(ask(v, s.path, v.request("qwen3", !whole, s.declares(declared))))
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			reply := k.list[0].Payload.(record.Exchange).Replies[0]
			if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].ID != got.ids[0] || reply.ToolCalls[0].Arguments.Text != `{"n": 1}` || reply.Raw.Text != raw {
				t.Errorf("%s, whole %v: the record has %+v", s.name(), whole, reply)
			}
			if last := reply.Diagnostics[len(reply.Diagnostics)-1]; last.Code != "call_in_thought" {
				t.Errorf("%s, whole %v: the last remark is %v", s.name(), whole, last)
			}
			for name, want := range map[string]float64{"sotto_text_calls_total " + s.name() + " qwen3 moved": 1, "sotto_text_calls_total " + s.name() + " qwen3 left": 1, "sotto_doubts_total call_in_thought": 1} {
				if all := counters(t, reg); all[name] != want {
					t.Errorf("%s, whole %v: %s is %v of %v", s.name(), whole, name, all[name], all)
				}
			}
		}
	}
}
