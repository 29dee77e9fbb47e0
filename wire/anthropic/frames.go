package anthropic

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// The client's own blocks: [reply] as the sink of its flow.

// Open writes a block's start: the upstream's if there is one.
func (y *reply) Open(k kind, own bool) {
	y.index = y.next
	y.next++
	if y.flow.In.Kind == other { // it does not come from a block of the upstream's
		y.shift++
	}
	y.sign = ""
	if own && y.start.On {
		y.openOwn()
	} else if k == thinking {
		y.mint("content_block_start", `,"content_block":{"type":"thinking","thinking":"","signature":""}}`, nil)
	} else {
		y.mint("content_block_start", `,"content_block":{"type":"text","text":""}}`, nil)
	}
	switch {
	case k != thinking || !y.set.Sign:
	case !own:
		y.sign = chatjson.Signature
	case y.start.On:
		y.sign = y.start.unsigned
	default:
		y.sign = chatjson.SignatureOfNone
	}
	y.idle = y.idle[:0]
}

// openOwn writes the upstream's start with the index that the block now has. If the
// start has text, it stays only if it was read unchanged.
func (y *reply) openOwn() {
	s := &y.start
	y.edits = y.edits[:0]
	y.reindex(s.event, y.index)
	if s.inside.End > s.inside.Start {
		if y.first && y.flow.Same {
			y.fresh = true
		} else {
			y.edits = append(y.edits, jsonedit.Edit{Span: s.inside})
		}
	}
	y.write(s.Frame)
	if len(y.edits) == 0 {
		y.dst = append(y.dst, y.idle...)
	}
}

// Say writes a delta. It uses the upstream's, if the current one is of this kind
// and not written yet.
func (y *reply) Say(k kind, parts []wire.Part, same bool) {
	switch {
	case y.first && y.fresh: // the start has said it
		y.fresh = false
	case y.fresh && y.event.kind == k:
		y.fresh = false
		y.edits = y.edits[:0]
		y.reindex(y.event, y.index)
		if !same {
			y.edits = append(y.edits, jsonedit.Edit{Span: y.event.inside, With: y.inside(parts)})
		}
		y.write(y.frame)
	case k == thinking:
		y.mint("content_block_delta", `,"delta":{"type":"thinking_delta","thinking":"`, parts)
	default:
		y.mint("content_block_delta", `,"delta":{"type":"text_delta","text":"`, parts)
	}
}

// inside encodes parts as the inside of a JSON string.
func (y *reply) inside(parts []wire.Part) []byte {
	y.text = y.text[:0]
	for _, p := range parts {
		y.text = jsontext.AppendInside(y.text, p.Text)
	}
	return y.text
}

// Shut writes a block's end: the upstream's, if that is held.
func (y *reply) Shut() {
	if y.sign != "" {
		y.mint("content_block_delta", `,"delta":{"type":"signature_delta","signature":"`+y.sign+`"}}`, nil)
		y.sign = ""
	}
	if !y.stop.On {
		y.mint("content_block_stop", "}", nil)
		return
	}
	if !y.stopped {
		y.writeStop()
	}
	y.stop.On, y.stopped = false, false
}

func (y *reply) writeStop() {
	y.edits = y.edits[:0]
	y.reindex(y.stop.event, y.index)
	y.write(y.stop.Frame)
}

// Call writes a call as a block of its own.
func (y *reply) Call(p wire.Part) {
	y.index = y.next
	y.next++
	if y.flow.In.Kind == other {
		y.shift++
	}
	start := append(appendCall([]byte(`,"content_block":`), p, "{}"), '}')
	y.mint("content_block_start", string(start), nil)
	y.mint("content_block_delta", `,"delta":{"type":"input_json_delta","partial_json":"`, []wire.Part{p})
	y.mint("content_block_stop", "}", nil)
}

// appendCall appends the block of a call, with an input.
func appendCall[T string | []byte](dst []byte, p wire.Part, input T) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"type":"tool_use","id":`...), p.ID)
	dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), p.Name)
	return append(append(append(dst, `,"input":`...), input...), '}')
}

// mint writes an event of ours for the open block. If parts are given, more ends
// inside a string that they fill.
func (y *reply) mint(name, more string, parts []wire.Part) {
	d := append(append(append(y.dst, "event: "...), name...), "\ndata: {\"type\":\""...)
	d = append(append(append(d, name...), `","index":`...), y.number(y.index)...)
	d = append(d, more...)
	for _, p := range parts {
		d = jsontext.AppendInside(d, p.Text)
	}
	if parts != nil {
		d = append(d, `"}}`...)
	}
	y.dst = append(d, "\n\n"...)
}

// pass writes the current frame as it came.
func (y *reply) pass() {
	if !y.set.Written {
		y.dst = append(y.dst, y.frame.Raw...)
	}
}

// passAs writes the current frame with the client's index.
func (y *reply) passAs(index int) {
	if y.set.Written {
		return
	}
	y.edits = y.edits[:0]
	y.reindex(y.event, index)
	y.write(y.frame)
}

// reindex appends the edit that changes an event's index, if it must change.
func (y *reply) reindex(e event, index int) {
	if index != e.block && e.index.End > 0 {
		y.edits = append(y.edits, jsonedit.Edit{Span: e.index, With: y.number(index)})
	}
}

// write writes a frame with the collected edits.
func (y *reply) write(f wire.Frame) {
	switch {
	case y.set.Written:
	case len(y.edits) == 0:
		y.dst = append(y.dst, f.Raw...)
	case f.At < 0:
		y.data = jsonedit.Splice(y.data[:0], f.Data, y.edits)
		y.dst = sse.Append(y.dst, jsonedit.StringOf(f.Type), y.data)
	default:
		y.dst = append(y.dst, f.Raw[:f.At]...)
		y.dst = jsonedit.Splice(y.dst, f.Data, y.edits)
		y.dst = append(y.dst, f.Raw[f.At+len(f.Data):]...)
	}
}
