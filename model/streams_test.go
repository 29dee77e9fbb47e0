package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
)

// A stream is bytes that a server sends, and what a client must make of them.
type stream struct {
	name, provider, body string
	kind                 string // the content type; if empty, the API's
	want                 model.Reply
	fails                error // if not nil
}

var kindOf = map[string]string{"openai": "text/event-stream", "anthropic": "text/event-stream", "ollama": "application/x-ndjson"}

func chunks(frames ...string) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "data: %s\n\n", f)
	}
	return b.String()
}

// choice is a chunk with a delta.
func choice(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }

const (
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = "[DONE]"
)

func events(frames ...string) string {
	var b strings.Builder
	for _, f := range frames {
		var e struct{ Type string }
		json.Unmarshal([]byte(f), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, f)
	}
	return b.String()
}

// streams are the forms of replies that real servers send, and the oddities.
var streams = []stream{
	{
		name: "reasoning of every name", provider: "openai",
		body: chunks(choice(`{"role":"assistant","reasoning_content":"a","reasoning":"a"}`), choice(`{"content":"b","reasoning_content":null}`), stop, done),
		want: model.Reply{Raw: "b", Thoughts: []model.Thought{{Field: "reasoning_content", Text: "a"}}},
	},
	{
		name: "details in pieces", provider: "openai",
		body: chunks(
			choice(`{"reasoning":"ha","reasoning_details":[{"type":"reasoning.text","text":"ha","index":0,"format":"x","signature":null}]}`),
			choice(`{"reasoning":"ha","reasoning_details":[{"type":"reasoning.text","text":"ha","index":0}]}`),
			choice(`{"reasoning":"!","reasoning_details":[{"type":"reasoning.text","text":"!","index":0}]}`),
			choice(`{"reasoning_details":[{"type":"reasoning.text","signature":"SIG","index":0},{"type":"reasoning.encrypted","data":"Zg==","index":1}]}`),
			choice(`{"content":"ok"}`), stop, done),
		want: model.Reply{Raw: "ok", Thoughts: []model.Thought{{
			Field: "reasoning_details", Text: "haha!", Sealed: true,
			Raw: []byte(`[{"type":"reasoning.text","text":"haha!","index":0,"format":"x","signature":"SIG"},{"type":"reasoning.encrypted","data":"Zg==","index":1}]`),
		}}},
	},
	{
		name: "details with all so far, and nothing beside them", provider: "openai",
		body: chunks(
			choice(`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`),
			choice(`{"reasoning_details":[{"type":"reasoning.text","text":"ab","index":0}]}`),
			choice(`{"reasoning_details":[{"type":"reasoning.text","text":"ab","index":0}],"content":"c"}`), stop),
		want: model.Reply{Raw: "c", Thoughts: []model.Thought{{
			Field: "reasoning_details", Text: "ab", Raw: []byte(`[{"type":"reasoning.text","text":"ab","index":0}]`),
		}}},
	},
	{
		name: "details in pieces that begin as those before", provider: "openai",
		body: chunks(
			choice(`{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}`),
			choice(`{"reasoning":"ha","reasoning_details":[{"type":"reasoning.text","text":"ha","index":0}]}`), stop, done),
		want: model.Reply{Thoughts: []model.Thought{{
			Field: "reasoning_details", Text: "hha", Raw: []byte(`[{"type":"reasoning.text","text":"hha","index":0}]`),
		}}},
	},
	{
		name: "details in pieces, and nothing beside them", provider: "openai",
		body: chunks(
			choice(`{"reasoning_details":[{"type":"reasoning.summary","summary":"a"}]}`),
			choice(`{"reasoning_details":[{"type":"reasoning.summary","summary":"b"}]}`),
			choice(`{"reasoning_details":[{"type":"reasoning.summary","summary":"abc"}]}`), stop, done),
		want: model.Reply{Thoughts: []model.Thought{{
			Field: "reasoning_details", Text: "ababc", Raw: []byte(`[{"type":"reasoning.summary","summary":"ababc"}]`),
		}}},
	},
	{
		name: "parts of the content", provider: "openai",
		body: chunks(
			choice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`),
			choice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}`),
			choice(`{"content":[{"type":"text","text":"c"}]}`), choice(`{"content":"d"}`), stop, done),
		want: model.Reply{Raw: "cd", Thoughts: []model.Thought{{
			Field: "thinking", Text: "ab", Raw: []byte(`{"type":"thinking","thinking":[{"type":"text","text":"ab"}]}`),
		}}},
	},
	{
		name: "calls side by side, in pieces", provider: "openai",
		body: chunks(
			choice(`{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}},{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{"}}]}`),
			choice(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"{\"x\""}}]}`),
			choice(`{"tool_calls":[{"index":0,"function":{"arguments":":\"<\"}"}}]}`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, done),
		want: model.Reply{Finish: "tool_calls", Calls: []model.Call{{ID: "a", Name: "f", Arguments: `{"x":"<"}`}, {ID: "b", Name: "g", Arguments: "{}"}}},
	},
	{
		name: "whole calls that are all number 0, with a signature", provider: "openai",
		body: chunks(
			choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S<"}}}]}`),
			choice(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}`), stop, done),
		want: model.Reply{Calls: []model.Call{
			{ID: "a", Name: "f", Arguments: "{}", Extra: []byte(`{"extra_content":{"google":{"thought_signature":"S<"}}}`)},
			{ID: "b", Name: "f", Arguments: "{}"},
		}},
	},
	{
		name: "whole calls without a number, arguments an object", provider: "openai",
		body: chunks(choice(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x": 1.50}}},{"function":{"name":"g","arguments":"{}"}}]}`), stop, done),
		want: model.Reply{Calls: []model.Call{{ID: "a", Name: "f", Arguments: `{"x": 1.50}`}, {Name: "g", Arguments: "{}"}}},
	},
	{
		name: "a character in two halves, and one that stays a half", provider: "openai",
		body: chunks(choice(`{"content":"a\ud83d"}`), choice(`{"content":"\udc4db\ud83d"}`), choice(`{"content":"c"}`), stop, done),
		want: model.Reply{Raw: "a👍b\xED\xA0\xBDc"},
	},
	{
		name: "a half at the end", provider: "openai",
		body: chunks(choice(`{"reasoning":"b\ud83d"}`), choice(`{"content":"a\ud83d"}`), stop, done),
		want: model.Reply{Raw: "a\xED\xA0\xBD", Thoughts: []model.Thought{{Field: "reasoning", Text: "b\xED\xA0\xBD"}}},
	},
	{
		name: "bytes that are no UTF-8, comments, other choices, a mark at the start", provider: "openai",
		body: "\uFEFF: hello\n\n" + chunks(choice("{\"content\":\"\xC3\"}"), `{"choices":[{"index":1,"delta":{"content":"no"}}]}`, choice("{\"content\":\"\xA9\"}"), `{"choices":[]}`, stop, done),
		want: model.Reply{Raw: "é"},
	},
	{
		name: "usage behind the end, tokens of reasoning", provider: "openai",
		body: chunks(`{"model":"m-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"length"}],"usage":null}`,
			`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}}`, done),
		want: model.Reply{Model: "m-1", Raw: "a", End: sotto.EndCut, Finish: "length", Usage: model.Usage{Input: 7, Output: 5, Reasoning: 3}},
	},
	{
		name: "no finish reason, but the mark", provider: "openai", body: chunks(choice(`{"content":"a"}`), done),
		want: model.Reply{Raw: "a", End: sotto.EndUnknown},
	},
	{
		name: "no mark, but a finish reason, and then half a frame", provider: "openai", body: chunks(choice(`{"content":"a"}`), stop) + "data: {\"cho",
		want: model.Reply{Raw: "a"},
	},
	{
		name: "a whole reply to a request for a stream", provider: "openai", kind: "application/json; charset=utf-8",
		body: `{"model":"m-1","choices":[{"message":{"role":"assistant","content":"a","reasoning":"b","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		want: model.Reply{Model: "m-1", Raw: "a", Thoughts: []model.Thought{{Field: "reasoning", Text: "b"}}, Finish: "tool_calls", Calls: []model.Call{{ID: "x", Name: "f", Arguments: "{}"}}},
	},
	{
		name: "frames under the type of a whole reply", provider: "openai", kind: "application/json",
		body: chunks(choice(`{"content":"a"}`), stop, done), want: model.Reply{Raw: "a"},
	},
	{
		name: "a refusal", provider: "openai", body: chunks(choice(`{"refusal":"No."}`), stop, done), want: model.Reply{Raw: "No."},
	},
	{
		name: "a filter", provider: "openai", body: chunks(choice(`{"content":"a"}`), `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, done),
		want: model.Reply{Raw: "a", End: sotto.EndAborted, Finish: "content_filter"},
	},
	{
		name: "half a call", provider: "openai", body: chunks(choice(`{"content":"a","tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"y"}}]}`)),
		want: model.Reply{Raw: "a", Calls: []model.Call{{ID: "x", Name: "f", Arguments: `{"y`}}}, fails: model.ErrBrokenOff,
	},
	{
		name: "half a frame", provider: "openai", body: chunks(choice(`{"content":"a"}`)) + `data: {"choices":[{"de`,
		want: model.Reply{Raw: "a"}, fails: model.ErrBrokenOff,
	},
	{
		name: "broken JSON", provider: "openai", body: chunks(choice(`{"content":"a"}`), `{"choices":[`, stop, done),
		want: model.Reply{Raw: "a"}, fails: model.ErrUnreadable,
	},
	{
		name: "nothing", provider: "openai", body: "", fails: model.ErrBrokenOff,
	},
	{
		name: "thoughts, a redacted one, a call, and where each stood", provider: "anthropic",
		body: events(
			`{"type":"message_start","message":{"model":"c-1","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":10,"output_tokens":1}}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a<"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S=="}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Well."}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"some_new_kind","x":1}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"some_delta","x":1}}`,
			`{"type":"content_block_stop","index":3}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":" 1}"}}`,
			`{"type":"content_block_stop","index":4}`,
			`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"u","name":"g","input":{}}}`,
			`{"type":"content_block_stop","index":5}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30}}`,
			`{"type":"message_stop"}`),
		want: model.Reply{
			Model: "c-1", Raw: "Well.", Finish: "tool_use", Usage: model.Usage{Input: 115, Output: 30, CacheRead: 100, CacheWrite: 10},
			Thoughts: []model.Thought{
				{Field: "thinking", Text: "a<", Sealed: true, Raw: []byte(`{"type":"thinking","thinking":"a<","signature":"S=="}`)},
				{Field: "redacted_thinking", Sealed: true, Raw: []byte(`{"type":"redacted_thinking","data":"ZGF0YQ=="}`), At: 5},
			},
			Calls: []model.Call{{ID: "t", Name: "f", Arguments: `{"x": 1}`}, {ID: "u", Name: "g", Arguments: "{}"}},
		},
	},
	{
		name: "thoughts of a server that signs none", provider: "anthropic",
		body: events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"b"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		want: model.Reply{
			Raw: "b", Finish: "end_turn",
			Thoughts: []model.Thought{{Field: "thinking", Text: "a", Raw: []byte(`{"type":"thinking","thinking":"a","signature":""}`)}},
		},
	},
	{
		name: "a whole message to a request for a stream", provider: "anthropic", kind: "application/json",
		body: `{"type":"message","model":"c-1","content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"},{"type":"tool_use","id":"t","name":"f","input":{"x":1}}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}}`,
		want: model.Reply{
			Model: "c-1", Raw: "b", End: sotto.EndCut, Finish: "max_tokens", Usage: model.Usage{Input: 1, Output: 2},
			Thoughts: []model.Thought{{Field: "thinking", Text: "a", Raw: []byte(`{"type":"thinking","thinking":"a"}`)}},
			Calls:    []model.Call{{ID: "t", Name: "f", Arguments: `{"x":1}`}},
		},
	},
	{
		name: "a refusal", provider: "anthropic",
		body: events(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`),
		want: model.Reply{End: sotto.EndAborted, Finish: "refusal"},
	},
	{
		name: "a line each, the last without its end", provider: "ollama",
		body: `{"model":"o","message":{"role":"assistant","content":"","thinking":"a"},"done":false}` + "\r\n\n" +
			`{"model":"o","message":{"role":"assistant","content":"b","tool_calls":[{"function":{"index":0,"name":"f","arguments":{"x": 1}}}]},"done":false}` + "\n" +
			`{"model":"o","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":3,"eval_count":4}`,
		want: model.Reply{
			Model: "o", Raw: "b", Thoughts: []model.Thought{{Field: "thinking", Text: "a"}}, End: sotto.EndCut, Finish: "length",
			Calls: []model.Call{{Name: "f", Arguments: `{"x": 1}`}}, Usage: model.Usage{Input: 3, Output: 4},
		},
	},
	{
		name: "no last line", provider: "ollama", body: `{"model":"o","message":{"content":"a"},"done":false}` + "\n",
		want: model.Reply{Model: "o", Raw: "a"}, fails: model.ErrBrokenOff,
	},
}

// played answers with bytes, in writes of the sizes that next gives.
func played(s *stream, next func() int) http.HandlerFunc {
	kind := s.kind
	if kind == "" {
		kind = kindOf[s.provider]
	}
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		flush := http.NewResponseController(w)
		for b := s.body; b != ""; {
			n := min(max(1, next()), len(b))
			io.WriteString(w, b[:n])
			b = b[n:]
			flush.Flush()
		}
	}
}

func (s *stream) check(t tester, r run) {
	t.Helper()
	r.consistent(t)
	want := s.want
	switch {
	case s.fails != nil:
		want.End = sotto.EndAborted
		if !errors.Is(r.err, s.fails) {
			t.Errorf("%v, want %v", r.err, s.fails)
		}
	case r.err != nil:
		t.Error(r.err)
	case want.Finish == "" && want.End == sotto.EndUnknown && strings.Contains(s.body, "stop"):
		want.Finish, want.End = "stop", sotto.EndStopped
	case want.End == sotto.EndUnknown && want.Finish != "":
		want.End = sotto.EndStopped
	}
	if want.Model == "" {
		want.Model = "m"
	}
	r.reply.Earlier = model.Earlier{}
	if diff := cmp.Diff(want, r.reply); diff != "" {
		t.Errorf("-want +got %s", diff)
	}
}

func TestStreams(t *testing.T) {
	for _, s := range streams {
		t.Run(s.provider+"/"+s.name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 1, 7} {
				url := serve(t, played(&s, func() int { return size }))
				s.check(t, invoke(t, open(t, model.Config{Provider: s.provider, URL: url, Model: "m", Retries: -1}), asked("?")))
			}
		})
	}
}

// However a server cuts its bytes into writes, the reply is the same.
func TestChunking(t *testing.T) {
	type play struct {
		s    *stream
		next func() int
	}
	var now atomic.Pointer[play]
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := now.Load()
		played(p.s, p.next)(w, r)
	}))
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(streams).Draw(rt, "stream")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 1, 20).Draw(rt, "sizes")
		i := 0
		now.Store(&play{&s, func() int { i++; return sizes[i%len(sizes)] }})
		m := open(t, model.Config{Provider: s.provider, URL: url, Model: "m", Retries: -1})
		s.check(rt, invoke(t, m, asked("?")))
	})
}

// An error in the middle of a stream is told by its server's words, in whatever
// form.
func TestErrorForms(t *testing.T) {
	for _, c := range []struct {
		provider, body string
		want           model.Error
	}{
		{"openai", chunks(choice(`{"content":"a"}`), `{"error":{"message":"No \u001b[31mmore.","type":"server_error","code":null}}`), model.Error{Message: "No [31mmore.", Type: "server_error", Retryable: true}},
		{"openai", chunks(choice(`{"content":"a"}`), `{"error":{"message":"quota","code":429}}`), model.Error{Message: "quota", Status: 429, Retryable: true}},
		{"openai", chunks(choice(`{"content":"a"}`), `{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"provider"}}`), model.Error{Message: "provider", Status: 502, Retryable: true}},
		{"openai", chunks(choice(`{"content":"a"}`), `{"object":"error","message":"boom","type":"BadRequestError","code":400}`), model.Error{Message: "boom", Type: "BadRequestError", Status: 400}},
		{"openai", chunks(choice(`{"content":"a"}`), `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`), model.Error{Message: "m", Type: "insufficient_quota", Code: "insufficient_quota"}},
		{"anthropic", events(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), model.Error{Message: "Overloaded", Type: "overloaded_error", Retryable: true}},
		{"ollama", `{"message":{"content":"a"}}` + "\n" + `{"error":"out of memory"}` + "\n", model.Error{Message: "out of memory"}},
	} {
		s := stream{provider: c.provider, body: c.body}
		url := serve(t, played(&s, func() int { return 1 << 20 }))
		r := invoke(t, open(t, model.Config{Provider: c.provider, URL: url, Model: "m"}), asked("?"))
		r.consistent(t)
		c.want.Provider, c.want.Model = c.provider, "m"
		var e *model.Error
		if !errors.As(r.err, &e) || r.reply.Raw != "a" {
			t.Errorf("%v: %+v", r.err, r.reply)
			continue
		}
		if diff := cmp.Diff(&c.want, e); diff != "" {
			t.Errorf("-want +got %s", diff)
		}
	}
}

// Parts that hold nothing are bounded too. Of an empty text nothing is kept.
func TestEmptyParts(t *testing.T) {
	for kind, tooLarge := range map[string]bool{"text": false, "thinking": true} {
		block := `{"type":"content_block_start","index":0,"content_block":{"type":"` + kind + `"}}`
		s := stream{provider: "anthropic", body: strings.Repeat(events(block), 20_000) + events(`{"type":"message_stop"}`)}
		url := serve(t, played(&s, func() int { return 1 << 20 }))
		r := invoke(t, open(t, model.Config{Provider: "anthropic", URL: url, Model: "m"}), asked("?"))
		if errors.Is(r.err, model.ErrTooLarge) != tooLarge || !tooLarge && (r.err != nil || r.reply.Raw != "" || r.reply.Thoughts != nil) {
			t.Errorf("%s: %v", kind, r.err)
		}
	}
}

// Everything that a server can make larger has a bound.
func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, body := range map[string]string{
		"reply":     strings.Repeat(chunks(choice(`{"content":"`+long+`"}`)), 20),
		"thought":   strings.Repeat(chunks(choice(`{"reasoning":"`+long+`"}`)), 20),
		"arguments": strings.Repeat(chunks(choice(`{"tool_calls":[{"index":0,"function":{"arguments":"`+long+`"}}]}`)), 20),
		"details":   strings.Repeat(chunks(choice(`{"reasoning_details":[{"type":"x","index":0,"data":"`+long+`"}]}`)), 20),
		"frame":     "data: " + strings.Repeat(" ", 10_000),
		"calls":     chunks(choice(`{"tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]}`)),
	} {
		s := stream{provider: "openai", body: body + chunks(stop, done)}
		url := serve(t, played(&s, func() int { return 1 << 20 }))
		m := open(t, model.Config{Provider: "openai", URL: url, Model: "m", Limits: model.Limits{Reply: 8000, Frame: 4000, Calls: 3}})
		r := invoke(t, m, asked("?"))
		r.consistent(t)
		var e *model.Error
		if !errors.Is(r.err, model.ErrTooLarge) || !errors.As(r.err, &e) || e.Retryable || len(r.text)+len(r.thought) > 8000 {
			t.Errorf("%s: %v", name, r.err)
		}
	}
}
