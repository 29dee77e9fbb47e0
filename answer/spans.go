package answer

import (
	"sort"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
)

// A reading is the text that is searched, and where its bytes stand in the raw
// reply. Without pieces the text is the reply.
type reading struct {
	raw, text string
	pieces    []piece
	cut       bool // the reply did not end of itself
	reply     *sotto.Reply
}

// A piece is a run of the text that is one run of the raw reply; raw is -1 for
// the blank line between two output bodies.
type piece struct{ at, raw, n int }

// read reads a reply: its visible text, as [sotto.Reply.Visible] has it.
func read(raw string, o Options) reading {
	cut := o.End == sotto.Cut || o.End == sotto.Aborted
	if o.Grammar == nil && (o.Start == "" || o.Start == sotto.Auto || o.Start == sotto.Outside) &&
		defaultIsTags() && strings.IndexByte(raw, '<') < 0 {
		return reading{raw: raw, text: raw, cut: cut} // no marker at all (G14)
	}
	r := parse(raw, o)
	rd := reading{raw: raw, cut: cut, reply: r}
	rd.cut = cut || r.Counts[sotto.Truncated]+r.Counts[sotto.AssumedUnclosed] > 0
	if len(r.Segments) == 1 && r.Segments[0].Channel == sotto.Text && !r.Segments[0].Output {
		rd.text = raw
		return rd
	}
	rd.pieces = visible(r, bodiesOf(o.Grammar))
	rd.text = join(raw, rd.pieces)
	return rd
}

func parse(raw string, o Options) *sotto.Reply {
	g, start := o.Grammar, o.Start
	if g == nil {
		g = sotto.Default()
	}
	if start == "" {
		start = sotto.Auto
	}
	r, err := g.Parse(raw, start, o.End)
	if err != nil {
		if r, err = g.Parse(raw, sotto.Auto, o.End); err != nil {
			return &sotto.Reply{Raw: raw, Segments: []sotto.Segment{{Channel: sotto.Text, End: len(raw)}}}
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

func bodiesOf(g *sotto.Grammar) string {
	if g == nil {
		return "join"
	}
	return g.Dialect().Bodies
}

// reasoningText is the reading of the reply's reasoning, its blocks parted by a
// blank line.
func (rd *reading) reasoningText() reading {
	out := reading{raw: rd.raw, cut: rd.cut}
	if rd.reply == nil {
		return out
	}
	var b spanView
	block := -1
	for _, sg := range rd.reply.Segments {
		if sg.Channel != sotto.Reasoning {
			continue
		}
		if block >= 0 && sg.Block != block {
			b.pieces = append(b.pieces, piece{raw: -1, n: 2})
		}
		block = sg.Block
		b.show(sg.Start, sg.End)
	}
	out.pieces = place(b.pieces)
	out.text = join(rd.raw, out.pieces)
	return out
}

// place numbers the pieces' places in the text.
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

// rawSpan returns the place in the raw reply of a span of the text; ok is false
// where the raw bytes are not one run.
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

// A spanView makes the visible text by rule G13, as pieces of the raw reply in
// place of bytes.
type spanView struct {
	raw    string
	bodies string
	pieces []piece
	wait   []piece // white space whose place is not certain
	kept   []piece // the last body so far

	blank, newline, outerNewline, drop, started, anything bool

	block, shown int
}

// visible returns the pieces of the visible text. The tags of an answer block
// that the dialect takes for markup (a wrapper's) stay in their places.
func visible(r *sotto.Reply, bodies string) []piece {
	v := spanView{raw: r.Raw, bodies: bodies, blank: true}
	for _, sg := range r.Segments {
		answerTag := sg.Channel == sotto.Markup && isAnswerTag(r.Raw[sg.Start:sg.End])
		if sg.Channel != sotto.Text && !answerTag {
			v.removed()
			continue
		}
		block := 0
		switch {
		case sg.Output:
			block = sg.Block
		case answerTag:
			block = v.block
		}
		v.add(sg, block)
	}
	v.end()
	return place(v.pieces)
}

func isAnswerTag(s string) bool {
	_, n := answerTagAt(strings.Trim(s, white))
	return n > 0
}

func (v *spanView) add(sg sotto.Segment, block int) {
	if block != v.block {
		v.turn(block)
	}
	switch {
	case v.block > 0:
		v.addBody(sg.Start, sg.End)
	case v.shown == 0:
		v.addOuter(sg.Start, sg.End)
	}
}

func (v *spanView) turn(block int) {
	if v.block == 0 {
		v.outerNewline = v.newline
	}
	v.block = block
	v.wait = v.wait[:0]
	if block > 0 {
		v.started, v.drop, v.newline = false, false, false
		return
	}
	v.newline = v.outerNewline
	v.drop = v.blank || v.newline
}

func (v *spanView) removed() {
	switch {
	case v.block > 0:
		v.drop = v.drop || !v.started || v.newline
	case v.blank:
		v.wait = v.wait[:0]
		v.drop = true
	case v.newline:
		v.drop = true
	}
}

const byteOrderMark = "\ufeff"

func (v *spanView) addOuter(start, end int) {
	if v.drop || v.blank {
		from := start
		if start == 0 && strings.HasPrefix(v.raw[:end], byteOrderMark) {
			from = len(byteOrderMark)
		}
		ink := skipWhite(v.raw, from, end)
		if ink == end {
			if !v.drop {
				v.wait = append(v.wait, piece{raw: start, n: end - start})
			}
			return
		}
		if v.drop {
			start = ink
		}
		v.drop = false
		if v.blank {
			v.blank = false
			v.flushWait()
		}
	}
	v.anything = true
	v.newline = v.raw[end-1] == '\n'
	v.show(start, end)
}

func (v *spanView) addBody(start, end int) {
	if !v.started || v.drop {
		start = skipWhite(v.raw, start, end)
		if start == end || !v.started && !v.start() {
			return
		}
		v.drop = false
	}
	if v.bodies == "first" && v.shown > 1 {
		return
	}
	ink := end
	for ink > start && isWhite(v.raw[ink-1]) {
		ink--
	}
	v.newline = v.raw[end-1] == '\n'
	if ink > start {
		v.flushWait()
		v.show(start, ink)
	}
	if ink < end {
		v.wait = append(v.wait, piece{raw: ink, n: end - ink})
	}
}

func (v *spanView) start() bool {
	v.started = true
	v.shown++
	switch {
	case v.bodies == "first" && v.shown > 1:
		return false
	case v.bodies == "last":
		v.kept = v.kept[:0]
	case v.anything:
		v.pieces = append(v.pieces, piece{raw: -1, n: 2})
	}
	v.wait = v.wait[:0]
	v.anything = true
	return true
}

func (v *spanView) flushWait() {
	for _, p := range v.wait {
		v.show(p.raw, p.raw+p.n)
	}
	v.wait = v.wait[:0]
}

// show appends bytes of the raw reply, to the run before them where they go on
// from it.
func (v *spanView) show(start, end int) {
	list := &v.pieces
	if v.bodies == "last" && v.block > 0 {
		list = &v.kept
	}
	if k := len(*list) - 1; k >= 0 && (*list)[k].raw >= 0 && (*list)[k].raw+(*list)[k].n == start {
		(*list)[k].n += end - start
		return
	}
	*list = append(*list, piece{raw: start, n: end - start})
}

func (v *spanView) end() {
	if v.block == 0 && v.blank && v.shown == 0 {
		v.flushWait()
	}
	v.pieces = append(v.pieces, v.kept...)
}
