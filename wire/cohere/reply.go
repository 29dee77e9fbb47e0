package cohere

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// maxParts bounds the parts of a message whose indices are remembered.
const maxParts = 4096

// A reply rewrites one reply. It is the sink of its flow for a streamed one.
type reply struct {
	set  wire.Settings
	flow blocks.Flow

	dst   []byte     // under way, during a call
	frame wire.Frame // under way
	root  gjson.Result
	said  gjson.Result // the text that it brings, if that is still to be written

	start   blocks.Kept // of the upstream's part under way
	stop    blocks.Kept // … and its end, held back until it is known how the text ends
	at      int         // the upstream's index of it
	opaque  int         // the upstream's index of the part of another kind under way; -1 if none is
	first   bool        // the current frame is the start of the part
	told    bool        // … and has said what is being written
	index   int         // the client's index of the open part
	next    int         // … and of the next one
	indices map[int]int // the client's index of a part, by the upstream's
	calls   numbers
	over    bool // the client has the end of the message
	beside  beside
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
	y.event(r)
	y.first = false
	dst, y.dst, y.frame, y.root, y.said = y.dst, nil, wire.Frame{}, gjson.Result{}, gjson.Result{}
	return dst
}

// event writes the current frame.
func (y *reply) event(r wire.Reader) {
	name := y.root.Get("type").Str
	if name == "" {
		name = jsonedit.StringOf(y.frame.Type)
	}
	message := y.root.Get("delta.message")
	if y.stop.On && name != "message-end" { // the text has not ended with the message
		y.endPart(sotto.EndStopped, r)
	}
	switch name {
	case "content-start":
		y.begin(message.Get("content"), r)
	case "content-delta":
		y.delta(message.Get("content"), r)
	case "content-end":
		y.ended(r)
	case "tool-plan-delta":
		y.endPart(sotto.EndStopped, r)
		if text := message.Get(plan); readPlan(&y.flow, chatjson.ValueText(text), r) {
			y.pass()
		}
	case "tool-call-start", "tool-call-delta", "tool-call-end":
		y.endPart(sotto.EndStopped, r)
		y.flow.Part(r)
		at := y.root.Get("index")
		if v := message.Get("tool_calls"); v.IsObject() {
			call(v, y.flow.Choice, int(at.Int()), r)
		}
		y.passAs(y.calls.of(int(at.Int())), at)
	case "citation-start":
		y.beside.cites(message.Get("citations"), r)
		y.passWith(message.Get("citations.content_index"))
	case "message-start":
		if id := y.root.Get("id").Str; id != "" {
			r.Found(wire.Event{Kind: wire.EventModel, ID: id})
		}
		y.beside.starts(message, r)
		y.pass()
	case "message-end":
		y.end(r)
	case "error":
		y.fault(r)
		y.pass()
	default:
		if says(y.root.Get("error")) {
			y.fault(r)
		}
		y.pass()
	}
}

// begin begins the upstream's part.
func (y *reply) begin(part gjson.Result, r wire.Reader) {
	y.endPart(sotto.EndStopped, r)
	y.at, y.opaque = int(y.root.Get("index").Int()), -1
	k := kindOf(part)
	if k == blocks.Other {
		y.other(part, r)
		return
	}
	y.start.Keep(y.frame)
	y.flow.Begin(k)
	y.beside.begins(y.at, &y.flow, r)
	text := part.Get(keyOf(k))
	if len(text.Str) == 0 {
		y.flow.Empty(r)
		return
	}
	y.first = true
	y.flow.Read(k, chatjson.ValueText(text), r)
}

// other passes a part of another kind, if it may.
func (y *reply) other(part gjson.Result, r wire.Reader) {
	y.flow.Part(r)
	r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: part.Get("type").Str})
	y.opaque = y.at
	y.flow.Made++
	y.known(y.next)
	y.next++
	y.passWith(y.root.Get("index"))
}

// known remembers the client's index of the upstream's part, of a bounded number of them.
func (y *reply) known(index int) {
	if y.indices == nil {
		y.indices = map[int]int{}
	}
	if _, ok := y.indices[y.at]; ok || len(y.indices) < maxParts {
		y.indices[y.at] = index
	}
}

// delta reads a piece of a part.
func (y *reply) delta(piece gjson.Result, r wire.Reader) {
	at, k := int(y.root.Get("index").Int()), kindOf(piece)
	if k == blocks.Other || at == y.opaque {
		y.passWith(y.root.Get("index"))
		return
	}
	if y.flow.In.Kind != k || at != y.at { // a server that sends no start
		y.endPart(sotto.EndStopped, r)
		y.start.On, y.at = false, at
		y.flow.Begin(k)
		y.beside.begins(at, &y.flow, r)
	}
	text := piece.Get(keyOf(k))
	if len(text.Str) == 0 {
		if y.flow.Out == k {
			y.passAs(y.index, y.root.Get("index"))
		}
		return
	}
	y.said = text
	y.flow.Read(k, chatjson.ValueText(text), r)
}

// ended takes the end of the upstream's part. That of a text is held back: the next
// event says how the text ended.
func (y *reply) ended(r wire.Reader) {
	switch at := int(y.root.Get("index").Int()); {
	case at == y.opaque:
		y.passWith(y.root.Get("index"))
	case y.flow.In.Kind == blocks.Other || at != y.at:
	case y.flow.In.Kind == blocks.Text:
		y.stop.Keep(y.frame)
	default:
		y.stop.Keep(y.frame)
		y.endPart(sotto.EndStopped, r)
	}
}

// endPart ends the upstream's part under way, if there is one.
func (y *reply) endPart(end sotto.Ending, r wire.Reader) {
	if y.flow.In.Kind != blocks.Other {
		y.flow.End(end, r)
	}
	y.start.On, y.stop.On = false, false
}

// end ends the message.
func (y *reply) end(r wire.Reader) {
	delta := y.root.Get("delta")
	reason := delta.Get("finish_reason")
	end := endOf(reason)
	counted(delta.Get("usage"), r)
	y.beside.ends(y.root, r)
	fault := delta.Get("error")
	if says(fault) {
		r.Found(wire.Event{Kind: wire.EventFault, Name: reason.Str, Raw: `{"error":` + fault.Raw + "}"})
		r.Fail(wire.ErrUpstream)
		end = sotto.EndAborted
	}
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, Name: reason.Str, End: end})
	y.endPart(end, r)
	y.flow.Finish(end, r)
	if !says(fault) && !y.flow.Last(end, r) {
		return
	}
	y.over = true
	y.write(y.frame, reasonEdit(nil, &y.flow, reason, end))
	r.Found(wire.Event{Kind: wire.EventEnd})
}

// fault ends the message by an error of the upstream's.
func (y *reply) fault(r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventFault, Raw: y.root.Raw})
	r.Fail(wire.ErrUpstream)
	y.endPart(sotto.EndAborted, r)
	y.flow.Finish(sotto.EndAborted, r)
	y.over = true
}

// Open begins a part of the client's: with the upstream's own start if there is one.
func (y *reply) Open(k blocks.Kind, own bool) {
	y.index = y.next
	y.next++
	if own && y.start.On {
		y.openOwn(k)
		return
	}
	y.mint("content-start", `,"delta":{"message":{"content":{"type":"`+keyOf(k)+`","`+keyOf(k)+`":""}}}}`)
}

// openOwn writes the upstream's start with the client's index. If it has a text, that
// stays only if it was read unchanged.
func (y *reply) openOwn(k blocks.Kind) {
	y.start.On = false
	root := jsonedit.Parse(y.start.Data)
	var edits []jsonedit.Edit
	switch text := root.Get("delta.message.content." + keyOf(k)); {
	case text.Str == "":
	case y.first && y.flow.Same:
		y.told = true
	default:
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(text), With: []byte(`""`)})
	}
	y.write(y.start.Frame, y.reindex(edits, root.Get("index"), y.index))
}

// Say writes a piece of the open part: in the current frame, if that brought a piece of
// this kind and is not written yet.
func (y *reply) Say(k blocks.Kind, parts []wire.Part, same bool) {
	if k == y.flow.In.Kind {
		y.known(y.index)
	}
	switch {
	case y.told: // by the start
		y.told = false
		return
	case !y.first && y.said.Exists() && y.flow.In.Kind == k:
		var edits []jsonedit.Edit
		if !same {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(y.said), With: quoted(parts)})
		}
		y.said = gjson.Result{}
		y.write(y.frame, y.reindex(edits, y.root.Get("index"), y.index))
		return
	}
	y.mint("content-delta", `,"delta":{"message":{"content":{"`+keyOf(k)+`":`+string(quoted(parts))+`}}}}`)
}

// Shut ends the open part: with the upstream's own end, if that is held.
func (y *reply) Shut() {
	if !y.stop.On {
		y.mint("content-end", "}")
		return
	}
	y.stop.On = false
	y.write(y.stop.Frame, y.reindex(nil, jsonedit.Parse(y.stop.Data).Get("index"), y.index))
}

// quoted encodes parts as one JSON string.
func quoted(parts []wire.Part) []byte {
	b := []byte{'"'}
	for _, p := range parts {
		b = jsontext.AppendInside(b, p.Text)
	}
	return append(b, '"')
}

// mint writes an event of ours for the open part.
func (y *reply) mint(name, more string) {
	data := append([]byte(`{"type":"`), name...)
	data = append(data, `","index":`...)
	data = strconv.AppendInt(data, int64(y.index), 10)
	y.dst = sse.Append(y.dst, name, append(data, more...))
}

// pass writes the current frame as it came.
func (y *reply) pass() { y.write(y.frame, nil) }

// passWith writes the current frame with the client's index of the part that a member
// names.
func (y *reply) passWith(at gjson.Result) {
	if index, ok := y.indices[int(at.Int())]; ok && at.Type == gjson.Number {
		y.passAs(index, at)
	} else {
		y.pass()
	}
}

func (y *reply) passAs(index int, at gjson.Result) {
	y.write(y.frame, y.reindex(nil, at, index))
}

// reindex appends the edit that changes an index, if it must change.
func (y *reply) reindex(edits []jsonedit.Edit, at gjson.Result, index int) []jsonedit.Edit {
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
	if y.over {
		return dst
	}
	y.over = true
	y.dst = dst
	y.endPart(sotto.EndAborted, r)
	y.flow.Finish(sotto.EndAborted, r)
	dst, y.dst = y.dst, nil
	if err == nil {
		err = errUnfinished
		r.Fail(err)
	}
	data := jsontext.AppendVerbatim([]byte(`{"type":"message-end","delta":{"finish_reason":"ERROR","error":`), []byte(err.Error()))
	return sse.Append(dst, "message-end", append(data, "}}"...))
}

// Cut ends the message.
func (y *reply) Cut(dst []byte, _ wire.Reader) []byte {
	if y.over {
		return dst
	}
	return sse.Append(dst, "message-end", []byte(`{"type":"message-end","delta":{"finish_reason":"MAX_TOKENS"}}`))
}

func (y *reply) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }
