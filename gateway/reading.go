package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/internal/toolcall"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A reading separates the reasoning of one reply's choices from their text, and
// puts both where the display that the client asked for wants them. It is the
// [wire.Reader] of one exchange.
type reading struct {
	manner
	limits  Limits
	choices []*choice // by number; nil if nothing was read
	failure error     // why the reply is incomplete
	parts   []wire.Part
	room    *account.Room // for what is recorded; nil if nothing is
	account *account.Account
	// notes says that it is noted what the client gets, and ahead has what the upstream sent
	// if a guard judges the reply.
	notes   bool
	ahead   *reading
	writing bool      // a frame is being written
	unsent  []gotText // of it, if it may be dropped
	named   []span    // the places that were found last
	tokens  account.Tokens
	texts   int    // choices that gave text, if that is recorded
	native  string // the member in which the upstream itself sends reasoning
	// separates says that the upstream itself has separated some of this reply's reasoning.
	separates bool
	sealed    sealedItems
	calls     callIDs // of the first choice; of all, if the choices are texts
	// finished says that the API has said why a choice, or the reply, ended.
	finished bool
	sides    []*side // texts beside those of the reply that are being read

	id string // of the reply, as the provider knows it

	called  bool // the reply calls tools
	moved   int  // calls in its texts that became calls of the API
	left    int  // those that stayed text, although calls may be sent
	answers map[int]*answered
	// complete says that the API's own sign of the end was read.
	complete bool

	firstThought, firstAnswer, firstCall time.Time // when the first of each came; zero before

	allowance *allowance // nil if no guard judges the reply

	stopped bool // the reply must end, because of what was thought
	cut     bool // the gateway has ended it; a whole reply is not ended

	inError bool // an error of the upstream's had a thought in it

	shut bool // the content ends with a tag of ours that nothing has followed yet

	all, reasoning int // all: bytes of the model's texts; reasoning: bytes of it found in content
	held           time.Duration
	turn           *turn.Collector // of the message by which the reply goes back; nil if nothing remembers it
	weight         int             // bytes of memory that the choices hold
}

// A manner says how the replies of an exchange are read and shown.
type manner struct {
	grammar *sotto.Grammar
	beginning
	fixed     bool // the start is inside because it is configured
	json      bool // the request asked for JSON
	maxHold   int
	display   routing.Display
	narration routing.Narration
	// closes are the close markers of reasoning, in lower case. A close that is
	// alone on its line teaches how replies begin.
	closes [][]byte
	can    wire.Capabilities
	// onNoAnswer says what a client gets if the reply was all thought.
	onNoAnswer routing.OnNoAnswer
	rules      thinking
	// tools are those that calls in the text may call; nil if calls stay text.
	tools map[string]*toolcall.Tool
	// callable are the names of the tools that a call in a thought may call.
	callable []string
	// besides reads a text beside those of the reply, where reasoning is hidden.
	besides func(text []byte) []byte
	// remembers says that the texts are kept, because a later request may have to
	// contain the reasoning again.
	remembers bool
}

// kept are the texts of a choice, if they are remembered. cut says that one of them
// was too long.
type kept struct {
	visible, raw, native, inline []byte
	cut                          bool
}

// keep appends a text of the first choice, which is the one that clients continue
// with, within a limit.
func (r *reading) keep(c *choice, to *[]byte, text []byte) {
	switch {
	case !r.remembers || c != r.choices[0] || c.kept.cut:
	case len(*to)+len(text) > r.limits.Frame:
		c.kept = kept{cut: true}
	default:
		*to = append(*to, text...)
	}
}

// A choice is one of a reply's texts that is being read.
type choice struct {
	number int
	split  *sotto.Splitter
	closed bool
	end    sotto.End

	native   bool // the upstream itself separates reasoning
	learned  bool // it is read as begun inside, because earlier replies began so
	withheld bool // it is taken for a thought, because nothing shows where it began
	lessons  lessons
	trim     thoughtTrim
	echo     echo
	tagOpen  bool          // a <think> of ours is open in the content
	details  detailsReader // reads the text that remains, if reasoning is hidden
	json     structured    // if the request asked for JSON

	thinks    int   // bytes of reasoning, if they are limited
	overLimit bool  // there were too many
	loop      *loop // looks for one; nil if it is not looked for, or was found
	circles   bool  // one was found

	calls     textCall
	thinking  bool             // the last piece was a thought
	inThought toolcall.Scanner // counts calls inside thoughts

	kept           kept
	script         *transcript // nil if nothing is recorded
	trace          tracer
	base, came     int // bytes of the text before this reading of it, and all
	shown, thought int // bytes of visible text and of reasoning given to the client
	heldSince      time.Time
	weight         int // bytes counted in the reading's weight
}

// weigh notes how much memory a choice holds now.
func (r *reading) weigh(c *choice) {
	n := c.size()
	r.weight += n - c.weight
	c.weight = n
}

// size is the memory that a choice holds. What is recorded of it is counted by the room for
// the record.
func (c *choice) size() int {
	n := int(unsafe.Sizeof(*c)) + slotSize + cap(c.trim.wait) + cap(c.echo.said) + cap(c.echo.withheld) + cap(c.json.text) + cap(c.json.fence.held)
	n += cap(c.kept.visible) + cap(c.kept.raw) + cap(c.kept.native) + cap(c.kept.inline)
	n += c.calls.size() + c.inThought.Held() + c.details.size()
	n += c.trace.size()
	if c.split != nil {
		n += c.split.Size()
	}
	if c.loop != nil {
		n += int(unsafe.Sizeof(*c.loop)) + cap(c.loop.window)
	}
	if c.script != nil {
		n += int(unsafe.Sizeof(*c.script))
	}
	return n
}

// slotSize is what a choice takes in the list of choices, which grows ahead of them.
const slotSize = 2 * int(unsafe.Sizeof((*choice)(nil)))

func (r *reading) choice(i int) *choice {
	if i < 0 || i >= r.limits.Choices {
		r.Fail(fmt.Errorf("the upstream sent a choice beyond the limit of %d", r.limits.Choices))
		return nil
	}
	for len(r.choices) <= i {
		r.choices = append(r.choices, nil)
	}
	if r.choices[i] == nil {
		r.choices[i] = &choice{number: i}
	}
	return r.choices[i]
}

// begin makes the splitter at the first text. If the upstream has separated the
// reasoning, the text begins outside.
func (r *reading) begin(c *choice) {
	start := r.start
	if (c.native || r.separates) && !r.fixed {
		start = sotto.StartOutside
	}
	c.learned = r.learned && !c.native && !r.separates
	c.trim.most = max(r.maxHold, 0)
	r.split(c, start)
}

// split makes the splitter for the text to come.
func (r *reading) split(c *choice, start sotto.Start) {
	c.base = c.came
	inline := []sotto.Channel{sotto.ChannelTool}
	if r.narration == routing.NarrationText {
		inline = append(inline, sotto.ChannelNarration)
	}
	o := sotto.Options{Start: start, MaxHold: r.maxHold, Inline: inline, Tools: r.callable}
	if r.room != nil {
		r.transcribe(c)
	}
	var err error
	if c.split, err = r.grammar.NewSplitter(o); err != nil { // a route may name a start that only another dialect has
		o.Start = sotto.StartOutside
		c.split, _ = r.grammar.NewSplitter(o)
	}
	if c.script != nil {
		c.script.begin(o.Start)
	}
}

// Found takes what the codec found next, and returns the parts of it that go to
// the client.
func (r *reading) Found(f wire.Event) []wire.Part {
	if r.turn != nil && (f.Choice == 0 || r.can.Texts) {
		r.turn.Found(&f)
	}
	defer r.fit()
	if f.Kind == wire.EventText {
		return r.text(f.Choice, f.Text)
	}
	r.finished = r.finished || f.Kind == wire.EventFinish
	if f.Kind == wire.EventUsage {
		r.tokens.Found(f.Usage)
	}
	if r.account != nil {
		r.account.Found(f, r.texts)
	}
	if f.Kind == wire.EventRefusal && len(f.Text) > 0 {
		came(&r.firstAnswer)
	}
	if f.Kind == wire.EventCall || f.Kind == wire.EventFinish {
		r.paused(f.Choice)
	}
	if f.Kind == wire.EventCall {
		r.called = true
		came(&r.firstCall)
	}
	if f.Kind == wire.EventModel && r.id == "" && len(f.ID) <= account.MaxID {
		r.id = strings.Clone(f.ID)
	}
	r.complete = r.complete || f.Kind == wire.EventEnd
	if (f.Kind == wire.EventCall || f.Kind == wire.EventRefusal || f.Kind == wire.EventOther) && r.asks() {
		r.hasAnswer(r.answer(f.Choice))
	}
	if f.Kind == wire.EventSealed || f.Kind == wire.EventDetails {
		r.separated(f.Choice)
	}
	switch {
	case len(f.Text) == 0 && f.Kind != wire.EventCall:
	case f.Kind == wire.EventMember:
		return r.beside(f.Choice, f.Name, f.Text, !f.Whole)
	case f.Kind == wire.EventRefusal:
		return r.beside(f.Choice, refusal, f.Text, true)
	case f.Kind == wire.EventNarration:
		return r.beside(f.Choice, chatjson.NarrationField, f.Text, true)
	case f.Kind == wire.EventSealed && f.Raw != "" && r.can.Items:
		r.keepSealed(f)
	case f.Kind == wire.EventCall && (f.Choice == 0 || r.can.Texts):
		r.calls.found(f.ID, f.Name)
		r.calls.sign(f.Signature)
	case f.Kind == wire.EventThought && !f.Again, f.Kind == wire.EventDetails:
		if f.Kind == wire.EventThought && f.Member && f.Name != r.native {
			r.native = strings.Clone(f.Name)
		}
		return r.thought(f.Choice, f.Text)
	}
	return nil
}

// separated notes that the upstream itself separates the reasoning of a choice, also if it
// seals all of it.
func (r *reading) separated(i int) {
	if c := r.choice(i); c != nil {
		c.native, r.separates = true, true
	}
}

// came notes when something came first.
func came(first *time.Time) {
	if first.IsZero() {
		*first = time.Now()
	}
}

// text reads content from the model.
func (r *reading) text(i int, text []byte) []wire.Part {
	c := r.choice(i)
	if c == nil || len(text) == 0 {
		return nil
	}
	switch {
	case c.closed: // a server that continues after the finish reason
		c.closed, c.learned, c.trim.block = false, false, 0
		start := sotto.StartOutside
		switch {
		case r.doubt != noDoubt:
			start = r.start
		case r.display == routing.DisplayHide: // its opener may have been cut by the end
			start = sotto.StartAuto
		}
		r.split(c, start)
	case c.split == nil:
		r.begin(c)
	}
	r.all += len(text)
	from := c.came
	c.came += len(text)
	if r.tools == nil { // a call that is sent is not in the text that comes back
		r.keep(c, &c.kept.raw, text)
	}
	if c.script != nil {
		c.script.raw.Add(text, r.room)
	}
	c.lessons.line(text, r.closes)
	r.parts = r.parts[:0]
	r.take(c, c.split.Feed(text))
	r.timeHold(c)
	r.weigh(c)
	if r.display == routing.DisplayKeep {
		r.parts = append(r.parts[:0], wire.Part{Place: wire.Content, Text: text})
		r.gave(c, wire.Content, text, func() []span { return []span{{choice: c.number, start: from, end: c.came}} })
	}
	return r.parts
}

// timeHold adds up how long bytes wait until their channel is decided.
func (r *reading) timeHold(c *choice) {
	switch holds := c.split.Held() > 0; {
	case holds && c.heldSince.IsZero():
		c.heldSince = time.Now()
	case !holds && !c.heldSince.IsZero():
		r.held += time.Since(c.heldSince)
		c.heldSince = time.Time{}
	}
}

// take puts settled pieces where they belong.
func (r *reading) take(c *choice, pieces []sotto.Piece) {
	for _, p := range pieces {
		c.lessons.piece(p, r.closes)
		c.meets(p)
		if c.script != nil {
			c.script.piece(p, r.room)
		}
		switch p.Channel {
		case sotto.ChannelReasoning:
			r.reasoning += len(p.Bytes)
			r.think(c, p.Bytes)
			c.trim.add(p, func(text []byte) {
				came(&r.firstThought)
				r.keep(c, &c.kept.inline, text)
				c.echo.inline(p.Block, text, func(text []byte) { r.thoughts(c, thoughtInText, text) })
			})
		case sotto.ChannelNarration:
			r.couldAnswer(c.number, p.Bytes)
			if r.narration == routing.NarrationField {
				text := r.lets(c.number, guard.Narration, p.Bytes)
				from := c.base + p.Offset
				r.give(c, wire.Narration, text, func() []span { return []span{{choice: c.number, start: from, end: from + len(text)}} })
			}
		}
		if r.tools == nil {
			r.content(c, p.Visible)
		} else {
			r.withCalls(c, p)
		}
	}
	release(pieces)
}

// release lets go of the memory of a frame, which a splitter's pieces refer to until the next
// call on it: the next frame of that choice may be far away.
func release(pieces []sotto.Piece) {
	for i := range pieces {
		pieces[i].Bytes, pieces[i].Visible = nil, nil
	}
}

// thought reads reasoning that the upstream itself has separated.
func (r *reading) thought(i int, text []byte) []wire.Part {
	c := r.choice(i)
	if c == nil || c.closed || len(text) == 0 {
		return nil
	}
	r.separated(i)
	if len(trimLeft(text)) > 0 {
		came(&r.firstThought)
	}
	r.all += len(text)
	r.think(c, text)
	r.keep(c, &c.kept.native, text)
	r.noteNative(c)
	defer r.weigh(c)
	r.parts = r.parts[:0]
	if r.display == routing.DisplayKeep {
		r.lets(i, guard.Reasoning, text)
		c.thought += len(text)
		r.part(wire.Reasoning, text)
		r.gave(c, wire.Reasoning, text, func() []span { return r.name(c, thoughtInField, text) })
		return r.parts
	}
	c.echo.native(text, func(text []byte) { r.thoughts(c, thoughtInField, text) })
	return r.parts
}

// Close ends a choice.
func (r *reading) Close(i int, end sotto.End) []wire.Part {
	r.parts = r.parts[:0]
	defer r.paused(i)
	defer r.fit()
	r.endSides(i, end)
	if i < 0 || i >= len(r.choices) || r.choices[i] == nil || r.choices[i].closed {
		return r.parts
	}
	c := r.choices[i]
	c.closed, c.end = true, end
	if c.split != nil {
		assumed := sotto.StartOutside
		if c.withheld = r.unproven(c); c.withheld {
			assumed = sotto.StartInsideFirst
		}
		if !r.byRule {
			c.split.Assume(assumed)
		}
		r.take(c, c.split.Close(end))
		c.withheld = c.withheld && c.split.Counts()[sotto.CodeAssumedUnclosed] > 0
		r.endCalls(c, end)
		r.timeHold(c)
		c.lessons.finish(r.closes)
		c.unlearn(end)
		r.endDetails(c, end)
		r.endJSON(c, end)
	}
	r.weigh(c)
	if !r.can.Texts {
		_ = r.withoutAnswer(c, i, end) // the failure is noted
	}
	if c.tagOpen {
		c.tagOpen, r.shut = false, true
		r.giveOwn(c, bytes.TrimRight(tagClose, "\n"))
	}
	if r.display == routing.DisplayKeep {
		return nil
	}
	return r.parts
}

// unlearn notes that a whole reply did not close the block in which earlier replies began.
// It stays a thought, which the client may have, and the lesson goes.
func (c *choice) unlearn(end sotto.End) {
	c.lessons.unlearned = c.learned && !c.lessons.closed && end == sotto.EndStopped && c.lessons.anything
}

// Open returns the choices that were read and not closed.
func (r *reading) Open() []int {
	var open []int
	for i, c := range r.choices {
		if c != nil && !c.closed {
			open = append(open, i)
		}
	}
	return open
}

// first returns the first choice, or nil if it said nothing.
func (r *reading) first() *choice {
	if len(r.choices) == 0 {
		return nil
	}
	return r.choices[0]
}

// firstEnded reports whether the first choice has ended. A choice may call tools and
// say nothing.
func (r *reading) firstEnded() bool {
	c := r.first()
	if c == nil {
		return r.finished && len(r.calls.list) > 0
	}
	return c.closed && (r.finished || !r.can.Texts)
}

// Fail notes why the reply is incomplete, the first time.
func (r *reading) Fail(err error) {
	if r.failure == nil {
		r.failure = err
	}
}
