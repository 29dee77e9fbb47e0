package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

var (
	tool     = block{Type: "tool_use", Text: `{"a":"<think>"}`}
	redacted = block{Type: "redacted_thinking", Text: "EmwKAhgB"}
)

func says(t string) block            { return block{Type: "text", Text: t} }
func thinks(t, sig string) block     { return block{Type: "thinking", Text: t, Sig: sig} }
func blocksOf(list ...block) []block { return list }
func (d *reader) with() *reader      { return &reader{start: d.start, hide: d.hide, tags: d.tags} }
func (d *reader) reply() *reply      { return newReply(wire.Settings{}) }

// either is a reply that is edited, or written: what hides reasoning is written.
func (d *reader) either(writes bool) wire.Reply {
	return Messages.Reply(wire.Settings{Hide: d.hide, Written: writes || d.hide})
}

var replies = []struct {
	name   string
	reader reader
	blocks []block
	reason string // end_turn if empty
	want   []block
}{
	{"inline", reader{}, blocksOf(says("<think>r</think>\n\nanswer")), "", blocksOf(thinks("r", ""), says("answer"))},
	{"text first", reader{}, blocksOf(says("a\n<think>r</think>\nb")), "", blocksOf(says("a\n"), thinks("r", ""), says("b"))},
	{"two thoughts", reader{}, blocksOf(says("<think>r</think>a\n<think>s</think>\nb")), "",
		blocksOf(thinks("r", ""), says("a\n"), thinks("s", ""), says("b"))},
	{"orphan close, start inside", reader{start: sotto.BeginInside("think")}, blocksOf(says("r</think>a")), "", blocksOf(thinks("r", ""), says("a"))},
	{"orphan close, start auto", reader{start: sotto.BeginAuto}, blocksOf(says("r</think>a")), "", blocksOf(thinks("r", ""), says("a"))},
	{"no close, start auto", reader{start: sotto.BeginAuto}, blocksOf(says("answer")), "", blocksOf(says("answer"))},
	{"unclosed", reader{}, blocksOf(says("<think>r")), "max_tokens", blocksOf(thinks("r", ""))},
	{"unclosed, hidden", reader{hide: true}, blocksOf(says("<think>r")), "max_tokens", blocksOf(says(""))},
	{"late opener, stopped", reader{}, blocksOf(says("the <think> tag")), "", blocksOf(says("the <think> tag"))},
	{"late opener, cut", reader{}, blocksOf(says("the <think> tag")), "max_tokens", blocksOf(says("the "), thinks(" tag", ""))},
	{"late opener, window full", reader{}, blocksOf(says("the <think> tag")), "model_context_window_exceeded", blocksOf(says("the "), thinks(" tag", ""))},
	{"late opener, paused", reader{}, blocksOf(says("the <think> tag")), "pause_turn", blocksOf(says("the "), thinks(" tag", ""))},
	{"late opener, refused", reader{}, blocksOf(says("the <think> tag")), "refusal", blocksOf(says("the "), thinks(" tag", ""))},
	{"late opener, then a tool", reader{}, blocksOf(says("the <think> tag"), tool), "max_tokens", blocksOf(says("the <think> tag"), tool)},
	{"plain", reader{}, blocksOf(says("answer")), "", blocksOf(says("answer"))},
	{"held at the end", reader{}, blocksOf(says("x is <")), "", blocksOf(says("x is <"))},
	{"no text", reader{}, blocksOf(says("")), "", blocksOf(says(""))},
	{"no block", reader{}, nil, "", nil},
	{"tool", reader{}, blocksOf(says("<think>r</think>a"), tool, tool), "tool_use", blocksOf(thinks("r", ""), says("a"), tool, tool)},
	{"only thought, then a tool", reader{}, blocksOf(says("<think>r</think>"), tool), "tool_use", blocksOf(thinks("r", ""), tool)},
	{"only thought, then a tool, hidden", reader{hide: true}, blocksOf(says("<think>r</think>"), tool, says("b")), "tool_use", blocksOf(tool, says("b"))},
	{"hidden", reader{hide: true}, blocksOf(says("<think>r</think>a")), "", blocksOf(says("a"))},
	{"texts are choices", reader{}, blocksOf(says("<think>r"), says("<think>s</think>a"), says("b </think> c")), "",
		blocksOf(thinks("r", ""), thinks("s", ""), says("a"), says("b </think> c"))},
	{"signed", reader{}, blocksOf(thinks("r", "c2ln"), says("a"), tool), "tool_use", blocksOf(thinks("r", "c2ln"), says("a"), tool)},
	{"signed and inline", reader{}, blocksOf(thinks("r", "c2ln"), says("<think>s</think>a"), tool), "",
		blocksOf(thinks("r", "c2ln"), thinks("s", ""), says("a"), tool)},
	{"signed, hidden", reader{hide: true}, blocksOf(thinks("r", "c2ln"), says("a")), "", blocksOf(thinks("", "c2ln"), says("a"))},
	{"omitted", reader{}, blocksOf(thinks("", "c2ln"), says("a")), "", blocksOf(thinks("", "c2ln"), says("a"))},
	{"omitted, hidden", reader{hide: true}, blocksOf(thinks("", "c2ln"), says("a")), "", blocksOf(thinks("", "c2ln"), says("a"))},
	{"unsigned, hidden", reader{hide: true}, blocksOf(thinks("r", ""), says("a"), tool), "", blocksOf(says("a"), tool)},
	{"all hidden", reader{hide: true}, blocksOf(thinks("r", "")), "max_tokens", nil},
	{"redacted", reader{hide: true}, blocksOf(redacted, thinks("r", ""), redacted, says("<think>s</think>a")), "",
		blocksOf(redacted, redacted, says("a"))},
	{"empty thought", reader{}, blocksOf(thinks("", ""), says("a")), "", blocksOf(thinks("", ""), says("a"))},
	{"empty thought, hidden", reader{hide: true}, blocksOf(thinks("", ""), says("a")), "", blocksOf(says("a"))},
	{"tags", reader{tags: true}, blocksOf(thinks("r", "c2ln"), says("a"), tool), "", blocksOf(says("<think>r</think>a"), tool)},
	{"tags, two thoughts", reader{tags: true}, blocksOf(thinks("r", "c2ln"), thinks("s", ""), says("a")), "", blocksOf(says("<think>rs</think>a"))},
	{"tags, then a tool", reader{tags: true}, blocksOf(thinks("r", "c2ln"), tool, says("a")), "", blocksOf(says("<think>r</think>"), tool, says("a"))},
	{"tags alone", reader{tags: true}, blocksOf(thinks("r", "")), "max_tokens", blocksOf(says("<think>r</think>"))},
	{"tags, omitted", reader{tags: true}, blocksOf(thinks("r", ""), thinks("", "c2ln"), says("a")), "",
		blocksOf(says("<think>r</think>"), thinks("", "c2ln"), says("a"))},
	{"tags, text with no text", reader{tags: true}, blocksOf(thinks("r", "c2ln"), says(""), tool), "", blocksOf(says("<think>r</think>"), tool)},
	{"narration", reader{}, blocksOf(says("<narrate>n</narrate>a")), "", blocksOf(says("na"))},
}

func TestReplies(t *testing.T) {
	for _, c := range replies {
		for _, writes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s written=%v", c.name, writes), func(t *testing.T) {
				m, want := message{c.blocks, c.reason}, c.want
				if m.reason == "" {
					m.reason = "end_turn"
				}
				if writes {
					want = slices.DeleteFunc(slices.Clone(want), func(b block) bool { return b == thinks("", "") })
				}
				for _, s := range []spelling{{}, {rng: rand.New(rand.NewPCG(1, 2))}, {ping: true, empty: true}, {lines: true, late: true}} {
					d := c.reader.with()
					y := d.either(writes)
					out := y.End(pass(y, m.stream(s), d, nil), nil, d)
					got := received(t, out)
					if show(got.blocks) != show(want) {
						t.Errorf("%+v: got  %s\nwant %s", s, show(got.blocks), show(want))
					}
					if !got.stopped || got.reason != m.reason {
						t.Errorf("%+v: stopped %v, reason %q", s, got.stopped, got.reason)
					}
					if len(d.Open()) > 0 {
						t.Errorf("%+v: open choices %v", s, d.Open())
					}
				}
				d := c.reader.with()
				body := d.either(writes).Whole(nil, m.whole(), d)
				if got := show(wholeBlocks(t, body)); got != show(want) {
					t.Errorf("whole: got  %s\nwant %s", got, show(want))
				}
			})
		}
	}
}

// What the reading leaves as it is leaves byte for byte.
func TestUnchanged(t *testing.T) {
	tried := 0
	for _, c := range replies {
		m := message{c.blocks, "end_turn"}
		if !slices.Equal(c.blocks, c.want) || c.reader.hide || strings.Contains(show(c.blocks), "<think> tag") || c.name == "held at the end" || c.reader.start != "" {
			continue
		}
		tried++
		for _, s := range []spelling{{}, {rng: rand.New(rand.NewPCG(1, 2))}, {empty: true}, {lines: true}, {late: true}} {
			d := c.reader.with()
			y := d.reply()
			stream := m.stream(s)
			if out := y.End(pass(y, stream, d, nil), nil, d); !bytes.Equal(out, stream) {
				t.Errorf("%s, %+v: got\n%s\nwant\n%s", c.name, s, out, stream)
			}
		}
		d := c.reader.with()
		if body := d.reply().Whole(nil, m.whole(), d); !bytes.Equal(body, m.whole()) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, body, m.whole())
		}
	}
	if tried < 6 {
		t.Errorf("only %d replies", tried)
	}
}

// A text that is another spelling of the same stays as it is spelt, and a member
// that is not known stays beside it, at a new index too.
func TestSpelling(t *testing.T) {
	start := `{"type": "content_block_start", "index": 0, "content_block": {"type":"text","text":"","n":1.00}, "z":1e1}`
	frames := []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"<think>r</think>"}}`,
		`{"type":"content_block_stop","index":0}`,
		strings.Replace(start, "0,", "1,", 1),
		`{"type":"content_block_delta","delta":{"text":"\u00e9\/<","type":"text_delta","n":1.0},"index":1}`,
		`{"type":"content_block_delta","delta":{"text":"\u00e9\/","type":"text_delta","n":1.0},"index":1}`,
		`{"type":"content_block_delta","delta":{"text":"\u00e9\/","type":"text_delta","n":1.0},"index":1}`,
		`{"type":"content_block_stop","index":1}`,
	}
	d := &reader{hide: true} // the reader gives none of the thought
	y := d.reply()
	var out []byte
	for _, f := range frames {
		out = pass2(y, out, "event: x\ndata:"+f+"\n\n", d)
	}
	out = pass2(y, out, `data:{"type":"message_stop"}`+"\n\n", d)
	want := "event: x\ndata:" + start + "\n\n"
	for _, text := range []string{`é/`, `<é/`, `\u00e9\/`} {
		want += `event: x` + "\n" + `data:{"type":"content_block_delta","delta":{"text":"` + text + `","type":"text_delta","n":1.0},"index":0}` + "\n\n"
	}
	want += "event: x\ndata:" + `{"type":"content_block_stop","index":0}` + "\n\n" + `data:{"type":"message_stop"}` + "\n\n"
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func pass2(y *reply, dst []byte, frame string, r wire.Reader) []byte {
	return append(dst, pass(y, []byte(frame), r, nil)...)
}

// cutAt is a stream up to its n-th frame of a name.
func cutAt(stream []byte, mark string) []byte {
	i := bytes.Index(stream, []byte(mark))
	if i < 0 {
		panic(mark)
	}
	return stream[:bytes.LastIndex(stream[:i], []byte("event:"))]
}

func TestBroken(t *testing.T) {
	fault := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"upstream\"}}\n\n"
	for _, c := range []struct {
		name   string
		blocks []block
		until  string // the first frame that does not come
		want   []block
		open   bool // the last block stays open
	}{
		{"held text", blocksOf(says("x is <")), "content_block_stop", blocksOf(says("x is <")), false},
		{"held end", blocksOf(says("x is <")), "message_delta", blocksOf(says("x is <")), false},
		{"late opener", blocksOf(says("the <think> tag")), "message_delta", blocksOf(says("the "), thinks(" tag", "")), false},
		{"in thought", blocksOf(says("<think>r")), "content_block_stop", blocksOf(thinks("r", "")), false},
		{"native", blocksOf(thinks("r", "c2ln")), "signature_delta", blocksOf(thinks("r", "")), false},
		{"tool", blocksOf(says("<think>r</think>a"), tool), `content_block_stop","index":1`, blocksOf(thinks("r", ""), says("a"), tool), true},
		{"before the message", nil, "message_start", nil, false},
		{"no message_stop", blocksOf(says("a")), `{"type":"message_stop`, blocksOf(says("a")), false},
	} {
		for _, how := range []string{"error", "upstream", "silence"} {
			d := &reader{}
			y := d.reply()
			stream := cutAt(message{c.blocks, "end_turn"}.stream(spelling{}), c.until)
			var out []byte
			fails := errUnfinished.Error()
			switch how {
			case "error":
				out = y.End(pass(y, stream, d, nil), errors.New("it \"broke\"\n"), d)
				fails = "it \"broke\"\n"
			case "upstream":
				out = y.End(pass(y, append(stream, fault...), d, nil), errors.New("then the stream broke"), d)
				fails = "upstream"
				if !bytes.HasSuffix(out, []byte(fault)) {
					t.Errorf("%s: the upstream's error is lost: %s", c.name, out)
				}
			default:
				out = y.End(pass(y, stream, d, nil), nil, d)
			}
			if c.until == "message_start" && how != "upstream" && !bytes.HasPrefix(out, []byte("event: error\n")) {
				t.Errorf("%s: %s", c.name, out)
			}
			got := received(t, out)
			if show(got.blocks) != show(c.want) || got.fault != fails || got.open != c.open {
				t.Errorf("%s, %s: got %s, fault %q, open %v\nwant %s", c.name, how, show(got.blocks), got.fault, got.open, show(c.want))
			}
			if again := y.End(nil, nil, d); len(again) > 0 {
				t.Errorf("%s, %s: a second end: %s", c.name, how, again)
			}
		}
	}
}

// Pings and comments pass while the end of a block is held.
func TestPingWhileHeld(t *testing.T) {
	d := &reader{}
	y := d.reply()
	stream := message{blocksOf(says("<think>r</think>a")), "end_turn"}.stream(spelling{})
	pass(y, cutAt(stream, "message_delta"), d, nil)
	for _, f := range []string{"event: ping\ndata: {\"type\": \"ping\"}\n\n", ": comment\n\n", "\n", "data: [DONE]\n\n", "event: new\ndata: {\"type\":\"new\"}\n\n"} {
		if got := pass2(y, nil, f, d); string(got) != f {
			t.Errorf("%q became %q", f, got)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	d := &reader{}
	y := d.reply()
	if got := y.KeepAlive(nil); got[0] != ':' {
		t.Errorf("before message_start: %q", got)
	}
	stream := message{blocksOf(says("a")), "end_turn"}.stream(spelling{})
	out := pass(y, cutAt(stream, "content_block_stop"), d, nil)
	out = y.KeepAlive(out)
	if c := received(t, out); c.pings != 1 {
		t.Errorf("%s", out)
	}
}

// Servers that break the rules of the API are brought back to them where text
// is read, and are otherwise left as they are.
func TestUnruly(t *testing.T) {
	head := `event: message_start` + "\n" + `data: {"type":"message_start"}` + "\n\n"
	tail := "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	start := `event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"%"}}` + "\n\n"
	delta := `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%"}}` + "\n\n"
	thought := `event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"%"}}` + "\n\n"
	stop := "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	fill := func(s, text string) string { return strings.Replace(s, "%", text, 1) }
	for _, c := range []struct {
		name, stream string
		want         []block
	}{
		{"no start", fill(delta, "<think>r</think>a") + stop, blocksOf(thinks("r", ""), says("a"))},
		{"no stop", fill(start, "") + fill(delta, "<think>r</think>a"), blocksOf(thinks("r", ""), says("a"))},
		{"text in the start", fill(start, "<think>r</think>a") + fill(delta, "b") + stop, blocksOf(thinks("r", ""), says("ab"))},
		{"held text in the start", fill(start, "<") + fill(delta, "b") + stop, blocksOf(says("<b"))},
		{"text in a thinking block", strings.ReplaceAll(fill(start, ""), `"text"`, `"thinking"`) + fill(delta, `a\n<think></thi`) + stop +
			strings.NewReplacer(`"text"`, `"tool_use"`, ":0", ":1").Replace(fill(start, "")) + strings.ReplaceAll(stop, ":0", ":1"),
			blocksOf(says("a\n"), thinks("</thi", ""), block{Type: "tool_use"})},
		{"thought in a text block", fill(start, "") + fill(thought, "r") + fill(delta, "a") + stop, blocksOf(thinks("r", ""), says("a"))},
	} {
		d := &reader{}
		y := d.reply()
		got := received(t, y.End(pass(y, []byte(head+c.stream+tail), d, nil), nil, d))
		if show(got.blocks) != show(c.want) || got.fault != "" {
			t.Errorf("%s: got %s, fault %q\nwant %s", c.name, show(got.blocks), got.fault, show(c.want))
		}
	}
	for name, stream := range map[string]string{
		"text in the start":    fill(start, `a\u00e9`) + fill(delta, "b") + stop + tail,
		"a type only":          strings.ReplaceAll(head+fill(start, "")+fill(delta, "b")+stop+tail, `"type":"content_block_start",`, ""),
		"no JSON":              "data: [DONE]\n\n" + head + "data: <think>\n\n" + tail,
		"parallel tools":       strings.ReplaceAll(fill(start, ""), `"text"`, `"tool_use"`) + strings.ReplaceAll(strings.ReplaceAll(fill(start, ""), `"text"`, `"tool_use"`), ":0", ":1") + stop + strings.ReplaceAll(stop, ":0", ":1") + tail,
		"indices from another": strings.ReplaceAll(fill(start, "")+fill(delta, "b")+stop, ":0", ":7") + tail,
		"an unknown block":     strings.ReplaceAll(fill(start, "")+fill(delta, "<think>b"), `"type":"text"`, `"type":"new"`) + stop + tail,
		"a tool with no start": strings.ReplaceAll(fill(delta, "{"), "text_delta", "input_json_delta") + stop + tail,
		"no text":              fill(start, "") + strings.ReplaceAll(delta, `"%"`, "null") + fill(delta, "b") + stop + tail,
		"a signature at once":  strings.ReplaceAll(fill(start, ""), `"text","text":""`, `"thinking","signature":"c2ln"`) + stop + tail,
		"no index":             strings.ReplaceAll(fill(start, "")+fill(delta, "b")+stop, `"index":0,`, ``) + tail,
		"behind the end":       head + tail + fill(delta, "<think>"),
	} {
		d := &reader{}
		y := d.reply()
		if got := string(pass(y, []byte(stream), d, nil)); got != stream {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, stream)
		}
	}
}

// An end that comes after message_delta is the client's already.
func TestLateStop(t *testing.T) {
	d := &reader{}
	y := d.reply()
	stream := message{blocksOf(says("<think>r</think>a")), "end_turn"}.stream(spelling{})
	stop := []byte("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
	stream = bytes.Replace(stream, stop, nil, 1)
	stream = bytes.Replace(stream, []byte("event: message_stop"), append(stop, "event: message_stop"...), 1)
	if got := received(t, pass(y, stream, d, nil)); show(got.blocks) != `thinking "r" | text "a"` {
		t.Error(show(got.blocks))
	}
}

// Tools that an upstream streams side by side keep their own indices.
func TestInterleaved(t *testing.T) {
	d := &reader{}
	y := d.reply()
	pass(y, cutAt(message{blocksOf(says("<think>r</think>a")), "end_turn"}.stream(spelling{}), "message_delta"), d, nil)
	s := spelling{}
	var in, want []byte
	for _, step := range []struct {
		name, more string
		index      int
	}{
		{"content_block_start", `,"content_block":{"type":"tool_use"}`, 1},
		{"content_block_start", `,"content_block":{"type":"tool_use"}`, 2},
		{"content_block_delta", `,"delta":{"type":"input_json_delta","partial_json":"{"}`, 1},
		{"content_block_delta", `,"delta":{"type":"input_json_delta","partial_json":"{"}`, 2},
		{"content_block_delta", `,"delta":{"type":"input_json_delta","partial_json":"}"}`, 1},
		{"content_block_stop", ``, 1},
		{"content_block_delta", `,"delta":{"type":"input_json_delta","partial_json":"}"}`, 2},
		{"content_block_stop", ``, 2},
	} {
		in = s.block(in, step.name, step.index, step.more)
		want = s.block(want, step.name, step.index+1, step.more)
	}
	got := pass(y, in, d, nil)
	if got = got[bytes.Index(got, []byte("event: content_block_start")):]; !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A citation belongs to a text block, which is opened for it.
func TestCitation(t *testing.T) {
	d := &reader{}
	y := d.reply()
	stream := message{blocksOf(says("<think>r</think>a")), "end_turn"}.stream(spelling{})
	cite := spelling{}.block(nil, "content_block_delta", 0, `,"delta":{"type":"citations_delta","citation":{}}`)
	at := []byte("event: content_block_stop")
	stream = bytes.Replace(stream, at, append(cite, at...), 1)
	out := pass(y, stream, d, nil)
	if got := received(t, out); show(got.blocks) != `thinking "r" | text "a"` || !bytes.Contains(out, []byte("citations_delta")) {
		t.Errorf("%s", out)
	}
}

// A summary of reasoning that comes in a delta of its own kind passes neither as a text nor
// beside one, and a signature stays without the text that it is for.
func TestHide(t *testing.T) {
	m := message{blocksOf(thinks("r", "c2ln"), says("<think>s</think>a")), "end_turn"}
	d := &reader{hide: true}
	y := d.either(true)
	pass(y, cutAt(m.stream(spelling{}), "content_block_delta"), d, nil)
	more := spelling{}.block(nil, "content_block_delta", 0, `,"delta":{"type":"summary_delta","summary":"r"}`)
	if got := pass(y, more, d, nil); len(got) > 0 {
		t.Errorf("%s", got)
	}
}

// TestKeepsEnd: a ping between the end of a block and the reason of the message's end does not change how
// the text ended.
func TestKeepsEnd(t *testing.T) {
	const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	events := []string{
		"data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"It is\"}}\n\n",
		"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n",
		"data: {\"type\":\"message_stop\"}\n\n",
	}
	for at := range events {
		body := strings.Join(slices.Insert(slices.Clone(events), at, ping), "")
		y, d := Messages.Reply(wire.Settings{Keep: true}), &reader{}
		var scan sse.Scanner
		var got []byte
		for rest := []byte(body); len(rest) > 0; {
			f, ok := scan.Next(rest)
			if !ok {
				t.Fatal("the stream ends within an event")
			}
			rest = rest[len(f.Raw):]
			got = y.Frame(got, wire.Frame{Raw: f.Raw, Type: f.Type, Data: f.Data, At: f.At}, d)
		}
		got = y.End(got, nil, d)
		if string(got) != body || d.closed[0] != sotto.EndCut {
			t.Errorf("a ping before event %d: the text ended as %v\n%s", at, d.closed, got)
		}
	}
}
