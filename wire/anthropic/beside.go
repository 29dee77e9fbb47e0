package anthropic

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// What a message says beside its texts, thinking and calls is reported for a reply that is
// written from events.

// nowhere is the sink of such a reply: what the flow gives it, the writer writes.
type nowhere struct{}

func (nowhere) Open(kind, bool)             {}
func (nowhere) Say(kind, []wire.Part, bool) {}
func (nowhere) Shut()                       {}
func (nowhere) Call(wire.Part)              {}

// beside reports members of the message.
func (y *reply) beside(of string, tree *shown.Value, v gjson.Result, r wire.Reader) {
	if y.set.Written && v.IsObject() {
		found(&y.flow, of, 0, shownOf(y.flow.Choice, of, tree, v.Raw, r), r)
	}
}

// block reports a block that begins, without what is read of it.
func (y *reply) block(w *blocks.Flow, tree *shown.Value, v gjson.Result, r wire.Reader) {
	if y.set.Written {
		found(w, wire.MembersOfBlock, w.Block, shownOf(w.Choice, wire.MembersOfBlock, tree, v.Raw, r), r)
	}
}

// piece reports a delta that is no text, such as a citation.
func (y *reply) piece(delta gjson.Result, r wire.Reader) {
	if !y.set.Written || !shownDeltas.Has(delta.Get("type").Str) {
		return
	}
	index := y.flow.Block
	if p, ok := y.passed[y.event.block]; ok {
		index = p.number
	} else if y.flow.In.Kind != text || y.event.block != y.start.block {
		return
	}
	found(&y.flow, wire.MembersOfPiece, index, shownOf(y.flow.Choice, wire.MembersOfPiece, shownDeltas, delta.Raw, r), r)
}

func found(w *blocks.Flow, of string, index int, raw string, r wire.Reader) {
	if raw != "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: w.Choice, Index: index, Name: of, Raw: raw})
	}
}

// shownOf returns what is shown of an object, whose texts are read.
func shownOf(choice int, of string, tree *shown.Value, raw string, r wire.Reader) string {
	left, ok, err := tree.Read(jsonedit.BytesOf(raw), written.Texts(r, choice, of, true))
	if err != nil {
		r.Fail(err)
	}
	if !ok {
		return ""
	}
	return jsonedit.StringOf(bytes.TrimSpace(left))
}

// ended reports that a block is complete.
func (y *reply) ended(block int, r wire.Reader) {
	if y.set.Written {
		r.Found(wire.Event{Kind: wire.EventBlockEnd, Choice: y.flow.Choice, Index: block})
	}
}

// alive reports a ping.
func (y *reply) alive(r wire.Reader) {
	if y.set.Written {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: y.flow.Choice, Name: wire.MembersOfPing})
	}
}
