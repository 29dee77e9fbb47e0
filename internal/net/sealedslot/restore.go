package sealedslot

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Has reports whether a request has copies, or what claims to be one.
func Has(q *wire.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m wire.Message) bool {
		return slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return strings.Contains(t.Proof, Prefix) })
	})
}

// Restore returns a request's body with the blocks, or the lists, of which the client has copies. open opens
// them. A block whose copy does not open, or that does not stand in a message of the
// assistant's, is left out, and counted as foreign; so is a message that has nothing else.
// Elements of lists are treated as blocks are. A list that has nothing else is left out too.
func Restore(body []byte, c wire.Codec, open func(text string) (block string, ok bool)) (restored []byte, foreign int) {
	r := restoring{open: open}
	switch c := c.(type) {
	case wire.BlockCodec:
		r.codec = c
		r.messages(body, c)
	case wire.ListCodec:
		r.lists(body, c)
	}
	return jsonedit.Splice(make([]byte, 0, len(body)), body, r.edits), r.foreign
}

func (r *restoring) messages(body []byte, c wire.BlockCodec) {
	list, member := c.Lists()
	messages := jsonedit.Members(jsonedit.Parse(body).Get(list))
	if member == "" {
		r.blocks(messages, true)
		return
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
}

// lists takes the lists that stand in members of messages.
func (r *restoring) lists(body []byte, c wire.ListCodec) {
	list, member := c.ThoughtLists()
	for _, m := range jsonedit.Members(jsonedit.Parse(body).Get(list)) {
		assistant, members := m.Value.Get("role").Str == "assistant", jsonedit.Members(m.Value)
		gone := map[int]bool{}
		for i, f := range members {
			if f.Key == member && f.Value.IsArray() {
				before, elements := len(r.edits), jsonedit.Members(f.Value)
				if left := r.elements(elements, c, assistant); left > 0 && left == len(elements) {
					r.edits, gone[i] = r.edits[:before], true
				}
			}
		}
		r.edits = jsonedit.Cut(r.edits, members, func(i int) bool { return gone[i] })
	}
}

// elements takes the elements of a list, and returns how many are left out. The block of a copy is a list:
// it takes the place of all others, which are what the client got of it.
func (r *restoring) elements(all []jsonedit.Member, c wire.ListCodec, assistant bool) (left int) {
	gone, others, opened := map[int]bool{}, []int(nil), false
	for i, e := range all {
		text := c.Slot(e.Value.Raw)
		if !Is(text) {
			others = append(others, i)
			continue
		}
		block, ok := "", false
		if assistant {
			block, ok = r.open(text)
		}
		if ok && len(block) > len("[]") {
			r.edits = append(r.edits, jsonedit.Edit{Span: e.Span(), With: []byte(block[1 : len(block)-1])})
			opened = true
		} else {
			gone[i] = true
		}
	}
	r.foreign += len(gone)
	if opened {
		for _, i := range others {
			gone[i] = true
		}
	}
	r.edits = jsonedit.Cut(r.edits, all, func(i int) bool { return gone[i] })
	return len(gone)
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
