package sealedslot

import (
	"slices"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Has reports whether a request has copies, or what claims to be one.
func Has(q *wire.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m wire.Message) bool {
		return slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return Is(t.Proof) })
	})
}

// Restore returns a request's body with the blocks of which the client has copies. open opens
// them. A block whose copy does not open, or that does not stand in a message of the
// assistant's, is left out, and counted as foreign; so is a message that has nothing else.
func Restore(body []byte, c wire.BlockCodec, open func(text string) (block string, ok bool)) (restored []byte, foreign int) {
	list, member := c.Lists()
	r := restoring{codec: c, open: open}
	messages := jsonedit.Members(jsonedit.Parse(body).Get(list))
	if member == "" {
		r.blocks(messages, true)
		return jsonedit.Splice(make([]byte, 0, len(body)), body, r.edits), r.foreign
	}
	gone := map[int]bool{}
	for i, m := range messages {
		blocks := jsonedit.Members(m.Value.Get(member))
		before := len(r.edits)
		if n := r.blocks(blocks, m.Value.Get("role").Str == "assistant"); n > 0 && n == len(blocks) {
			r.edits, gone[i] = r.edits[:before], true
		}
	}
	r.edits = jsonedit.Cut(r.edits, messages, func(i int) bool { return gone[i] })
	return jsonedit.Splice(make([]byte, 0, len(body)), body, r.edits), r.foreign
}

type restoring struct {
	codec   wire.BlockCodec
	open    func(text string) (string, bool)
	edits   []jsonedit.Edit
	foreign int
}

// blocks takes the blocks of a message, and returns how many are left out.
func (r *restoring) blocks(list []jsonedit.Member, assistant bool) (left int) {
	gone := map[int]bool{}
	for i, e := range list {
		b := r.codec.Block(e.Value.Raw)
		if b.Kind != wire.BlockThought || !Is(b.Proof) {
			continue
		}
		block, ok := "", false
		if assistant {
			block, ok = r.open(b.Proof)
		}
		if ok {
			r.edits = append(r.edits, jsonedit.Edit{Span: e.Span(), With: []byte(block)})
		} else {
			gone[i] = true
		}
	}
	r.foreign += len(gone)
	r.edits = jsonedit.Cut(r.edits, list, func(i int) bool { return gone[i] })
	return len(gone)
}
