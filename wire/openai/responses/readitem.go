package responses

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/written"
)

// messageEvent reads an event of a message.
func (y *reader) messageEvent(e *event, it *readItem) {
	switch e.kind {
	case partAdded:
		part := jsonedit.Parse(e.Data).Get("part")
		y.conclude(it, sotto.EndStopped) // it ends the part before
		if p := y.partOf(it, part, max(e.content, 0)); p != nil {
			y.late(it, p, part)
		}
	case textDelta:
		if it.waits {
			y.conclude(it, sotto.EndStopped)
		}
		y.textDelta(e, it)
	case textDone:
		y.lateText(it, y.part(it, e.content, false), jsonedit.Parse(e.Data).Get("text"))
		it.waits = true
	case partDone:
		part := jsonedit.Parse(e.Data).Get("part")
		if p := y.partOf(it, part, max(e.content, 0)); p != nil {
			y.late(it, p, part)
			y.partEnds(it, p, part)
		}
		it.waits = true
	case itemDone:
		item := jsonedit.Parse(e.Data).Get("item")
		y.messageWhole(it, item)
		it.waits, it.done, it.end = true, true, strings.Clone(y.shown(item))
		y.keep(len(it.end), y.whole, y.r)
	default:
		y.messageOther(e, it)
	}
}

// messageOther reads a refusal, or an event of another kind.
func (y *reader) messageOther(e *event, it *readItem) {
	switch string(e.name) {
	case "response.refusal.delta":
		p := y.part(it, e.content, true)
		var text []byte
		text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
		y.refuse(it, p, text)
	case "response.refusal.done":
		y.lateText(it, y.part(it, e.content, true), jsonedit.Parse(e.Data).Get("refusal"))
		it.waits = true
	default:
		y.other(e, it)
	}
}

// partOf returns the part of a message that an event shows, or nil if parts of its kind are
// not shown.
func (y *reader) partOf(it *readItem, part gjson.Result, index int) *readPart {
	switch kind := part.Get("type").Str; kind {
	case "output_text":
		return y.part(it, index, false)
	case "refusal":
		return y.part(it, index, true)
	default:
		y.r.Found(wire.Event{Kind: wire.EventOther, Choice: y.choices, Index: it.number, Name: kind})
		return nil
	}
}

// part returns the text of a message at an index, which begins with its first event.
func (y *reader) part(it *readItem, index int, refusal bool) *readPart {
	key := partKey{refusal, max(index, 0)}
	if p := it.byKey[key]; p != nil {
		return p
	}
	p := &readPart{key: key, refusal: refusal, choice: y.choices}
	y.choices++
	y.addPart(it, p)
	y.beginPart(it, p)
	return p
}

func (y *reader) addPart(it *readItem, p *readPart) {
	if it.byKey == nil {
		it.byKey = map[partKey]*readPart{}
	}
	p.number = len(it.parts)
	it.byKey[p.key] = p
	it.parts = append(it.parts, p)
	y.keepItem(0, y.whole, y.r)
}

func (y *reader) textDelta(e *event, it *readItem) {
	p := y.part(it, e.content, false)
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
	y.hear(it, p, text)
	if e.logprobs.End > e.logprobs.Start+len("[]") {
		y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfTokens, Choice: p.choice, Raw: jsonedit.StringOf(e.logprobs.Of(e.Data))})
	}
}

// hear reads text of a message.
func (y *reader) hear(it *readItem, p *readPart, text []byte) {
	if p.closed && len(text) > 0 { // the upstream continues a part that it had ended
		p.choice, p.closed = y.choices, false
		y.choices++
		y.beginPart(it, p)
	}
	p.read = p.read || len(text) > 0
	y.keep(len(text), y.whole, y.r)
	y.r.Found(wire.Event{Kind: wire.EventText, Choice: p.choice, Index: it.number, Part: p.number, Text: text})
}

func (y *reader) refuse(it *readItem, p *readPart, text []byte) {
	p.read = p.read || len(text) > 0
	y.keep(len(text), y.whole, y.r)
	y.r.Found(wire.Event{Kind: wire.EventRefusal, Choice: p.choice, Index: it.number, Part: p.number, Text: text})
}

// late reads a part that came in one piece, without deltas.
func (y *reader) late(it *readItem, p *readPart, part gjson.Result) {
	if p.refusal {
		y.lateText(it, p, part.Get("refusal"))
	} else {
		y.lateText(it, p, part.Get("text"))
	}
}

func (y *reader) lateText(it *readItem, p *readPart, v gjson.Result) {
	text := y.decode(v)
	switch {
	case p.read || len(text) == 0:
	case p.refusal:
		y.refuse(it, p, text)
	default:
		y.hear(it, p, text)
	}
}

// partEnds notes what a part of a message says at its end beside its text.
func (y *reader) partEnds(it *readItem, p *readPart, part gjson.Result) {
	if p.refusal || p.closed || p.end != "" {
		return
	}
	p.end = strings.Clone(written.Shown(y.r, p.choice, wire.MembersOfPart, shownPart, part.Raw, true))
	if probs := part.Get("logprobs"); probs.IsArray() && len(probs.Raw) > len("[]") {
		if p.end == "" {
			p.end = "{}"
		}
		comma := ","
		if p.end == "{}" {
			comma = ""
		}
		p.end = p.end[:len(p.end)-1] + comma + `"logprobs":` + probs.Raw + "}" // the writer looks at what they spell
	}
	y.keep(len(p.end), y.whole, y.r)
}

// messageWhole reads the parts of a whole message that came without events of their own,
// and notes what the others say at their end. They are matched by their order.
func (y *reader) messageWhole(it *readItem, item gjson.Result) {
	var n [2]int
	for _, part := range item.Get("content").Array() {
		kind := part.Get("type").Str
		which := 0
		switch kind {
		case "output_text":
		case "refusal":
			which = 1
		default:
			y.partOf(it, part, 0)
			continue
		}
		p := y.nth(it, which == 1, n[which])
		n[which]++
		y.late(it, p, part)
		y.partEnds(it, p, part)
	}
}

// nth returns the n-th text or refusal of a message, which may begin now.
func (y *reader) nth(it *readItem, refusal bool, n int) *readPart {
	top := 0
	for _, p := range it.parts {
		top = max(top, p.key.index+1)
		if p.refusal != refusal {
			continue
		}
		if n == 0 {
			return p
		}
		n--
	}
	for _, p := range it.parts { // those before it have ended
		y.endPart(it, p, sotto.EndStopped)
	}
	return y.part(it, top, refusal)
}

// thoughtEvent reads an event of a reasoning item.
func (y *reader) thoughtEvent(e *event, it *readItem) {
	switch e.kind {
	case thinkDelta:
		var text []byte
		text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
		y.think(it, y.thoughtPart(e, it), text)
	case thinkDone:
		y.lateThought(it, y.thoughtPart(e, it), jsonedit.Parse(e.Data).Get("text"))
	case partDone:
		y.lateThought(it, y.thoughtPart(e, it), jsonedit.Parse(e.Data).Get("part.text"))
	case partAdded:
		y.thoughtPart(e, it)
	case itemDone:
		y.thoughtDone(it, jsonedit.Parse(e.Data).Get("item"))
	}
}

func (y *reader) thoughtPart(e *event, it *readItem) *readPart {
	summary := e.summary >= 0 || bytes.Contains(e.name, []byte("summary"))
	return y.thoughtText(it, partKey{summary, max(e.summary, e.content, 0)})
}

func (y *reader) thoughtText(it *readItem, key partKey) *readPart {
	p := it.byKey[key]
	if p == nil {
		p = &readPart{key: key}
		y.addPart(it, p)
	}
	return p
}

// think reads the upstream's own reasoning, for the choice that comes next.
func (y *reader) think(it *readItem, p *readPart, text []byte) {
	p.read = p.read || len(text) > 0
	y.keep(len(text), y.whole, y.r)
	name := "content"
	if p.key.summary {
		name = "summary"
	}
	y.r.Found(wire.Event{Kind: wire.EventThought, Choice: y.choices, Index: it.number, Part: p.number, Name: name, Text: text})
}

func (y *reader) lateThought(it *readItem, p *readPart, v gjson.Result) {
	if text := y.decode(v); !p.read && len(text) > 0 {
		y.think(it, p, text)
	}
}

// thoughtDone ends a reasoning item. Its texts that came without events are read.
func (y *reader) thoughtDone(it *readItem, item gjson.Result) {
	var lists [2][]*readPart
	for _, p := range it.parts {
		lists[p.key.list()] = append(lists[p.key.list()], p)
	}
	eachThought(item, func(summary bool, i int, text gjson.Result) {
		key := partKey{summary, i}
		if of := lists[key.list()]; i < len(of) {
			key = of[i].key // some servers do not begin at 0
		}
		y.lateThought(it, y.thoughtText(it, key), text)
	})
	y.found(item, it.number)
	it.done = true
	y.endItem(it, y.shown(item), sotto.EndStopped)
}

// callEvent reads an event of an item that has no text of the model's: a call.
func (y *reader) callEvent(e *event, it *readItem) {
	switch e.kind {
	case callDelta:
		var text []byte
		text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
		y.r.Found(wire.Event{Kind: wire.EventCall, Index: it.number, Text: text})
		y.other(e, it)
	case itemDone:
		y.callDone(it, jsonedit.Parse(e.Data).Get("item"))
	default:
		y.other(e, it)
	}
}

func (y *reader) callDone(it *readItem, item gjson.Result) {
	y.found(item, it.number)
	y.picture(item, it.number)
	it.done = true
	said := y.shown(item)
	y.keep(len(said), y.whole, y.r)
	y.endItem(it, said, sotto.EndStopped)
}

// other reports an event that only the API has.
func (y *reader) other(e *event, it *readItem) {
	tree := shownEvents[string(e.name)]
	if tree == nil || it.kind == hiddenItem {
		return
	}
	said := `{"type":"` + string(e.name) + `"`
	if left := written.Shown(y.r, 0, wire.MembersOfEvent, tree, jsonedit.StringOf(e.Data), true); left != "" {
		said += "," + left[1:]
	} else {
		said += "}"
	}
	y.r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfEvent, Index: it.number, Part: max(e.content, 0), Raw: said})
}

// found reports the call or the thought that an item is.
func (y *reader) found(item gjson.Result, number int) { foundItem(item, number, y.choices, y.r) }
