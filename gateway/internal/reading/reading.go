// Package reading separates the reasoning of one reply from its text, and puts both where the
// route wants them: it is what a codec reports to. It also says what the reply showed, and
// keeps what is recorded of it.
package reading

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/reply/toolcall"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A Reading separates the reasoning of one reply's choices from their text, and
// puts both where the display that the client asked for wants them. It is the
// [wire.Reader] of one exchange.
type Reading struct {
	Manner
	Limits  Bounds
	Choices []*Choice // by number; nil if nothing was read
	Failure error     // why the reply is incomplete
	Parts   []wire.Part
	Room    *account.Room // for what is recorded; nil if nothing is
	Account *account.Account
	// Notes says that it is noted what the client gets, and ahead has what the upstream sent
	// if a guard judges the reply.
	Notes   bool
	Ahead   *Reading
	Writing bool      // a frame is being written
	Unsent  []gotText // of it, if it may be dropped
	named   []span    // the places that were found last
	Tokens  account.Tokens
	texts   int    // choices that gave text, if that is recorded
	Native  string // the member in which the upstream itself sends reasoning
	// separates says that the upstream itself has separated some of this reply's reasoning.
	separates bool
	Sealed    sealedItems
	Calls     callIDs // of the first choice; of all, if the choices are texts
	// Finished says that the API has said why a choice, or the reply, ended.
	Finished bool
	sides    []*side // texts beside those of the reply that are being read

	ID string // of the reply, as the provider knows it

	called  bool // the reply calls tools
	Moved   int  // calls in its texts that became calls of the API
	Left    int  // those that stayed text, although calls may be sent
	answers map[int]*answered
	// Complete says that the API's own sign of the end was read.
	Complete bool

	FirstThought, FirstAnswer, FirstCall time.Time // when the first of each came; zero before

	Allowance *Allowance // nil if no guard judges the reply

	Stopped bool // the reply must end, because of what was thought
	Cut     bool // the gateway has ended it; a whole reply is not ended

	InError bool // an error of the upstream's had a thought in it

	shut bool // the content ends with a tag of ours that nothing has followed yet

	All, Reasoning int // all: bytes of the model's texts; reasoning: bytes of it found in content
	Held           time.Duration
	Turn           *turn.Collector // of the message by which the reply goes back; nil if nothing remembers it
	Returned       *Returned       // … and the list that goes back with it; nil if the API has none
	Weight         int             // bytes of memory that the choices hold
}

// A Manner says how the replies of an exchange are read and shown.
type Manner struct {
	Grammar *sotto.Grammar
	Beginning
	Fixed     bool // the start is inside because it is configured
	JSON      bool // the request asked for JSON
	MaxHold   int
	Display   routing.Display
	Narration routing.Narration
	// Closes are the close markers of reasoning, in lower case. A close that is
	// alone on its line teaches how replies begin.
	Closes [][]byte
	Can    wire.Capabilities
	// Bridged says that the reply is written in another API, event by event.
	Bridged bool
	// OnNoAnswer says what a client gets if the reply was all thought.
	OnNoAnswer routing.NoAnswerAction
	Rules      thinking
	// Tools are those that calls in the text may call; nil if calls stay text.
	Tools map[string]*toolcall.Tool
	// Callable are the names of the tools that a call in a thought may call.
	Callable []string
	// Besides reads a text beside those of the reply, where reasoning is hidden.
	Besides func(text []byte) []byte
	// Remembers says that the texts are kept, because a later request may have to
	// contain the reasoning again.
	Remembers bool
}

// kept are the texts of a choice, if they are remembered. Cut says that one of them
// was too long, and Several that the visible text is that of several blocks.
type kept struct {
	Visible, Raw, Native, Inline []byte
	Cut, Several                 bool
}

// keep appends a text of the first choice, which is the one that clients continue
// with, within a limit.
func (r *Reading) keep(c *Choice, to *[]byte, text []byte) {
	switch {
	case !r.Remembers || c != r.Choices[0] || c.Kept.Cut:
	case len(*to)+len(text) > r.Limits.Frame:
		c.Kept = kept{Cut: true}
	case cap(*to) == 0:
		*to = append(make([]byte, 0, max(firstKept, len(text))), text...)
	default:
		*to = append(*to, text...)
	}
}

// firstKept is the first capacity of a text that is kept: most grow beyond it, and by few bytes at a time.
const firstKept = 256

// keepVisible appends a text that the client gets. The texts of a reply's blocks are what it says together.
func (r *Reading) keepVisible(c *Choice, text []byte) {
	if first := r.Choices[0]; first != nil && c != first && r.divides() && !first.Kept.Cut {
		first.Kept.Several = true
		r.keep(first, &first.Kept.Visible, text)
		r.weigh(first)
		return
	}
	r.keep(c, &c.Kept.Visible, text)
}

// A Choice is one of a reply's texts that is being read.
type Choice struct {
	Number int
	split  *sotto.Splitter
	closed bool
	End    sotto.Ending

	Native   bool // the upstream itself separates reasoning
	learned  bool // it is read as begun inside, because earlier replies began so
	Withheld bool // it is taken for a thought, because nothing shows where it began
	Lessons  lessons
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

	Kept           kept
	script         *transcript // nil if nothing is recorded
	trace          tracer
	base, came     int // bytes of the text before this reading of it, and all
	shown, Thought int // bytes of visible text and of reasoning given to the client
	heldSince      time.Time
	weight         int // bytes counted in the reading's weight
}

func (r *Reading) choice(i int) *Choice {
	if i < 0 || i >= r.Limits.Choices {
		r.Fail(fmt.Errorf("the upstream sent a choice beyond the limit of %d", r.Limits.Choices))
		return nil
	}
	for len(r.Choices) <= i {
		r.Choices = append(r.Choices, nil)
	}
	if r.Choices[i] == nil {
		r.Choices[i] = &Choice{Number: i}
	}
	return r.Choices[i]
}

// begin makes the splitter at the first text. If the upstream has separated the
// reasoning, the text begins outside.
func (r *Reading) begin(c *Choice) {
	start := r.Start
	if (c.Native || r.separates) && !r.Fixed {
		start = sotto.BeginOutside
	}
	c.learned = r.Learned && !c.Native && !r.separates
	c.trim.most = max(r.MaxHold, 0)
	r.split(c, start)
}

// split makes the splitter for the text to come.
func (r *Reading) split(c *Choice, start sotto.Beginning) {
	c.base = c.came
	inline := []sotto.Channel{sotto.ChannelTool}
	if r.Narration == routing.NarrationText {
		inline = append(inline, sotto.ChannelNarration)
	}
	o := sotto.Options{Start: start, MaxHold: r.MaxHold, Inline: inline, Tools: r.Callable}
	if r.Room != nil {
		r.transcribe(c)
	}
	var err error
	if c.split, err = r.Grammar.NewSplitter(o); err != nil { // a route may name a start that only another dialect has
		o.Start = sotto.BeginOutside
		c.split, _ = r.Grammar.NewSplitter(o)
	}
	if c.script != nil {
		c.script.begin(o.Start)
	}
}

// Found takes what the codec found next, and returns the parts of it that go to
// the client.
func (r *Reading) Found(f wire.Event) []wire.Part {
	if r.Turn != nil && (f.Choice == 0 || r.Can.Texts) {
		r.Turn.Found(&f)
	}
	if r.Returned != nil {
		r.Returned.found(&f)
	}
	defer r.fit()
	if f.Kind == wire.EventText {
		return r.text(f.Choice, f.Text)
	}
	r.Finished = r.Finished || f.Kind == wire.EventFinish
	if f.Kind == wire.EventUsage {
		r.Tokens.Found(f.Usage)
	}
	if r.Account != nil {
		r.Account.Found(f, r.texts)
	}
	if f.Kind == wire.EventRefusal && len(f.Text) > 0 {
		came(&r.FirstAnswer)
	}
	if f.Kind == wire.EventCall || f.Kind == wire.EventFinish {
		r.paused(f.Choice)
	}
	if f.Kind == wire.EventCall {
		r.called = true
		came(&r.FirstCall)
	}
	if f.Kind == wire.EventModel && r.ID == "" && len(f.ID) <= account.MaxID {
		r.ID = strings.Clone(f.ID)
	}
	r.Complete = r.Complete || f.Kind == wire.EventEnd
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
	case f.Kind == wire.EventSealed && f.Raw != "" && r.Can.Items:
		r.keepSealed(f)
	case f.Kind == wire.EventCall && (f.Choice == 0 || r.Can.Texts):
		r.keepCall(&f)
		r.Calls.sign(f.Signature)
		return r.beforeCall()
	case f.Kind == wire.EventThought && !f.Again, f.Kind == wire.EventDetails:
		if f.Kind == wire.EventThought && f.Member && f.Name != r.Native {
			r.Native = strings.Clone(f.Name)
		}
		if f.Kind == wire.EventDetails && r.Native == "" { // their text is read, so there is no other member
			r.Native = f.Name
		}
		return r.thought(f.Choice, f.Text)
	}
	return nil
}

// beforeCall ends the thoughts that stand between tags, where a call is written after what came before it.
func (r *Reading) beforeCall() []wire.Part {
	if !r.Bridged {
		return nil
	}
	r.Parts = r.Parts[:0]
	for _, c := range r.Choices {
		if c != nil && !c.closed {
			r.closeTag(c)
		}
	}
	return r.Parts
}

// closeTag ends a thought that stands between tags.
func (r *Reading) closeTag(c *Choice) {
	if c.tagOpen {
		c.tagOpen, r.shut = false, true
		r.giveOwn(c, bytes.TrimRight(tagClose, "\n"))
	}
}

// separated notes that the upstream itself separates the reasoning of a choice, also if it
// seals all of it.
func (r *Reading) separated(i int) {
	if c := r.choice(i); c != nil {
		c.Native, r.separates = true, true
	}
}

// came notes when something came first.
func came(first *time.Time) {
	if first.IsZero() {
		*first = time.Now()
	}
}

// text reads content from the model.
func (r *Reading) text(i int, text []byte) []wire.Part {
	c := r.choice(i)
	if c == nil || len(text) == 0 {
		return nil
	}
	switch {
	case c.closed: // a server that continues after the finish reason
		c.closed, c.learned, c.trim.block = false, false, 0
		start := sotto.BeginOutside
		switch {
		case r.Doubt != NoDoubt:
			start = r.Start
		case r.Display == routing.DisplayHide: // its opener may have been cut by the end
			start = sotto.BeginAuto
		}
		r.split(c, start)
	case c.split == nil:
		r.begin(c)
	}
	r.All += len(text)
	from := c.came
	c.came += len(text)
	if r.Tools == nil { // a call that is sent is not in the text that comes back
		r.keep(c, &c.Kept.Raw, text)
	}
	if c.script != nil {
		c.script.raw.Add(text, r.Room)
	}
	c.Lessons.line(text, r.Closes)
	r.Parts = r.Parts[:0]
	r.sort(c, c.split.Feed(text))
	r.timeHold(c)
	r.weigh(c)
	if r.Display == routing.DisplayKeep {
		r.Parts = append(r.Parts[:0], wire.Part{Place: wire.Content, Text: text})
		r.gave(c, wire.Content, text, func() []span { return []span{{choice: c.Number, start: from, end: c.came}} })
	}
	return r.Parts
}

// timeHold adds up how long bytes wait until their channel is decided.
func (r *Reading) timeHold(c *Choice) {
	switch holds := c.split.Held() > 0; {
	case holds && c.heldSince.IsZero():
		c.heldSince = time.Now()
	case !holds && !c.heldSince.IsZero():
		r.Held += time.Since(c.heldSince)
		c.heldSince = time.Time{}
	}
}

// sort puts settled pieces where they belong.
func (r *Reading) sort(c *Choice, pieces []sotto.Piece) {
	for _, p := range pieces {
		c.Lessons.piece(p, r.Closes)
		c.meets(p)
		if c.script != nil {
			c.script.piece(p, r.Room)
		}
		switch p.Channel {
		case sotto.ChannelReasoning:
			r.Reasoning += len(p.Bytes)
			r.think(c, p.Bytes)
			c.trim.trim(p, func(text []byte) {
				came(&r.FirstThought)
				r.keep(c, &c.Kept.Inline, text)
				c.echo.inline(p.Block, text, func(text []byte) { r.thoughts(c, thoughtInText, text) })
			})
		case sotto.ChannelNarration:
			r.couldAnswer(c.Number, p.Bytes)
			if r.Narration == routing.NarrationField {
				text := r.lets(c.Number, guard.Narration, p.Bytes)
				from := c.base + p.Offset
				r.give(c, wire.Narration, text, func() []span { return []span{{choice: c.Number, start: from, end: from + len(text)}} })
			}
		}
		if r.Tools == nil {
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
func (r *Reading) thought(i int, text []byte) []wire.Part {
	c := r.choice(i)
	if c == nil || c.closed || len(text) == 0 {
		return nil
	}
	r.separated(i)
	if len(trimLeft(text)) > 0 {
		came(&r.FirstThought)
	}
	r.All += len(text)
	r.think(c, text)
	r.keep(c, &c.Kept.Native, text)
	r.noteNative(c)
	defer r.weigh(c)
	r.Parts = r.Parts[:0]
	if r.Display == routing.DisplayKeep {
		r.lets(i, guard.Reasoning, text)
		c.Thought += len(text)
		r.part(wire.Reasoning, text)
		r.gave(c, wire.Reasoning, text, func() []span { return r.name(c, thoughtInField, text) })
		return r.Parts
	}
	c.echo.native(text, func(text []byte) { r.thoughts(c, thoughtInField, text) })
	return r.Parts
}

// Close ends a choice.
func (r *Reading) Close(i int, end sotto.Ending) []wire.Part {
	r.Parts = r.Parts[:0]
	defer r.paused(i)
	defer r.fit()
	r.endSides(i, end)
	if i < 0 || i >= len(r.Choices) || r.Choices[i] == nil || r.Choices[i].closed {
		return r.Parts
	}
	c := r.Choices[i]
	c.closed, c.End = true, end
	if c.split != nil {
		assumed := sotto.BeginOutside
		if c.Withheld = r.unproven(c); c.Withheld {
			assumed = sotto.BeginInsideFirst
		}
		if !r.ByRule {
			c.split.Assume(assumed)
		}
		r.sort(c, c.split.Close(end))
		c.Withheld = c.Withheld && c.split.Counts()[sotto.CodeAssumedUnclosed] > 0
		r.endCalls(c, end)
		r.timeHold(c)
		c.Lessons.finish(r.Closes)
		c.unlearn(end)
		r.endDetails(c, end)
		r.endJSON(c, end)
	}
	r.weigh(c)
	if !r.Can.Texts {
		_ = r.withoutAnswer(c, i, end) // the failure is noted
	}
	r.closeTag(c)
	if r.Display == routing.DisplayKeep {
		return nil
	}
	return r.Parts
}

// unlearn notes that a whole reply did not close the block in which earlier replies began.
// It stays a thought, which the client may have, and the lesson goes.
func (c *Choice) unlearn(end sotto.Ending) {
	c.Lessons.Unlearned = c.learned && !c.Lessons.closed && end == sotto.EndStopped && c.Lessons.anything
}

// Open returns the choices that were read and not closed.
func (r *Reading) Open() []int {
	var open []int
	for i, c := range r.Choices {
		if c != nil && !c.closed {
			open = append(open, i)
		}
	}
	return open
}

// First returns the first choice, or nil if it said nothing.
func (r *Reading) First() *Choice {
	if len(r.Choices) == 0 {
		return nil
	}
	return r.Choices[0]
}

// FirstEnded reports whether the first choice has ended. A choice may call tools and
// say nothing.
func (r *Reading) FirstEnded() bool {
	c := r.First()
	if c == nil {
		return r.Finished && len(r.Calls.List) > 0
	}
	return c.closed && (r.Finished || !r.Can.Texts)
}

// Fail notes why the reply is incomplete, the first time.
func (r *Reading) Fail(err error) {
	if r.Failure == nil {
		r.Failure = err
	}
}
