package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// A kind says what a block holds, or a piece of it.
type kind = blocks.Kind

const (
	other    = blocks.Other
	text     = blocks.Text
	thinking = blocks.Thinking
)

// An event is what a content_block event says about its block. Spans are in the
// frame's data, and empty if it has no such member.
type event struct {
	kind   kind          // of the block that it begins, or of the text that it brings
	block  int           // the upstream's index
	index  jsonedit.Span // where that stands
	inside jsonedit.Span // the text, without its quotes
	signs  bool          // it brings a signature
	// unsigned is the signature of ours that it calls for: see [chatjson.SignatureFor].
	unsigned string
}

// A shape is the form of an earlier event.
type shape struct {
	jsonedit.Shape
	event
}

// like returns the event of a frame that differs from the shape's only in the text.
func (s *shape) like(inside jsonedit.Span) event {
	e := s.event
	if e.index.Start > e.inside.Start {
		by := inside.End - e.inside.End
		e.index.Start += by
		e.index.End += by
	}
	e.inside = inside
	return e
}

// eventOf reads the members that all content_block events have.
func eventOf(root gjson.Result) event {
	index := root.Get("index")
	return event{block: int(index.Int()), index: spanOf(index)}
}

// startOf reads a content_block_start.
func startOf(root gjson.Result) event {
	e := eventOf(root)
	block := root.Get("content_block")
	switch block.Get("type").Str {
	case "text":
		e.kind, e.inside = text, insideOf(block.Get("text"))
	case "thinking":
		e.kind, e.inside = thinking, insideOf(block.Get("thinking"))
		e.unsigned = chatjson.SignatureFor(block.Get("signature"))
		e.signs = e.unsigned == ""
	}
	return e
}

// deltaOf reads a content_block_delta.
func deltaOf(root gjson.Result) event {
	e := eventOf(root)
	delta := root.Get("delta")
	switch delta.Get("type").Str {
	case "text_delta":
		e.kind, e.inside = text, insideOf(delta.Get("text"))
	case "thinking_delta":
		e.kind, e.inside = thinking, insideOf(delta.Get("thinking"))
	case "input_json_delta":
		e.inside = insideOf(delta.Get("partial_json"))
	case "signature_delta":
		e.signs, e.unsigned = true, chatjson.SignatureFor(delta.Get("signature"))
	}
	return e
}

func spanOf(v gjson.Result) jsonedit.Span {
	return jsonedit.Span{Start: v.Index, End: v.Index + len(v.Raw)}
}

// insideOf returns where the inside of a JSON string is.
func insideOf(v gjson.Result) jsonedit.Span {
	if v.Type != gjson.String {
		return jsonedit.Span{}
	}
	return jsonedit.Span{Start: v.Index + 1, End: v.Index + len(v.Raw) - 1}
}

// A kept frame is one that is written later, or twice.
type kept struct {
	blocks.Kept
	event
}

// keep copies a frame.
func (k *kept) keep(f wire.Frame, e event) {
	k.event = e
	k.Keep(f)
}
