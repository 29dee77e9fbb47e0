package ollama

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// A reply rewrites one reply. It has one choice, 0.
type reply struct {
	api    api
	set    wire.Settings
	speech chatjson.Speech

	like     shape
	text     []byte // decoded
	edits    []jsonedit.Edit
	head     []byte // the members model and created_at of the first frame
	finished bool
	failed   bool // the client has seen an error

	// Of a reply that is written: the members that were reported last, and whether others
	// were.
	said string
	buf  []byte
	more bool

	whole bool // the reply is not streamed
}

// A shape is the form of a frame that says one thing: a piece of text or of
// reasoning.
type shape struct {
	jsonedit.Shape
	native string // the member that holds reasoning; if empty, it is text
	member int    // how far before the text its member begins
	// said are the members of the reply, if it is written, before and after the time.
	said [2]string
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		return append(dst, f.Raw...)
	}
	if inside, ok := y.like.Find(f.Data); ok {
		return y.alike(dst, f, inside, r)
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return chatjson.Unread(dst, f, y.set, r)
	}
	root := jsonedit.Parse(f.Data)
	if e := root.Get("error"); e.Exists() && e.Type != gjson.Null {
		return y.fault(dst, f, root, r)
	}
	dst = y.parsed(dst, f, root, r)
	y.speech.Release()
	y.edits = jsonedit.Release(y.edits)
	y.text = chatjson.Small(y.text)
	return dst
}

// fault writes a frame with an error. What the frame says beside it is read like any
// other text.
func (y *reply) fault(dst []byte, f wire.Frame, root gjson.Result, r wire.Reader) []byte {
	y.failed = true
	r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	r.Fail(wire.ErrUpstream)
	o, ok := y.object(root)
	if !ok || !o.Speaks() {
		return append(y.tail(dst, sotto.EndAborted, r), f.Raw...)
	}
	y.keepHead(root, r)
	y.speech.Read(o, r)
	y.speech.Close(0, sotto.EndAborted, r)
	return y.write(dst, f, y.speech.Edits(y.edits[:0], o))
}

// alike writes a frame that is like an earlier one. A frame that has no output yet
// is left out.
func (y *reply) alike(dst []byte, f wire.Frame, inside jsonedit.Span, r wire.Reader) []byte {
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, inside.Of(f.Data))
	if y.set.Written {
		y.again(f.Data, r)
	}
	var parts []wire.Part
	same := false
	if y.like.native != "" {
		parts = r.Found(wire.Event{Kind: wire.EventThought, Name: y.like.native, Member: true, Text: text})
		same = len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, text)
	} else {
		parts = r.Found(wire.Event{Kind: wire.EventText, Text: text})
		same = chatjson.Same(parts, text)
	}
	switch {
	case y.set.Written:
		return dst
	case same:
		return append(dst, f.Raw...)
	case len(parts) == 0:
		return dst
	}
	dst = append(dst, f.Raw[:f.At+inside.Start-y.like.member]...)
	if y.like.native != "" {
		dst = chatjson.AppendThought(dst, y.api.text, y.like.native, parts)
	} else {
		dst = y.speech.AppendParts(dst, 0, y.api.text, parts)
	}
	return append(dst, f.Raw[f.At+inside.End+1:]...)
}

func (y *reply) parsed(dst []byte, f wire.Frame, root gjson.Result, r wire.Reader) []byte {
	y.keepHead(root, r)
	o, ok := y.object(root)
	ends := root.Get("done").Bool()
	if !ok {
		if ends {
			y.finish(root, r)
			dst = y.tail(dst, endOf(root), r)
			if y.set.Written {
				y.beside(f.Data, root, o, r)
			}
			r.Found(wire.Event{Kind: wire.EventEnd}) // after what was held
			return y.write(dst, f, y.diagnose(nil, root, r))
		}
		return append(dst, f.Raw...)
	}
	y.speech.Read(o, r)
	if ends {
		y.finish(root, r)
		if y.speech.Silent() {
			dst = y.tail(dst, endOf(root), r)
		} else {
			y.speech.Close(0, endOf(root), r)
		}
	}
	if y.set.Written {
		y.beside(f.Data, root, o, r)
	}
	if ends {
		r.Found(wire.Event{Kind: wire.EventEnd}) // after what was held
	}
	y.learn(f, root, o)
	if y.set.Written {
		return dst
	}
	y.edits = y.speech.Edits(y.edits[:0], o)
	if ends {
		y.edits = y.diagnose(y.edits, root, r)
	}
	if len(y.edits) > 0 && y.speech.Silent() && !ends && !says(o) {
		return dst
	}
	return y.write(dst, f, y.edits)
}

// write writes a frame with edits.
func (y *reply) write(dst []byte, f wire.Frame, edits []jsonedit.Edit) []byte {
	if len(edits) == 0 {
		return append(dst, f.Raw...)
	}
	dst = append(dst, f.Raw[:f.At]...)
	dst = jsonedit.Splice(dst, f.Data, edits)
	return append(dst, f.Raw[f.At+len(f.Data):]...)
}

// diagnostics is the member of the last frame of a stream that has the remarks on the
// reply. NDJSON has no comments.
const diagnostics = "sotto_diagnostics"

// diagnose appends the edit that adds the remarks on the reply to its last frame.
func (y *reply) diagnose(edits []jsonedit.Edit, root gjson.Result, r wire.Reader) []jsonedit.Edit {
	found := r.Findings()
	members := jsonedit.Members(root)
	if found == "" || y.set.Keep || len(members) == 0 {
		return edits
	}
	at := members[len(members)-1].End()
	with := jsontext.AppendVerbatim([]byte(`,"`+diagnostics+`":`), []byte(found))
	return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
}

// finish reports what the last frame, or a body, says about the whole reply.
func (y *reply) finish(root gjson.Result, r wire.Reader) {
	y.finished = true
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(root.Get("prompt_eval_count")), Output: chatjson.Count(root.Get("eval_count")), Reasoning: -1, CacheRead: -1, CacheWrite: -1,
	}})
	r.Found(wire.Event{Kind: wire.EventFinish, Name: root.Get("done_reason").Str, End: endOf(root)})
}

// says reports whether a message says more than its text: whether it calls tools.
func says(o chatjson.Object) bool {
	for _, m := range o.Members {
		if m.Key == "tool_calls" || m.Key == "images" {
			return m.Value.Type != gjson.Null
		}
	}
	return false
}

func (y *reply) object(root gjson.Result) (o chatjson.Object, ok bool) {
	if y.api.member != "" {
		root = root.Get(y.api.member)
	}
	return chatjson.Object{Text: y.api.text, Members: jsonedit.Members(root), At: root.Index + 1}, root.IsObject()
}

// endOf reads why a reply is done. Older servers do not say it.
func endOf(root gjson.Result) sotto.Ending {
	switch root.Get("done_reason").Str {
	case "stop":
		return sotto.EndStopped
	case "length":
		return sotto.EndCut
	case filtered:
		return sotto.EndAborted
	}
	return sotto.EndUnknown
}

// filtered is the reason for an end that the API has no word for: another provider withheld the rest. A
// client must not take the reply for complete.
const filtered = "content_filter"

// learn remembers a frame that says one thing in one string.
func (y *reply) learn(f wire.Frame, root gjson.Result, o chatjson.Object) {
	m, ok := o.Says()
	if !ok || says(o) || y.more || !y.speech.Plain() || root.Get("done").Bool() {
		return
	}
	native := ""
	if m.Key != y.api.text {
		native = strings.Clone(m.Key)
	}
	if native != "" && len(y.speech.Names) > 0 && native != thinking {
		return
	}
	var differs jsonedit.Span
	if t := root.Get("created_at"); t.Type == gjson.String && t.Index < m.At {
		differs = jsonedit.SpanOf(t)
		differs.Start, differs.End = differs.Start+1, differs.End-1
	}
	span := m.ValueSpan()
	y.like.Learn(f.Data, jsonedit.Span{Start: span.Start + 1, End: span.End - 1}, differs)
	y.like.native, y.like.member = native, span.Start+1-m.At
	y.like.said = cutTime(y.said)
}

// keepHead remembers what a frame of ours begins with.
func (y *reply) keepHead(root gjson.Result, r wire.Reader) {
	if y.head != nil {
		return
	}
	r.Found(wire.Event{Kind: wire.EventModel, Name: root.Get("model").Str})
	y.head = []byte("{")
	for _, m := range jsonedit.Members(root) {
		if m.Key == "model" || m.Key == "created_at" {
			y.head = append(append(append(y.head, '"'), m.Key...), `":`...)
			y.head = append(append(y.head, m.Value.Raw...), ',')
		}
	}
}

// frame appends a frame of ours.
func (y *reply) frame(dst []byte, parts []wire.Part) []byte {
	dst = append(dst, y.head...)
	if y.api.member != "" {
		dst = append(append(append(dst, '"'), y.api.member...), `":{"role":"assistant",`...)
	}
	dst = y.speech.AppendParts(dst, 0, y.api.text, parts)
	if y.api.member != "" {
		dst = append(dst, '}')
	}
	return append(dst, ",\"done\":false}\n"...)
}

// tail ends the reply and appends what was held as a frame of its own.
func (y *reply) tail(dst []byte, end sotto.Ending, r wire.Reader) []byte {
	parts := r.Close(0, end)
	if len(parts) == 0 || y.head == nil {
		return dst
	}
	return y.frame(dst, parts)
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if err == nil && !y.finished && !y.failed {
		err = errUnfinished
		r.Fail(err)
	}
	if err == nil {
		return y.tail(dst, sotto.EndUnknown, r)
	}
	dst = y.tail(dst, sotto.EndAborted, r)
	if y.failed {
		return dst
	}
	y.failed = true
	return append(append(dst, y.api.Error(502, err.Error())...), '\n')
}

// Cut is the last line of a reply at num_predict.
func (y *reply) Cut(dst []byte, _ wire.Reader) []byte {
	if y.head == nil {
		return dst
	}
	dst = append(dst, y.head...)
	if y.api.member != "" {
		dst = append(append(append(dst, '"'), y.api.member...), `":{"role":"assistant",`...)
	}
	dst = append(append(append(dst, '"'), y.api.text...), `":""`...)
	if y.api.member != "" {
		dst = append(dst, '}')
	}
	return append(dst, ",\"done\":true,\"done_reason\":\"length\"}\n"...)
}

// KeepAlive is a frame that says nothing: Ollama's clients treat an empty line as
// broken JSON.
func (y *reply) KeepAlive(dst []byte) []byte {
	if y.head == nil {
		return dst
	}
	return y.frame(dst, nil)
}

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	o, ok := y.object(root)
	if root.Get("error").Exists() {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	if !ok {
		if y.set.Written && !root.Get("error").Exists() {
			r.Fail(wire.ErrUnreadable)
		}
		return append(dst, body...)
	}
	if y.set.Written && y.api.member == "" && root.Get(y.api.text).Type != gjson.String && !root.Get("done").IsBool() && !root.Get("error").Exists() {
		r.Fail(wire.ErrUnreadable) // an object of generate may be anything
	}
	r.Found(wire.Event{Kind: wire.EventModel, Name: root.Get("model").Str})
	y.speech.Read(o, r)
	y.finish(root, r)
	y.speech.Close(0, endOf(root), r)
	if y.set.Written {
		y.whole = true
		y.beside(body, root, o, r)
	}
	r.Found(wire.Event{Kind: wire.EventEnd})
	if y.set.Written {
		return dst
	}
	return jsonedit.Splice(dst, body, y.speech.Edits(nil, o))
}
