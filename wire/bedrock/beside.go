package bedrock

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// What a frame or a body says beside its texts, reasoning and calls is reported for a reply
// that is written from events.

// A beside reports that.
type beside struct{ on, whole bool }

// frame reports what hides the length of a frame.
func (b beside) frame(root gjson.Result, r wire.Reader) {
	if b.on {
		written.Members(r, 0, wire.MembersOfFrame, shownFrame, root.Raw, false)
	}
}

// starts reports the start of the message.
func (b beside) starts(r wire.Reader) {
	if b.on {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfStart})
	}
}

// stands reports a text block that begins.
func (b beside) stands(w *blocks.Flow, r wire.Reader) {
	if b.on && w.In.Kind == blocks.Text {
		w.Stands(r)
	}
}

// cites reports a citation of the text of a choice.
func (b beside) cites(citation gjson.Result, choice int, r wire.Reader) {
	if b.on && citation.IsObject() {
		written.Members(r, choice, wire.MembersOfCitation, shownCitation, citation.Raw, b.whole)
	}
}

// block returns what is shown of a block that is neither text nor reasoning, or of its start.
// Its texts are those of a choice of their own, see [beside.shuts].
func (b beside) block(raw string, number int, r wire.Reader) string {
	switch {
	case !b.on:
		return raw
	case b.whole:
		return written.Shown(r, choiceOf(number), wire.MembersOfPiece, shownBlock, raw, true)
	}
	return written.Shown(r, choiceOf(number), wire.MembersOfPiece, shownStart, raw, false)
}

func choiceOf(number int) int { return -1 - number }

// piece reports a piece of such a block.
func (b beside) piece(piece gjson.Result, number int, r wire.Reader) {
	if !b.on {
		return
	}
	if left := written.Shown(r, choiceOf(number), wire.MembersOfPiece, shownPiece, piece.Raw, false); left != "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPiece, Index: number, Raw: left})
	}
}

// shuts ends the texts of such a block.
func (b beside) shuts(number int, r wire.Reader) {
	if b.on {
		r.Close(choiceOf(number), sotto.EndStopped)
	}
}

// ended reports that the upstream's block under way is complete.
func (b beside) ended(w *blocks.Flow, r wire.Reader) {
	if b.on {
		r.Found(wire.Event{Kind: wire.EventBlockEnd, Choice: w.Choice, Index: w.Block})
	}
}

// members reports what an event or a body says of the reply, or of an exception.
func (b beside) members(of *shown.Value, root gjson.Result, r wire.Reader) {
	if b.on {
		written.Members(r, 0, wire.MembersOfReply, of, root.Raw, b.whole)
	}
}
