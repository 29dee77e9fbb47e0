package anthropic

import (
	"errors"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// errUnfinished is the error of a stream without a message_stop.
var errUnfinished = errors.New("the upstream ended the stream before the message was finished")

// maxIdle bounds the empty deltas that are kept for a block that is not open yet.
const maxIdle = 4 << 10

// A reply rewrites one reply. It is the sink of its flow for a streamed one.
type reply struct {
	set wire.Settings

	flow blocks.Flow
	dst  []byte // under way, during a call

	frame wire.Frame // under way, and what it says
	event event
	fresh bool // it is a delta whose text is still to be written
	first bool // it is the start of a block

	start kept // of the upstream's text or thinking block
	stop  kept // … and its end, held back
	// stopped says that the client has that end, although the text has not been ended.
	stopped bool
	idle    []byte // empty deltas after the start

	// The client's index is the upstream's plus shift, for blocks that pass.
	shift  int
	next   int            // the client's index of the next block made here
	index  int            // … and of the open one
	passed map[int]passed // blocks that pass and are open
	sign   string         // the signature of ours that the open block gets; empty if it gets none
	late   int            // a block that was ended before the upstream ended it, or -1

	shapes  [3]shape // by kind
	decoded []byte
	text    []byte // encoded
	data    []byte
	digits  [20]byte
	edits   []jsonedit.Edit

	begun bool // message_start has passed
	over  bool // message_stop or an error has
}

// A passed block is one that passes.
type passed struct {
	client int // its index
	number int // among the upstream's blocks
	calls  bool
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	y.dst, y.frame = dst, f
	if f.Data == nil || y.over {
		y.inOrder()
		dst, y.dst, y.frame = y.dst, nil, wire.Frame{}
		return append(dst, f.Raw...)
	}
	y.readBlock(r)
	dst, y.dst, y.frame = y.dst, nil, wire.Frame{}
	y.fresh, y.first = false, false
	return dst
}

// readBlock writes the current frame.
func (y *reply) readBlock(r wire.Reader) {
	for i := range y.shapes {
		if inside, ok := y.shapes[i].Find(y.frame.Data); ok {
			y.event = y.shapes[i].like(inside)
			y.delta(r)
			return
		}
	}
	f, ok := chatjson.Readable(y.frame)
	if y.frame = f; !ok {
		y.dst = chatjson.Unread(y.dst, f, y.set, r)
		return
	}
	root := jsonedit.Parse(y.frame.Data)
	name := root.Get("type").Str
	if name == "" {
		name = jsonedit.StringOf(y.frame.Type)
	}
	switch name {
	case "content_block_start":
		y.event = startOf(root)
		y.startBlock(root, r)
	case "content_block_delta":
		y.event = deltaOf(root)
		y.learn()
		if y.event.signs {
			y.sealed(&y.flow, root.Get("delta.signature"), r)
		}
		y.piece(root.Get("delta"), r)
		y.delta(r)
	case "content_block_stop":
		y.event = eventOf(root)
		y.stopBlock(r)
	case "ping":
		y.inOrder()
		y.alive(r)
		y.pass()
	default:
		y.inOrder()
		if y.message(name, root, r) {
			y.pass()
		}
	}
}

// message processes an event of the message before it passes, and reports whether it
// does.
func (y *reply) message(name string, root gjson.Result, r wire.Reader) (passes bool) {
	switch name {
	case "message_start":
		if !y.begun {
			y.beside(wire.MembersOfReply, shownReply, root.Get("message"), r)
		}
		y.begun = true
		begun(root.Get("message"), r)
	case "message_delta":
		counted(root.Get("usage"), r)
		y.beside(wire.MembersOfEnd, shownEnd, root, r)
		reason := root.Get("delta.stop_reason")
		if end, ok := endOf(reason); ok {
			stopped(&y.flow, reason, end, r)
			y.finish(end, r)
			if y.flow.Last(end, r) {
				y.edits = reasonEdit(y.edits[:0], &y.flow, reason, end)
				y.write(y.frame)
			}
			return false
		}
	case "message_stop":
		y.finish(sotto.EndUnknown, r)
		if !y.flow.Last(sotto.EndUnknown, r) {
			return false
		}
		y.over = true
		y.beside(wire.MembersOfReply, shownStop, root, r)
		r.Found(wire.Event{Kind: wire.EventEnd})
	case "error":
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
		r.Fail(wire.ErrUpstream)
		y.finish(sotto.EndAborted, r)
		y.over = true
	}
	return true
}

// learn remembers the shape of a delta that brings nothing but text.
func (y *reply) learn() {
	if e := y.event; e.inside.End > 0 {
		s := &y.shapes[e.kind]
		s.Learn(y.frame.Data, e.inside, jsonedit.Span{})
		s.event = e
	}
}

func (y *reply) startBlock(root gjson.Result, r wire.Reader) {
	y.endBlock(sotto.EndStopped, r)
	e := y.event
	if e.kind == other {
		y.passBlock(root.Get("content_block"), r)
		return
	}
	y.start.keep(y.frame, e)
	y.begin(e.kind)
	y.first = true
	if e.kind == text {
		y.block(&y.flow, shownTexts, root.Get("content_block"), r)
	}
	if e.inside.End == e.inside.Start {
		y.flow.Empty(r)
	}
	y.flow.Read(e.kind, y.said(), r)
	if e.kind == thinking {
		y.sealed(&y.flow, root.Get("content_block.signature"), r)
	}
	if e.signs {
		y.flow.Sign(r)
	}
}

// begin begins an upstream's text or thinking block.
func (y *reply) begin(k kind) {
	y.next = y.event.block + y.shift
	y.start.block = y.event.block
	y.idle = y.idle[:0]
	y.flow.Begin(k)
}

// endBlock ends the upstream's text or thinking block.
func (y *reply) endBlock(end sotto.Ending, r wire.Reader) {
	if y.flow.In.Kind == other {
		return
	}
	y.late = -1
	if !y.stop.On {
		y.late = y.start.block
	}
	y.flow.End(end, r)
	y.ended(y.flow.Block, r)
	y.shift = y.next - (y.start.block + 1)
	y.stop.On, y.stopped = false, false
}

// finish ends the message's blocks.
func (y *reply) finish(end sotto.Ending, r wire.Reader) {
	y.endBlock(end, r)
	y.flow.Finish(end, r)
}

// inOrder writes what is held of the current block, its start or its end, where the client gets the
// upstream's bytes: what comes now came after it.
func (y *reply) inOrder() {
	if !y.set.Keep {
		return
	}
	if k := y.flow.In.Kind; k != other && y.start.On {
		y.flow.Open(k)
	}
	if y.stop.On && !y.stopped { // how the text ended is said later
		y.writeStop()
		y.stopped = true
	}
}

// maxOpen bounds the blocks that are open at the same time.
const maxOpen = 4096

var errOpen = errors.New("the upstream sent more than 4096 blocks without an end")

// passBlock begins a block that passes.
func (y *reply) passBlock(content gjson.Result, r wire.Reader) {
	y.flow.Part(r)
	block := y.event.block
	client := block + y.shift
	if y.passed == nil {
		y.passed = map[int]passed{}
	}
	if len(y.passed) == maxOpen {
		r.Fail(errOpen)
		return
	}
	calls := y.foundOther(&y.flow, content, r)
	y.passed[block] = passed{client, y.flow.Block, calls}
	y.next = client + 1
	y.flow.Made++
	y.passAs(client)
}

func (y *reply) stopBlock(r wire.Reader) {
	block := y.event.block
	if y.flow.In.Kind != other && block == y.start.block {
		y.stop.keep(y.frame, y.event)
		if y.flow.In.Kind == thinking {
			y.endBlock(sotto.EndStopped, r)
		}
		return
	}
	if block == y.late && !y.passes(block) {
		y.late = -1
		return
	}
	y.passOf(block)
	if p, ok := y.passed[block]; ok {
		y.ended(p.number, r)
	}
	delete(y.passed, block)
}

// passOf passes the current frame, which belongs to a block that passes.
func (y *reply) passOf(block int) {
	client := block + y.shift
	if p, ok := y.passed[block]; ok {
		client = p.client
	}
	y.passAs(client)
}

// passes says whether a block is one that passes.
func (y *reply) passes(block int) bool {
	_, ok := y.passed[block]
	return ok
}

func (y *reply) delta(r wire.Reader) {
	e := y.event
	current := y.flow.In.Kind != other && e.block == y.start.block
	switch {
	case !current && (e.kind == other || y.passes(e.block)):
		if p := y.passed[e.block]; p.calls && e.inside.End > 0 {
			r.Found(wire.Event{Kind: wire.EventCall, Choice: y.flow.Choice, Index: p.number, Text: y.said()})
		}
		y.passOf(e.block)
		return
	case !current: // a server that sends no start
		y.endBlock(sotto.EndStopped, r)
		y.start.On = false
		y.begin(e.kind)
	case e.kind == other:
		y.attached(r)
		return
	}
	b := y.said()
	if len(b) == 0 {
		y.empty()
		return
	}
	y.fresh = true
	y.flow.Read(e.kind, b, r)
}

// said returns the text of the current event.
func (y *reply) said() (b []byte) {
	b, y.decoded = jsonedit.TextOf(y.decoded, y.event.inside.Of(y.frame.Data))
	return b
}

// attached passes a delta without text, such as a signature or a citation, to a
// block that is read.
func (y *reply) attached(r wire.Reader) {
	if y.flow.In.Kind == text {
		y.flow.Open(text)
	} else if !y.flow.Sign(r) {
		return
	} else if y.event.signs && y.sign != "" {
		y.sign = y.event.unsigned
	}
	y.passAs(y.index)
}

// empty handles a delta without text. It passes it if its block is open, keeps it
// if the block may still begin with it, and otherwise drops it.
func (y *reply) empty() {
	switch {
	case y.flow.Out == y.event.kind:
		y.passAs(y.index)
	case y.flow.Out == other && !y.flow.In.Read && len(y.idle) < maxIdle:
		y.idle = append(y.idle, y.frame.Raw...)
	}
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if y.over {
		return dst
	}
	y.over = true
	y.dst = dst
	y.finish(sotto.EndAborted, r)
	dst, y.dst = y.dst, nil
	if err == nil {
		err = errUnfinished
		r.Fail(err)
	}
	return sse.Append(dst, "error", appendError(nil, "api_error", err.Error()))
}

// Cut ends the message. Clients add up its tokens, so their number is estimated from
// the bytes.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	if !y.begun || y.over {
		return dst
	}
	_, all := r.Share()
	data := append(y.data[:0], `{"type":"message_delta","delta":{"stop_reason":"`+wire.CutWord(r, "max_tokens", "refusal")+`","stop_sequence":null},"usage":{"output_tokens":`...)
	data = append(strconv.AppendInt(data, int64(all/bytesPerToken), 10), "}}"...)
	dst = sse.Append(dst, "message_delta", data)
	y.data = data
	return sse.Append(dst, "message_stop", []byte(`{"type":"message_stop"}`))
}

// bytesPerToken is used to estimate tokens from bytes.
const bytesPerToken = 4

// KeepAlive appends a ping. The message must have begun.
func (y *reply) KeepAlive(dst []byte) []byte {
	if !y.begun || y.over {
		return sse.AppendComment(dst, "keep-alive")
	}
	return append(dst, "event: ping\ndata: {\"type\": \"ping\"}\n\n"...)
}

// number writes an index.
func (y *reply) number(i int) []byte { return strconv.AppendInt(y.digits[:0], int64(i), 10) }
