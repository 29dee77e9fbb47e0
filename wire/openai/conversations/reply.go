package conversations

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
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// maxOutputs bounds the outputs of a reply that are remembered.
const maxOutputs = 4096

// A reply rewrites one reply. It is the sink of its flow for a streamed one.
type reply struct {
	set    wire.Settings
	limit  int64 // of tokens; 0 if there is none
	flow   blocks.Flow
	beside bool  // what is beside the texts is reported, for a reply that is written from events
	list   *list // of a whole reply; nil in a stream

	dst      []byte     // under way, during a call
	frame    wire.Frame // under way
	root     gjson.Result
	said     gjson.Result // the text that it brings, if that is still to be written
	verbatim bool         // the client has the chunk under way as it came

	outputs place       // of the client's
	open    bool        // a message is under way
	message []byte      // its members in events of ours
	empty   blocks.Kept // an event of it that brought nothing, while the client has nothing of its content

	calls map[int]int // the client's index of a call or of another output, by the upstream's
	cut   bool        // the stream is ended by [reply.Cut]
	over  bool        // the client has the end of the reply
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
	dst, y.dst, y.frame, y.root, y.said = y.dst, nil, wire.Frame{}, gjson.Result{}, gjson.Result{}
	return dst
}

// event reads the current frame.
func (y *reply) event(r wire.Reader) {
	name := y.root.Get("type").Str
	if name == "" {
		name = jsonedit.StringOf(y.frame.Type)
	}
	switch name {
	case startedEvent:
		named(y.root.Get("conversation_id").Str, "", r)
		y.members(wire.MembersOfStart, shownStart, y.root.Raw, r)
		y.pass()
	case messageEvent:
		y.delta(r)
	case callEvent:
		y.call(r)
	case doneEvent:
		y.end(r)
	case errorEvent:
		y.fault(r)
	default:
		if says(y.root.Get("error")) || y.root.Get("object").Str == "error" {
			y.fault(r)
			return
		}
		y.other(name, r)
	}
}

// delta reads a piece of a message.
func (y *reply) delta(r wire.Reader) {
	if at := int(y.root.Get("output_index").Int()); !y.open || at != y.outputs.at {
		y.endMessage(sotto.EndStopped, r)
		y.beginMessage(at, y.root, r)
	}
	content, at := y.root.Get("content"), int(y.root.Get("content_index").Int())
	for _, c := range chunks(content) {
		k, text := chunkOf(c)
		y.content(at, k)
		if y.said = text; k == blocks.Thinking {
			y.said = c
		}
		if content.IsArray() {
			y.said = gjson.Result{} // it has several
		}
		y.verbatim = false
		y.read(k, c, text, r)
	}
}

// beginMessage begins the upstream's message.
func (y *reply) beginMessage(at int, of gjson.Result, r wire.Reader) {
	y.open = true
	y.outputs.begin(at)
	y.message = y.message[:0]
	for _, name := range []string{"id", "model", "agent_id"} {
		if v := of.Get(name); v.Type == gjson.String && shown.IsWord(v.Str) || name == "id" { // which clients require
			y.message = jsontext.AppendVerbatim(append(append(append(y.message, `,"`...), name...), `":`...), wordOr(v.Str))
		}
	}
	named("", of.Get("model").Str, r)
	y.head(of, r)
}

// head reports which members of an output pass by themselves.
func (y *reply) head(of gjson.Result, r wire.Reader) {
	if y.beside {
		written.Members(r, y.flow.Choice, wire.MembersOfBlock, shownOutput, of.Raw, true)
	}
}

// content begins a content of the message, unless it is the one under way. Text that was made from a thought continues.
func (y *reply) content(at int, k blocks.Kind) {
	if y.outputs.has && at == y.outputs.content && k == y.flow.In.Kind && k != blocks.Other {
		return
	}
	if y.flow.In.Kind != blocks.Thinking || y.flow.Out != blocks.Text || k != blocks.Text {
		y.flow.Break()
	}
	if y.empty.On && !y.flow.In.Read { // nothing else came
		y.flow.Made++
		y.Open(y.flow.In.Kind, true)
	}
	y.empty.On = false
	y.outputs.next(at)
	y.flow.Begin(k)
}

// read reads a chunk of the content under way.
func (y *reply) read(k blocks.Kind, c, text gjson.Result, r wire.Reader) {
	if k == blocks.Other {
		y.attached(c, r)
		return
	}
	said := saidBy(k, c, text)
	signature, more := gjson.Result{}, false
	if k == blocks.Thinking {
		signature, more = c.Get("signature"), len(said) == 0 && c.Get(thinking+".0").Exists()
	} else if y.beside {
		y.flow.Stands(r)
	}
	switch {
	case len(said) > 0:
		y.flow.Read(k, said, r)
	case signature.Str == "" && !more:
		y.nothing(k, r)
		return
	}
	if k != blocks.Thinking || signature.Str == "" && !more {
		return
	}
	stays := y.flow.Sign(r)
	if signature.Str != "" {
		r.Found(wire.Event{Kind: wire.EventSealed, Choice: y.flow.Choice, Index: y.flow.Block, Name: "signature", Text: chatjson.ValueText(signature)})
	}
	switch {
	case !stays, y.list != nil, y.verbatim: // it has all
	case len(said) > 0:
		y.mint(appendSigned(nil, chatjson.ValueText(signature)))
	case y.said.Exists():
		y.passContent()
	default:
		y.mint(jsonedit.BytesOf(c.Raw))
	}
}

// nothing takes a chunk without a text: some servers begin with one.
func (y *reply) nothing(k blocks.Kind, r wire.Reader) {
	y.flow.Empty(r)
	switch {
	case y.set.Written:
	case y.list != nil:
		y.list.nothing()
	case y.flow.Out == k:
		y.passContent()
	case !y.empty.On:
		y.empty.Keep(y.frame)
	}
}

// attached takes a chunk that is no text: a source, a picture, a file.
func (y *reply) attached(c gjson.Result, r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: c.Get("type").Str})
	if y.beside {
		if raw := written.Shown(r, y.flow.Choice, wire.MembersOfPiece, shownChunk, c.Raw, true); raw != "" {
			r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPiece, Choice: y.flow.Choice, Index: y.flow.Block, Raw: raw})
		}
		return
	}
	y.flow.Made++
	y.outputs.take()
	if y.list != nil {
		y.list.give(c.Raw, true)
		return
	}
	y.passContent()
}

// endMessage ends the message under way, if there is one.
func (y *reply) endMessage(end sotto.Ending, r wire.Reader) {
	if !y.open {
		return
	}
	y.flow.Finish(end, r)
	y.open, y.empty.On = false, false
	y.outputs.end()
}

// call reads a piece of a call.
func (y *reply) call(r wire.Reader) {
	y.endMessage(sotto.EndStopped, r)
	at := int(y.root.Get("output_index").Int())
	found := wire.Event{Kind: wire.EventCall, Choice: y.flow.Choice, Index: at, Text: callText(y.root.Get("arguments"))}
	if y.another(at, r) {
		named("", y.root.Get("model").Str, r)
		found.ID, found.Name, found.Raw = y.root.Get("tool_call_id").Str, y.root.Get("name").Str, y.root.Raw
	}
	r.Found(found)
	y.passOutput(at)
}

// other reads an event that the model has no part in: of the provider's tools, of another agent.
func (y *reply) other(name string, r wire.Reader) {
	index := y.root.Get("output_index")
	if !index.Exists() {
		r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: name})
		y.pass()
		return
	}
	y.endMessage(sotto.EndStopped, r)
	at := int(index.Int())
	if !y.another(at, r) {
		y.head(y.root, r)
	}
	r.Found(wire.Event{Kind: wire.EventOther, Choice: y.flow.Choice, Name: name})
	y.passOutput(at)
}

// another begins an output that is not a message, and reports whether it is a new one.
func (y *reply) another(at int, r wire.Reader) bool {
	if _, known := y.calls[at]; known {
		return false
	}
	if y.calls == nil || len(y.calls) >= maxOutputs {
		y.calls = map[int]int{}
	}
	y.outputs.begin(at)
	y.outputs.take()
	y.calls[at] = y.outputs.index
	y.flow.Made++
	y.flow.Block++
	y.head(y.root, r)
	return true
}

// end ends the reply.
func (y *reply) end(r wire.Reader) {
	end := endOf(counted(y.root.Get("usage"), r), y.limit)
	if y.cut {
		end = sotto.EndCut
	}
	y.members(wire.MembersOfReply, shownDone, y.root.Raw, r)
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, End: end})
	y.endMessage(end, r)
	if !y.flow.Last(end, r) {
		return
	}
	y.over = true
	y.pass()
	r.Found(wire.Event{Kind: wire.EventEnd})
}

// fault ends the reply by an error of the upstream's.
func (y *reply) fault(r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventFault, Raw: y.root.Raw})
	r.Fail(wire.ErrUpstream)
	y.endMessage(sotto.EndAborted, r)
	y.over = true
	y.pass()
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if y.over {
		return dst
	}
	y.over = true
	y.dst = dst
	y.endMessage(sotto.EndAborted, r)
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
	y.cut = true
	return sse.Append(dst, doneEvent, []byte(`{"type":"`+doneEvent+`","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`))
}

func (y *reply) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// appendFault appends the event of an error.
func appendFault(dst []byte, status int, message string) []byte {
	data := jsontext.AppendVerbatim([]byte(`{"type":"`+errorEvent+`","message":`), []byte(message))
	data = strconv.AppendInt(append(data, `,"code":`...), int64(status), 10)
	return sse.Append(dst, errorEvent, append(data, '}'))
}

// members reports what is shown of an object, if the reply is written from events.
func (y *reply) members(of string, tree shownTree, raw string, r wire.Reader) {
	if y.beside {
		written.Members(r, 0, of, tree, raw, true)
	}
}
