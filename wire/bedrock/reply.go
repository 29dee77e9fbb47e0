package bedrock

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// maxOpen bounds the blocks of other kinds that are open at the same time.
const maxOpen = 4096

var errOpen = errors.New("the upstream sent more than 4096 blocks without an end")

// broken is the exception of a stream that breaks.
const broken = "modelStreamErrorException"

// A reply rewrites one reply. It is the sink of its flow for a streamed one.
type reply struct {
	set  wire.Settings
	flow blocks.Flow

	dst   []byte     // under way, during a call
	frame wire.Frame // under way
	root  gjson.Result
	said  gjson.Result // the text that it brings, if that is still to be written

	start  blocks.Kept // of the upstream's block to come, if its kind is not known yet
	stop   blocks.Kept // the end of the upstream's block, held back until it is known how the text ends
	at     int         // the upstream's index of it
	index  int         // the client's index of the open block
	next   int         // … and of the next one
	wrote  bool        // the open block has a piece
	signs  bool        // … and is one of ours, which gets a signature
	passed map[int]passed

	stopped bool // the client has the end of the message
	over    bool // … or of the stream
	beside  beside
}

// A passed block is one of another kind, which passes.
type passed struct {
	index  int // the client's
	number int // among the upstream's blocks
	calls  bool
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil || y.over {
		return append(dst, f.Raw...)
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return chatjson.Unread(dst, f, y.set, r)
	}
	y.dst, y.frame, y.root = dst, f, jsonedit.Parse(f.Data)
	y.event(jsonedit.StringOf(f.Type), r)
	dst, y.dst, y.frame, y.root, y.said = y.dst, nil, wire.Frame{}, gjson.Result{}, gjson.Result{}
	return dst
}

// event writes the current frame.
func (y *reply) event(name string, r wire.Reader) {
	if y.stop.On && name != "messageStop" { // the text has not ended with the message
		y.endBlock(sotto.EndStopped, r)
	}
	switch name {
	case "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop":
		if y.stopped { // nothing may follow
			return
		}
	}
	y.beside.frame(y.root, r)
	switch name {
	case "messageStart":
		y.beside.starts(r)
		y.pass()
	case "contentBlockStart":
		y.begin(y.root.Get("start"), r)
	case "contentBlockDelta":
		y.delta(y.root.Get("delta"), r)
	case "contentBlockStop":
		y.ended(r)
	case "messageStop":
		y.end(r)
	case "metadata":
		counted(y.root.Get("usage"), r)
		y.beside.members(shownMetadata, y.root, r)
		y.pass()
	default:
		if strings.HasPrefix(name, exceptionPrefix) || strings.HasPrefix(name, errorPrefix) || isFault(y.root) {
			y.fault(name, r)
			return
		}
		y.pass()
	}
}

// begin takes the start of a block. The API has none for text and reasoning; some
// servers with its form send an empty one, or one with the first piece.
func (y *reply) begin(start gjson.Result, r wire.Reader) {
	y.endBlock(sotto.EndStopped, r)
	y.at = int(y.root.Get("contentBlockIndex").Int())
	switch {
	case len(jsonedit.Members(start)) == 0:
		y.start.Keep(y.frame)
	case kindOf(start) != blocks.Other:
		y.delta(start, r)
	default:
		y.other(start, r)
	}
}

// other begins a block of another kind, which passes if it may.
func (y *reply) other(block gjson.Result, r wire.Reader) {
	y.flow.Part(r)
	if len(y.passed) == maxOpen {
		r.Fail(errOpen)
		return
	}
	if y.passed == nil {
		y.passed = map[int]passed{}
	}
	calls := found(&y.flow, block, y.beside, r)
	y.passed[y.at] = passed{y.next, y.flow.Block, calls}
	y.next++
	y.flow.Made++
	y.passOf(y.at)
}

// kindOf returns what a piece of a block holds.
func kindOf(piece gjson.Result) blocks.Kind {
	switch {
	case piece.Get(textMember).Exists():
		return blocks.Text
	case piece.Get(reasoningMember).Exists():
		return blocks.Thinking
	}
	return blocks.Other
}

// delta reads a piece of a block.
func (y *reply) delta(piece gjson.Result, r wire.Reader) {
	at, k := int(y.root.Get("contentBlockIndex").Int()), kindOf(piece)
	if p, ok := y.passed[at]; ok {
		if input := piece.Get(callMember + ".input"); p.calls && input.Exists() {
			r.Found(wire.Event{Kind: wire.EventCall, Choice: y.flow.Choice, Index: p.number, Text: chatjson.ValueText(input)})
		} else if !p.calls {
			y.beside.piece(piece, p.number, r)
		}
		y.passOf(at)
		return
	}
	if k == blocks.Other {
		y.attached(at, piece, r)
		return
	}
	if y.flow.In.Kind != k || at != y.at { // the first piece begins its block
		begun := y.start.On && at == y.at
		if y.flow.In.Kind != blocks.Other {
			y.endBlock(sotto.EndStopped, r)
		}
		y.at, y.start.On = at, begun
		y.flow.Begin(k)
		y.beside.stands(&y.flow, r)
	}
	text := piece.Get(textMember)
	if k == blocks.Thinking {
		text = piece.Get(reasoningMember + "." + textMember)
	}
	y.readPiece(k, text, piece, r)
}

// readPiece reads the text of the current frame, and what signs it.
func (y *reply) readPiece(k blocks.Kind, text, piece gjson.Result, r wire.Reader) {
	signed := k == blocks.Thinking && sealed(&y.flow, piece.Get(reasoningMember), y.beside, r)
	switch {
	case text.Str != "":
		y.said = text
		y.flow.Read(k, chatjson.ValueText(text), r)
	case signed:
		if y.flow.Sign(r) {
			y.passAs(y.index)
			y.wrote = true
		}
	case y.flow.Out == k:
		y.passAs(y.index)
	default:
		y.flow.Empty(r)
	}
}

// attached passes a piece without text, such as a citation, in the block of its text. A
// piece of another kind that no start came before begins a block.
func (y *reply) attached(at int, piece gjson.Result, r wire.Reader) {
	switch {
	case y.flow.In.Kind != blocks.Other && at == y.at:
		if y.flow.In.Kind == blocks.Text {
			y.flow.Open(blocks.Text)
			y.beside.cites(piece.Get("citation"), y.flow.Choice, r)
			y.passAs(y.index)
			y.wrote = true
		} else if y.flow.Sign(r) {
			y.passAs(y.index)
			y.wrote = true
		}
	case len(jsonedit.Members(piece)) == 0:
		y.pass()
	default:
		y.endBlock(sotto.EndStopped, r)
		y.at = at
		y.other(piece, r)
	}
}

// ended takes the end of the upstream's block. That of a text is held back: the next
// event says how the text ended.
func (y *reply) ended(r wire.Reader) {
	at := int(y.root.Get("contentBlockIndex").Int())
	if p, ok := y.passed[at]; ok {
		y.beside.shuts(p.number, r)
		y.passOf(at)
		delete(y.passed, at)
		return
	}
	if at != y.at || y.flow.In.Kind == blocks.Other {
		y.start.On = false
		return
	}
	y.stop.Keep(y.frame)
	if y.flow.In.Kind == blocks.Thinking {
		y.endBlock(sotto.EndStopped, r)
	}
}

// endBlock ends the upstream's block under way, if there is one.
func (y *reply) endBlock(end sotto.Ending, r wire.Reader) {
	if y.flow.In.Kind != blocks.Other {
		y.flow.End(end, r)
		y.beside.ended(&y.flow, r)
	}
	y.start.On, y.stop.On = false, false
}

// end ends the message. The token counts follow in an event of their own.
func (y *reply) end(r wire.Reader) {
	reason := y.root.Get("stopReason")
	end := endOf(reason.Str)
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, Name: reason.Str, End: end})
	y.endBlock(end, r)
	y.flow.Finish(end, r)
	if !y.flow.Last(end, r) {
		return
	}
	y.stopped = true
	y.write(y.frame, reasonEdit(nil, &y.flow, reason, end))
	r.Found(wire.Event{Kind: wire.EventEnd})
}

// fault ends the message by an exception of the upstream's.
func (y *reply) fault(name string, r wire.Reader) {
	y.over = true
	if !y.stopped {
		y.beside.members(shownException, y.root, r)
		r.Found(wire.Event{Kind: wire.EventFault, Name: strings.TrimPrefix(name, exceptionPrefix), Raw: y.root.Raw})
		r.Fail(wire.ErrUpstream)
		y.endBlock(sotto.EndAborted, r)
		y.flow.Finish(sotto.EndAborted, r)
	}
	y.pass()
}

// isFault reports whether an object is an error as other APIs have it: of a proxy.
func isFault(root gjson.Result) bool { return root.Get("error").IsObject() }

// appendBroken appends the exception of a stream that breaks.
func appendBroken(dst []byte, message string) []byte {
	data := jsontext.AppendVerbatim([]byte(`{"message":`), []byte(strings.ToValidUTF8(message, "\ufffd")))
	return sse.Append(dst, exceptionPrefix+broken, append(data, '}'))
}

// Open begins a block of the client's. The API says so only by its first piece.
func (y *reply) Open(k blocks.Kind, own bool) {
	y.index = y.next
	y.next++
	y.wrote = false
	y.signs = k == blocks.Thinking && y.set.Sign && !own
	if own && y.start.On {
		y.start.On = false
		y.write(y.start.Frame, reindex(nil, jsonedit.Parse(y.start.Data), y.index))
	}
}

// Say writes a piece of the open block: in the current frame, if that brought a piece of
// this kind and is not written yet.
func (y *reply) Say(k blocks.Kind, parts []wire.Part, same bool) {
	y.wrote = true
	if y.said.Exists() && y.flow.In.Kind == k {
		var edits []jsonedit.Edit
		if !same {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(y.said), With: quoted(parts)})
		}
		y.said = gjson.Result{}
		y.write(y.frame, reindex(edits, y.root, y.index))
		return
	}
	y.mintText(k, quoted(parts))
}

// mintText writes a piece of ours for the open block.
func (y *reply) mintText(k blocks.Kind, text []byte) {
	if k == blocks.Thinking {
		y.mint("contentBlockDelta", `,"delta":{"`+reasoningMember+`":{"text":`+string(text)+"}}")
		return
	}
	y.mint("contentBlockDelta", `,"delta":{"text":`+string(text)+"}")
}

// Shut ends the open block: with the upstream's own end, if that is held. A block
// without a piece gets an empty one, since its end alone would not say that it is there.
func (y *reply) Shut() {
	if !y.wrote {
		y.mintText(y.flow.Out, []byte(`""`))
	}
	if y.signs {
		y.signs = false
		y.mint("contentBlockDelta", `,"delta":{"`+reasoningMember+`":{"signature":"`+chatjson.Signature+`"}}`)
	}
	if !y.stop.On {
		y.mint("contentBlockStop", "")
		return
	}
	y.stop.On = false
	y.write(y.stop.Frame, reindex(nil, jsonedit.Parse(y.stop.Data), y.index))
}

// quoted encodes parts as one JSON string.
func quoted(parts []wire.Part) []byte {
	b := []byte{'"'}
	for _, p := range parts {
		b = jsontext.AppendInside(b, p.Text)
	}
	return append(b, '"')
}

// mint writes an event of ours for the open block.
func (y *reply) mint(name, more string) {
	data := strconv.AppendInt([]byte(`{"contentBlockIndex":`), int64(y.index), 10)
	y.dst = sse.Append(y.dst, name, append(append(data, more...), '}'))
}

// pass writes the current frame as it came.
func (y *reply) pass() { y.write(y.frame, nil) }

// passOf writes the current frame, which belongs to a block that passes.
func (y *reply) passOf(at int) { y.passAs(y.passed[at].index) }

// passAs writes the current frame with the client's index.
func (y *reply) passAs(index int) { y.write(y.frame, reindex(nil, y.root, index)) }

// reindex appends the edit that changes an event's index, if it must change.
func reindex(edits []jsonedit.Edit, root gjson.Result, index int) []jsonedit.Edit {
	at := root.Get("contentBlockIndex")
	if at.Type != gjson.Number || at.Int() == int64(index) {
		return edits
	}
	return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(at), With: strconv.AppendInt(nil, int64(index), 10)})
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

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if y.over || y.stopped {
		return dst
	}
	y.over = true
	y.dst = dst
	y.endBlock(sotto.EndAborted, r)
	y.flow.Finish(sotto.EndAborted, r)
	dst, y.dst = y.dst, nil
	if err == nil {
		err = errUnfinished
		r.Fail(err)
	}
	return appendBroken(dst, err.Error())
}

// Cut ends the message. It has no token counts: they would be invented.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	if y.over || y.stopped {
		return dst
	}
	return sse.Append(dst, "messageStop", []byte(`{"stopReason":"`+wire.CutWord(r, "max_tokens", "guardrail_intervened")+`"}`))
}

// KeepAlive appends an event that clients do not know, and drop.
func (y *reply) KeepAlive(dst []byte) []byte { return sse.Append(dst, keepAlive, []byte("{}")) }
