package scripted

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

type body = map[string]any

var question = []any{body{"role": "user", "content": "What is it?"}}

// An api sends requests to one of the APIs, whole or streamed.
type api struct {
	name     string
	field    bool   // it has a field for thoughts
	stop     string // finish reasons
	cut      string
	ask      func(t *testing.T, model string, stream bool) said
	callStop string
	tools    func(t *testing.T, model string, stream bool) said
}

var weather = []any{body{"type": "function", "function": body{"name": "weather_now", "parameters": body{"type": "object"}}}}

var apis = []api{
	{"chat completions", true, "stop", "length", func(t *testing.T, model string, stream bool) said {
		w := post(t, "/v1/chat/completions", body{"model": model, "messages": question, "stream": stream})
		return readChat(t, ok(t, w), stream, 1)[0]
	}, "tool_calls", func(t *testing.T, model string, stream bool) said {
		w := post(t, "/v1/chat/completions", body{"model": model, "messages": question, "stream": stream, "tools": weather})
		return readChat(t, ok(t, w), stream, 1)[0]
	}},
	{"completions", false, "stop", "length", func(t *testing.T, model string, stream bool) said {
		w := post(t, "/v1/completions", body{"model": model, "prompt": "What is it?", "stream": stream})
		return readChat(t, ok(t, w), stream, 1)[0]
	}, "", nil},
	{"llama.cpp", false, "eos", "limit", func(t *testing.T, model string, stream bool) said {
		return readLlama(t, ok(t, post(t, "/completion", body{"model": model, "prompt": "What is it?", "stream": stream})), stream)
	}, "", nil},
	{"cohere", true, "COMPLETE", "MAX_TOKENS", func(t *testing.T, model string, stream bool) said {
		return readCohere(t, ok(t, post(t, "/v2/chat", body{"model": model, "messages": question, "stream": stream})), stream)
	}, "TOOL_CALL", func(t *testing.T, model string, stream bool) said {
		return readCohere(t, ok(t, post(t, "/v2/chat", body{"model": model, "messages": question, "stream": stream, "tools": weather})), stream)
	}},
	{"converse", true, "end_turn", "max_tokens", func(t *testing.T, model string, stream bool) said {
		return readConverse(t, ok(t, post(t, conversePath(model, stream), body{"messages": converseQuestion})), stream)
	}, "tool_use", func(t *testing.T, model string, stream bool) said {
		tools := body{"tools": []any{body{"toolSpec": body{"name": "weather_now", "inputSchema": body{"json": body{}}}}}}
		return readConverse(t, ok(t, post(t, conversePath(model, stream), body{"messages": converseQuestion, "toolConfig": tools})), stream)
	}},
	{"responses", true, "completed", "incomplete", func(t *testing.T, model string, stream bool) said {
		w := post(t, "/v1/responses", body{"model": model, "input": "What is it?", "stream": stream})
		return readResponse(t, ok(t, w), stream)
	}, "completed", func(t *testing.T, model string, stream bool) said {
		tools := []any{body{"type": "function", "name": "weather_now"}}
		w := post(t, "/v1/responses", body{"model": model, "input": "What is it?", "stream": stream, "tools": tools})
		return readResponse(t, ok(t, w), stream)
	}},
	{"ollama chat", true, "stop", "length", func(t *testing.T, model string, stream bool) said {
		return readOllama(t, ok(t, post(t, "/api/chat", body{"model": model, "messages": question, "stream": stream})))
	}, "stop", func(t *testing.T, model string, stream bool) said {
		return readOllama(t, ok(t, post(t, "/api/chat", body{"model": model, "messages": question, "stream": stream, "tools": weather})))
	}},
	{"ollama generate", true, "stop", "length", func(t *testing.T, model string, stream bool) said {
		return readOllama(t, ok(t, post(t, "/api/generate", body{"model": model, "prompt": "What is it?", "stream": stream})))
	}, "", nil},
	{"messages", true, "end_turn", "max_tokens", func(t *testing.T, model string, stream bool) said {
		w := post(t, "/v1/messages", body{"model": model, "messages": question, "stream": stream, "max_tokens": 1024})
		_, s := readMessage(t, ok(t, w), stream)
		return s
	}, "tool_use", func(t *testing.T, model string, stream bool) said {
		tools := []any{body{"name": "weather_now", "input_schema": body{"type": "object"}}}
		w := post(t, "/v1/messages", body{"model": model, "messages": question, "stream": stream, "max_tokens": 1024, "tools": tools})
		_, s := readMessage(t, ok(t, w), stream)
		return s
	}},
}

// sound calls f for every API and every model that finishes its replies, whole and
// streamed.
func sound(t *testing.T, f func(t *testing.T, a api, m *Model, stream bool)) {
	for _, a := range apis {
		for _, m := range Models() {
			if m.Fault != "" {
				continue
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%t", a.name, m.Name, stream), func(t *testing.T) { f(t, a, &m, stream) })
			}
		}
	}
}

// TestReplies checks that every API returns every reply, whole and streamed.
func TestReplies(t *testing.T) {
	sound(t, func(t *testing.T, a api, m *Model, stream bool) {
		want := said{text: m.Reply.Text(), thought: strings.Join(m.Reply.Thought, ""), finish: a.stop}
		if m.Reply.End == sotto.EndCut {
			want.finish = a.cut
		}
		if !a.field {
			want.thought = ""
		}
		if got := a.ask(t, m.Name, stream); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// TestToolCalls checks that the models with tools call the one offered, and that
// the others answer as usual.
func TestToolCalls(t *testing.T) {
	sound(t, func(t *testing.T, a api, m *Model, stream bool) {
		if a.tools == nil {
			return
		}
		got := a.tools(t, m.Name, stream)
		switch {
		case m.Call == nil:
			if got.text != m.Reply.Text() || got.tool != "" {
				t.Errorf("got %+v", got)
			}
		case m.Call.ToolCall.InText:
			if !strings.Contains(got.text, "weather_now") || got.tool != "" || got.finish != a.stop {
				t.Errorf("got %+v", got)
			}
		default:
			want := said{
				text: m.Call.Text(), thought: strings.Join(m.Call.Thought, ""), finish: a.callStop,
				tool: "weather_now", arguments: toolArguments,
			}
			if a.name == "chat completions" && m.Name == "gemini" {
				want.text = ""
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	})
}

// TestChoicesInterleave checks that the choices alternate, frame by frame, and that
// each has the full reply.
func TestChoicesInterleave(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		for _, m := range Models() {
			if m.Fault != "" {
				continue
			}
			b := body{"model": m.Name, "messages": question, "prompt": "What is it?", "n": 2, "stream": true}
			raw := ok(t, post(t, path, b))
			for i, s := range readChat(t, raw, true, 2) {
				if s.text != m.Reply.Text() {
					t.Errorf("%s, choice %d: %q", m.Name, i, s.text)
				}
			}
			var order []int
			for _, f := range frames(t, raw) {
				var c chatFrame
				if string(f.data) != "[DONE]" {
					decode(t, f.data, &c)
					order = append(order, c.Choices[0].Index)
				}
			}
			for k := 0; k+1 < min(len(order), len(m.Reply.Deltas)); k += 2 {
				if order[k] != 0 || order[k+1] != 1 {
					t.Fatalf("%s %s: the choices come %v", path, m.Name, order)
				}
			}
		}
	}
	whole := readChat(t, ok(t, post(t, "/v1/chat/completions", body{"model": "minimax-m2", "messages": question, "n": 3})), false, 3)
	if whole[0] != whole[1] || whole[1] != whole[2] {
		t.Errorf("whole: %+v", whole)
	}
}

// TestUsageFrame checks that the usage comes last, once, and only on request.
func TestUsageFrame(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		for _, include := range []bool{false, true} {
			raw := ok(t, post(t, path, body{"model": "deepseek-v3.2", "messages": question, "prompt": "?", "stream": true,
				"stream_options": body{"include_usage": include}}))
			fs := frames(t, raw)
			for i, f := range fs[:len(fs)-1] {
				var c chatFrame
				decode(t, f.data, &c)
				last := i == len(fs)-2
				if (c.Usage != nil) != (include && last) || (len(c.Choices) == 0) != (include && last) {
					t.Errorf("%s, include %t: frame %d is %s", path, include, i, f.data)
				}
			}
		}
	}
}

// TestLimit checks that a token limit cuts the reply and is reported.
func TestLimit(t *testing.T) {
	m, _ := Find("minimax-m2")
	want := strings.Join(m.Reply.Deltas[:4], "")
	got := map[string]said{
		"length":     readChat(t, ok(t, post(t, "/v1/chat/completions", body{"model": m.Name, "messages": question, "max_tokens": 4})), false, 1)[0],
		"incomplete": readResponse(t, ok(t, post(t, "/v1/responses", body{"model": m.Name, "input": "?", "max_output_tokens": 4, "stream": true})), true),
	}
	_, got["max_tokens"] = readMessage(t, ok(t, post(t, "/v1/messages", body{"model": m.Name, "messages": question, "max_tokens": 4})), false)
	for finish, s := range got {
		if s.text != want || s.finish != finish {
			t.Errorf("%s: %+v", finish, s)
		}
	}
	s := readOllama(t, ok(t, post(t, "/api/chat", body{"model": m.Name, "messages": question, "options": body{"num_predict": 4}})))
	if s.text != want || s.finish != "length" {
		t.Errorf("ollama: %+v", s)
	}
}

// TestThinkingOff checks the request settings that turn thinking off.
func TestThinkingOff(t *testing.T) {
	for _, off := range []body{
		{"think": false}, {"thinking": body{"type": "disabled"}}, {"reasoning_effort": "none"}, {"reasoning": body{"enabled": false}},
		{"enable_thinking": false}, {"chat_template_kwargs": body{"enable_thinking": false}},
	} {
		for _, model := range []string{"qwen3:8b", "deepseek-v3.2"} {
			b := body{"model": model, "messages": question}
			for k, v := range off {
				b[k] = v
			}
			m, _ := Find(model)
			want := m.Reply.Visible
			if m.Quiet != nil {
				want = m.Quiet.Text()
			}
			if s := readChat(t, ok(t, post(t, "/v1/chat/completions", b)), false, 1)[0]; s.text != want || s.thought != "" {
				t.Errorf("%v: %s says %+v", off, model, s)
			}
		}
	}
}

// TestRepeatable checks that equal requests at the same time get equal bytes.
func TestRepeatable(t *testing.T) {
	ask := func(n int) string {
		return string(ok(t, post(t, "/v1/chat/completions", body{"model": "long", "messages": question, "stream": true, "seed": n})))
	}
	if first, again := ask(1), ask(1); first != again {
		t.Error("equal requests, different answers")
	}
	if ask(1) == ask(2) {
		t.Error("different requests have the same ids")
	}
}

// TestBytes checks the exact bytes where providers differ.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		path string
		body body
		want []string
	}{
		{"/v1/chat/completions", body{"model": "minimax-m2", "messages": question, "stream": true}, []string{
			`"object":"chat.completion.chunk","created":1767225600,"model":"minimax-m2","system_fingerprint":"fp_scripted","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n",
			`"delta":{},"logprobs":null,"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		}},
		{"/v1/chat/completions", body{"model": "deepseek-v3.2", "messages": question, "stream": true}, []string{
			`"delta":{"role":"assistant","content":null,"reasoning_content":""}`, `"delta":{"content":null,"reasoning_content":"`,
		}},
		{"/v1/chat/completions", body{"model": "openrouter", "messages": question, "stream": true}, []string{
			": OPENROUTER PROCESSING\n\ndata: ", `"provider":"Scripted"`, `"native_finish_reason":"stop"`,
		}},
		{"/v1/chat/completions", body{"model": "ollama-native", "messages": question, "stream": true}, []string{
			`"delta":{"role":"assistant","content":"","reasoning":"`,
		}},
		{"/v1/chat/completions", body{"model": "gemini", "messages": question, "stream": true, "tools": weather}, []string{
			`data: {"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"extra_content":{"google":{"thought_signature":"`,
		}},
		{"/api/chat", body{"model": "minimax-m2", "messages": question}, []string{
			`{"model":"minimax-m2","created_at":"2026-01-01T00:00:00.123456789Z","message":{"role":"assistant","content":"\u003c"},"done":false}` + "\n",
			`"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":`,
		}},
		{"/v1/messages", body{"model": "claude", "messages": question, "stream": true, "max_tokens": 999}, []string{
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude\",\"id\":\"msg_",
			"event: ping\ndata: {\"type\": \"ping\"}\n\n", `"content_block":{"type":"thinking","thinking":"","signature":""}`,
			`"delta":{"type":"signature_delta","signature":"EkA`, `"content_block":{"type":"redacted_thinking","data":"`,
		}},
	} {
		got := string(ok(t, post(t, c.path, c.body)))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s of %s: no %s in\n%s", c.path, c.body["model"], want, got)
			}
		}
	}
}

// TestDetailsAreDeltas checks reasoning_details: clients of OpenRouter append each to
// the last one.
func TestDetailsAreDeltas(t *testing.T) {
	m, _ := Find("openrouter")
	sofar := ""
	for _, f := range frames(t, ok(t, post(t, "/v1/chat/completions", body{"model": m.Name, "messages": question, "stream": true}))) {
		var c chatFrame
		if string(f.data) == "[DONE]" {
			continue
		}
		decode(t, f.data, &c)
		d := c.Choices[0].Delta
		sofar += d.Reasoning
		if d.Reasoning != "" && (len(d.Details) != 1 || d.Details[0].Text != d.Reasoning) {
			t.Errorf("after %q: %+v", sofar, d.Details)
		}
	}
	if sofar != m.Reply.Reasoning[0] {
		t.Errorf("reasoning is %q", sofar)
	}
}

// TestResponseEvents checks the sequence that OpenAI's own clients expect.
func TestResponseEvents(t *testing.T) {
	raw := ok(t, post(t, "/v1/responses", body{"model": "deepseek-v3.2", "input": "?", "stream": true,
		"tools": []any{body{"type": "function", "name": toolName}}}))
	var names []string
	for _, f := range frames(t, raw) {
		if name := strings.TrimPrefix(f.event, "response."); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	want := "created in_progress" +
		" output_item.added content_part.added reasoning_text.delta reasoning_text.done content_part.done output_item.done" +
		" output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done" +
		" output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
