package recordtable

import (
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A callRow is a row of the table of tool calls.
type callRow struct {
	e      *recordset.Event
	state  string
	starts int
	asked  *record.Call // by a reply through the gateway; nil for a use by an agent
	choice int
	use    record.ToolCall
}

// The states of a call.
const (
	callAsked      = "asked"
	callDone       = "done"
	callFailed     = "failed"
	callUnfinished = "unfinished"
)

var calls = define(Table{
	Name:  "calls",
	Doc:   "One row for each tool call: each use of a tool by an agent, and each call in a reply through the gateway, whose client uses the tool.",
	Types: []record.Type{record.TypeToolCall, record.TypeExchange},
}, slices.Concat(
	where(func(r *callRow) *recordset.Event { return r.e }),
	[]column[callRow]{
		textColumn("state", "done; failed (error says why); unfinished (the use began, and its end is not in the table's events); asked (a client of the gateway got the call, and the record does not know its result).", func(r *callRow, c *cells) { c.text(r.state) }),
		textColumn("id", "The call's id, as the model or the API gave it.", func(r *callRow, c *cells) { c.word(r.use.ID) }),
		textColumn("name", "The tool.", func(r *callRow, c *cells) { c.text(r.use.Name) }),
		intColumn("number", "", "Which use of a tool of the run it is, from 1; null for asked.", func(r *callRow, c *cells) { c.count(int64(r.use.Number)) }),
		intColumn("starts", "", "How often the use was begun: more than once if a run was killed and resumed; null for asked.", func(r *callRow, c *cells) { c.count(int64(r.starts)) }),
		truthColumn("from_text", "Whether the model wrote the call into its text.", func(r *callRow, c *cells) { c.Truth(r.use.FromText) }),
		intColumn("reply_seq", "", "The number of the event with the reply that asked for it.", func(r *callRow, c *cells) {
			switch {
			case r.asked != nil:
				c.Integer(int64(r.e.Seq))
			case r.use.Of != nil:
				c.Integer(int64(r.use.Of.Seq))
			default:
				c.Null()
			}
		}),
		intColumn("reply_choice", "", "Which of the replies of that event.", func(r *callRow, c *cells) {
			switch {
			case r.asked != nil:
				c.int(r.choice)
			case r.use.Of != nil:
				c.int(r.use.Of.Choice)
			default:
				c.Null()
			}
		}),
		intColumn("arguments_bytes", "bytes", "The length of the arguments.", func(r *callRow, c *cells) { c.int(r.use.Arguments.Len()) }),
		intColumn("result_bytes", "bytes", "The length of the result; null without one.", func(r *callRow, c *cells) {
			if !r.ended() {
				c.Null()
				return
			}
			c.int(r.use.Result.Len())
		}),
		intColumn("ms", "ms", "How long the use took; null if it has no end.", func(r *callRow, c *cells) {
			if !r.ended() {
				c.Null()
				return
			}
			c.Integer(r.use.Millis)
		}),
		textColumn("error", "What failed.", func(r *callRow, c *cells) { c.word(r.use.Error) }),
		textColumn("child_run", "The run of the agent that the tool is, if it is one.", func(r *callRow, c *cells) {
			if r.use.Child == nil {
				c.Null()
				return
			}
			c.word(r.use.Child.Run)
		}),
		textColumn("arguments", "The arguments, as the model wrote them: mostly a JSON object.", func(r *callRow, c *cells) { c.content(r.use.Arguments) }),
		textColumn("result", "The result that the model got.", func(r *callRow, c *cells) {
			if !r.ended() {
				c.Null()
				return
			}
			c.content(r.use.Result)
		}),
		truthColumn("cut", "Whether some of the arguments or the result was not recorded; that text is null then.", func(r *callRow, c *cells) {
			c.Truth(!r.use.Arguments.Whole() || !r.use.Result.Whole())
		}),
	}), func(row func(*callRow) error) (func(*recordset.Event) error, func() error) {
	p := pendingCalls{row: row, begun: map[callKey]*callRow{}}
	return p.event, p.end
})

// ended reports whether the use has an end.
func (r *callRow) ended() bool { return r.state == callDone || r.state == callFailed }

// A callKey identifies a use of a tool.
type callKey struct {
	from   *recordset.Source
	run    string
	number int
}

// The uses that have begun and not ended are bounded in number and bytes. An agent
// has one at a time; those of runs that were killed stay.
const (
	maxPending      = 4096
	maxPendingBytes = 32 << 20
)

// pendingCalls joins the beginnings and ends of uses.
type pendingCalls struct {
	row   func(*callRow) error
	begun map[callKey]*callRow
	bytes int // of the lines in begun
}

func (p *pendingCalls) event(e *recordset.Event) error {
	switch x := e.Payload.(type) {
	case record.ToolCall:
		return p.use(e, x)
	case record.Exchange:
		for i := range x.Replies {
			for j := range x.Replies[i].ToolCalls {
				asked := &x.Replies[i].ToolCalls[j]
				use := record.ToolCall{ID: asked.ID, Name: asked.Name, Arguments: asked.Arguments}
				if err := p.row(&callRow{e: e, state: callAsked, asked: asked, choice: x.Replies[i].Choice, use: use}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *pendingCalls) use(e *recordset.Event, x record.ToolCall) error {
	key := callKey{e.Source, e.Run, x.Number}
	before := p.begun[key]
	row := &callRow{e: e, state: callUnfinished, starts: 1, use: x}
	if before != nil {
		row.starts = before.starts
		delete(p.begun, key)
		p.bytes -= len(before.e.Line())
	}
	if x.Phase == "start" {
		if before != nil {
			row.starts++
		} else if len(p.begun) >= maxPending || p.bytes > maxPendingBytes {
			if err := p.end(); err != nil {
				return err
			}
		}
		p.bytes += len(e.Line())
		kept := *e
		row.e, p.begun[key] = &kept, row
		return nil
	}
	row.state = callDone
	if x.Error != "" {
		row.state = callFailed
	}
	return p.row(row)
}

// end writes the uses that did not end, in the order of their events.
func (p *pendingCalls) end() error {
	rows := slices.SortedFunc(maps.Values(p.begun), func(a, b *callRow) int {
		if c := a.e.Time.Compare(b.e.Time); c != 0 {
			return c
		}
		return int(int64(a.e.Seq) - int64(b.e.Seq))
	})
	clear(p.begun)
	p.bytes = 0
	for _, r := range rows {
		if err := p.row(r); err != nil {
			return err
		}
	}
	return nil
}
