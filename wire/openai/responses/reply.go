package responses

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A reply rewrites one reply of the responses API.
//
// Reasoning found in the text of a message becomes items of the output. What
// comes before the message's first text stands in front of the message, whose
// own first events wait until that is known. What comes later becomes an item
// with the next output_index, sent while the message is open: clients keep items
// by their index or id, and none needs an item to end before the next begins. It
// ends where the text goes on.
//
// A message is ended by its last events, but whether a limit cut it says only
// what follows. So they wait for the next item, or for the end of the response.
//
//	event      upstream 0 message  1 call        client 0 thought  1 message  2 call
//	item 0     added, part         waits
//	delta      <think>a            →             added, part, delta a
//	delta      </think>b           →             done          added, part, delta b
//	done       text, part, item    waits
//	item 1     added               →                           done           added
//
// The client's output_index is the upstream's and the number of items that stand
// before and that the upstream does not know. Its sequence_number counts what is
// sent. Where both are as they came, and the text too, so is the event.
type reply struct {
	set     wire.Settings
	summary bool // reasoning is summary text

	// of the call under way
	r   wire.Reader
	out []byte

	id string // of the response

	// next numbers the event that is sent next; last is the upstream's number
	// of the event read last, if numbered.
	next, last int
	numbered   bool

	// An item that the upstream begins at n is the client's n + shift. The items
	// that the client has are below top.
	shift, top int

	items   []*outputItem
	live    []*outputItem // messages that have not ended
	mints   []*mint       // in the order in which they began
	inline  *mint         // the open one: the message that takes the upstream's own reasoning
	choices int           // begun
	ended   bool          // the client has seen the end, or an error
	cut     bool          // … because it was cut
	state   []byte        // the members of the response that its end repeats, if it may be cut
	mute    bool          // the reply is whole: there are no events
	// answered says that the reader made the answer of a reply that had none.
	answered bool

	event event
	text  []byte // decoded
	said  []byte // what a run of parts says
	data  []byte
	nums  []byte
	edits []jsonedit.Edit

	meter meter
}

// A outputItem is an item of the upstream's output.
type outputItem struct {
	kind   itemKind
	output int    // the upstream's index
	client int    // the client's; -1 while it has not seen the item
	id     []byte // with its quotes
	parts  []*itemPart
	// byKey finds a part, nth those of the content and of the summary in their order;
	// top is above their indices.
	byKey map[partKey]*itemPart
	nth   [2][]*itemPart
	top   [2]int
	// opening waits until the item's place is known, ending until its end is.
	opening, ending []event
	done            bool
	calls           bool // there were calls in its texts
	left            bool // it is left out, for nothing else was in them
	others          int  // parts that are not read and that an event began
}

type itemKind uint8

const (
	sealedItem  itemKind = iota // not read here: function calls
	messageItem                 // its parts are of type output_text
	thoughtItem                 // native reasoning
	hiddenItem                  // of a kind that is not shown, in a reply that is written
	itemKinds   = iota
)

func kindOf(item gjson.Result) itemKind {
	switch kind := item.Get("type").Str; {
	case kind == "message":
		return messageItem
	case kind == "reasoning":
		return thoughtItem
	}
	return sealedItem
}

// A itemPart is a text of an item.
type itemPart struct {
	choice  int
	index   int    // among the item's content or summary, as events say
	summary bool   // of a thought
	text    []byte // the text that the client has
	read    bool   // it had text
	changed bool   // the client's text differs from what came
	closed  bool
	silent  bool // no event began it
	// converted says that the upstream's text of a thought is summary text for the
	// client; begun and ended, that the client has the events around it.
	converted, begun, ended bool
	run                     *mint // the reasoning that it is in
}

type partKey struct {
	summary bool
	index   int
}

// list numbers the lists of parts.
func (k partKey) list() int {
	if k.summary {
		return 1
	}
	return 0
}

func (it *outputItem) find(summary bool, index int) *itemPart {
	return it.byKey[partKey{summary, index}]
}

func (it *outputItem) add(p *itemPart) {
	key := partKey{p.summary, p.index}
	if it.byKey == nil {
		it.byKey = map[partKey]*itemPart{}
	}
	it.byKey[key] = p
	it.parts = append(it.parts, p)
	it.nth[key.list()] = append(it.nth[key.list()], p)
	it.top[key.list()] = max(it.top[key.list()], p.index+1)
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		return append(dst, f.Raw...)
	}
	if !y.event.scan(f) {
		mended, ok := chatjson.Readable(f)
		if !ok {
			return chatjson.Unread(dst, f, y.set, r)
		}
		if f = mended; !y.event.scan(f) {
			return append(dst, f.Raw...)
		}
	}
	y.out, y.r = dst, r
	y.number(&y.event)
	y.readEvent(&y.event)
	y.edits = jsonedit.Release(y.edits)
	for _, b := range []*[]byte{&y.text, &y.said, &y.data} {
		*b = chatjson.Small(*b)
	}
	return y.release()
}

func (y *reply) release() []byte {
	out := y.out
	y.out, y.r = nil, nil
	return out
}

// number follows the upstream's numbers, gaps included.
func (y *reply) number(e *event) {
	switch {
	case e.seq < 0:
		return
	case !y.numbered:
		y.numbered = true
		y.next += e.seq
	default:
		y.next += e.seq - y.last - 1
	}
	y.last = e.seq
}

func (y *reply) readEvent(e *event) {
	switch e.kind {
	case stateEvent:
		if y.id == "" {
			y.id = strings.Clone(jsonedit.Parse(e.Data).Get("response.id").Str)
		}
		if y.set.Cuts && y.state == nil {
			y.state = stateOf(jsonedit.Parse(e.Data).Get("response"))
		}
		y.send(e, nil)
	case itemAdded:
		y.itemAdded(e)
	case failEvent:
		y.r.Found(wire.Event{Kind: wire.EventFault, Raw: jsonedit.StringOf(e.Data)})
		y.r.Fail(wire.ErrUpstream)
		y.finish(sotto.EndAborted)
		y.ended = true
		y.send(e, nil)
	case endEvent:
		y.end(e)
	default:
		y.itemEvent(e)
	}
}

// itemEvent reads an event of an item. Some servers do not send its beginning.
func (y *reply) itemEvent(e *event) {
	if e.kind == callDelta {
		y.foundCallDelta(e)
	}
	it := y.item(e)
	if it == nil {
		switch e.kind {
		case textDelta, textDone:
			it = y.begin(e, messageItem)
		case thinkDelta, thinkDone:
			it = y.begin(e, thoughtItem)
			y.appear(it)
		case itemDone:
			it = y.begin(e, kindOf(jsonedit.Parse(e.Data).Get("item")))
			y.appear(it)
		default:
			y.send(e, nil)
			return
		}
	}
	if e.kind == itemDone && it.kind != messageItem {
		defer y.foundItem(jsonedit.Parse(e.Data).Get("item"), it.output)
	}
	switch it.kind {
	case messageItem:
		y.messageEvent(e, it)
	case thoughtItem:
		y.thoughtEvent(e, it)
	default:
		y.send(e, it)
	}
}

// item returns the item of an event: the latest of those with its index, because
// some servers use an index twice.
func (y *reply) item(e *event) *outputItem {
	if e.output < 0 && e.itemID.End == 0 {
		return nil
	}
	for i := len(y.items) - 1; i >= 0; i-- {
		it := y.items[i]
		if e.output == it.output || e.output < 0 && bytes.Equal(e.itemID.Of(e.Data), it.id) {
			return it
		}
	}
	return nil
}

func (y *reply) begin(e *event, kind itemKind) *outputItem {
	it := &outputItem{kind: kind, output: e.output, client: -1}
	if e.output < 0 {
		it.output = y.top - y.shift
	}
	if e.itemID.End > 0 {
		it.id = bytes.Clone(e.itemID.Of(e.Data))
	}
	y.keepItem(len(it.id))
	y.items = append(y.items, it)
	if kind == messageItem {
		y.live = append(y.live, it)
	}
	return it
}

func (y *reply) itemAdded(e *event) {
	for _, it := range y.live {
		if it.output == e.output { // its index belongs to another item now
			y.conclude(it, sotto.EndStopped)
			it.done = true
		}
	}
	y.settle(sotto.EndStopped, false)
	item := jsonedit.Parse(e.Data).Get("item")
	it := y.begin(e, kindOf(item))
	y.foundItem(item, it.output)
	if it.id == nil {
		it.id = []byte(cmp.Or(item.Get("id").Raw, `""`))
	}
	switch {
	case it.kind == messageItem:
		it.opening = y.wait(it.opening, e)
	default:
		y.appear(it)
		y.send(e, it)
	}
}

// appear gives an item its place, and sends the events that waited for that.
func (y *reply) appear(it *outputItem) {
	if it.client >= 0 {
		return
	}
	if it.left {
		it.left = false
		y.shift++
	}
	it.client = it.output + y.shift
	y.top = max(y.top, it.client+1)
	for i := range it.opening {
		e := &it.opening[i]
		y.editOpening(e, it)
		y.send(e, it)
	}
	it.opening = nil
}

// editOpening empties the texts that came with the beginning of an item or a part. Those of
// a part were read, and are sent as deltas. Those of a message were not: what its own events
// do not say, its end does.
func (y *reply) editOpening(e *event, it *outputItem) {
	if it.kind == messageItem && !it.changed() && (y.believes() || e.kind == partAdded) {
		return
	}
	root := jsonedit.Parse(e.Data)
	y.empty(root.Get("item.summary"), "[]")
	y.empty(root.Get("item.content"), "[]")
	if e.kind == partAdded {
		y.empty(root.Get("part.text"), `""`)
	}
}

func (y *reply) empty(v gjson.Result, as string) {
	if len(v.Raw) > len(as) {
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: []byte(as)})
	}
}

func (it *outputItem) changed() bool {
	for _, p := range it.parts {
		if p.changed {
			return true
		}
	}
	return false
}

// open reports whether a text of the item continues.
func (it *outputItem) open() bool {
	for _, p := range it.parts {
		if !p.closed {
			return true
		}
	}
	return false
}

// settle ends the messages that wait for their end, or all that are open. It gives
// all of them a place before another item gets one.
func (y *reply) settle(end sotto.Ending, all bool) {
	kept := y.live[:0]
	for _, it := range y.live {
		if all || len(it.ending) > 0 {
			y.conclude(it, end)
		}
		if !it.left {
			y.appear(it)
		}
		if !it.done {
			kept = append(kept, it)
		}
	}
	y.live = kept
}

func (y *reply) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// send sends an event of the upstream with y.edits, its number and its index.
func (y *reply) send(e *event, it *outputItem) {
	y.nums = y.nums[:0]
	if e.seq >= 0 {
		if e.seq != y.next {
			y.editNumber(e.seqAt, y.next)
		}
		y.next++
	}
	switch {
	case e.output < 0:
	case it != nil && it.client >= 0:
		if it.client != e.output {
			y.editNumber(e.outputAt, it.client)
		}
	case it == nil && y.shift != 0:
		y.editNumber(e.outputAt, max(e.output+y.shift, 0))
	}
	switch {
	case len(y.edits) == 0:
		y.out = append(y.out, e.Raw...)
	case e.At >= 0:
		y.out = append(y.out, e.Raw[:e.At]...)
		y.out = jsonedit.Splice(y.out, e.Data, y.edits)
		y.out = append(y.out, e.Raw[e.At+len(e.Data):]...)
	default:
		y.data = jsonedit.Splice(y.data[:0], e.Data, y.edits)
		y.out = sse.Append(y.out, string(e.Type), y.data)
	}
	y.edits = y.edits[:0]
}

func (y *reply) editNumber(at jsonedit.Span, n int) {
	from := len(y.nums)
	y.nums = strconv.AppendInt(y.nums, int64(n), 10)
	y.edits = append(y.edits, jsonedit.Edit{Span: at, With: y.nums[from:]})
}

// open begins the data of an event of our own, close sends it.
func (y *reply) open(name string) {
	y.data = append(append(append(y.data[:0], `{"type":"`...), name...), `","sequence_number":`...)
	y.data = strconv.AppendInt(y.data, int64(y.next), 10)
	y.next++
}

func (y *reply) close(name string) {
	y.data = append(y.data, '}')
	y.out = sse.Append(y.out, name, y.data)
}

// at appends where an event of our own belongs.
func (y *reply) at(output int) {
	y.data = append(y.data, `,"output_index":`...)
	y.data = strconv.AppendInt(y.data, int64(output), 10)
}
