package responses

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Reasoning that the upstream itself separates is an item that stays as it is. Its
// id and its encrypted content also stay. Only its texts may go elsewhere: if a client
// wants them inline, they go into a message of ours, after the item.

// thoughtEvent reads an event of a reasoning item.
func (y *reply) thoughtEvent(e *event, it *outputItem) {
	var p *itemPart
	root := gjson.Result{}
	switch e.kind {
	case thinkDelta:
		y.thoughtDelta(e, it)
		return
	case thinkDone:
		p, root = y.thoughtPart(e, it), jsonedit.Parse(e.Data)
	case partAdded:
		if p = y.thoughtPart(e, it); p.converted {
			y.beginSummary(it, p)
			return
		}
		p = nil
	case partDone:
		p, root = y.thoughtPart(e, it), jsonedit.Parse(e.Data).Get("part")
	case itemDone:
		y.thoughtDone(e, it)
		return
	}
	if p != nil {
		y.lateThought(it, p, root.Get("text"))
	}
	switch {
	case p != nil && p.converted:
		y.summarized(e, it, p)
		return
	case p != nil:
		y.editText(root.Get("text"), p)
	}
	y.send(e, it)
}

// list is the member of the item that holds the text.
func (p *itemPart) list() string {
	if p.summary {
		return "summary"
	}
	return "content"
}

func (y *reply) thoughtPart(e *event, it *outputItem) *itemPart {
	summary := e.summary >= 0 || bytes.Contains(e.name, []byte("summary"))
	return y.thoughtText(it, summary, max(e.summary, e.content, 0))
}

func (y *reply) thoughtText(it *outputItem, summary bool, index int) *itemPart {
	if p := it.find(summary, index); p != nil {
		return p
	}
	y.keepItem(0)
	p := &itemPart{summary: summary, index: index}
	p.converted = y.summary && !summary && len(it.nth[1]) == 0
	it.add(p)
	return p
}

func (y *reply) thoughtDelta(e *event, it *outputItem) {
	p := y.thoughtPart(e, it)
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
	said, same := y.hearThought(it, p, text)
	switch {
	case !same && len(said) == 0:
		return
	case p.converted:
		y.beginSummary(it, p)
		y.summaryText(it, p, ".delta", `,"delta":`, said)
		return
	case !same:
		y.edits = append(y.edits, jsonedit.Edit{Span: e.text, With: jsontext.AppendInside(nil, said)})
	}
	y.send(e, it)
}

// hearThought reads the upstream's own reasoning, for the choice that comes next,
// and returns the part that stays reasoning.
func (y *reply) hearThought(it *outputItem, p *itemPart, text []byte) (said []byte, same bool) {
	p.read = p.read || len(text) > 0
	parts := y.r.Found(wire.Event{Kind: wire.EventThought, Choice: y.choices, Index: it.output, Name: p.list(), Text: text})
	if len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, text) ||
		len(parts) == 0 && len(text) == 0 {
		y.keepText(p, text)
		return text, true
	}
	p.changed = true
	said = y.sort(parts)
	y.keepText(p, said)
	return said, false
}

// sort sends what belongs into a message, and returns the reasoning.
func (y *reply) sort(parts []wire.Part) (thought []byte) {
	y.said = y.said[:0]
	for _, part := range parts {
		switch {
		case len(part.Text) == 0:
		case part.Place == wire.Reasoning:
			y.said = append(y.said, part.Text...)
		case part.Place == wire.Call:
			y.call(part, y.top)
		default:
			if y.inline == nil {
				y.inline = y.mint(true, y.top)
			}
			y.append(y.inline, part.Text)
		}
	}
	return y.said
}

func (y *reply) closeInline(end sotto.Ending) {
	if y.inline != nil {
		y.finishMint(y.inline, statusOf(end))
		y.inline = nil
	}
}

// withoutMessage sends what the end gives of a choice that never had a message.
func (y *reply) withoutMessage(parts []wire.Part, end sotto.Ending) {
	if thought := y.sort(parts); len(thought) > 0 {
		m := y.mint(false, y.top)
		y.append(m, thought)
		y.finishMint(m, statusOf(end))
	}
}

// lateThought reads a text that came without deltas.
func (y *reply) lateThought(it *outputItem, p *itemPart, v gjson.Result) {
	if text := y.decode(v); !p.read && len(text) > 0 {
		y.hearThought(it, p, text)
	}
}

// thoughtDone ends a reasoning item.
func (y *reply) thoughtDone(e *event, it *outputItem) {
	item := jsonedit.Parse(e.Data).Get("item")
	y.readThought(item, it)
	for _, p := range it.parts {
		if p.begun && !p.ended {
			y.endSummary(it, p)
		}
	}
	y.editThought(item, it)
	y.send(e, it)
}

// A text of reasoning in an item's content is summary text for a client that wants
// summaries: it has events of its own, and in the whole item it stands in the summary.

// summarized sends what an event that ends a text, or its part, becomes.
func (y *reply) summarized(e *event, it *outputItem, p *itemPart) {
	if e.kind == thinkDone {
		y.beginSummary(it, p)
		y.endSummary(it, p)
	}
}

func (y *reply) beginSummary(it *outputItem, p *itemPart) {
	if !p.begun && !y.mute {
		p.begun = true
		y.summaryPart(it, p, ".added", nil)
	}
}

func (y *reply) endSummary(it *outputItem, p *itemPart) {
	if !p.ended && !y.mute {
		p.ended = true
		y.summaryText(it, p, ".done", `,"text":`, p.text)
		y.summaryPart(it, p, ".done", p.text)
	}
}

func (y *reply) summaryPart(it *outputItem, p *itemPart, event string, text []byte) {
	name := "response.reasoning_summary_part" + event
	y.open(name)
	y.place(it.client, it.quotedID(), true, p.index)
	y.data = appendSummary(append(y.data, `,"part":`...), text)
	y.close(name)
}

func (y *reply) summaryText(it *outputItem, p *itemPart, event, member string, text []byte) {
	name := "response.reasoning_summary_text" + event
	y.open(name)
	y.place(it.client, it.quotedID(), true, p.index)
	y.data = jsontext.AppendVerbatim(append(y.data, member...), text)
	y.close(name)
}

// editSummary puts the texts of a whole item's content into its summary.
func (y *reply) editSummary(item gjson.Result, it *outputItem) {
	summary := []byte("[")
	for _, p := range it.nth[0] {
		if p.converted && len(p.text) > 0 {
			if len(summary) > 1 {
				summary = append(summary, ',')
			}
			summary = appendSummary(summary, p.text)
		}
	}
	summary = append(summary, ']')
	y.empty(item.Get("content"), "[]")
	if v := item.Get("summary"); v.Exists() {
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: summary})
		return
	}
	at := item.Index + 1
	with := append(append([]byte(`"summary":`), summary...), ',')
	y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
}

// readThought reads the texts of a whole reasoning item that were not read yet.
func (y *reply) readThought(item gjson.Result, it *outputItem) {
	eachThought(item, func(summary bool, i int, text gjson.Result) {
		y.lateThought(it, y.thoughtText(it, summary, y.thoughtIndex(it, summary, i)), text)
	})
}

// thoughtIndex returns the index that events gave to the i-th text of its list:
// some servers do not begin at 0.
func (y *reply) thoughtIndex(it *outputItem, summary bool, i int) int {
	list := partKey{summary: summary}.list()
	if i < len(it.nth[list]) {
		return it.nth[list][i].index
	}
	return it.top[list]
}

// editThought puts the texts that the client has into a whole reasoning item.
func (y *reply) editThought(item gjson.Result, it *outputItem) {
	if len(it.nth[0]) > 0 && it.nth[0][0].converted {
		y.editSummary(item, it)
		return
	}
	eachThought(item, func(summary bool, i int, text gjson.Result) {
		y.editText(text, y.thoughtText(it, summary, y.thoughtIndex(it, summary, i)))
	})
}

func eachThought(item gjson.Result, do func(summary bool, i int, text gjson.Result)) {
	for _, list := range []string{"summary", "content"} {
		for i, part := range item.Get(list).Array() {
			do(list == "summary", i, part.Get("text"))
		}
	}
}

// encrypted reports whether an item holds something that only the provider
// can read. Ollama puts the reasoning itself into encrypted_content.
func encrypted(item gjson.Result) bool {
	sealed := item.Get("encrypted_content").Str
	if sealed == "" || strings.ContainsFunc(sealed, unicode.IsSpace) {
		return false
	}
	plain := false
	eachThought(item, func(_ bool, _ int, text gjson.Result) {
		plain = plain || strings.TrimSpace(text.Str) != "" && strings.Contains(sealed, text.Str)
	})
	return !plain
}
