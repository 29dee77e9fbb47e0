package gemini

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/gemini/internal/googleerror"
	"github.com/sotto-llm/sotto/wire/written"
)

// errUnfinished is the error of a stream without a finish reason.
var errUnfinished = errors.New("the upstream ended the stream before the reply was finished")

// done is the data of the last event of a stream of some compatible servers.
const done = "[DONE]"

// A reply rewrites one reply.
type reply struct {
	set   wire.Settings
	whole bool // it is not streamed

	parts parts // of the candidate under way
	edits []jsonedit.Edit
	data  []byte

	runs     map[int]run // by choice
	head     []byte      // the members of the first object that name the reply
	returns  bool        // lines end with a carriage return too, as Google's do
	finished bool        // a candidate has, or the prompt was blocked
	failed   bool        // the client has seen an error
}

// A run is where a candidate is: a thought that continues over several events has one
// number, and so has a call.
type run struct {
	number  int
	thought bool
}

// maxRuns bounds the candidates that have a run of their own.
const maxRuns = 1024

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	y.returns = bytes.HasSuffix(f.Raw, []byte("\r\n"))
	if f.Data == nil || string(f.Data) == done { // as some compatible servers end a stream
		if y.set.Written && f.Data != nil {
			r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfDone})
		}
		return append(dst, f.Raw...)
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return chatjson.Unread(dst, f, y.set, r)
	}
	root := jsonedit.Parse(f.Data)
	if fault(root, r) {
		y.failed = true
		r.Fail(wire.ErrUpstream)
		if len(jsonedit.Members(root.Get("candidates"))) == 0 {
			return append(y.tail(dst, sotto.EndAborted, r), f.Raw...)
		}
		y.object(root, r) // what it says beside the error is read like any other text
		return y.tail(y.write(dst, f), sotto.EndAborted, r)
	}
	says := y.object(root, r)
	if !y.set.Written && (says || y.set.Keep || len(y.edits) == 0) {
		dst = y.write(dst, f)
	}
	y.edits, y.data, y.parts.out = jsonedit.Release(y.edits), chatjson.Small(y.data), chatjson.Small(y.parts.out)
	return dst
}

// write writes a frame with its edits.
func (y *reply) write(dst []byte, f wire.Frame) []byte {
	if y.set.Keep || len(y.edits) == 0 {
		return append(dst, f.Raw...)
	}
	if f.At < 0 {
		y.data = jsonedit.Splice(y.data[:0], f.Data, y.edits)
		return y.lines(dst, sse.Append(nil, jsonedit.StringOf(f.Type), y.data))
	}
	dst = append(dst, f.Raw[:f.At]...)
	dst = jsonedit.Splice(dst, f.Data, y.edits)
	return append(dst, f.Raw[f.At+len(f.Data):]...)
}

// fault reports an error object, and whether there is one.
func fault(root gjson.Result, r wire.Reader) bool {
	e := root.Get("error")
	if !e.Exists() || e.Type == gjson.Null {
		return false
	}
	r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	return true
}

// object reads an event or a body, and collects the edits that it needs. says reports
// whether there is something in it for the client, even if all texts are held.
func (y *reply) object(root gjson.Result, r wire.Reader) (says bool) {
	y.edits = y.edits[:0]
	y.begin(root, r)
	all := jsonedit.Members(root.Get("candidates"))
	for i, c := range all {
		if c.Value.IsObject() {
			says = y.candidate(c.Value, i, r) || says
		}
	}
	if reason := root.Get("promptFeedback.blockReason"); len(all) == 0 && reason.Str != "" {
		y.finished, says = true, true
		r.Found(wire.Event{Kind: wire.EventRefusal, Text: chatjson.ValueText(root.Get("promptFeedback.blockReasonMessage"))})
		r.Found(wire.Event{Kind: wire.EventFinish, Name: reason.Str, End: sotto.EndAborted})
	}
	counted(root.Get("usageMetadata"), r)
	if y.set.Written {
		written.Members(r, 0, wire.MembersOfReply, shownReply, root.Raw, y.whole)
	}
	return says
}

// begin remembers how the reply is named.
func (y *reply) begin(root gjson.Result, r wire.Reader) {
	if y.head != nil {
		return
	}
	y.head = []byte{}
	if model := root.Get("modelVersion").Str; model != "" {
		r.Found(wire.Event{Kind: wire.EventModel, Name: model, ID: root.Get("responseId").Str})
	}
	for _, m := range jsonedit.Members(root) {
		if m.Key == "modelVersion" || m.Key == "responseId" {
			y.head = append(append(append(y.head, `,"`...), m.Key...), `":`...)
			y.head = append(y.head, m.Value.Raw...)
		}
	}
}

// counted reports token counts. Google counts thoughts apart from the answer.
func counted(u gjson.Result, r wire.Reader) {
	if !u.IsObject() {
		return
	}
	f := wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(u.Get("promptTokenCount")), Output: chatjson.Count(u.Get("candidatesTokenCount")),
		Reasoning: chatjson.Count(u.Get("thoughtsTokenCount")), CacheRead: chatjson.Count(u.Get("cachedContentTokenCount")), CacheWrite: -1,
	}}
	if f.Usage.Reasoning > 0 {
		f.Usage.Output = max(f.Usage.Output, 0) + f.Usage.Reasoning
	}
	r.Found(f)
}

// candidate reads a candidate, the i-th of its list. Index 0 may be left out.
func (y *reply) candidate(v gjson.Result, i int, r wire.Reader) (says bool) {
	choice := i
	if index := v.Get("index"); index.Type == gjson.Number {
		choice = int(index.Int())
	}
	body := v.Get("content")
	list := body.Get("parts")
	if y.set.Written {
		beside(choice, v, body, r)
	}
	p := &y.parts
	p.begin(choice, y.runs[choice])
	members := jsonedit.Members(list)
	reason := v.Get("finishReason")
	end, ends := endOf(reason)
	y.finished = y.finished || ends
	closes := func() []wire.Part {
		if ends {
			r.Found(wire.Event{Kind: wire.EventFinish, Choice: choice, Name: reason.Str, End: end})
		}
		return r.Close(choice, end)
	}
	if list.IsArray() {
		for i, m := range members {
			if i == len(members)-1 && (ends || y.whole) {
				p.last = closes
			}
			p.read(m.Value, r)
		}
	}
	switch {
	case p.last != nil:
		p.apart(r)
		p.say(p.last())
	case len(members) == 0 && (ends || y.whole):
		p.say(closes())
	}
	y.keep(choice, p.run)
	if y.set.Written {
		return true
	}
	if !p.changed {
		return len(members) > 0 || ends || !body.Exists()
	}
	says = len(p.out) > 0 || ends
	if len(p.out) == 0 && len(members) > 0 {
		p.mint(nil, false) // clients look for a part
	}
	y.put(v, body, list)
	return says
}

func (y *reply) keep(choice int, at run) {
	if y.runs == nil {
		y.runs = map[int]run{}
	}
	if _, ok := y.runs[choice]; ok || len(y.runs) < maxRuns {
		y.runs[choice] = at
	}
}

// put edits the parts into a candidate, which may have none, or no content at all.
func (y *reply) put(v, body, list gjson.Result) {
	p := &y.parts
	if len(p.out) == 0 {
		return
	}
	out := append(append([]byte{'['}, p.out...), ']')
	switch {
	case list.Exists():
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(list), With: out})
	case body.IsObject():
		y.member(body, `"parts":`, out)
	case body.Exists():
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(body), With: append(append([]byte(`{"parts":`), out...), `,"role":"model"}`...)})
	default:
		y.member(v, `"content":`, append(append([]byte(`{"parts":`), out...), `,"role":"model"}`...))
	}
}

// member adds a member to an object, before the others.
func (y *reply) member(object gjson.Result, key string, value []byte) {
	with := append([]byte(key), value...)
	if len(jsonedit.Members(object)) > 0 {
		with = append(with, ',')
	}
	at := object.Index + 1
	y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
}

// tail ends the candidates that are still open, and appends an event with what was
// held of them.
func (y *reply) tail(dst []byte, end sotto.Ending, r wire.Reader) []byte {
	y.data = y.data[:0]
	for _, choice := range r.Open() {
		y.parts.begin(choice, run{})
		if y.parts.say(r.Close(choice, end)); len(y.parts.out) > 0 {
			y.data = y.appendCandidate(y.data, choice, y.parts.out)
		}
	}
	if len(y.data) == 0 {
		return dst
	}
	return y.event(dst, y.data)
}

// appendCandidate appends a candidate to a list.
func (y *reply) appendCandidate(dst []byte, choice int, parts []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, `{"content":{"parts":[`...), parts...), `],"role":"model"},"index":`...)
	return append(strconv.AppendInt(dst, int64(choice), 10), '}')
}

// event appends an event of ours.
func (y *reply) event(dst, candidates []byte) []byte {
	dst = append(append(append(dst, `data: {"candidates":[`...), candidates...), ']')
	return y.lines(append(dst, y.head...), []byte("}\n\n"))
}

// lines appends lines with the ends that the upstream's have. Google's client for Go
// looks for the end of an event in the other form first, and so reads two events with
// different ends as one.
func (y *reply) lines(dst, text []byte) []byte {
	if y.returns {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return append(dst, text...)
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
	return y.lines(dst, sse.Append(nil, "", googleerror.Append(nil, http.StatusBadGateway, err.Error())))
}

// Cut ends the candidates that are open as Google does at a limit of tokens.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	if y.head == nil {
		return dst
	}
	for _, choice := range r.Open() {
		candidate := append([]byte(`{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"`+wire.CutWord(r, "MAX_TOKENS", "SAFETY")+`","index":`), strconv.Itoa(choice)...)
		dst = y.event(dst, append(candidate, '}'))
	}
	return dst
}

// KeepAlive is an event without candidates, for streams in which no event can be begun.
// The chats of Google's SDKs leave a turn with such an event out of their history.
func (y *reply) KeepAlive(dst []byte) []byte { return y.event(dst, nil) }

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	failed := fault(root, r)
	if failed && len(jsonedit.Members(root.Get("candidates"))) == 0 {
		return append(dst, body...)
	}
	if y.set.Written && !failed && !root.Get("candidates").IsArray() && !root.Get("promptFeedback").IsObject() {
		r.Fail(wire.ErrUnreadable)
		return dst
	}
	y.whole = true
	if y.object(root, r); y.set.Keep || y.set.Written {
		return append(dst, body...)
	}
	return jsonedit.Splice(dst, body, y.edits)
}
