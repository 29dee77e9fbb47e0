package sotto

import (
	"slices"
	"strings"
)

// A view makes the visible text from settled spans as they come (G13).
type view struct {
	most   int   // how much white space may wait, in bytes; 0 means unlimited
	inline uint8 // channels included in the text, a bit each
	parted bool  // a blank line separates the bodies of a channel grammar

	one  []byte // what became visible with this piece: one slice of the reply,
	many []byte // or several slices joined, from byte from on
	from int
	wide bool // many is in use

	blank   bool   // the visible text is blank so far
	newline bool   // it ends in a newline
	drop    bool   // white space is dropped until something else comes
	wait    []byte // white space whose place is not yet certain
	white   int    // length of the run of white space that waits, or has waited for too long

	part  int  // the block shown last, 0 for the text outside every block
	apart bool // it has shown nothing yet, and a blank line comes first

	block int        // the output body being read, 0 for the text outside
	spans *viewSpans // set if places are wanted, and no bytes

	started  bool // it has shown something
	anything bool // something visible that is not white space
}

// mayInline reports whether a channel may be included in the text.
func mayInline(c Channel) bool { return c == ChannelNarration || c == ChannelTool }

// inlineMask returns the channels that may be included in the text, a bit each.
func inlineMask(channels []Channel) uint8 {
	var mask uint8
	for _, c := range channels {
		if mayInline(c) {
			mask |= 1 << c
		}
	}
	return mask
}

// reset begins the next reply, with the same options.
func (v *view) reset() {
	*v = view{inline: v.inline, most: v.most, parted: v.parted, spans: v.spans, many: v.many[:0], wait: v.wait[:0], blank: true}
}

// begin forgets what the last call gave.
func (v *view) begin() { v.many = v.many[:0] }

// next begins the next piece of a call.
func (v *view) next() { v.one, v.from, v.wide = nil, len(v.many), false }

// easy reports whether text outside is shown as it comes.
func (v *view) easy() bool {
	return v.block == 0 && !v.drop && !v.blank && !v.apart
}

func (v *view) out() []byte {
	if v.wide {
		return v.many[v.from:]
	}
	return v.one
}

func (v *view) blankSoFar() bool { return !v.anything }

// add reads the next span, whose bytes are b.
func (v *view) add(sp span, b []byte) {
	if sp.ch != ChannelText && v.inline>>sp.ch&1 == 0 {
		v.removed()
		return
	}
	block := 0
	if sp.output {
		block = sp.block
	}
	if sp.ch != ChannelText {
		block = v.block
	}
	if block != v.block {
		v.turn(block)
	}
	if v.block > 0 {
		v.addBody(b, sp.start)
		return
	}
	v.begins(sp)
	v.addOuter(b, sp.start)
}

// begins notes which block of a channel grammar outer text belongs to.
func (v *view) begins(sp span) {
	if v.parted && sp.block != v.part {
		v.part = sp.block
		v.apart = sp.block > 0 && sp.ch != ChannelTool && v.anything
	}
}

// turn switches to another body, or to the text outside. A blank body changes
// nothing else: what its opener dropped stays dropped after it.
func (v *view) turn(block int) {
	v.block, v.started = block, false
	v.clearWait()
}

// removed notes that a block or a stray was removed here.
func (v *view) removed() {
	switch {
	case v.block == 0 && v.blank:
		v.clearWait()
		v.drop = true
	case v.newline:
		v.drop = true
	}
}

func (v *view) addOuter(b []byte, at int) {
	if v.drop || v.blank || v.apart {
		i := firstNonSpace(skipMark(b, at)) // nothing is dropped before a mark
		if i < 0 {
			if !v.drop && !v.apart {
				v.addWhite(b, at)
				v.blank, v.newline = !v.flows(), b[len(b)-1] == '\n'
			}
			return
		}
		if v.drop || v.apart {
			b, at = b[i:], at+i
		}
		if v.apart {
			v.show(betweenBodies, -1)
		}
		v.drop, v.apart = false, false
		if v.blank {
			v.blank = false
			v.flushWait()
		}
		v.anything = true
	} else if !v.anything { // white space that waited for too long came before
		v.anything = firstNonSpace(b) >= 0
	}
	v.newline = b[len(b)-1] == '\n'
	v.show(b, at)
}

// addBody reads bytes of an output body, which is trimmed at both ends.
func (v *view) addBody(b []byte, at int) {
	if !v.started || v.drop {
		i := firstNonSpace(b)
		if i < 0 {
			return
		}
		if !v.started {
			v.start()
		}
		v.drop = false
		b, at = b[i:], at+i
	}
	end := len(b)
	for end > 0 && isSpace(b[end-1]) {
		end--
	}
	v.newline = b[len(b)-1] == '\n'
	if end > 0 {
		v.flushWait()
		v.show(b[:end], at)
	}
	if end < len(b) {
		v.addWhite(b[end:], at+end)
	}
}

// addWhite takes white space whose place is not certain. If it exceeds the bound,
// all of its run is shown.
func (v *view) addWhite(b []byte, at int) {
	v.white += len(b)
	if v.flows() {
		white := v.white
		v.flushWait()
		v.show(b, at)
		v.white = white
		return
	}
	if v.spans != nil {
		v.spans.wait = appendSpan(v.spans.wait, at, len(b))
		return
	}
	v.wait = append(v.wait, b...)
}

// flows reports whether the run of white space is longer than may wait.
func (v *view) flows() bool { return v.most > 0 && v.white > v.most }

func (v *view) clearWait() {
	v.wait, v.white = v.wait[:0], 0
	if v.spans != nil {
		v.spans.wait = v.spans.wait[:0]
	}
}

// start begins to show a non-blank body.
func (v *view) start() {
	v.started = true
	if v.anything {
		v.show(betweenBodies, -1)
	}
	v.anything = true
}

func (v *view) flushWait() {
	if len(v.wait) > 0 {
		v.showBytes(v.wait)
	}
	if v.spans != nil {
		for _, sp := range v.spans.wait {
			v.spans.list = appendSpan(v.spans.list, sp.Start, sp.End-sp.Start)
		}
	}
	v.clearWait()
}

// betweenBodies separates a body from the visible text before it.
var betweenBodies = []byte("\n\n")

func (v *view) show(b []byte, at int) {
	if v.spans != nil {
		v.spans.list = appendSpan(v.spans.list, at, len(b))
		return
	}
	v.showBytes(b)
}

func (v *view) showBytes(b []byte) {
	switch {
	case v.wide:
		v.many = append(v.many, b...)
	case v.one == nil && len(v.wait) == 0:
		v.one = b
	case follows(v.one, b):
		v.one = v.one[:len(v.one)+len(b)]
	default:
		v.many = append(append(v.many, v.one...), b...)
		v.wide = true
	}
}

// follows reports whether b, which is not empty, directly follows a in the same memory.
func follows(a, b []byte) bool {
	k := len(a)
	return cap(a) >= k+len(b) && &a[:k+1][k] == &b[0]
}

// end settles what waited for the end.
func (v *view) end(o *outcomes) {
	k := doubtFirstWhite
	if v.block > 0 {
		k = doubtLastWhite
	}
	if shown, _ := o.left(k); shown {
		v.flushWait()
	}
}

// A Span is bytes [Start, End) of a raw reply.
type Span struct{ Start, End int }

// viewSpans are the places of the bytes that a view shows and that wait in it.
type viewSpans struct{ list, wait []Span }

// appendSpan adds n bytes at byte at, extending the last span if they follow it.
func appendSpan(list []Span, at, n int) []Span {
	if k := len(list) - 1; k >= 0 && list[k].Start >= 0 && list[k].End == at {
		list[k].End += n
		return list
	}
	return append(list, Span{at, at + n})
}

// Visible returns the user-facing answer.
func (r *Reply) Visible() string { return r.VisibleWith() }

// VisibleWith is Visible with the bytes of further channels in their places:
// narration, or tool markup, for a consumer that has no other place for them. Other
// channels are ignored: reasoning never becomes visible.
func (r *Reply) VisibleWith(inline ...Channel) string {
	return joinSpans(r.Raw, r.visibleSpans(inline, nil))
}

// VisibleSpans returns the places of the visible text in the raw reply, in order.
// A span that starts before byte 0 is the blank line before an output body, or a
// body of a channel grammar, that follows other visible text. If keep is not nil, it says which segments of
// channels other than text stay in the text.
func (r *Reply) VisibleSpans(keep func(Segment) bool) []Span { return r.visibleSpans(nil, keep) }

func (r *Reply) visibleSpans(inline []Channel, keep func(Segment) bool) []Span {
	v := view{inline: inlineMask(inline), parted: r.parted, spans: &viewSpans{}}
	v.reset()
	raw := bytesOf(r.Raw)
	for _, sg := range r.Segments {
		sp := span{start: sg.Start, end: sg.End, ch: sg.Channel, output: sg.Output, block: sg.Block}
		if sg.Channel != ChannelText && keep != nil && keep(sg) {
			sp.ch, sp.output, sp.block = ChannelText, true, v.block // block 0 is the text outside
		}
		v.add(sp, raw[sg.Start:sg.End])
	}
	v.end(&outcomes{ended: true, end: r.End})
	return v.spans.list
}

// joinSpans returns the text of spans of a reply.
func joinSpans(raw string, spans []Span) string {
	if len(spans) == 1 {
		return raw[spans[0].Start:spans[0].End]
	}
	n := 0
	for _, sp := range spans {
		n += sp.End - sp.Start
	}
	var b strings.Builder
	b.Grow(n)
	for _, sp := range spans {
		if sp.Start < 0 {
			b.Write(betweenBodies)
			continue
		}
		b.WriteString(raw[sp.Start:sp.End])
	}
	return b.String()
}

// Reasoning returns an entry per non-blank block of reasoning, trimmed.
func (r *Reply) Reasoning() []string { return r.blocks(ChannelReasoning) }

// Narration returns an entry per non-blank block of narration, trimmed.
func (r *Reply) Narration() []string { return r.blocks(ChannelNarration) }

func (r *Reply) blocks(c Channel) []string {
	var texts []string
	var at map[int]int
	for _, sg := range r.Segments {
		if sg.Channel != c {
			continue
		}
		if at == nil {
			at = map[int]int{}
		}
		i, ok := at[sg.Block]
		if !ok {
			i = len(texts)
			at[sg.Block] = i
			texts = append(texts, "")
		}
		texts[i] += r.Raw[sg.Start:sg.End]
	}
	for i := range texts {
		texts[i] = trimWhite(texts[i])
	}
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// RawOf returns the bytes of a channel, joined and untrimmed.
func (r *Reply) RawOf(c Channel) string {
	var b strings.Builder
	for _, sg := range r.Segments {
		if sg.Channel == c {
			b.WriteString(r.Raw[sg.Start:sg.End])
		}
	}
	return b.String()
}
