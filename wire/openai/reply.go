package openai

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/written"
)

func (c choices) Reply(s wire.Settings) wire.Reply {
	y := c.reply(s)
	if c.delta != "" {
		return y
	}
	both := either{openai: y, native: llamacpp.Completion.Reply(s)}
	if s.Written {
		return &writtenEither{both}
	}
	return &both
}

func (c choices) reply(s wire.Settings) wire.Reply {
	if !s.Written {
		return &reply{api: c, set: s, speech: chatjson.Speech{Names: s.Fields, Inline: s.Inline, Quiet: s.Quiet}}
	}
	y := &reply{api: c, set: written.Settings(s)}
	y.speech.Part = readPart
	return written.Reply(y, c.Writer(s), s)
}

// A reply rewrites one reply of an API of choices.
type reply struct {
	api    choices
	set    wire.Settings
	speech chatjson.Speech

	shapes [4]shape // of the frames seen last
	like   int      // the shape of the last frame that had one
	next   int      // the shape to replace next
	text   []byte   // decoded
	edits  []jsonedit.Edit
	first  []byte // the JSON of the first frame with choices, from which frames of ours are made
	// head and foot are it around its list of choices, once they are needed.
	head, foot []byte
	one        object       // the choice read last
	said       string       // the members of the reply that were reported last, if it is written
	more       bool         // others were
	whole      bool         // the reply is not streamed
	roles      map[int]bool // choices whose role the client has
	named      bool         // the model's name was reported
	finished   bool         // a finish reason or [DONE] came
	failed     bool         // the client has seen an error
}

// An object is the place where a choice of a frame speaks.
type object struct {
	chatjson.Object
	choice gjson.Result
	on     bool // it speaks, and continues
}

// A shape is the form of a frame that says one thing: a piece of text or of
// reasoning.
type shape struct {
	jsonedit.Shape
	choice int
	said   string // the members of the reply, if it is written
	native string // the member that holds reasoning; if empty, it is text
	member int    // where the member begins that holds the text
	bare   bool   // the frame has nothing else that a client needs
}

var done = []byte("[DONE]")

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		return append(dst, f.Raw...)
	}
	for i := range y.shapes {
		i = (y.like + i) % len(y.shapes)
		if inside, ok := y.shapes[i].Find(f.Data); ok && f.At >= 0 {
			y.like = i
			return y.alike(dst, f, &y.shapes[i], inside, r)
		}
	}
	if bytes.Equal(f.Data, done) {
		y.finished = true
		dst = append(y.tails(dst, sotto.EndUnknown, r), f.Raw...)
		r.Found(wire.Event{Kind: wire.EventEnd})
		return dst
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return chatjson.Unread(dst, f, y.set, r)
	}
	dst = y.parsed(dst, f, jsonedit.Parse(f.Data), r)
	y.speech.Release()
	y.edits = jsonedit.Release(y.edits)
	y.text = chatjson.Small(y.text)
	return dst
}

// alike writes a frame that is like an earlier one.
func (y *reply) alike(dst []byte, f wire.Frame, s *shape, inside jsonedit.Span, r wire.Reader) []byte {
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, inside.Of(f.Data))
	if s.said != y.said {
		y.said = s.said
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply, Raw: s.said})
	}
	var parts []wire.Part
	if s.native != "" {
		parts = r.Found(wire.Event{Kind: wire.EventThought, Choice: s.choice, Name: s.native, Member: true, Text: text})
		if len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, text) {
			return append(dst, f.Raw...)
		}
	} else {
		parts = r.Found(wire.Event{Kind: wire.EventText, Choice: s.choice, Text: text})
		if chatjson.Same(parts, text) {
			return append(dst, f.Raw...)
		}
	}
	if len(parts) == 0 && s.bare || y.set.Written {
		return dst
	}
	dst = append(dst, f.Raw[:f.At+s.member]...)
	if s.native != "" {
		dst = chatjson.AppendThought(dst, y.api.text, s.native, parts)
	} else {
		dst = y.speech.AppendParts(dst, s.choice, y.api.text, parts)
	}
	return append(dst, f.Raw[f.At+inside.End+1:]...)
}

// parsed writes a frame by its members.
func (y *reply) parsed(dst []byte, f wire.Frame, root gjson.Result, r wire.Reader) []byte {
	var list, usage, fault, model gjson.Result
	isError := false
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			list = value
		case "usage":
			usage = value
		case "error": // some servers send it with each frame, as null
			if !isError {
				fault = value
			}
		case "model":
			model = value
		case "object": // as vLLM sends errors
			if isError = value.Str == "error"; isError {
				fault = root
			}
		}
		return true
	})
	y.about(root, model, fault, usage, r)
	if says(fault) && !list.Get("0").Exists() {
		y.failed = true
		r.Fail(wire.ErrUpstream)
		return append(y.tails(dst, sotto.EndAborted, r), f.Raw...)
	}
	if y.first == nil && list.IsArray() {
		y.first = bytes.Clone(f.Data)
	}
	y.edits, y.more = y.edits[:0], false
	n, news := 0, says(usage)
	list.ForEach(func(_, choice gjson.Result) bool {
		var said bool
		dst, said = y.choice(dst, choice, r)
		news = news || said
		n++
		return true
	})
	y.usage(usage, r)
	if y.set.Written {
		y.members(f.Data, r)
	}
	if n == 1 && !says(usage) {
		y.learn(f)
	}
	if y.set.Written {
		return dst
	}
	switch {
	case len(y.edits) == 0:
		return append(dst, f.Raw...)
	case !news && n > 0:
		return dst
	}
	return y.write(dst, f)
}

// about reports what a frame or a body says about the whole reply.
func (y *reply) about(root, model, fault, usage gjson.Result, r wire.Reader) {
	if model.Str != "" && !y.named {
		y.named = true
		r.Found(wire.Event{Kind: wire.EventModel, Name: model.Str, ID: root.Get("id").Str})
	}
	if says(fault) {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	if usage.IsObject() {
		r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
			Input: chatjson.Count(usage.Get("prompt_tokens")), Output: chatjson.Count(usage.Get("completion_tokens")),
			Reasoning: chatjson.Count(usage.Get("completion_tokens_details.reasoning_tokens")),
			CacheRead: cacheRead(usage), CacheWrite: chatjson.Count(usage.Get("prompt_tokens_details.cache_write_tokens")),
		}})
	}
}

// cacheRead returns how many tokens of the prompt were cached. DeepSeek has a member
// of its own.
func cacheRead(usage gjson.Result) int64 {
	if n := chatjson.Count(usage.Get("prompt_tokens_details.cached_tokens")); n >= 0 {
		return n
	}
	return chatjson.Count(usage.Get("prompt_cache_hit_tokens"))
}

// stopped makes the reason for which a choice ended that for calls, if it has some that
// the upstream does not know of.
func (y *reply) stopped(choice int, reason gjson.Result, end sotto.Ending) {
	if end == sotto.EndStopped && reason.Str != "" && reason.Str != "tool_calls" && y.speech.Called(choice) {
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(reason), With: []byte(`"tool_calls"`)})
	}
}

// finish reports why a choice ended.
func finish(choice int, reason gjson.Result, end sotto.Ending, r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: choice, Name: reason.Str, End: end})
}

// says reports whether a member is present, and not null.
func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

// choice reads one choice of a frame, and reports whether the frame has news of it
// for the client. The choice's tail comes with the text of the frame, if it has
// one, or else in a frame before it: some clients stop at a finish reason.
func (y *reply) choice(dst []byte, choice gjson.Result, r wire.Reader) (_ []byte, news bool) {
	reason := choice.Get("finish_reason")
	end, ends := endOf(reason)
	y.finished = y.finished || ends
	o, ok := y.api.object(choice, y.api.delta)
	y.one = object{o, choice, ok && !ends}
	if y.set.Written {
		y.beside(choice, o, r)
	}
	if !ok {
		if ends {
			finish(int(choice.Get("index").Num), reason, end, r)
			dst = y.tail(dst, int(choice.Get("index").Num), end, r)
			y.stopped(int(choice.Get("index").Num), reason, end)
		}
		return dst, true
	}
	y.speech.Read(o, r)
	if ends {
		finish(o.Choice, reason, end, r)
	}
	switch {
	case ends && y.speech.Silent():
		dst = y.tail(dst, o.Choice, end, r)
	case ends:
		y.speech.Close(o.Choice, end, r)
	}
	if y.set.Written {
		return dst, true
	}
	y.edits = y.speech.Edits(y.edits, o)
	y.stopped(o.Choice, reason, end)
	news = ends || !y.speech.Changed() || !y.speech.Silent() || !y.bare(o, choice)
	if news {
		y.role(o)
	}
	return dst, news
}

// write writes a frame with its edits.
func (y *reply) write(dst []byte, f wire.Frame) []byte {
	if f.At < 0 { // several data fields
		return sse.Append(dst, string(f.Type), jsonedit.Splice(nil, f.Data, y.edits))
	}
	dst = append(dst, f.Raw[:f.At]...)
	dst = jsonedit.Splice(dst, f.Data, y.edits)
	return append(dst, f.Raw[f.At+len(f.Data):]...)
}

// bare reports whether a choice of a frame says nothing except its text.
func (y *reply) bare(o chatjson.Object, choice gjson.Result) bool {
	for _, m := range o.Members {
		switch m.Key {
		case y.api.text, "index":
		case "role":
			if !y.roles[o.Choice] {
				return false
			}
		default:
			if m.Value.Type != gjson.Null && !chatjson.IsNativeField(m.Key) {
				return false
			}
		}
	}
	return !hasLogprobs(choice)
}

func (y *reply) role(o chatjson.Object) {
	if y.roles == nil {
		y.roles = map[int]bool{}
	}
	y.roles[o.Choice] = true
}

// learn remembers a frame of one choice that says one thing in one string.
func (y *reply) learn(f wire.Frame) {
	o := y.one
	y.one = object{} // it refers to the frame
	if f.At < 0 || !o.on || !y.speech.Plain() || y.more {
		return
	}
	m, ok := o.Says()
	native := ""
	if m.Key != y.api.text {
		native = strings.Clone(m.Key)
	}
	if !ok || native != "" && len(y.speech.Names) > 0 && !slices.Equal(y.speech.Names, []string{m.Key}) {
		return
	}
	span := m.ValueSpan()
	s := &y.shapes[y.next]
	y.next = (y.next + 1) % len(y.shapes)
	s.Learn(f.Data, jsonedit.Span{Start: span.Start + 1, End: span.End - 1}, jsonedit.Span{})
	s.choice, s.said, s.native, s.member, s.bare = o.Choice, y.said, native, m.At, y.bare(o.Object, o.choice)
}

func hasLogprobs(choice gjson.Result) bool {
	return says(choice.Get("logprobs"))
}

// envelope cuts what stands around the first list of choices out of its frame.
func (y *reply) envelope() {
	if y.head != nil {
		return
	}
	root := jsonedit.Parse(y.first)
	members := jsonedit.Members(root)
	edits := jsonedit.Cut(nil, members, func(i int) bool { return members[i].Key == "usage" })
	const mark = "\x00"
	edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(root.Get("choices")), With: []byte(mark)})
	frame := jsonedit.Splice(nil, y.first, edits)
	at := bytes.IndexByte(frame, mark[0])
	y.head, y.foot = frame[:at], frame[at+1:]
}

// tail closes a choice and appends what was held as a frame of its own.
func (y *reply) tail(dst []byte, choice int, end sotto.Ending, r wire.Reader) []byte {
	parts := r.Close(choice, end)
	if len(parts) == 0 || y.first == nil {
		return dst
	}
	y.envelope()
	dst = append(append(dst, "data: "...), y.head...)
	dst = append(dst, `[{"index":`...)
	dst = strconv.AppendInt(dst, int64(choice), 10)
	dst = append(dst, ',')
	if y.api.delta != "" {
		dst = append(append(append(dst, '"'), y.api.delta...), `":{`...)
	}
	dst = y.speech.AppendParts(dst, choice, y.api.text, parts)
	if y.api.delta != "" {
		dst = append(dst, '}')
	}
	dst = append(dst, `,"finish_reason":null}]`...)
	return append(append(dst, y.foot...), "\n\n"...)
}

// tails closes all choices that are open.
func (y *reply) tails(dst []byte, end sotto.Ending, r wire.Reader) []byte {
	for _, choice := range r.Open() {
		dst = y.tail(dst, choice, end, r)
	}
	return dst
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if err == nil && !y.failed && (!y.finished || len(r.Open()) > 0) {
		err = schema.ErrUnfinished
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
	dst = append(dst, "data: "...)
	dst = append(dst, schema.Error(502, err.Error())...)
	return append(dst, "\n\n"...)
}

// Cut ends each choice that is open, and the stream.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	if y.first == nil {
		return dst
	}
	y.envelope()
	for _, choice := range r.Open() {
		dst = append(append(dst, "data: "...), y.head...)
		dst = append(dst, `[{"index":`...)
		dst = strconv.AppendInt(dst, int64(choice), 10)
		if y.api.delta != "" {
			dst = append(append(append(dst, `,"`...), y.api.delta...), `":{}`...)
		} else {
			dst = append(append(append(dst, `,"`...), y.api.text...), `":""`...)
		}
		dst = append(dst, `,"finish_reason":"`+wire.CutWord(r, "length", "content_filter")+`"}]`...)
		dst = append(append(dst, y.foot...), "\n\n"...)
	}
	return append(append(append(dst, "data: "...), done...), "\n\n"...)
}

func (y *reply) KeepAlive(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	y.edits, y.whole = y.edits[:0], true
	y.speech.Form = chatjson.CallWhole
	y.about(root, root.Get("model"), root.Get("error"), root.Get("usage"), r)
	list := root.Get("choices")
	at := -1 // some servers number no choices
	list.ForEach(func(_, choice gjson.Result) bool {
		at++
		o, ok := y.api.object(choice, y.api.message)
		if !ok {
			return true
		}
		o.Choice = at
		reason := choice.Get("finish_reason")
		end, ends := endOf(reason)
		y.speech.Read(o, r)
		if ends {
			finish(o.Choice, reason, end, r)
		}
		y.speech.Close(o.Choice, end, r)
		if y.set.Written {
			y.beside(choice, o, r)
			return true
		}
		y.edits = y.speech.Edits(y.edits, o)
		y.stopped(o.Choice, reason, end)
		return true
	})
	if y.set.Written && !list.IsArray() && !says(root.Get("error")) {
		r.Fail(wire.ErrUnreadable)
	}
	y.usage(root.Get("usage"), r)
	if y.set.Written {
		y.members(body, r)
		return dst
	}
	return jsonedit.Splice(dst, body, y.edits)
}

// usage says how many tokens of a completion were reasoning, if the upstream does
// not. The number is an estimate from the share of bytes, and is marked as one.
func (y *reply) usage(u gjson.Result, r wire.Reader) {
	total := u.Get("completion_tokens")
	if y.set.Keep || !u.IsObject() || total.Type != gjson.Number || u.Get("completion_tokens_details.reasoning_tokens").Exists() {
		return
	}
	reasoning, all := r.Share()
	if reasoning == 0 || all == 0 {
		return
	}
	n := int64(math.Round(total.Num * float64(reasoning) / float64(all)))
	said := `"reasoning_tokens":` + strconv.FormatInt(n, 10) + `,"reasoning_tokens_estimated":true`
	details := u.Get("completion_tokens_details")
	at := u.Index + 1
	switch {
	case details.IsObject() && len(jsonedit.Members(details)) > 0:
		at, said = details.Index+1, said+","
	case details.Exists():
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(details), With: []byte("{" + said + "}")})
		return
	default:
		said = `"completion_tokens_details":{` + said + "},"
	}
	y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: []byte(said)})
}
