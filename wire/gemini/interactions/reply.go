package interactions

import (
	"net/http"
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

// The events of a stream.
const (
	createdEvent   = "interaction.created"
	statusEvent    = "interaction.status_update"
	completedEvent = "interaction.completed"
	startEvent     = "step.start"
	deltaEvent     = "step.delta"
	stopEvent      = "step.stop"
	errorEvent     = "error"
)

// done is the data by which some servers end a stream.
const done = "[DONE]"

// maxSteps bounds the steps of a reply whose indices are remembered.
const maxSteps = 4096

// A reply rewrites one reply. It is the sink of its flow for a streamed one.
type reply struct {
	set    wire.Settings
	flow   blocks.Flow
	beside bool // what is beside the texts is reported, for a reply that is written from events

	dst   []byte     // under way, during a call
	frame wire.Frame // under way
	root  gjson.Result
	said  gjson.Result // the text that it brings, if that is still to be written

	start   blocks.Kept // of the upstream's step under way
	stop    blocks.Kept // … and its end, held back until it is known how the text ends
	at      int         // the upstream's index of it
	opaque  int         // the upstream's index of the step of another kind under way; -1 if none is
	first   bool        // the current frame is the start of the step
	told    bool        // … and has said what is being written
	index   int         // the client's index of the open step
	next    int         // … and of the next one
	indices map[int]int // the client's index of a step, by the upstream's
	calls   map[int]bool
	others  map[int]int // the block of a step of another kind, by the upstream's index
	stepped bool        // a step came
	over    bool        // the client has the end of the reply
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil || y.over || string(f.Data) == done {
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

// event reads the current frame.
func (y *reply) event(r wire.Reader) {
	name := y.root.Get("event_type").Str
	if name == "" {
		name = jsonedit.StringOf(y.frame.Type)
	}
	if y.stop.On && name != completedEvent && name != statusEvent { // the text has not ended with the reply
		y.endStep(sotto.EndStopped, r)
	}
	switch name {
	case createdEvent:
		of := y.root.Get("interaction")
		named(of, r)
		y.members(wire.MembersOfStart, shownInteraction, of.Raw, r)
		y.write(y.frame, y.withoutSteps(nil, of))
	case statusEvent:
		y.members(wire.MembersOfFrame, shownStatus, y.root.Raw, r)
		y.pass()
	case startEvent:
		y.begin(y.root.Get("step"), r)
	case deltaEvent:
		y.delta(y.root.Get("delta"), r)
	case stopEvent:
		y.ended(r)
	case completedEvent:
		y.end(y.root.Get("interaction"), r)
	case errorEvent:
		y.fault(r)
		y.pass()
	default:
		if says(y.root.Get("error")) {
			y.fault(r)
		}
		y.pass()
	}
}

// begin begins the upstream's step.
func (y *reply) begin(step gjson.Result, r wire.Reader) {
	y.endStep(sotto.EndStopped, r)
	y.at, y.opaque, y.stepped = int(y.root.Get("index").Int()), -1, true
	k := kindOf(step)
	if k == blocks.Other {
		y.other(step, r)
		return
	}
	y.start.Keep(y.frame)
	y.flow.Begin(k)
	y.stands(r)
	list := contents(step.Get(listOf(k)))
	if len(list) == 0 && step.Get("signature").Str == "" {
		y.flow.Empty(r)
		return
	}
	y.first = true
	for _, c := range list {
		y.content(k, c, r)
	}
	if k == blocks.Thinking {
		y.signed(step.Get("signature"), r)
	}
}

// content reads a content of the step that begins.
func (y *reply) content(k blocks.Kind, c gjson.Result, r wire.Reader) {
	if text := chatjson.ValueText(c.Get("text")); isText(c) {
		if len(text) > 0 {
			y.flow.Read(k, text, r)
		}
		return
	}
	y.flow.Open(k)
	y.piece(c, r)
}

// stands reports that a text stands there, for a reply that is written from events.
func (y *reply) stands(r wire.Reader) {
	if y.beside && y.flow.In.Kind == blocks.Text {
		y.flow.Stands(r)
	}
}

// signed reports the signature of a thought, or a piece of it. It returns false if the thought's step is left out.
func (y *reply) signed(signature gjson.Result, r wire.Reader) bool {
	if signature.Str == "" || y.flow.In.Kind != blocks.Thinking {
		return false
	}
	stays := y.flow.Sign(r)
	r.Found(wire.Event{Kind: wire.EventSealed, Choice: y.flow.Choice, Index: y.flow.Block, Name: "signature", Text: chatjson.ValueText(signature)})
	return stays
}

// other passes a step of another kind, and reports a call.
func (y *reply) other(step gjson.Result, r wire.Reader) {
	y.flow.Part(r)
	y.opaque = y.at
	y.flow.Made++
	y.flow.Block++
	y.known(y.next)
	y.next++
	y.stepOfOther(step, y.flow.Block, r)
	y.passWith(y.root.Get("index"))
}

// stepOfOther reports a call, or a step of a kind that is not read, which is a block of the reply.
func (y *reply) stepOfOther(step gjson.Result, block int, r wire.Reader) {
	if step.Get("type").Str == callStep {
		if y.calls == nil {
			y.calls = map[int]bool{}
		}
		if len(y.calls) < maxSteps {
			y.calls[y.at] = true
		}
		call(step, y.flow.Choice, y.at, r)
		return
	}
	r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: step.Get("type").Str})
	if !y.beside {
		return
	}
	if y.others == nil {
		y.others = map[int]int{}
	}
	if raw := y.shown(wire.MembersOfBlock, shownStep, step.Raw, r); raw != "" && len(y.others) < maxSteps {
		y.others[y.at] = block
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfBlock, Choice: y.flow.Choice, Index: block, Raw: raw})
	}
}

// known remembers the client's index of the upstream's step, of a bounded number of them.
func (y *reply) known(index int) {
	if y.indices == nil {
		y.indices = map[int]int{}
	}
	if _, ok := y.indices[y.at]; ok || len(y.indices) < maxSteps {
		y.indices[y.at] = index
	}
}

// delta reads a piece of a step.
func (y *reply) delta(piece gjson.Result, r wire.Reader) {
	at := int(y.root.Get("index").Int())
	text, k := piece.Get("text"), blocks.Other
	switch piece.Get("type").Str {
	case "text":
		k = blocks.Text
	case "thought_summary":
		if c := piece.Get("content"); isText(c) {
			text, k = c.Get("text"), blocks.Thinking
		}
	case "thought_signature":
		if at == y.at && y.signed(piece.Get("signature"), r) {
			y.passAs(y.index, y.root.Get("index"))
		}
		return
	case "arguments_delta":
		if y.calls[at] {
			r.Found(wire.Event{Kind: wire.EventCall, Choice: y.flow.Choice, Index: at, Text: chatjson.ValueText(piece.Get("arguments"))})
		}
		y.passWith(y.root.Get("index"))
		return
	}
	if k == blocks.Other || at == y.opaque {
		y.attached(at, piece, r)
		return
	}
	if y.flow.In.Kind != k || at != y.at { // a server that sends no start
		y.endStep(sotto.EndStopped, r)
		y.start.On, y.at, y.stepped = false, at, true
		y.flow.Begin(k)
		y.stands(r)
	}
	if len(text.Str) == 0 {
		if y.flow.Out == k {
			y.passAs(y.index, y.root.Get("index"))
		}
		return
	}
	y.said = text
	y.flow.Read(k, chatjson.ValueText(text), r)
}

// attached passes a piece of a step that is no text of the model: an annotation, a picture, or what belongs to a
// step of another kind.
func (y *reply) attached(at int, piece gjson.Result, r wire.Reader) {
	if at == y.at && y.flow.In.Kind != blocks.Other {
		if y.flow.In.Kind == blocks.Thinking && !y.flow.Sign(r) {
			return
		}
		y.flow.Open(y.flow.In.Kind)
		y.piece(piece, r)
		y.passAs(y.index, y.root.Get("index"))
		return
	}
	if block, ok := y.others[at]; ok {
		y.pieceOf(block, piece, r)
	}
	y.passWith(y.root.Get("index"))
}

// piece reports a piece of the step under way.
func (y *reply) piece(piece gjson.Result, r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: piece.Get("type").Str})
	y.pieceOf(y.flow.Block, piece, r)
}

func (y *reply) pieceOf(block int, piece gjson.Result, r wire.Reader) {
	if !y.beside {
		return
	}
	if raw := y.shown(wire.MembersOfPiece, shownPiece, piece.Raw, r); raw != "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPiece, Choice: y.flow.Choice, Index: block, Raw: raw})
	}
}

// ended takes the end of the upstream's step. That of a text is held back: the next event says how the text ended.
func (y *reply) ended(r wire.Reader) {
	switch at := int(y.root.Get("index").Int()); {
	case at == y.at && y.flow.In.Kind == blocks.Text:
		y.stop.Keep(y.frame)
	case at == y.at && y.flow.In.Kind == blocks.Thinking:
		y.stop.Keep(y.frame)
		y.endStep(sotto.EndStopped, r)
	default:
		if block, ok := y.others[at]; ok {
			r.Found(wire.Event{Kind: wire.EventBlockEnd, Choice: y.flow.Choice, Index: block})
		}
		if _, ok := y.indices[at]; ok {
			y.passWith(y.root.Get("index"))
		}
	}
}

// endStep ends the upstream's step under way, if there is one.
func (y *reply) endStep(end sotto.Ending, r wire.Reader) {
	if y.flow.In.Kind != blocks.Other {
		y.flow.End(end, r)
	}
	y.start.On, y.stop.On = false, false
}

// end ends the reply.
func (y *reply) end(of gjson.Result, r wire.Reader) {
	named(of, r)
	if !y.stepped { // a server that sends all at once
		y.endStep(sotto.EndStopped, r)
		y.late(of.Get("steps"), r)
	}
	status := of.Get("status")
	end := endOf(status)
	counted(of.Get("usage"), r)
	y.members(wire.MembersOfReply, shownInteraction, of.Raw, r)
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, Name: status.Str, End: end})
	y.endStep(end, r)
	y.flow.Finish(end, r)
	if !y.flow.Last(end, r) {
		return
	}
	y.over = true
	y.write(y.frame, y.withoutSteps(statusEdit(nil, &y.flow, status, end), of))
	r.Found(wire.Event{Kind: wire.EventEnd})
}

// withoutSteps appends the edit that leaves the steps out of an interaction in an event: their texts came before.
func (y *reply) withoutSteps(edits []jsonedit.Edit, of gjson.Result) []jsonedit.Edit {
	if y.set.Keep || y.set.Written {
		return edits
	}
	members := jsonedit.Members(of)
	return jsonedit.Cut(edits, members, func(i int) bool { return members[i].Key == "steps" })
}

// statusEdit appends the edit that makes a status that of a reply with calls, if the client has some that the upstream
// does not know of.
func statusEdit(edits []jsonedit.Edit, w *blocks.Flow, status gjson.Result, end sotto.Ending) []jsonedit.Edit {
	if status.Str == calling || !w.Called(end) {
		return edits
	}
	return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(status), With: []byte(`"` + calling + `"`)})
}

// fault ends the reply by an error of the upstream's.
func (y *reply) fault(r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventFault, Raw: y.root.Raw})
	r.Fail(wire.ErrUpstream)
	y.endStep(sotto.EndAborted, r)
	y.flow.Finish(sotto.EndAborted, r)
	y.over = true
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if y.over {
		return dst
	}
	y.over = true
	y.dst = dst
	y.endStep(sotto.EndAborted, r)
	y.flow.Finish(sotto.EndAborted, r)
	dst, y.dst = y.dst, nil
	if err == nil {
		err = errUnfinished
		r.Fail(err)
	}
	return appendFault(dst, http.StatusBadGateway, err.Error())
}

// Cut ends the reply.
func (y *reply) Cut(dst []byte, _ wire.Reader) []byte {
	if y.over {
		return dst
	}
	return sse.Append(dst, completedEvent, []byte(`{"event_type":"`+completedEvent+`","interaction":{"status":"incomplete"}}`))
}

func (y *reply) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// pass writes the current frame as it came.
func (y *reply) pass() { y.write(y.frame, nil) }

// passWith writes the current frame with the client's index of the step that it names.
func (y *reply) passWith(at gjson.Result) {
	if index, ok := y.indices[int(at.Int())]; ok && at.Type == gjson.Number {
		y.passAs(index, at)
	} else {
		y.pass()
	}
}

func (y *reply) passAs(index int, at gjson.Result) { y.write(y.frame, reindex(nil, at, index)) }

// reindex appends the edit that changes an index, if it must change.
func reindex(edits []jsonedit.Edit, at gjson.Result, index int) []jsonedit.Edit {
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

// appendFault appends the event of an error.
func appendFault(dst []byte, status int, message string) []byte {
	data := strconv.AppendInt([]byte(`{"event_type":"`+errorEvent+`","error":{"code":"`), int64(status), 10)
	data = jsontext.AppendVerbatim(append(data, `","message":`...), []byte(message))
	return sse.Append(dst, errorEvent, append(data, "}}"...))
}
