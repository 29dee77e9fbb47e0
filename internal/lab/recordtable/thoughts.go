package recordtable

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A thoughtRow is a row of the table of thoughts.
type thoughtRow struct {
	e        *recordset.Event
	call     *modelCall
	reply    *record.Reply
	position int
	native   *record.Thought // nil for a block of the text

	block, start, end int // of a block
	closed            bool

	bytes  int
	pieces []string // of a block
	text   string
	whole  bool // all of the text was recorded
}

var thoughts = define(Table{
	Name:  "thoughts",
	Doc:   "One row for each thought: a block of reasoning in a reply's text, or reasoning that came in a field of its own. Blocks of nothing but white space have no row.",
	Types: modelTypes,
}, slices.Concat(
	where(func(r *thoughtRow) *recordset.Event { return r.e }),
	[]column[thoughtRow]{
		intColumn("choice", "", "Which of the replies to the call it belongs to, from 0.", func(r *thoughtRow, c *cells) { c.int(r.reply.Choice) }),
		intColumn("position", "", "Which thought of the reply it is, from 1: those in fields of their own first.", func(r *thoughtRow, c *cells) { c.int(r.position) }),
		textColumn("type", "EXCHANGE or LLM_INVOCATION.", func(r *thoughtRow, c *cells) { c.text(string(r.e.Type)) }),
		textColumn("model", "The model, as the request named it.", func(r *thoughtRow, c *cells) { c.word(r.call.model) }),
		textColumn("purpose", "What an agent asked the model for, such as act.", func(r *thoughtRow, c *cells) { c.word(r.call.purpose) }),
		textColumn("source", "native (in a field of its own) or markup (in the text).", func(r *thoughtRow, c *cells) {
			if r.native != nil {
				c.Text("native")
				return
			}
			c.Text("markup")
		}),
		textColumn("field", "The field or kind of block of a native thought.", func(r *thoughtRow, c *cells) {
			if r.native == nil {
				c.Null()
				return
			}
			c.word(r.native.Field)
		}),
		place("block", "", "The number of the block in the reply.", func(r *thoughtRow) int { return r.block }),
		place("start", "bytes", "Where the thought begins in the reply's text as it came.", func(r *thoughtRow) int { return r.start }),
		place("end", "bytes", "Where it ends, exclusive.", func(r *thoughtRow) int { return r.end }),
		intColumn("bytes", "bytes", "The length of the thought as it came, white space around it included.", func(r *thoughtRow, c *cells) { c.int(r.bytes) }),
		truthColumn("closed", "Whether a closing marker follows; null for a native thought.", func(r *thoughtRow, c *cells) {
			if r.native != nil {
				c.Null()
				return
			}
			c.Truth(r.closed)
		}),
		textColumn("reply_end", "How the reply ended: stopped, cut or aborted. A thought that is not closed in a reply that was cut is truncated.", func(r *thoughtRow, c *cells) { c.text(r.reply.End.String()) }),
		truthColumn("sealed", "Whether the provider signed or encrypted a native thought.", func(r *thoughtRow, c *cells) {
			if r.native == nil {
				c.Null()
				return
			}
			c.Truth(r.native.Sealed)
		}),
		textColumn("text", "The thought, without white space around it; null if the provider sent it encrypted.", func(r *thoughtRow, c *cells) {
			if !r.whole || r.text == "" {
				c.Null()
				return
			}
			c.text(r.text)
		}),
		truthColumn("cut", "Whether some of the thought was not recorded; text is null then.", func(r *thoughtRow, c *cells) { c.Truth(!r.whole) }),
	}), stateless(func(e *recordset.Event, row func(*thoughtRow) error) error {
	call, ok := callOf(e.Payload)
	if !ok {
		return nil
	}
	for i := range call.replies {
		position := 0
		for _, t := range thoughtsOf(&call.replies[i]) {
			position++
			t.e, t.call, t.reply, t.position = e, &call, &call.replies[i], position
			if err := row(&t); err != nil {
				return err
			}
		}
	}
	return nil
}))

// place makes a column of a block's place, which a native thought has not.
func place(name, unit, doc string, of func(*thoughtRow) int) column[thoughtRow] {
	return intColumn(name, unit, doc+" Null for a native thought.", func(r *thoughtRow, c *cells) {
		if r.native != nil {
			c.Null()
			return
		}
		c.int(of(r))
	})
}

// thoughtsOf returns the thoughts of a reply.
func thoughtsOf(r *record.Reply) []thoughtRow {
	var list []thoughtRow
	for i := range r.Reasoning {
		t := &r.Reasoning[i]
		row := thoughtRow{native: t, bytes: t.Text.Len(), text: strings.TrimSpace(string(t.Text.Text)), whole: t.Text.Whole()}
		if row.text != "" || !row.whole || t.Sealed {
			list = append(list, row)
		}
	}
	first, raw := len(list), spanReader{c: &r.Raw}
	for _, s := range segmentsOf(r) {
		last := len(list) - 1
		same := last >= first && list[last].block == s.Block
		switch {
		case s.Channel == sotto.ChannelMarkup && same && s.Start >= list[last].end:
			list[last].closed = true
		case s.Channel == sotto.ChannelReasoning && !same:
			list = append(list, thoughtRow{block: s.Block, start: s.Start, whole: true})
			last++
			fallthrough
		case s.Channel == sotto.ChannelReasoning:
			t := &list[last]
			t.end, t.closed = s.End, false
			t.bytes += s.End - s.Start
			text, ok := raw.span(s.Start, s.End)
			t.pieces, t.whole = append(t.pieces, text), t.whole && ok
		}
	}
	for i := first; i < len(list); i++ {
		list[i].text, list[i].pieces = strings.TrimSpace(strings.Join(list[i].pieces, "")), nil
	}
	return slices.DeleteFunc(list, func(t thoughtRow) bool { return t.native == nil && t.whole && t.text == "" })
}
