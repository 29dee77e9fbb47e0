package answer

import (
	"sort"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
)

// A reading is the text to search, and where its bytes stand in the raw reply.
// Without pieces, the text is the raw reply.
type reading struct {
	raw, text string
	pieces    []piece
	cut       bool // the reply did not reach its natural end
	reply     *sotto.Reply
	apart     bool // it is no part of the reply
}

// A piece is a part of the text that is contiguous in the raw reply. raw is -1 for
// the blank line before an output body that follows other text.
type piece struct{ at, raw, n int }

// readingOf reads a reply: its visible text, as [sotto.Reply.Visible] returns it.
func readingOf(raw string, o Options) reading {
	cut := o.End == sotto.EndCut || o.End == sotto.EndAborted
	if o.Grammar == nil && (o.Start == "" || o.Start == sotto.BeginAuto || o.Start == sotto.BeginOutside) &&
		defaultIsTags() && strings.IndexByte(raw, '<') < 0 {
		return reading{raw: raw, text: raw, cut: cut} // no marker at all (G14)
	}
	r := parse(raw, o)
	rd := reading{raw: raw, cut: cut, reply: r}
	rd.cut = cut || r.Counts[sotto.CodeTruncated]+r.Counts[sotto.CodeAssumedUnclosed] > 0
	if len(r.Segments) == 1 && r.Segments[0].Channel == sotto.ChannelText && !r.Segments[0].Output {
		rd.text = raw
		return rd
	}
	rd.pieces = visible(r)
	rd.text = join(raw, rd.pieces)
	return rd
}

func parse(raw string, o Options) *sotto.Reply {
	g, start := o.Grammar, o.Start
	if g == nil {
		g = sotto.Default()
	}
	if start == "" {
		start = sotto.BeginAuto
	}
	r, err := g.Parse(raw, start, o.End)
	if err != nil {
		if r, err = g.Parse(raw, sotto.BeginAuto, o.End); err != nil {
			return &sotto.Reply{Raw: raw, Segments: []sotto.Segment{{Channel: sotto.ChannelText, End: len(raw)}}}
		}
	}
	return r
}

// defaultIsTags reports whether every marker of the default dialect begins with <.
var defaultIsTags = sync.OnceValue(func() bool {
	d := sotto.Default().Dialect()
	for _, m := range d.Markers {
		if m.Tag == "" {
			return false
		}
	}
	return d.Header == nil
})

// reasoningText returns the reply's reasoning as a reading, with a blank line
// between its blocks.
func (rd *reading) reasoningText() reading {
	out := reading{raw: rd.raw, cut: rd.cut}
	if rd.reply == nil {
		return out
	}
	var spans []sotto.Span
	block := -1
	for _, sg := range rd.reply.Segments {
		if sg.Channel != sotto.ChannelReasoning {
			continue
		}
		if block >= 0 && sg.Block != block {
			spans = append(spans, sotto.Span{Start: -1, End: 1})
		}
		block = sg.Block
		spans = append(spans, sotto.Span{Start: sg.Start, End: sg.End})
	}
	out.pieces = pieces(spans)
	out.text = join(rd.raw, out.pieces)
	return out
}

// place sets where each piece starts in the text.
func place(pieces []piece) []piece {
	at := 0
	for i := range pieces {
		pieces[i].at = at
		at += pieces[i].n
	}
	return pieces
}

func join(raw string, pieces []piece) string {
	switch len(pieces) {
	case 0:
		return ""
	case 1:
		return raw[pieces[0].raw : pieces[0].raw+pieces[0].n]
	}
	var b strings.Builder
	last := pieces[len(pieces)-1]
	b.Grow(last.at + last.n)
	for _, p := range pieces {
		if p.raw < 0 {
			b.WriteString("\n\n")
			continue
		}
		b.WriteString(raw[p.raw : p.raw+p.n])
	}
	return b.String()
}

// rawSpan returns where a span of the text stands in the raw reply. ok is false if
// the raw bytes are not contiguous.
func (rd *reading) rawSpan(sp Span) (raw Span, ok bool) {
	if rd.pieces == nil {
		return sp, sp.Start < sp.End
	}
	i := sort.Search(len(rd.pieces), func(i int) bool { return rd.pieces[i].at > sp.Start }) - 1
	if i < 0 || sp.Start >= sp.End {
		return Span{}, false
	}
	p := rd.pieces[i]
	if p.raw < 0 || sp.End > p.at+p.n {
		return Span{}, false
	}
	return Span{p.raw + sp.Start - p.at, p.raw + sp.End - p.at}, true
}

// visible returns the pieces of the visible text. If the dialect treats the tags of
// an answer block as markup (those of a wrapper), they are kept in place.
func visible(r *sotto.Reply) []piece {
	return pieces(r.VisibleSpans(func(sg sotto.Segment) bool {
		return sg.Channel == sotto.ChannelMarkup && isAnswerTag(r.Raw[sg.Start:sg.End])
	}))
}

// pieces returns the pieces of spans.
func pieces(spans []sotto.Span) []piece {
	list := make([]piece, len(spans))
	for i, sp := range spans {
		list[i] = piece{raw: max(sp.Start, -1), n: sp.End - sp.Start}
	}
	return place(list)
}

func isAnswerTag(s string) bool {
	_, n := answerTagAt(strings.Trim(s, white))
	return n > 0
}
