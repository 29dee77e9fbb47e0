package errortext

import (
	"bytes"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A Reader reads the texts of the errors of one reply. Its fields are set before the
// first text.
type Reader struct {
	// Grammars read each text, one after the other. The first one's texts have an unknown
	// start.
	Grammars []*sotto.Grammar
	// Inline are channels that stay in the text, beside that of the text itself.
	Inline []sotto.Channel
	// Found says that something was taken out of a text.
	Found bool

	// inside says that an earlier error of the reply ended in a thought, which the texts
	// of the next one may continue.
	inside, open bool
}

const (
	maxRounds = 4 // how often a text is read again, because a cut may join two halves of a marker
	maxLayers = 8 // of escapes in each other
	maxNested = 4 // JSON in strings of JSON
)

// Withheld replaces a text that does not come to rest.
const Withheld = "the gateway withheld this text"

// Text returns what is left of a text that is not JSON.
func (r *Reader) Text(text []byte) []byte { return r.text(text, sotto.BeginAuto, 0) }

// text returns what is left of a text.
func (r *Reader) text(text []byte, start sotto.Beginning, nested int) []byte {
	if nested < maxNested && isDocument(text) {
		text = r.values(text, nested+1, jsonedit.Parse(text))
	}
	for range maxRounds {
		left, found := r.once(text, start)
		if !found {
			return text
		}
		r.Found = true
		text, start = left, sotto.BeginAuto
	}
	return []byte(Withheld)
}

// isDocument reports whether a text is an object or a list in JSON.
func isDocument(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && foreignjson.Valid(text)
}

// once reads a text in each layer of escapes, until something is found in one.
func (r *Reader) once(text []byte, start sotto.Beginning) (left []byte, found bool) {
	v := view{text: text}
	for range maxLayers {
		for i, g := range r.Grammars {
			from := start
			if i > 0 {
				from = sotto.BeginOutside
			}
			if cuts := r.cuts(g, from, v.text); len(cuts) > 0 {
				return v.without(text, cuts), true
			}
		}
		var more bool
		if v, more = v.unescaped(); !more {
			return text, false
		}
	}
	return []byte(Withheld), !bytes.Equal(text, []byte(Withheld))
}

// cuts returns the spans of a text that do not stay.
func (r *Reader) cuts(g *sotto.Grammar, start sotto.Beginning, text []byte) []jsonedit.Span {
	if len(text) == 0 {
		return nil
	}
	s, err := g.NewSplitter(sotto.Options{Start: start, MaxHold: -1, Inline: r.Inline})
	if err != nil {
		return []jsonedit.Span{{Start: 0, End: len(text)}}
	}
	var cuts []jsonedit.Span
	open := false
	take := func(pieces []sotto.Piece) {
		for _, p := range pieces {
			if len(p.Bytes) == 0 {
				continue
			}
			open = p.Channel == sotto.ChannelReasoning
			if p.Channel != sotto.ChannelText && !slices.Contains(r.Inline, p.Channel) {
				cuts = append(cuts, jsonedit.Span{Start: p.Offset, End: p.Offset + len(p.Bytes)})
			}
		}
	}
	take(s.Feed(text))
	take(s.Close(sotto.EndUnknown))
	r.open = r.open || open
	return cuts
}
