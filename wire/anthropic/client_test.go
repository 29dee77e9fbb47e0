package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A block is one of a message, as a test writes it and as a client sees it.
type block struct {
	Type, Text, Sig string // Text is a tool's input, or redacted data
}

func (b block) String() string {
	s := fmt.Sprintf("%s %q", b.Type, b.Text)
	if b.Sig != "" {
		s += " signed " + b.Sig
	}
	return s
}

// show writes blocks in one line.
func show(blocks []block) string {
	var list []string
	for _, b := range blocks {
		list = append(list, b.String())
	}
	return strings.Join(list, " | ")
}

// A client takes a stream strictly by the API's rules.
type client struct {
	blocks []block
	open   bool
	// Where it stands, and what it was told.
	started, ended, stopped bool
	reason, fault           string
	pings                   int
}

var deltaOfBlock = map[string]string{
	"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking",
	"signature_delta": "thinking", "input_json_delta": "tool_use",
}

// take reads a whole stream.
func (c *client) take(stream []byte) error {
	var s sse.Scanner
	for {
		f, ok := s.Next(stream)
		if !ok {
			break
		}
		stream = stream[len(f.Raw):]
		if f.Data == nil {
			continue
		}
		if !gjson.ValidBytes(f.Data) {
			return fmt.Errorf("no JSON: %s", f.Raw)
		}
		root := gjson.ParseBytes(f.Data)
		if kind := root.Get("type").Str; string(f.Type) != kind {
			return fmt.Errorf("event %q is of type %q", f.Type, kind)
		}
		if err := c.event(root); err != nil {
			return fmt.Errorf("%w: %s", err, f.Data)
		}
	}
	if len(stream) > 0 {
		return fmt.Errorf("rest %q", stream)
	}
	return nil
}

func (c *client) event(root gjson.Result) error {
	kind, index := root.Get("type").Str, int(root.Get("index").Int())
	last := len(c.blocks) - 1
	switch {
	case c.stopped || c.fault != "":
		return fmt.Errorf("after the end")
	case kind == "error":
		c.fault = root.Get("error.message").Str
		return nil
	case !c.started != (kind == "message_start"):
		return fmt.Errorf("message_start not first or twice")
	case c.ended && kind != "message_delta" && kind != "message_stop" && kind != "ping":
		return fmt.Errorf("after message_delta")
	}
	switch kind {
	case "message_start":
		c.started = true
	case "ping":
		c.pings++
	case "content_block_start":
		if c.open || index != last+1 {
			return fmt.Errorf("start of %d behind %d, open %v", index, last, c.open)
		}
		c.open = true
		c.blocks = append(c.blocks, blockOf(root.Get("content_block")))
	case "content_block_delta", "content_block_stop":
		if !c.open || index != last {
			return fmt.Errorf("block %d, last is %d, open %v", index, last, c.open)
		}
		if kind == "content_block_stop" {
			c.open = false
			return nil
		}
		return c.delta(&c.blocks[last], root.Get("delta"))
	case "message_delta", "message_stop":
		if c.open {
			return fmt.Errorf("block %d is open", last)
		}
		c.ended, c.stopped = true, kind == "message_stop"
		c.reason += root.Get("delta.stop_reason").Str
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

func (c *client) delta(b *block, d gjson.Result) error {
	if deltaOfBlock[d.Get("type").Str] != b.Type {
		return fmt.Errorf("delta for a %s block", b.Type)
	}
	b.Text += d.Get("text").Str + d.Get("thinking").Str + d.Get("partial_json").Str
	b.Sig += d.Get("signature").Str
	return nil
}

// blockOf reads a block of a body, or as it starts in a stream.
func blockOf(b gjson.Result) block {
	got := block{Type: b.Get("type").Str, Sig: b.Get("signature").Str}
	got.Text = b.Get("text").Str + b.Get("thinking").Str + b.Get("data").Str
	if in := b.Get("input"); len(in.Raw) > 2 {
		got.Text = in.Raw
	}
	return got
}

// A message is what an upstream says.
type message struct {
	blocks []block
	reason string
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// whole is the message's body.
func (m message) whole() []byte {
	var list []string
	for _, b := range m.blocks {
		switch b.Type {
		case "text":
			list = append(list, `{"type":"text", "text":`+quote(b.Text)+`, "citations":null}`)
		case "thinking":
			list = append(list, `{"type":"thinking","thinking":`+quote(b.Text)+`,"signature":`+quote(b.Sig)+`}`)
		case "tool_use":
			list = append(list, `{"type":"tool_use","id":"toolu_1","name":"f","input":`+b.Text+`}`)
		case "redacted_thinking":
			list = append(list, `{"type":"redacted_thinking","data":`+quote(b.Text)+`}`)
		}
	}
	return []byte(`{"id":"msg_1", "type":"message","role":"assistant","content": [` + strings.Join(list, ", ") +
		`],"stop_reason":` + quote(m.reason) + `,"usage":{"input_tokens":1.0e1,"output_tokens":20}}` + "\n")
}

// A spelling is how an upstream writes a stream: as the API does, if zero.
type spelling struct {
	rng   *rand.Rand // cuts texts; if nil, each is one delta
	ping  bool       // after every frame
	lines bool       // data in several lines
	empty bool       // with empty deltas
	late  bool       // the index after the rest
}

func (s spelling) frame(dst []byte, name, data string) []byte {
	if s.lines {
		data = strings.ReplaceAll(data, `,"`, ",\n\"")
	}
	dst = sse.Append(dst, name, []byte(data))
	if s.ping && name != "message_stop" {
		dst = append(dst, "event: ping\ndata: {\"type\": \"ping\"}\n\n: comment\n\n"...)
	}
	return dst
}

func (s spelling) block(dst []byte, name string, index int, more string) []byte {
	if s.late {
		return s.frame(dst, name, fmt.Sprintf(`{"type":%q%s,"index": %d}`, name, more, index))
	}
	return s.frame(dst, name, fmt.Sprintf(`{"type":%q,"index":%d%s}`, name, index, more))
}

// cuts cuts a text into deltas, at characters.
func (s spelling) cuts(t string) (list []string) {
	if s.empty {
		list = append(list, "")
	}
	all := []rune(t)
	for len(all) > 0 {
		n := len(all)
		if s.rng != nil {
			n = min(n, 1+s.rng.IntN(6))
		}
		list = append(list, string(all[:n]))
		all = all[n:]
	}
	return list
}

func (s spelling) deltas(dst []byte, index int, kind, key, t string) []byte {
	for _, d := range s.cuts(t) {
		dst = s.block(dst, "content_block_delta", index, fmt.Sprintf(`,"delta":{"type":%q,%q:%s}`, kind, key, quote(d)))
	}
	return dst
}

// stream is the message as a stream.
func (m message) stream(s spelling) []byte {
	dst := s.frame(nil, "message_start", `{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":1.0e1}}}`)
	for i, b := range m.blocks {
		switch b.Type {
		case "text":
			dst = s.block(dst, "content_block_start", i, `,"content_block":{"type":"text","text":"","citations":null}`)
			dst = s.deltas(dst, i, "text_delta", "text", b.Text)
		case "thinking":
			dst = s.block(dst, "content_block_start", i, `,"content_block":{"type":"thinking","thinking":"","signature":""}`)
			dst = s.deltas(dst, i, "thinking_delta", "thinking", b.Text)
			if b.Sig != "" {
				dst = s.block(dst, "content_block_delta", i, `,"delta":{"type":"signature_delta","signature":`+quote(b.Sig)+`}`)
			}
		case "tool_use":
			dst = s.block(dst, "content_block_start", i, `,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`)
			dst = s.deltas(dst, i, "input_json_delta", "partial_json", b.Text)
		case "redacted_thinking":
			dst = s.block(dst, "content_block_start", i, `,"content_block":{"type":"redacted_thinking","data":`+quote(b.Text)+`}`)
		}
		dst = s.block(dst, "content_block_stop", i, "")
	}
	dst = s.frame(dst, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+quote(m.reason)+`,"stop_sequence":null},"usage":{"output_tokens":20}}`)
	return s.frame(dst, "message_stop", `{"type":"message_stop"}`)
}

// pass sends a stream through a reply, and spoils every frame after it.
func pass(y wire.Reply, stream []byte, r wire.Reader, each func()) (dst []byte) {
	var s sse.Scanner
	for {
		f, ok := s.Next(stream)
		if !ok {
			return dst
		}
		stream = stream[len(f.Raw):]
		copied := wire.Frame{Raw: bytes.Clone(f.Raw), Type: bytes.Clone(f.Type), At: f.At}
		if f.Data != nil {
			copied.Data = bytes.Clone(f.Data)
		}
		if each != nil {
			each()
		}
		dst = y.Frame(dst, copied, r)
		for _, b := range [][]byte{copied.Raw, copied.Type, copied.Data} {
			for i := range b {
				b[i] = '#'
			}
		}
	}
}

// received is what a strict client gets of a stream.
func received(t *testing.T, stream []byte) *client {
	t.Helper()
	c := &client{}
	if err := c.take(stream); err != nil {
		t.Fatalf("%v\nin\n%s", err, stream)
	}
	return c
}

// wholeBlocks are the blocks that the body of a reply gives.
func wholeBlocks(t *testing.T, body []byte) (list []block) {
	t.Helper()
	if !gjson.ValidBytes(body) {
		t.Fatalf("no JSON: %s", body)
	}
	for _, b := range gjson.GetBytes(body, "content").Array() {
		list = append(list, blockOf(b))
	}
	return list
}

var starts = []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto, sotto.BeginInside("think")}
