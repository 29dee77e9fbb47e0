package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A speaker writes what an upstream of one API sends, byte for byte, so that
// the texts may be any bytes, and hears what a client of it gets.
type speaker struct {
	codec wire.Codec
	path  string
	// fields says that its members are named by the settings.
	fields []string
	open   string // frames before the first text
	say    func(text string) string
	finish func(text string, end sotto.Ending) string // the frames after the last text; text is all that was said
	whole  func(text string, end sotto.Ending) string
	hear   func(root gjson.Result, h *heard)
	aborts bool // it has a reason to finish that means that the reply broke off
}

// TestSpeakers: each codec has a speaker, so that the laws of the gateway hold for its API, and bounds
// for how much a reply grows.
func TestSpeakers(t *testing.T) {
	for _, c := range gateway.Codecs() {
		if !slices.ContainsFunc(speakers, func(s speaker) bool { return s.codec == c }) {
			t.Errorf("%s has no speaker", c.Name())
		}
		if growths[c.Name()] == (growth{}) {
			t.Errorf("%s has no row in the table of growth", c.Name())
		}
	}
}

// heard is what a client made of a reply, byte for byte.
type heard struct {
	text, thought, narration []byte
	failed                   string
	done                     bool
	frames                   int
	// again is what the frames after the texts repeat of them, by the kind of
	// frame.
	again map[string]*heard
}

func quoted(text string) string { return string(jsontext.AppendVerbatim(nil, []byte(text))) }

// bytesOf are the bytes of a JSON string, half a surrogate pair too.
func bytesOf(v gjson.Result) []byte {
	if v.Type != gjson.String || len(v.Raw) < 2 {
		return nil
	}
	return jsontext.AppendText(nil, []byte(v.Raw[1:len(v.Raw)-1]))
}

var openAIReasons = map[sotto.Ending]string{
	sotto.EndStopped: `"stop"`, sotto.EndCut: `"length"`, sotto.EndAborted: `"content_filter"`, sotto.EndUnknown: "null",
}

func chatFrame(delta string, reason string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":` + reason + "}]}\n\n"
}

func completionFrame(text, reason string) string {
	return `data: {"id":"c1","object":"text_completion","created":1760000000,"model":"m","choices":[{"index":0,"text":` +
		quoted(text) + `,"logprobs":null,"finish_reason":` + reason + "}]}\n\n"
}

func hearObject(o gjson.Result, text, thought string, h *heard) {
	h.text = append(h.text, bytesOf(o.Get(text))...)
	for _, part := range o.Get(text).Array() {
		h.text = append(h.text, bytesOf(part.Get("text"))...)
	}
	h.thought = append(h.thought, bytesOf(o.Get(thought))...)
	h.narration = append(h.narration, bytesOf(o.Get("narration"))...)
}

func hearChoices(text string, members ...string) func(gjson.Result, *heard) {
	return func(root gjson.Result, h *heard) {
		for _, c := range root.Get("choices").Array() {
			o := c
			for _, m := range members {
				if c.Get(m).Exists() {
					o = c.Get(m)
				}
			}
			hearObject(o, text, "reasoning_content", h)
			h.done = h.done || c.Get("finish_reason").Str != ""
		}
	}
}

func ollamaLine(api, text, rest string) string {
	if api == "chat" {
		return `{"model":"m","created_at":"2026-11-21T00:00:00.123456Z","message":{"role":"assistant","content":` + quoted(text) + `},` + rest + "}\n"
	}
	return `{"model":"m","created_at":"2026-11-21T00:00:00.123456Z","response":` + quoted(text) + `,` + rest + "}\n"
}

var ollamaReasons = map[sotto.Ending]string{
	sotto.EndStopped: `"done":true,"done_reason":"stop","eval_count":12`, sotto.EndCut: `"done":true,"done_reason":"length"`, sotto.EndUnknown: `"done":true`,
}

func ollamaSpeaker(codec wire.Codec, api string) speaker {
	return speaker{
		codec: codec, path: "/api/" + api, fields: []string{"thinking"},
		say:    func(text string) string { return ollamaLine(api, text, `"done":false`) },
		finish: func(_ string, end sotto.Ending) string { return ollamaLine(api, "", ollamaReasons[end]) },
		whole:  func(text string, end sotto.Ending) string { return ollamaLine(api, text, ollamaReasons[end]) },
		hear: func(root gjson.Result, h *heard) {
			if api == "chat" {
				hearObject(root.Get("message"), "content", "thinking", h)
			} else {
				hearObject(root, "response", "thinking", h)
			}
			h.done = h.done || root.Get("done").Bool()
		},
	}
}

func event(kind, data string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + data + "}\n\n"
}

var anthropicReasons = map[sotto.Ending]string{
	sotto.EndStopped: `"end_turn"`, sotto.EndCut: `"max_tokens"`, sotto.EndAborted: `"refusal"`,
}

func anthropicFinish(_ string, end sotto.Ending) string {
	s := event("content_block_stop", `"index":0`)
	if end != sotto.EndUnknown {
		s += event("message_delta", `"delta":{"stop_reason":`+anthropicReasons[end]+`,"stop_sequence":null},"usage":{"output_tokens":5}`)
	}
	return s + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
}

const anthropicOpen = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"

// speakers are the APIs.
var speakers = []speaker{
	{
		codec: codecNamed("openai.chat"), path: "/v1/chat/completions", fields: []string{"reasoning_content"}, aborts: true,
		open: chatFrame(`{"role":"assistant","content":""}`, "null"),
		say:  func(text string) string { return chatFrame(`{"content":`+quoted(text)+`}`, "null") },
		finish: func(_ string, end sotto.Ending) string {
			s := ""
			if end != sotto.EndUnknown {
				s = chatFrame("{}", openAIReasons[end])
			}
			return s + "data: [DONE]\n\n"
		},
		whole: func(text string, end sotto.Ending) string {
			return `{"id":"c1","object":"chat.completion","created":1760000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` +
				quoted(text) + `},"logprobs":null,"finish_reason":` + openAIReasons[end] + `}],"usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14}}`
		},
		hear: hearChoices("content", "delta", "message"),
	},
	{
		codec: codecNamed("openai.completions"), path: "/v1/completions", fields: []string{"reasoning_content"}, aborts: true,
		say: func(text string) string { return completionFrame(text, "null") },
		finish: func(_ string, end sotto.Ending) string {
			return completionFrame("", openAIReasons[end]) + "data: [DONE]\n\n"
		},
		whole: func(text string, end sotto.Ending) string {
			return `{"id":"c1","object":"text_completion","created":1760000000,"model":"m","choices":[{"index":0,"text":` +
				quoted(text) + `,"logprobs":null,"finish_reason":` + openAIReasons[end] + `}]}`
		},
		hear: hearChoices("text"),
	},
	responsesSpeaker,
	llamaSpeaker("llamacpp.completion", "/completion"),
	cohereSpeaker,
	ollamaSpeaker(codecNamed("ollama.chat"), "chat"),
	ollamaSpeaker(codecNamed("ollama.generate"), "generate"),
	{
		codec: codecNamed("anthropic.messages"), path: "/v1/messages", aborts: true,
		open: anthropicOpen,
		say: func(text string) string {
			return event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+quoted(text)+`}`)
		},
		finish: anthropicFinish,
		whole: func(text string, end sotto.Ending) string {
			reason := "null"
			if end != sotto.EndUnknown {
				reason = anthropicReasons[end]
			}
			return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":` + quoted(text) +
				`}],"stop_reason":` + reason + `,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":9}}`
		},
		hear: func(root gjson.Result, h *heard) {
			h.done = h.done || root.Get("type").Str == "message_stop" || root.Get("type").Str == "message"
			thought := func(v gjson.Result) { h.thought = append(h.thought, bytesOf(v)...) }
			switch root.Get("type").Str {
			case "content_block_start":
				b := root.Get("content_block")
				h.text = append(h.text, bytesOf(b.Get("text"))...)
				thought(b.Get("thinking"))
			case "content_block_delta":
				h.text = append(h.text, bytesOf(root.Get("delta.text"))...)
				thought(root.Get("delta.thinking"))
			case "message":
				for _, b := range root.Get("content").Array() {
					h.text = append(h.text, bytesOf(b.Get("text"))...)
					thought(b.Get("thinking"))
				}
			}
		},
	},
}

func (s speaker) name() string { return s.codec.Name() }

func (s speaker) settings() wire.Settings {
	return wire.Settings{Fields: s.fields, Request: &wire.Request{Stream: true, Limit: turnLimit}}
}

// stream is what an upstream sends that says pieces of text, one a frame.
func (s speaker) stream(pieces []string, end sotto.Ending) string {
	var b strings.Builder
	b.WriteString(s.open)
	for _, p := range pieces {
		b.WriteString(s.say(p))
	}
	b.WriteString(s.finish(strings.Join(pieces, ""), end))
	return b.String()
}

// through gives a stream's bytes to a codec and returns what it makes of them,
// ended by err.
func (s speaker) through(stream []byte, settings wire.Settings, r wire.Reader, err error) []byte {
	y := s.codec.Reply(settings)
	var out []byte
	for f := range framesOf(s.codec, stream) {
		out = y.Frame(out, f, r)
	}
	return y.End(out, err, r)
}

// framesOf yields the frames of a stream that are whole.
func framesOf(c wire.Codec, stream []byte) func(yield func(wire.Frame) bool) {
	return func(yield func(wire.Frame) bool) {
		var events sse.Scanner
		var lines ndjson.Scanner
		for len(stream) > 0 {
			var f wire.Frame
			var ok bool
			if c.Framing() == wire.SSE {
				var e sse.Frame
				e, ok = events.Next(stream)
				f = wire.Frame(e)
			} else {
				var l ndjson.Line
				l, ok = lines.Next(stream)
				f = wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}
			}
			if !ok || !yield(f) {
				return
			}
			stream = stream[len(f.Raw):]
		}
	}
}

// listen is what a client makes of a stream.
func (s speaker) listen(t testing.TB, out []byte) *heard {
	t.Helper()
	h := &heard{}
	n := 0
	for f := range framesOf(s.codec, out) {
		n += len(f.Raw)
		if f.Data == nil {
			continue
		}
		if string(f.Data) == "[DONE]" {
			h.done = true
			continue
		}
		h.frames++
		if !gjson.ValidBytes(f.Data) {
			t.Fatalf("%s: a frame that is no JSON: %q", s.name(), f.Raw)
		}
		s.one(gjson.ParseBytes(f.Data), h)
	}
	if n != len(out) {
		t.Fatalf("%s: an unfinished frame: %q", s.name(), out[n:])
	}
	h.agrees(t)
	return h
}

// agrees holds what the frames at the end repeat to what came before, where the
// reply has such frames and came to its end.
func (h *heard) agrees(t testing.TB) {
	t.Helper()
	if !h.done {
		return
	}
	for kind, a := range h.again {
		if paired(a.text) != paired(h.text) || paired(a.thought) != paired(h.thought) {
			t.Fatalf("%s repeats\ntext    %q\nafter   %q\nthought %q\nafter   %q", kind, a.text, h.text, a.thought, h.thought)
		}
	}
}

// paired is a text whose halves of surrogate pairs are joined where they meet:
// what was cut between two frames is not where it is repeated.
func paired(text []byte) string { return string(bytesOf(gjson.Parse(quoted(string(text))))) }

func (s speaker) one(root gjson.Result, h *heard) {
	if e := root.Get("error"); e.Exists() && e.Type != gjson.Null {
		h.failed = root.Raw
		return
	}
	s.hear(root, h)
}

func (s speaker) listenWhole(t testing.TB, body []byte) *heard {
	t.Helper()
	if !gjson.ValidBytes(body) {
		t.Fatalf("%s: no JSON: %q", s.name(), body)
	}
	h := &heard{}
	s.one(gjson.ParseBytes(body), h)
	h.agrees(t)
	return h
}

func speakerOf(t testing.TB, name string) speaker {
	t.Helper()
	for _, s := range speakers {
		if s.name() == name {
			return s
		}
	}
	t.Fatal(fmt.Errorf("no speaker %q", name))
	return speaker{}
}
