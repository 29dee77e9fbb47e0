package responses

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// messageEvent reads an event of a message.
func (y *reply) messageEvent(e *event, it *outputItem) {
	switch e.kind {
	case partAdded:
		y.messagePart(e, it)
	case textDelta:
		if len(it.ending) > 0 {
			y.conclude(it, sotto.EndStopped)
		}
		y.messageDelta(e, it)
	case textDone, partDone, itemDone:
		y.messageDone(e, it)
	default: // annotations, refusals
		y.foundRefusal(e)
		switch {
		case len(it.ending) > 0:
			it.ending = y.wait(it.ending, e)
		case it.client < 0 && it.open():
			it.opening = y.wait(it.opening, e)
		default:
			y.appear(it)
			y.send(e, it)
		}
	}
}

// messagePart begins a part, which ends the one before.
func (y *reply) messagePart(e *event, it *outputItem) {
	part := jsonedit.Parse(e.Data).Get("part")
	y.conclude(it, sotto.EndStopped)
	if part.Get("type").Str != "output_text" {
		it.others++
		y.foundPart(part, e.content)
		y.appear(it)
		y.send(e, it)
		return
	}
	p := y.part(it, e.content)
	text := y.decode(part.Get("text"))
	parts, same := y.hear(p, text)
	switch {
	case it.client < 0:
		it.opening = y.wait(it.opening, e)
		if same && len(text) > 0 {
			y.appear(it)
		}
	default:
		if !same {
			y.empty(part.Get("text"), `""`)
		}
		y.send(e, it)
	}
	if !same {
		y.tell(it, p, nil, parts)
	}
}

// part returns the text of an item at an index, which begins with its first event.
func (y *reply) part(it *outputItem, index int) *itemPart {
	index = max(index, 0)
	if p := it.find(false, index); p != nil {
		return p
	}
	y.closeInline(sotto.EndStopped)
	p := &itemPart{choice: y.choices, index: index}
	y.choices++
	y.keepItem(0)
	it.add(p)
	return p
}

// hear reads text of a message. same says that the client may have it unchanged:
// then there is nothing to send.
func (y *reply) hear(p *itemPart, text []byte) (parts []wire.Part, same bool) {
	if p.closed && len(text) > 0 { // the upstream continues a part that it had ended
		p.choice, p.closed = y.choices, false
		y.choices++
	}
	p.read = p.read || len(text) > 0
	parts = y.r.Found(wire.Event{Kind: wire.EventText, Choice: p.choice, Text: text})
	if chatjson.Same(parts, text) {
		if len(text) > 0 {
			y.endRun(p, "completed")
		}
		y.keepText(p, text)
		return nil, true
	}
	p.changed = true
	return parts, false
}

func (y *reply) messageDelta(e *event, it *outputItem) {
	p := y.part(it, e.content)
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
	switch parts, same := y.hear(p, text); {
	case !same:
		y.tell(it, p, e, parts)
	case len(text) == 0 && it.client < 0:
		it.opening = y.wait(it.opening, e)
	default:
		y.appear(it)
		y.send(e, it)
	}
}

// tell sends the parts of a text that was changed. The first part that the message
// keeps is sent in the event that brought it.
func (y *reply) tell(it *outputItem, p *itemPart, e *event, parts []wire.Part) {
	for i := 0; i < len(parts); {
		if parts[i].Place == wire.Call {
			y.callIn(it, p, parts[i])
			i++
			continue
		}
		thought := parts[i].Place == wire.Reasoning
		y.said = y.said[:0]
		for ; i < len(parts) && parts[i].Place != wire.Call && (parts[i].Place == wire.Reasoning) == thought; i++ {
			y.said = append(y.said, parts[i].Text...)
		}
		switch {
		case len(y.said) == 0:
		case thought:
			y.think(it, p, y.said)
		default:
			y.say(it, p, e, y.said)
			e = nil
		}
	}
}

// think sends reasoning that stood in a message.
func (y *reply) think(it *outputItem, p *itemPart, text []byte) {
	if p.run == nil {
		p.run = y.mint(false, y.beside(it))
	}
	y.append(p.run, text)
}

// beside is the client's index of an item that was found in a message: before it, if the
// client has not seen the message.
func (y *reply) beside(it *outputItem) int {
	if it.client < 0 {
		return it.output + y.shift
	}
	return y.top
}

// callIn sends a call that stood in a message.
func (y *reply) callIn(it *outputItem, p *itemPart, call wire.Part) {
	y.endRun(p, "completed")
	it.calls = true
	y.call(call, y.beside(it))
}

// onlyCalls reports whether nothing is left of a message but its calls.
func (it *outputItem) onlyCalls() bool {
	if !it.calls || it.client >= 0 || it.others > 0 {
		return false
	}
	for _, p := range it.parts {
		if len(p.text) > 0 {
			return false
		}
	}
	return true
}

// leave leaves out a message of which only calls are left. If the upstream continues it,
// it appears after all.
func (y *reply) leave(it *outputItem) {
	if !it.left {
		it.left = true
		y.shift--
	}
}

func (y *reply) endRun(p *itemPart, status string) {
	if p.run != nil {
		y.finishMint(p.run, status)
		p.run = nil
	}
}

// say sends text of a message, in an event of the upstream if there is one.
func (y *reply) say(it *outputItem, p *itemPart, e *event, text []byte) {
	y.endRun(p, "completed")
	y.keepText(p, text)
	y.appear(it)
	switch {
	case p.silent || y.mute:
		return
	case e == nil:
		const name = "response.output_text.delta"
		y.open(name)
		y.place(it.client, it.quotedID(), false, p.index)
		y.data = jsontext.AppendVerbatim(append(y.data, `,"delta":`...), text)
		y.data = append(y.data, `,"logprobs":[]`...)
		y.close(name)
		return
	}
	y.edits = append(y.edits, jsonedit.Edit{Span: e.text, With: jsontext.AppendInside(nil, text)})
	y.send(e, it)
}

func (it *outputItem) quotedID() []byte {
	if it.id == nil {
		return []byte(`""`)
	}
	return it.id
}

// messageDone reads an event that ends a text, a part or the message. The event
// waits while a text is open.
func (y *reply) messageDone(e *event, it *outputItem) {
	switch e.kind {
	case textDone:
		p := y.part(it, e.content)
		var text []byte
		text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
		y.late(it, p, text)
	case partDone:
		if part := jsonedit.Parse(e.Data).Get("part"); part.Get("type").Str == "output_text" {
			y.late(it, y.part(it, e.content), y.decode(part.Get("text")))
		}
	case itemDone:
		y.lateItem(it, jsonedit.Parse(e.Data).Get("item"))
	}
	if len(it.ending) > 0 || it.open() {
		it.ending = y.wait(it.ending, e)
		return
	}
	y.appear(it)
	y.sendDone(e, it)
}

// late reads a text that came in one piece, without deltas.
func (y *reply) late(it *outputItem, p *itemPart, text []byte) {
	if p.read || len(text) == 0 {
		return
	}
	parts, same := y.hear(p, text)
	if same {
		y.appear(it)
		return
	}
	y.tell(it, p, nil, parts)
}

// lateItem reads the texts of a message that came without events of their own.
func (y *reply) lateItem(it *outputItem, item gjson.Result) {
	n, ended, others := 0, 0, 0
	for i, part := range item.Get("content").Array() {
		if part.Get("type").Str != "output_text" {
			if others++; others > it.others { // no event began it
				y.foundPart(part, i)
			}
			continue
		}
		if n == len(it.parts) {
			for _, p := range it.parts[ended:] {
				y.endPart(it, p, sotto.EndStopped)
			}
			ended = n
			y.part(it, it.top[0]).silent = true // no text of the item has that index
		}
		y.late(it, it.parts[n], y.decode(part.Get("text")))
		n++
	}
}

// conclude ends the texts of a message, and sends the events that waited for it.
func (y *reply) conclude(it *outputItem, end sotto.Ending) {
	for i, p := range it.parts {
		if i < len(it.parts)-1 {
			y.endPart(it, p, sotto.EndStopped)
		} else {
			y.endPart(it, p, end)
		}
	}
	if len(it.parts) == 0 && len(it.ending) == 0 {
		return
	}
	ending := it.ending
	it.ending = nil
	if it.onlyCalls() {
		y.leave(it)
		it.done = it.done || slices.ContainsFunc(ending, func(e event) bool { return e.kind == itemDone })
		return
	}
	y.appear(it)
	for i := range ending {
		y.sendDone(&ending[i], it)
	}
}

func (y *reply) endPart(it *outputItem, p *itemPart, end sotto.Ending) {
	if p.closed {
		return
	}
	p.closed = true
	if parts := y.r.Close(p.choice, end); len(parts) > 0 {
		p.changed = true
		y.tell(it, p, nil, parts)
	}
	y.endRun(p, statusOf(end))
}

// sendDone sends an event that ends a text, a part or the message with the text
// that the client has.
func (y *reply) sendDone(e *event, it *outputItem) {
	switch e.kind {
	case textDone:
		root := jsonedit.Parse(e.Data)
		y.editText(root.Get("text"), y.part(it, e.content))
	case partDone:
		part := jsonedit.Parse(e.Data).Get("part")
		if part.Get("type").Str == "output_text" {
			y.editText(part.Get("text"), y.part(it, e.content))
		}
	case itemDone:
		y.editMessage(jsonedit.Parse(e.Data).Get("item"), it)
		it.done = true
	}
	y.send(e, it)
}

// editText replaces the upstream's text with the one that the client has. Where nothing was
// changed the two are the same, unless the upstream ends a text with another one than its
// deltas said: nobody has read that.
func (y *reply) editText(v gjson.Result, p *itemPart) {
	if y.believes() && !p.changed || v.Type != gjson.String || bytes.Equal(y.decode(v), p.text) {
		return
	}
	y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, p.text)})
}

// believes reports whether the client gets what the upstream repeats at an end, even if its
// deltas said something else.
func (y *reply) believes() bool { return y.set.Keep }

// editMessage puts the texts that the client has into a message.
func (y *reply) editMessage(item gjson.Result, it *outputItem) {
	n := 0
	for _, part := range item.Get("content").Array() {
		if part.Get("type").Str == "output_text" && n < len(it.parts) {
			y.editText(part.Get("text"), it.parts[n])
			n++
		}
	}
}

// decode returns the text of a string, valid until the next is decoded.
func (y *reply) decode(v gjson.Result) (text []byte) {
	if v.Type != gjson.String {
		return nil
	}
	text, y.text = jsonedit.TextOf(y.text, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
	return text
}
