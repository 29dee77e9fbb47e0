package llamacpp

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A reply rewrites one reply. A request with several prompts, or one that asks for
// several completions, gets a choice for each.
type reply struct {
	set    wire.Settings
	speech chatjson.Speech

	edits    []jsonedit.Edit
	whole    bool // the reply is not streamed
	named    bool // the model's name was reported
	finished bool // a text has ended
	// selected says that the last frame does not say whether its text goes on. The
	// request has chosen the members of the last frame, and left that one out.
	selected bool
	failed   bool // the client has seen an error
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		return append(dst, f.Raw...)
	}
	if y.set.Written && string(f.Data) == "[DONE]" {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfDone})
		return dst
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return chatjson.Unread(dst, f, y.set, r)
	}
	root := jsonedit.Parse(f.Data)
	if fault := root.Get("error"); says(fault) {
		y.failed = true
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
		r.Fail(wire.ErrUpstream)
		return y.fault(dst, f, root, r)
	}
	if !root.IsObject() {
		return append(dst, f.Raw...)
	}
	dst = y.parsed(dst, f, root, r)
	y.speech.Release()
	y.edits = jsonedit.Release(y.edits)
	return dst
}

// fault writes a frame with an error. What the frame says beside it is read like any
// other text.
func (y *reply) fault(dst []byte, f wire.Frame, root gjson.Result, r wire.Reader) []byte {
	o := object(root, int(root.Get("index").Num))
	if !o.Speaks() {
		return append(y.tails(dst, sotto.EndAborted, r), f.Raw...)
	}
	y.speech.Read(o, r)
	y.speech.Close(o.Choice, sotto.EndAborted, r)
	if y.set.Written {
		y.beside(o.Choice, root, r)
		return y.tails(dst, sotto.EndAborted, r)
	}
	y.edits = y.speech.Edits(y.edits[:0], o)
	return append(y.write(dst, f), y.tails(nil, sotto.EndAborted, r)...)
}

// parsed writes a frame by its members. The text that was held comes with the text of
// the frame that ends it, if that has one, or else in a frame before it.
func (y *reply) parsed(dst []byte, f wire.Frame, root gjson.Result, r wire.Reader) []byte {
	o := object(root, int(root.Get("index").Num))
	stop := root.Get("stop")
	ends := stop.Bool()
	y.selected = !stop.Exists()
	y.speech.Read(o, r)
	if ends {
		y.finish(o.Choice, root, r)
		if y.speech.Silent() {
			dst = y.tail(dst, o.Choice, endOf(root), r)
		} else {
			y.speech.Close(o.Choice, endOf(root), r)
		}
	}
	if y.set.Written {
		y.beside(o.Choice, root, r)
	} else {
		y.edits = y.speech.Edits(y.edits[:0], o)
		if len(y.edits) > 0 && y.speech.Silent() && !ends && bare(o) {
			return dst
		}
		dst = y.write(dst, f)
	}
	if ends && len(r.Open()) == 0 {
		r.Found(wire.Event{Kind: wire.EventEnd})
	}
	return dst
}

// write writes a frame with its edits.
func (y *reply) write(dst []byte, f wire.Frame) []byte {
	switch {
	case len(y.edits) == 0:
		return append(dst, f.Raw...)
	case f.At < 0: // several data fields
		return sse.Append(dst, string(f.Type), jsonedit.Splice(nil, f.Data, y.edits))
	}
	dst = append(dst, f.Raw[:f.At]...)
	dst = jsonedit.Splice(dst, f.Data, y.edits)
	return append(dst, f.Raw[f.At+len(f.Data):]...)
}

func object(root gjson.Result, choice int) chatjson.Object {
	return chatjson.Object{Choice: choice, Text: "content", Members: jsonedit.Members(root), At: root.Index + 1}
}

// bare reports whether a frame says nothing except its text.
func bare(o chatjson.Object) bool {
	for _, m := range o.Members {
		if m.Key != "content" && says(m.Value) && !envelope.Shows(m.Key) && !chatjson.IsNativeField(m.Key) {
			return false
		}
	}
	return true
}

// finish reports what the last object of a text says about it and about the reply.
func (y *reply) finish(choice int, root gjson.Result, r wire.Reader) {
	y.finished = true
	if name := root.Get("model").Str; name != "" && !y.named {
		y.named = true
		r.Found(wire.Event{Kind: wire.EventModel, Name: name})
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(root.Get("tokens_evaluated")), Output: chatjson.Count(root.Get("tokens_predicted")),
		Reasoning: -1, CacheRead: chatjson.Count(root.Get("timings.cache_n")), CacheWrite: -1,
	}})
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: choice, Name: root.Get("stop_type").Str, End: endOf(root)})
}

// tail closes a choice and appends what was held as a frame of its own.
func (y *reply) tail(dst []byte, choice int, end sotto.Ending, r wire.Reader) []byte {
	parts := r.Close(choice, end)
	if len(parts) == 0 {
		return dst
	}
	dst = append(dst, `data: {"index":`...)
	dst = append(strconv.AppendInt(dst, int64(choice), 10), ',')
	dst = chatjson.AppendParts(dst, "content", y.speech.Names, parts)
	return append(dst, ",\"tokens\":[],\"stop\":false}\n\n"...)
}

// tails closes all choices that are open.
func (y *reply) tails(dst []byte, end sotto.Ending, r wire.Reader) []byte {
	for _, choice := range r.Open() {
		dst = y.tail(dst, choice, end, r)
	}
	return dst
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if err == nil && !y.failed && !y.selected && (!y.finished || len(r.Open()) > 0) {
		err = errUnfinished
		r.Fail(err)
	}
	if err == nil {
		return y.tails(dst, sotto.EndUnknown, r)
	}
	dst = y.tails(dst, sotto.EndAborted, r)
	if y.failed {
		return dst
	}
	y.failed = true
	dst = append(append(dst, "data: "...), Completion.Error(502, err.Error())...)
	return append(dst, "\n\n"...)
}

// Cut ends each text that is open.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	for _, choice := range r.Open() {
		dst = append(dst, `data: {"index":`...)
		dst = strconv.AppendInt(dst, int64(choice), 10)
		dst = append(dst, ",\"content\":\"\",\"tokens\":[],\"stop\":true,\"stop_type\":\"limit\"}\n\n"...)
	}
	return dst
}

func (y *reply) KeepAlive(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

// Whole reads a body: an object, or a list of one for each choice.
func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	y.edits, y.whole = y.edits[:0], true
	if !root.IsArray() {
		y.one(root, 0, r)
		return jsonedit.Splice(dst, body, y.edits)
	}
	list := jsonedit.Members(root)
	if y.set.Written {
		if len(list) == 0 {
			r.Fail(wire.ErrUnreadable)
		}
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfList})
	}
	for i, m := range list {
		if !m.Value.IsObject() {
			r.Fail(wire.ErrUnreadable)
			return dst
		}
		y.one(m.Value, i, r)
	}
	return jsonedit.Splice(dst, body, y.edits)
}

// one reads one object of a body.
func (y *reply) one(root gjson.Result, choice int, r wire.Reader) {
	fails := says(root.Get("error"))
	if fails {
		r.Found(wire.Event{Kind: wire.EventFault, Choice: choice, Raw: root.Raw})
	}
	o := object(root, choice)
	switch {
	case fails && !o.Speaks():
		return
	case y.set.Written && !fails && !isReply(root):
		r.Fail(wire.ErrUnreadable)
		return
	}
	y.speech.Read(o, r)
	y.finish(choice, root, r)
	y.speech.Close(choice, endOf(root), r)
	if y.set.Written {
		y.beside(choice, root, r)
		return
	}
	y.edits = y.speech.Edits(y.edits, o)
}

func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }
