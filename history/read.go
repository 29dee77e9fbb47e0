package history

import (
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Texts of history come from clients and may be a megabyte of markers as easily as
// a megabyte of prose. They are read as streams are, piece by piece. Of each reading
// only what the caller needs is kept: a [sotto.Reply] would keep every segment, which
// is many times the text.

// step is how much of a text is read at once.
const step = 8 << 10

// A reader reads texts by one grammar. It is not safe for concurrent use.
type reader struct {
	grammar *sotto.Grammar
	model   string                              // whose grammar it is, if it was borrowed for a model
	ready   map[sotto.Beginning]*sotto.Splitter // kept to be used again
}

func readerOf(g *sotto.Grammar) *reader {
	return &reader{grammar: g, ready: map[sotto.Beginning]*sotto.Splitter{}}
}

// readers keeps readers that were used, for the next request or reply of the same dialect.
type readers struct{ pool sync.Pool }

func (p *readers) borrow(g *sotto.Grammar) *reader {
	if r, _ := p.pool.Get().(*reader); r != nil && r.grammar == g {
		return r
	}
	return readerOf(g)
}

// borrowFor borrows a reader of a model's texts. The table of dialects is searched only if the
// reader that was kept is another model's.
func (p *readers) borrowFor(model string) *reader {
	r, _ := p.pool.Get().(*reader)
	if r != nil && r.model == model {
		return r
	}
	g, _ := sotto.ForModel(model)
	if r == nil || r.grammar != g {
		r = readerOf(g)
	}
	r.model = strings.Clone(model) // it may be a part of a request's body
	return r
}

func (p *readers) give(r *reader) { p.pool.Put(r) }

// splitter returns a splitter at the beginning of a text.
func (r *reader) splitter(start sotto.Beginning) (*sotto.Splitter, error) {
	if s := r.ready[start]; s != nil {
		delete(r.ready, start)
		s.Reset()
		return s, nil
	}
	return r.grammar.NewSplitter(sotto.Options{Start: start, MaxHold: -1, Inline: inline})
}

// scan reads a whole text. pieces gets the settled pieces of each step, valid until
// it returns; the inline channels are visible in them. The reading stops when pieces
// says so. The diagnostics are those of everything that was read.
func (r *reader) scan(text string, start sotto.Beginning, end sotto.Ending, pieces func([]sotto.Piece) (more bool)) ([]sotto.Diagnostic, error) {
	s, err := r.splitter(start)
	if err != nil {
		return nil, err
	}
	more := true
	for at := 0; at < len(text) && more; at += step {
		more = pieces(s.FeedString(text[at:min(at+step, len(text))]))
	}
	if more {
		pieces(s.Close(end))
	}
	r.ready[start] = s
	return s.Diagnostics(), nil
}

// thinks reports whether a text contains reasoning.
func thinks(r *reader, text string, start sotto.Beginning) (does bool) {
	_, _ = r.scan(text, start, sotto.EndUnknown, func(pieces []sotto.Piece) bool {
		for _, p := range pieces {
			does = does || p.Channel == sotto.ChannelReasoning && len(p.Bytes) > 0
		}
		return !does
	})
	return does
}

// reasoningOf returns the reasoning in a text: each non-blank block, trimmed, with
// a blank line between blocks.
func reasoningOf(r *reader, text string, start sotto.Beginning) string {
	return blocksOf(r, text, start, sotto.EndUnknown, false)
}

// firstReasoning returns the first of these blocks, for a whole text.
func firstReasoning(r *reader, text string, start sotto.Beginning) string {
	return blocksOf(r, text, start, sotto.EndStopped, true)
}

func blocksOf(r *reader, text string, start sotto.Beginning, end sotto.Ending, first bool) string {
	var all strings.Builder
	block, from := -1, 0 // the current block, and where it begins in all
	var wait []byte      // white space that may end it
	_, _ = r.scan(text, start, end, func(pieces []sotto.Piece) bool {
		for _, p := range pieces {
			if p.Channel != sotto.ChannelReasoning {
				continue
			}
			if p.Block != block {
				if first && all.Len() > 0 {
					return false
				}
				block, from, wait = p.Block, all.Len(), wait[:0]
			}
			b := p.Bytes
			if all.Len() == from {
				if b = trimLeft(b); len(b) > 0 && from > 0 {
					all.WriteString("\n\n")
				}
			}
			ink := trimRight(b)
			if len(ink) > 0 {
				all.Write(wait)
				all.Write(ink)
				wait = wait[:0]
			}
			wait = append(wait, b[len(ink):]...)
		}
		return true
	})
	return all.String()
}

// hasReasoning reports whether reasoningOf is not empty.
func hasReasoning(r *reader, text string, start sotto.Beginning) (has bool) {
	_, _ = r.scan(text, start, sotto.EndUnknown, func(pieces []sotto.Piece) bool {
		for _, p := range pieces {
			has = has || p.Channel == sotto.ChannelReasoning && len(trimLeft(p.Bytes)) > 0
		}
		return !has
	})
	return has
}

// visibleOf returns the visible part of a text, without a copy if that is all of it.
func visibleOf(r *reader, text string, start sotto.Beginning, end sotto.Ending) (visible string, all bool, err error) {
	var out []byte
	same := 0 // this much of the text is visible as it is
	_, err = r.scan(text, start, end, func(pieces []sotto.Piece) bool {
		for i := range pieces {
			b := pieces[i].Visible
			if out == nil && strings.HasPrefix(text[same:], jsonedit.StringOf(b)) {
				same += len(b)
				continue
			}
			if out == nil {
				out = append(make([]byte, 0, len(text)), text[:same]...)
			}
			out = append(out, b...)
		}
		return true
	})
	switch {
	case err != nil:
		return text, false, err
	case out == nil:
		return text[:same], same == len(text), nil
	}
	return jsonedit.StringOf(out), jsonedit.StringOf(out) == text, nil
}

// strip returns a text without its reasoning. The result ok is false if it has none,
// or if what is left would not read the same again. It reads as [sotto.Grammar.Strip]
// does: again until nothing changes, four times at most.
func strip(r *reader, text string, start sotto.Beginning) (bare string, ok bool) {
	if !thinks(r, text, start) {
		return text, false
	}
	bare, begins, done := text, start, false
	for range 5 {
		next, all, err := visibleOf(r, bare, begins, sotto.EndUnknown)
		if err != nil {
			return text, false
		}
		if done = all; done {
			break
		}
		bare, begins = next, sotto.BeginOutside
	}
	if !done {
		bare = ""
	}
	if _, same, err := visibleOf(r, bare, start, sotto.EndUnknown); err != nil || !same {
		return text, false
	}
	return bare, true
}

// isWhite reports whether a byte is in white.
func isWhite(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func trimLeft(b []byte) []byte {
	for len(b) > 0 && isWhite(b[0]) {
		b = b[1:]
	}
	return b
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && isWhite(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
