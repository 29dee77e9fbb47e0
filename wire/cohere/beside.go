package cohere

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/written"
)

// What a frame or a body says beside its texts, reasoning and calls is reported for a reply
// that is written from events.

// A beside is what is known of a message for that.
type beside struct {
	on    bool
	whole bool
	parts map[int]part // by the upstream's index
}

// A part is one that a citation may name.
type part struct{ block, choice int }

// starts reports the start of the message.
func (b *beside) starts(message gjson.Result, r wire.Reader) {
	if b.on && written.Members(r, 0, wire.MembersOfStart, shownStart, message.Raw, false) == "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfStart})
	}
}

// begins notes a part of the upstream's that has begun, and reports that a text stands there.
func (b *beside) begins(at int, w *blocks.Flow, r wire.Reader) {
	if !b.on {
		return
	}
	if b.parts == nil {
		b.parts = map[int]part{}
	}
	p := part{block: w.Block, choice: w.Choice}
	if w.In.Kind == blocks.Thinking {
		p.choice = -1
	} else {
		w.Stands(r)
	}
	if _, ok := b.parts[at]; ok || len(b.parts) < maxParts {
		b.parts[at] = p
	}
}

// cites reports a citation. One that names no part is about the message.
func (b *beside) cites(citation gjson.Result, r wire.Reader) {
	if !b.on || !citation.IsObject() {
		return
	}
	e := wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfCitation, Choice: -1, Index: -1}
	if at := citation.Get("content_index"); at.Type == gjson.Number {
		p, ok := b.parts[int(at.Int())]
		if !ok {
			return
		}
		e.Index, e.Choice = p.block, p.choice
	}
	if e.Raw = written.Shown(r, 0, wire.MembersOfCitation, shownCitation, citation.Raw, b.whole); e.Raw != "" {
		r.Found(e)
	}
}

// ends reports what the end of a stream, or a body, says of the reply.
func (b *beside) ends(root gjson.Result, r wire.Reader) {
	if !b.on {
		return
	}
	of := shownEnd
	if b.whole {
		of = shownBody
	}
	written.Members(r, 0, wire.MembersOfReply, of, root.Raw, b.whole)
}
