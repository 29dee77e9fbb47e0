package responses

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/written"
)

// A reader reads one reply that is written from events: it reports what it finds, and edits
// nothing. A text that the upstream says several times is read the first time.
//
// Whether a limit cut a message says only what follows. So its texts end when the next item
// begins, or with the response.
type reader struct {
	set   wire.Settings
	r     wire.Reader // of the call under way
	event event
	text  []byte // decoded

	items   []*readItem
	live    []*readItem // messages that have not ended
	choices int         // begun
	state   []byte      // the members of the response that its end repeats, if it may be cut
	named   bool        // the model's name was reported
	ended   bool
	whole   bool
	meter
}

// A readItem is an item of the upstream's output. Its number is the Index of its events.
type readItem struct {
	number, output int // among those that began; the upstream's index
	kind           itemKind
	id             []byte // with its quotes
	parts          []*readPart
	byKey          map[partKey]*readPart
	waits, done    bool   // the upstream has ended it or a part of it; it has ended the item
	end            string // its members then
}

// A readPart is a text of an item.
type readPart struct {
	key          partKey
	number       int // among the parts of the item
	choice       int
	refusal      bool
	read, closed bool
	end          string // the members at its end
}

func (y *reader) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		return dst
	}
	y.r = r
	if !y.event.scan(f) {
		mended, ok := chatjson.Readable(f)
		if !ok {
			return chatjson.Unread(dst, f, wire.Settings{}, r)
		}
		if f = mended; !y.event.scan(f) {
			if root := jsonedit.Parse(f.Data); root.Get("error").IsObject() {
				y.fault(f.Data)
			}
			return dst
		}
	}
	y.readEvent(&y.event)
	y.r = nil
	return dst
}

func (y *reader) readEvent(e *event) {
	switch e.kind {
	case stateEvent:
		response := jsonedit.Parse(e.Data).Get("response")
		if y.set.Cuts && y.state == nil {
			y.state = stateOf(response)
		}
		y.model(response)
		y.reply(response, false)
	case itemAdded:
		y.itemAdded(e)
	case failEvent:
		y.fault(e.Data)
	case endEvent:
		y.end(jsonedit.Parse(e.Data).Get("response"), string(e.name))
	default:
		y.itemEvent(e)
	}
}

// fault reports an error that ends the stream.
func (y *reader) fault(data []byte) {
	y.r.Found(wire.Event{Kind: wire.EventFault, Raw: jsonedit.StringOf(data)})
	y.r.Fail(wire.ErrUpstream)
	y.finish(sotto.EndAborted)
	y.ended = true
}

// reply reports the members of a response.
func (y *reader) reply(response gjson.Result, ends bool) {
	data := response.Raw
	if ends {
		if edits := usageEdits(response, y.set.Keep, y.r); len(edits) > 0 {
			for i := range edits { // they are those of the whole frame
				edits[i].Start -= response.Index
				edits[i].End -= response.Index
			}
			data = jsonedit.StringOf(jsonedit.Splice(nil, []byte(data), edits))
		}
	}
	if said := written.Shown(y.r, 0, wire.MembersOfReply, shownResponse, data, true); said != "" {
		y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply, Raw: said, Whole: ends})
	}
}

func (y *reader) model(response gjson.Result) {
	if name := response.Get("model").Str; name != "" && !y.named {
		y.named = true
		y.r.Found(wire.Event{Kind: wire.EventModel, Name: name, ID: response.Get("id").Str})
	}
}

// itemEvent reads an event of an item. Some servers do not send its beginning.
func (y *reader) itemEvent(e *event) {
	it := y.item(e)
	if it == nil {
		switch e.kind {
		case textDelta, textDone:
			it = y.begin(e.output, e.itemID.Of(e.Data), messageItem, `{"type":"message","role":"assistant"}`)
		case thinkDelta, thinkDone:
			it = y.begin(e.output, e.itemID.Of(e.Data), thoughtItem, `{"type":"reasoning"}`)
		case itemDone:
			it = y.beginItem(jsonedit.Parse(e.Data).Get("item"), e.output)
		default:
			return
		}
	}
	switch it.kind {
	case messageItem:
		y.messageEvent(e, it)
	case thoughtItem:
		y.thoughtEvent(e, it)
	default:
		y.callEvent(e, it)
	}
}

// item returns the item of an event: the latest of those with its index, because some
// servers use an index twice.
func (y *reader) item(e *event) *readItem {
	if e.output < 0 && e.itemID.End == 0 {
		return y.last(e)
	}
	for i := len(y.items) - 1; i >= 0; i-- {
		it := y.items[i]
		if e.output == it.output || e.output < 0 && bytes.Equal(e.itemID.Of(e.Data), it.id) {
			return it
		}
	}
	return nil
}

// last returns the last item for an event that does not say which it is about, if that item
// is open and of the event's kind.
func (y *reader) last(e *event) *readItem {
	n := len(y.items) - 1
	if n < 0 || y.items[n].done {
		return nil
	}
	it := y.items[n]
	kind := it.kind
	switch e.kind {
	case textDelta, textDone:
		kind = messageItem
	case thinkDelta, thinkDone:
		kind = thoughtItem
	case itemDone:
		kind = readKind(jsonedit.Parse(e.Data).Get("item"))
	}
	if kind != it.kind {
		return nil
	}
	return it
}

// begin begins an item, and reports what is shown of it.
func (y *reader) begin(output int, id []byte, kind itemKind, said string) *readItem {
	it := &readItem{number: len(y.items), output: output, kind: kind, id: bytes.Clone(id)}
	if output < 0 {
		it.output = it.number
	}
	y.keepItem(len(it.id)+len(said), y.whole, y.r)
	y.items = append(y.items, it)
	if kind == messageItem {
		y.live = append(y.live, it)
	}
	y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfItem, Index: it.number, Raw: said})
	return it
}

// beginItem begins an item that the upstream shows.
func (y *reader) beginItem(item gjson.Result, output int) *readItem {
	it := y.begin(output, []byte(item.Get("id").Raw), readKind(item), y.shown(item))
	y.found(item, it.number)
	return it
}

// readKind returns the kind of an item. One of a kind that no tree names is not shown.
func readKind(item gjson.Result) itemKind {
	switch kind := item.Get("type").Str; {
	case kind == "message":
		return messageItem
	case kind == "reasoning":
		return thoughtItem
	case shownItems.Has(kind):
		return sealedItem
	}
	return hiddenItem
}

// shown returns the members of an item. What pretends to be encrypted and is the reasoning
// itself is not among them.
func (y *reader) shown(item gjson.Result) string {
	raw := item.Raw
	if item.Get("encrypted_content").Exists() && item.Get("type").Str == "reasoning" && !encrypted(item) {
		members := jsonedit.Members(jsonedit.Parse([]byte(raw)))
		raw = string(jsonedit.Splice(nil, []byte(raw), jsonedit.Cut(nil, members, func(i int) bool { return members[i].Key == "encrypted_content" })))
	}
	return written.Shown(y.r, 0, wire.MembersOfItem, shownItems, raw, true)
}

func (y *reader) itemAdded(e *event) {
	for _, it := range y.live {
		if it.output == e.output { // its index belongs to another item now
			it.done = true
			y.conclude(it, sotto.EndStopped)
		}
	}
	y.settle(sotto.EndStopped, false)
	y.beginItem(jsonedit.Parse(e.Data).Get("item"), e.output)
}

// settle ends the messages that wait for their end, or all that are open.
func (y *reader) settle(end sotto.Ending, all bool) {
	for _, it := range y.live {
		if all || it.waits {
			y.conclude(it, end)
		}
	}
	y.live = slices.DeleteFunc(y.live, func(it *readItem) bool { return it.done })
}

// conclude ends the texts of a message, and the message if the upstream has ended it.
func (y *reader) conclude(it *readItem, end sotto.Ending) {
	it.waits = false
	for i, p := range it.parts {
		y.endPart(it, p, endOfNth(i, len(it.parts), end))
	}
	if it.done {
		y.endItem(it, it.end, end)
	}
}

func (y *reader) endItem(it *readItem, said string, end sotto.Ending) {
	y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfItem, Index: it.number, Whole: true, End: end, Raw: said})
}

func (y *reader) endPart(it *readItem, p *readPart, end sotto.Ending) {
	if p.closed {
		return
	}
	p.closed = true
	y.r.Close(p.choice, end)
	y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPart, Choice: p.choice, Index: it.number, Part: p.number, Whole: true, End: end, Raw: p.end})
}

// beginPart reports that a text of a choice begins, or goes on.
func (y *reader) beginPart(it *readItem, p *readPart) {
	said := `{"type":"output_text"}`
	if p.refusal {
		said = `{"type":"refusal"}`
	}
	y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPart, Choice: p.choice, Index: it.number, Part: p.number, Raw: said})
}

// finish ends the reply except for its last event.
func (y *reader) finish(end sotto.Ending) {
	y.settle(end, true)
	for _, choice := range y.r.Open() {
		y.r.Close(choice, end)
	}
}

// end reads the response at its end. event is the name of the event, if it ends a stream.
func (y *reader) end(response gjson.Result, event string) {
	end := endOf(response, event)
	if status := response.Get("status").Str; event == "" && (status == "queued" || status == "in_progress") {
		end = sotto.EndAborted // it is made in the background, and more will come
	}
	if event == "response.failed" || event != "" && response.Get("status").Str == "failed" {
		y.r.Fail(wire.ErrUpstream)
	}
	rest := y.unread(response.Get("output").Array())
	if len(rest) > 0 {
		y.settle(sotto.EndStopped, true)
	}
	for i, item := range rest {
		y.wholeItem(item, endOfNth(i, len(rest), end))
	}
	y.finish(end)
	if !slices.ContainsFunc(y.items, func(it *readItem) bool { return it.kind == messageItem }) {
		y.alone(response.Get("output_text"), end)
	}
	if _, err := y.r.Finish(end); err != nil {
		return // the reply must not end well
	}
	y.about(response, cmp.Or(response.Get("status").Str, strings.TrimPrefix(event, "response.")), end)
	y.ended = true
}

// about reports what a response says in addition to its items.
func (y *reader) about(response gjson.Result, status string, end sotto.Ending) {
	y.reply(response, true)
	y.named = false // the end has the last word on it
	y.model(response)
	foundEnd(response, status, y.choices, end, y.r)
}

// alone reads the text of a response that has it nowhere else.
func (y *reader) alone(text gjson.Result, end sotto.Ending) {
	if text := y.decode(text); len(text) > 0 {
		y.r.Found(wire.Event{Kind: wire.EventText, Choice: y.choices, Text: text})
		y.r.Close(y.choices, end)
		y.choices++
	}
}

// unread returns the items of a final output that the stream did not show. What it did not
// show of the others is read, as long as they are open.
func (y *reader) unread(output []gjson.Result) (rest []gjson.Result) {
	for i, it := range y.match(output) {
		item := output[i]
		switch {
		case it == nil, it.kind == messageItem && it.done && !it.waits && len(it.parts) == 0 && item.Get("content.0").Exists():
			rest = append(rest, item)
		case it.kind == messageItem && slices.Contains(y.live, it):
			y.messageWhole(it, item)
		case it.kind == messageItem, it.done:
		case it.kind == thoughtItem:
			y.thoughtDone(it, item)
		default:
			y.callDone(it, item)
		}
	}
	return rest
}

// match finds the items of a final output: by their ids or else, because some servers change
// these, by their order among those of their kind.
func (y *reader) match(output []gjson.Result) []*readItem {
	type key struct {
		kind itemKind
		id   string
	}
	byID := map[key]*readItem{}
	for _, it := range y.items {
		if k := (key{it.kind, string(it.id)}); k.id != "" && byID[k] == nil {
			byID[k] = it
		}
	}
	found := make([]*readItem, len(output))
	taken := map[*readItem]bool{}
	for i, item := range output {
		k := key{readKind(item), item.Get("id").Raw}
		if found[i] = byID[k]; found[i] != nil {
			taken[found[i]] = true
			delete(byID, k)
		}
	}
	var of [itemKinds][]*readItem
	for _, it := range y.items {
		if !taken[it] {
			of[it.kind] = append(of[it.kind], it)
		}
	}
	for i, item := range output {
		if kind := readKind(item); found[i] == nil && len(of[kind]) > 0 {
			found[i], of[kind] = of[kind][0], of[kind][1:]
		}
	}
	return found
}

// wholeItem reads an item that came in one piece.
func (y *reader) wholeItem(item gjson.Result, end sotto.Ending) {
	it := y.begin(-1, []byte(item.Get("id").Raw), readKind(item), y.shown(item))
	switch it.kind {
	case messageItem:
		y.messageWhole(it, item)
		it.done = true
		y.conclude(it, end)
		y.live = y.live[:len(y.live)-1]
	case thoughtItem:
		y.thoughtDone(it, item)
	default:
		y.found(item, it.number)
		y.picture(item, it.number)
		it.done = true
		y.endItem(it, "", end)
	}
}

func (y *reader) Whole(dst, body []byte, r wire.Reader) []byte {
	y.r, y.whole = r, true
	defer func() { y.r = nil }()
	root := jsonedit.Parse(body)
	switch {
	case root.Get("output").IsArray():
		if id, ok := shownID.Of(body); ok { // ids of ours are derived from it
			r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply, Raw: jsonedit.StringOf(id)})
		}
		y.end(root, "")
	case root.Get("error").IsObject():
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	default:
		r.Fail(wire.ErrUnreadable)
	}
	return dst
}

func (y *reader) End(dst []byte, err error, r wire.Reader) []byte {
	if y.ended {
		return dst
	}
	y.r = r
	y.finish(sotto.EndAborted)
	y.ended = true
	if err == nil {
		r.Fail(schema.ErrUnfinished)
	}
	y.r = nil
	return dst
}

// Cut ends the response. It has no output: that is what was written.
func (y *reader) Cut(dst []byte, r wire.Reader) []byte {
	if y.state == nil || y.ended {
		return dst
	}
	data := append([]byte(`{"type":"response.incomplete","response":{`), y.state...)
	data = append(data, `"status":"incomplete","incomplete_details":{"reason":`...)
	data = jsontext.AppendString(data, wire.CutWord(r, "max_output_tokens", "content_filter"))
	return sse.Append(dst, "response.incomplete", append(data, `},"output":[]}}`...))
}

func (y *reader) KeepAlive(dst []byte) []byte { return dst }

// decode returns the text of a string, valid until the next is decoded.
func (y *reader) decode(v gjson.Result) (text []byte) {
	if v.Type != gjson.String {
		return nil
	}
	text, y.text = jsonedit.TextOf(y.text, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
	return text
}
