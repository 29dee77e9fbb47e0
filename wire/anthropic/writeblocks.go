package anthropic

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The blocks of a message that is written: their start, their pieces and their end in a
// stream, or elements of a list.

// mark notes that a block of text begins. If the text that is open was made of a thought, it
// continues in this block.
func (w *writer) mark(dst []byte, block int) []byte {
	w.lost = true
	if block == 0 || block == w.marked {
		return dst
	}
	w.marked = block
	switch {
	case w.open != text || w.source == block:
	case w.inlined:
		w.source, w.inlined = block, false
	default:
		dst = w.shut(dst)
	}
	return dst
}

// text writes a piece of text. If it is empty, it says that a text stands there.
func (w *writer) text(dst []byte, e *wire.Event) []byte {
	if len(e.Text) == 0 {
		return w.mark(dst, e.Index)
	}
	source := w.sourceOf(e)
	inlined := source != w.marked
	if w.open != text || w.source != source && !(w.inlined && inlined) {
		dst = w.opened(w.shut(dst), text, source)
		w.inlined = inlined
	}
	w.said = e.Index
	return w.say(dst, e.Text)
}

// sourceOf returns the block of a text or a thought. What was held until a text ended is of
// the block under way.
func (w *writer) sourceOf(e *wire.Event) int {
	if e.Index == 0 && w.marked != none {
		return w.marked
	}
	return e.Index
}

func (w *writer) thought(dst []byte, e *wire.Event) []byte {
	if len(e.Text) == 0 || e.Again {
		return dst
	}
	if source := w.sourceOf(e); w.open != thinking || w.source != source {
		dst = w.opened(w.shut(dst), thinking, source)
		switch {
		case !w.sign:
		case e.Name != "thinking":
			w.ours = chatjson.Signature
		case w.empty == source:
			w.ours = chatjson.SignatureOfEmpty
		default:
			w.ours = chatjson.SignatureOfNone
		}
	}
	return w.say(dst, e.Text)
}

// seal writes the signature of a thinking block, or a block that is sealed. The signature of
// one whose thought became text is left out.
func (w *writer) seal(dst []byte, e *wire.Event) []byte {
	if len(e.Text) == 0 {
		if w.empty = e.Index; w.ours != "" && w.source == e.Index {
			w.ours = chatjson.SignatureOfEmpty
		}
		return dst
	}
	quoted := jsontext.AppendVerbatim(nil, e.Text)
	if _, ok := shown.Sealed.Of(quoted); !ok {
		return dst
	}
	switch {
	case e.Name == "redacted_thinking":
		return w.pass(dst, e.Index, `{"type":"redacted_thinking","data":`+string(quoted)+"}")
	case e.Name != "signature" || e.Index != 0 && e.Index == w.said:
		return dst
	case w.open != thinking || w.source != e.Index:
		dst = w.opened(w.shut(dst), thinking, e.Index)
	}
	w.ours = ""
	if w.whole {
		w.sealed = append(w.sealed, e.Text...)
		return dst
	}
	return w.signature(dst, quoted)
}

// copied ends the open thought with a copy in the place of its signature. Where the client does not
// see the thought, its block is empty.
func (w *writer) copied(dst, text []byte) []byte {
	if w.open != thinking {
		dst = w.opened(w.shut(dst), thinking, none)
	}
	if w.ours = ""; w.whole {
		w.sealed = append(w.sealed, text...)
	} else {
		dst = w.signature(dst, jsontext.AppendVerbatim(nil, text))
	}
	return w.shut(dst)
}

func (w *writer) signature(dst, quoted []byte) []byte {
	dst = append(w.event(w.flush(dst), "content_block_delta", w.index), `,"delta":{"type":"signature_delta","signature":`...)
	return append(append(dst, quoted...), "}}\n\n"...)
}

// opened begins a block of text or thinking.
func (w *writer) opened(dst []byte, k kind, source int) []byte {
	w.open, w.source, w.inlined, w.ours, w.sealed = k, source, false, "", w.sealed[:0]
	dst = w.start(dst)
	switch {
	case k == thinking:
		dst = append(dst, `"type":"thinking","thinking":"`...)
		if !w.whole {
			dst = append(dst, `","signature":""}}`+"\n\n"...)
		}
	default:
		dst = w.appendBlock(dst, source, "text")
		dst = append(dst, `,"text":"`...)
		if !w.whole {
			dst = append(dst, `"}}`+"\n\n"...)
		}
	}
	w.inside = w.whole
	return dst
}

// start begins a block of any kind: what follows are its members.
func (w *writer) start(dst []byte) []byte {
	dst = w.begin(dst)
	w.index = w.next
	w.next++
	if w.whole {
		return append(jsontext.AppendComma(dst, w.index), '{')
	}
	return append(w.event(w.flush(dst), "content_block_start", w.index), `,"content_block":{`...)
}

// appendBlock appends the members of a block that begins, which say of what type it is.
func (w *writer) appendBlock(dst []byte, block int, usual string) []byte {
	if w.block != "" && w.blockOf == block {
		dst = append(dst, w.block[1:len(w.block)-1]...)
		w.block = ""
		return dst
	}
	return append(append(append(dst, `"type":"`...), usual...), '"')
}

// say appends text to the open block.
func (w *writer) say(dst, said []byte) []byte {
	if !w.inside {
		dst = w.event(dst, "content_block_delta", w.index)
		if w.open == thinking {
			dst = append(dst, `,"delta":{"type":"thinking_delta","thinking":"`...)
		} else {
			dst = append(dst, `,"delta":{"type":"text_delta","text":"`...)
		}
		w.inside = true
	}
	return jsontext.AppendInside(dst, said)
}

// flush ends the delta that is under way.
func (w *writer) flush(dst []byte) []byte {
	if !w.inside || w.whole {
		return dst
	}
	w.inside = false
	return append(dst, `"}}`+"\n\n"...)
}

// shut ends the open block of text or thinking.
func (w *writer) shut(dst []byte) []byte {
	k := w.open
	if k == other {
		return dst
	}
	w.open = other
	switch {
	case w.whole:
		w.inside = false
		if dst = append(dst, '"'); k == thinking {
			w.sealed = append(w.sealed, w.ours...)
			dst = jsontext.AppendVerbatim(append(dst, `,"signature":`...), w.sealed)
		}
		return append(dst, '}')
	case w.ours != "":
		dst = w.signature(dst, []byte(`"`+w.ours+`"`))
	}
	return w.stop(w.flush(dst), w.index)
}

func (w *writer) stop(dst []byte, index int) []byte {
	return append(w.event(dst, "content_block_stop", index), "}\n\n"...)
}

// blockEnd ends what comes from a block that is complete. Text that was made of a thought
// may continue in the next.
func (w *writer) blockEnd(dst []byte, block int) []byte {
	if index, ok := w.passing[block]; ok {
		delete(w.passing, block)
		if !w.whole {
			dst = w.stop(w.flush(dst), index)
		}
		return dst
	}
	if w.open != other && w.source == block && !w.inlined {
		dst = w.shut(dst)
	}
	if w.marked == block {
		w.marked = none
	}
	return dst
}

// piece writes a delta of the API that is no text.
func (w *writer) piece(dst []byte, e *wire.Event) []byte {
	index, ok := w.passing[e.Index]
	switch {
	case ok:
	case e.Index != w.marked:
		return dst
	case w.open != text || w.source != e.Index:
		dst = w.opened(w.shut(dst), text, e.Index)
		fallthrough
	default:
		index = w.index
	}
	dst = append(w.event(w.flush(dst), "content_block_delta", index), `,"delta":`...)
	return append(append(dst, e.Raw...), "}\n\n"...)
}

// pass begins a block that holds no text of the reply. It is open until it ends.
func (w *writer) pass(dst []byte, block int, raw string) []byte {
	dst = append(w.start(w.shut(dst)), raw[1:]...)
	return w.started(dst, block)
}

// started ends the start of such a block, and notes that it is open.
func (w *writer) started(dst []byte, block int) []byte {
	switch {
	case w.whole:
		return dst
	case block < 0 || len(w.passing) == maxOpen:
		return append(dst, "}\n\n"...)
	case w.passing == nil:
		w.passing = map[int]int{}
	}
	w.passing[block] = w.index
	return append(dst, "}\n\n"...)
}

// call writes a call of a tool, or a piece of one.
func (w *writer) call(dst []byte, e *wire.Event) []byte {
	made := e.Index < 0 // it was in a text
	index, open := w.passing[e.Index]
	switch {
	case e.Again, !open && !made && (w.own && w.blockOf != e.Index || len(w.passing) == maxOpen):
		return dst // it is of a kind that is not known, or one of too many
	case !open:
		w.called, w.made = true, w.made || made
		dst = w.start(w.shut(dst))
		dst = w.appendBlock(dst, e.Index, "tool_use")
		dst = jsontext.AppendVerbatim(append(dst, `,"id":`...), wordOr(e.ID, "toolu_"))
		dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), e.Name)
		dst = append(dst, `,"input":`...)
		if w.whole {
			return append(appendInput(dst, e.Text), '}')
		}
		dst = w.started(append(dst, "{}}"...), e.Index)
		if index = w.index; len(e.Text) == 0 && !made {
			return dst
		}
	}
	dst = append(w.event(w.flush(dst), "content_block_delta", index), `,"delta":{"type":"input_json_delta","partial_json":"`...)
	dst = append(jsontext.AppendInside(dst, e.Text), `"}}`+"\n\n"...)
	if made {
		dst = w.stop(dst, index)
	}
	return dst
}

// appendInput appends the arguments of a call as JSON.
func appendInput(dst, arguments []byte) []byte {
	switch {
	case len(arguments) == 0:
		return append(dst, "{}"...)
	case foreignjson.Valid(arguments):
		return append(dst, arguments...)
	}
	return jsontext.AppendVerbatim(dst, arguments)
}
