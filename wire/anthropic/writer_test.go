package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// eventsOf are the events of a stream, by their meaning: each is JSON in one form. A comment
// is a ping.
func eventsOf(stream []byte) (list []string) {
	var s sse.Scanner
	for f, ok := s.Next(stream); ok; f, ok = s.Next(stream) {
		stream = stream[len(f.Raw):]
		data := f.Data
		if f.Data == nil {
			data = []byte(`{"type":"ping"}`)
		}
		list = append(list, meaning(data))
	}
	return list
}

// meaning is JSON in one form, without what is null.
func meaning(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return string(data)
	}
	sorted, err := json.Marshal(without(v))
	if err != nil {
		panic(err)
	}
	return string(sorted)
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner == nil {
				delete(v, key)
			}
			without(inner)
		}
	case []any:
		for i := range v {
			without(v[i])
		}
	}
	return v
}

// TestWrittenIsExact: where nothing is withheld, a reply that is written says the same as one
// that is edited, event for event. Only blocks and deltas that are empty do not come.
func TestWrittenIsExact(t *testing.T) {
	for seed := range seeds(3000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m := randomMessage(rng)
		m.blocks = slices.DeleteFunc(m.blocks, func(b block) bool { return b.Text == "" && b.Sig == "" })
		from := &reader{start: starts[rng.IntN(len(starts))], tags: rng.IntN(3) == 0}
		s := randomSpelling(rng)
		s.empty = false
		stream, body := m.stream(s), m.whole()
		stream = bytes.Replace(stream, []byte(`"id":"msg_1",`), []byte(`"id":"msg_1","type":"message","role":"assistant","model":"m",`), 1)
		body = bytes.Replace(body, []byte(`"role"`), []byte(`"model":"m","role"`), 1)
		var streams, bodies [2]string
		for i := range 2 {
			d := from.with()
			y := d.either(i == 1)
			streams[i] = strings.Join(eventsOf(y.End(pass(y, stream, d, nil), nil, d)), "\n")
			d = from.with()
			bodies[i] = meaning(d.either(i == 1).Whole(nil, body, d))
		}
		if streams[0] != streams[1] {
			t.Fatalf("seed %d, %+v, %+v: edited\n%s\nwritten\n%s", seed, *from, s, streams[0], streams[1])
		}
		if bodies[0] != bodies[1] {
			t.Fatalf("seed %d, %+v: edited\n%s\nwritten\n%s", seed, *from, bodies[0], bodies[1])
		}
	}
}

// foreign are the events of a reply that the codec of another API has read.
func foreign() [][]wire.Event {
	return [][]wire.Event{
		{{Kind: wire.EventModel, Name: "m", ID: "chatcmpl-1"}, {Kind: wire.EventText}},
		{{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: []byte("mus")}},
		{{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: []byte("ing")}},
		{{Kind: wire.EventText}, {Kind: wire.EventText, Text: []byte("It ")}, {Kind: wire.EventNarration, Text: []byte("is ")}},
		{{Kind: wire.EventText, Text: []byte("4.")}},
		{{Kind: wire.EventCall, ID: "call_1", Name: "f", Text: []byte(`{"a":`), Raw: `{"index":0,"extra_content":{}}`}},
		{{Kind: wire.EventCall, Text: []byte(`1}`)}},
		{{Kind: wire.EventCall, Index: 1, Name: "g"}},
		{{Kind: wire.EventOther, Raw: `{"type":"image_url"}`}, {Kind: wire.EventSealed, Name: "encrypted_content", Text: []byte("c2ln")}},
		{{Kind: wire.EventFinish, Name: "tool_calls", End: sotto.EndStopped}},
		{{Kind: wire.EventEnd}},
	}
}

// A message is written from another API's events as from its own.
func TestForeign(t *testing.T) {
	w := Messages.(messages).Writer(wire.Settings{Sign: true})
	var out []byte
	for _, events := range foreign() {
		out = w.Frames(out, events)
	}
	seen, opened := map[string]int{}, map[int64]string{}
	reason := ""
	var s sse.Scanner
	for f, ok := s.Next(out); ok; f, ok = s.Next(out) {
		out = out[len(f.Raw):]
		root := gjson.ParseBytes(f.Data)
		kind, index := root.Get("type").Str, root.Get("index").Int()
		seen[kind]++
		reason += root.Get("delta.stop_reason").Str
		switch kind {
		case "message_start":
			if m := root.Get("message"); m.Get("id").Str != "chatcmpl-1" || m.Get("model").Str != "m" || m.Get("role").Str != "assistant" || !m.Get("content").IsArray() || !m.Get("usage.input_tokens").Exists() {
				t.Errorf("%s", f.Data)
			}
		case "content_block_start":
			b := root.Get("content_block")
			opened[index] = b.Get("type").Str + " " + b.Get("name").Str
			if b.Get("type").Str == "tool_use" && (b.Get("id").Str == "" || b.Get("input").Raw != "{}") {
				t.Errorf("%s", f.Data)
			}
		case "content_block_delta":
			d := root.Get("delta")
			opened[index] += d.Get("text").Str + d.Get("thinking").Str + d.Get("partial_json").Str + d.Get("signature").Str
		}
	}
	want := map[int64]string{0: "thinking musing" + chatjson.Signature, 1: "text It is 4.", 2: `tool_use f{"a":1}`, 3: "tool_use g"}
	if fmt.Sprint(opened) != fmt.Sprint(want) || reason != "tool_use" {
		t.Errorf("%v, %s", opened, reason)
	}
	if seen["content_block_start"] != 4 || seen["content_block_stop"] != 4 || seen["message_start"] != 1 || seen["message_delta"] != 1 || seen["message_stop"] != 1 {
		t.Errorf("%v", seen)
	}
}

func TestForeignWhole(t *testing.T) {
	events := slices.Concat(foreign()...)
	events = slices.DeleteFunc(events, func(e wire.Event) bool { return e.Kind == wire.EventCall })
	events = append(events, wire.Event{Kind: wire.EventCall, Name: "f", ID: "call 1", Text: []byte(`{"a":1}`)}, wire.Event{Kind: wire.EventCall, Index: 1, Name: "g", Text: []byte(`{"a`)})
	root := gjson.ParseBytes(Messages.(messages).Writer(wire.Settings{}).Whole(nil, events))
	want := `thinking "musing" | text "It is 4." | tool_use "{\"a\":1}" | tool_use "\"{\\\"a\""`
	if got := show(wholeBlocks(t, []byte(root.Raw))); got != want || root.Get("stop_reason").Str != "tool_use" || root.Get("type").Str != "message" {
		t.Errorf("%s\nof %s", got, root.Raw)
	}
	if id := root.Get("content.2.id").Str; !strings.HasPrefix(id, "toolu_") || strings.Contains(id, " ") {
		t.Errorf("id %q", id)
	}
	fault := []wire.Event{{Kind: wire.EventFault, Raw: `{"error":"busy"}`}}
	if got := Messages.(messages).Writer(wire.Settings{}).Whole(nil, fault); string(got) != `{"type":"error","error":{"type":"api_error","message":"busy"}}` {
		t.Errorf("%s", got)
	}
}

// Tools that are streamed side by side stay side by side, and what the upstream leaves open
// is ended with the message. A call that broke off is not.
func TestWrittenInterleaved(t *testing.T) {
	s := spelling{}
	in := s.frame(nil, "message_start", `{"type":"message_start","message":{"id":"msg_1"}}`)
	for _, index := range []int{4, 2} {
		in = s.block(in, "content_block_start", index, fmt.Sprintf(`,"content_block":{"type":"tool_use","id":"t%d","name":"f","input":{}}`, index))
	}
	in = s.block(in, "content_block_start", 5, `,"content_block":{"type":"new_tool_use","id":"t5","name":"f","input":{}}`)
	for _, index := range []int{2, 4, 5, 2} {
		in = s.block(in, "content_block_delta", index, `,"delta":{"type":"input_json_delta","partial_json":"x"}`)
	}
	in = s.block(in, "content_block_stop", 4, "")
	d := &reader{}
	y := d.either(true)
	out := pass(y, in, d, nil)
	for _, text := range []string{"t5", `"index":2`} {
		if bytes.Contains(out, []byte(text)) {
			t.Errorf("%s in\n%s", text, out)
		}
	}
	stop := []byte(`"content_block_stop","index":1`)
	if n := bytes.Count(out, []byte(`"index":1,"delta"`)); n != 2 || bytes.Contains(out, stop) || !bytes.Contains(out, []byte(`"content_block_stop","index":0`)) {
		t.Errorf("%d pieces of the second call:\n%s", n, out)
	}
	end := s.frame(nil, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`)
	if got := pass(y, end, d, nil); !bytes.Contains(got, stop) || bytes.Index(got, stop) > bytes.Index(got, []byte("message_delta")) {
		t.Errorf("%s", got)
	}
	d = &reader{}
	y = d.either(true)
	pass(y, in, d, nil)
	if got := string(y.End(nil, errors.New("broke"), d)); strings.Contains(got, "content_block_stop") || !strings.HasPrefix(got, "event: error\n") {
		t.Errorf("%s", got)
	}
}

// Servers that break the rules of the API get a reply written that keeps them.
func TestWrittenUnruly(t *testing.T) {
	tail := "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	delta := spelling{}.deltas(nil, 7, "text_delta", "text", "<think>r</think>a")
	thought := spelling{}.deltas(nil, 7, "thinking_delta", "thinking", "r")
	for name, stream := range map[string]string{
		"no start of the message or the block": string(delta) + tail,
		"a thought in a text block":            string(spelling{}.block(nil, "content_block_start", 7, `,"content_block":{"type":"text"}`)) + string(thought) + string(spelling{}.deltas(nil, 7, "text_delta", "text", "a")) + tail,
		"no reason":                            string(delta) + "data: {\"type\":\"message_stop\"}\n\n",
	} {
		d := &reader{}
		y := d.either(true)
		got := received(t, y.End(pass(y, []byte(stream), d, nil), nil, d))
		if show(got.blocks) != `thinking "r" | text "a"` || !got.stopped {
			t.Errorf("%s: %s, stopped %v", name, show(got.blocks), got.stopped)
		}
	}
	for body, fails := range map[string]bool{`{"content":"<think>r</think>"}`: true, `[]`: true, `{}`: true, `{"content":[]}`: false, `{"type":"error","error":{"type":"api_error","message":"m"}}`: false} {
		d := &failing{}
		got := Messages.Reply(wire.Settings{Written: true}).Whole(nil, []byte(body), d)
		if fails != (d.err != nil) || strings.Contains(string(got), "think") {
			t.Errorf("%s: %v, %s", body, d.err, got)
		}
	}
}

// failing is a reader that notes a failure.
type failing struct {
	reader
	err error
}

func (f *failing) Fail(err error) { f.err = err }

// A frame of text that is written costs no memory of its own.
func TestWrittenAllocs(t *testing.T) {
	d := &reader{}
	y := d.either(true)
	m := message{blocksOf(says(strings.Repeat("some text ", 20))), "end_turn"}
	stream := m.stream(spelling{rng: rand.New(rand.NewPCG(1, 1))})
	pass(y, cutAt(stream, "content_block_stop"), d, nil)
	frame := spelling{}.deltas(nil, 0, "text_delta", "text", " word")
	at := bytes.Index(frame, []byte("{"))
	f := wire.Frame{Raw: frame, Data: frame[at : len(frame)-2], At: at}
	dst := y.Frame(nil, f, d)
	if n := testing.AllocsPerRun(100, func() { y.Frame(dst[:0], f, d) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWritten(b *testing.B) {
	d := &reader{}
	y := d.either(true)
	pass(y, cutAt(message{blocksOf(says("some text")), "end_turn"}.stream(spelling{}), "content_block_stop"), d, nil)
	frame := spelling{}.deltas(nil, 0, "text_delta", "text", " word")
	at := bytes.Index(frame, []byte("{"))
	f := wire.Frame{Raw: frame, Data: frame[at : len(frame)-2], At: at}
	var dst []byte
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		dst = y.Frame(dst[:0], f, d)
	}
}
