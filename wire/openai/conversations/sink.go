package conversations

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A place follows the indices of a stream: those of the upstream's output and content under way, and those that the client
// gets for them. As long as the client gets all outputs and contents, and no others, they are the same.
type place struct {
	at, content int  // the upstream's
	under       bool // an output is under way
	has         bool // … with a content
	used, taken bool // the client has something of the output, and of the content

	index, chunk int // the client's of what it got last
	more         int // how many outputs more it has than the upstream has sent so far
	moreOf       int // … and contents of this output
}

// begin begins an output.
func (p *place) begin(at int) {
	p.end()
	p.at, p.content, p.under, p.has, p.used, p.taken, p.moreOf = at, 0, true, false, false, false, 0
}

// end ends the output.
func (p *place) end() {
	if p.under && !p.used {
		p.more--
	}
	p.under = false
}

// next begins a content of the output.
func (p *place) next(at int) {
	if p.has && !p.taken && at != p.content {
		p.moreOf--
	}
	p.content, p.has, p.taken = at, true, false
}

// take gives the client a content: that of the upstream, or another one.
func (p *place) take() {
	if !p.under { // after the last output
		p.begin(p.at + 1)
	}
	if p.taken {
		p.moreOf++
	}
	p.has, p.used, p.taken = true, true, true
	p.index, p.chunk = p.at+p.more, p.content+p.moreOf
}

// insert gives the client an output that the upstream does not have. If the upstream's goes on, the client gets the rest of
// it in a further output.
func (p *place) insert() {
	if !p.under {
		p.begin(p.at + 1)
	}
	if p.used {
		p.more++
	}
	p.index = p.at + p.more
	p.more++
	p.used, p.taken, p.moreOf = false, false, -p.content
}

// The events that the client of a stream gets.

// Open begins a content of the client's.
func (y *reply) Open(_ blocks.Kind, own bool) {
	y.outputs.take()
	if own && y.empty.On {
		y.empty.On = false
		y.write(y.empty.Frame, y.reindexed(jsonedit.Parse(y.empty.Data)))
	}
}

// Say writes a piece of the open content: in the current event, if that brought a piece of this kind and is not written yet.
func (y *reply) Say(k blocks.Kind, parts []wire.Part, same bool) {
	if !y.said.Exists() || y.flow.In.Kind != k {
		y.mint(appendChunk(nil, k, quoted(parts), false))
		return
	}
	edits := y.reindexed(y.root)
	if !same {
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(y.said), With: appendChunk(nil, k, quoted(parts), false)})
	}
	y.said, y.verbatim = gjson.Result{}, same
	y.write(y.frame, edits)
}

// Shut does nothing: contents have no end.
func (y *reply) Shut() {}

// Call writes a call that the model wrote into its text.
func (y *reply) Call(p wire.Part) {
	y.outputs.insert()
	y.dst = appendEvent(y.dst, callEvent, y.outputs.index, append([]byte(`,"id":"",`), appendCall(nil, p.ID, p.Name, p.Text)...))
}

// mint writes an event of ours with a content, which is JSON.
func (y *reply) mint(content []byte) {
	y.dst = appendMessage(y.dst, y.outputs.index, y.outputs.chunk, y.message, content)
}

// appendMessage appends an event with a content of a message.
func appendMessage(dst []byte, output, content int, members, chunk []byte) []byte {
	more := strconv.AppendInt([]byte(`,"content_index":`), int64(content), 10)
	more = append(append(append(more, members...), `,"role":"assistant","content":`...), chunk...)
	return appendEvent(dst, messageEvent, output, more)
}

// appendEvent appends an event of an output.
func appendEvent(dst []byte, name string, output int, more []byte) []byte {
	data := strconv.AppendInt([]byte(`{"type":"`+name+`","output_index":`), int64(output), 10)
	return sse.Append(dst, name, append(append(data, more...), '}'))
}

// pass writes the current event as it came.
func (y *reply) pass() { y.write(y.frame, nil) }

// passContent writes the current event with the client's indices.
func (y *reply) passContent() {
	y.said = gjson.Result{}
	y.write(y.frame, y.reindexed(y.root))
}

// passOutput writes an event of an output that is not a message.
func (y *reply) passOutput(at int) {
	index, ok := y.calls[at]
	if !ok {
		index = at
	}
	y.write(y.frame, reindex(nil, y.root, "output_index", index))
}

// reindexed are the edits that give a piece of a message the client's indices.
func (y *reply) reindexed(event gjson.Result) []jsonedit.Edit {
	return reindex(reindex(nil, event, "output_index", y.outputs.index), event, "content_index", y.outputs.chunk)
}

// reindex appends the edit that changes an index, if it must change. One that is not said is 0.
func reindex(edits []jsonedit.Edit, event gjson.Result, name string, index int) []jsonedit.Edit {
	switch v := event.Get(name); {
	case v.Int() == int64(index):
		return edits
	case v.Exists():
		return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: strconv.AppendInt(nil, int64(index), 10)})
	default:
		at := event.Index + 1
		with := append(strconv.AppendInt([]byte(`"`+name+`":`), int64(index), 10), ',')
		return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
	}
}

// write writes a frame with edits, unless the reply is written from events.
func (y *reply) write(f wire.Frame, edits []jsonedit.Edit) {
	switch {
	case y.set.Written:
	case len(edits) == 0:
		y.dst = append(y.dst, f.Raw...)
	case f.At < 0:
		y.dst = sse.Append(y.dst, string(f.Type), jsonedit.Splice(nil, f.Data, edits))
	default:
		y.dst = append(y.dst, f.Raw[:f.At]...)
		y.dst = jsonedit.Splice(y.dst, f.Data, edits)
		y.dst = append(y.dst, f.Raw[f.At+len(f.Data):]...)
	}
}
