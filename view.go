package sotto

import (
	"slices"
	"strings"
)

// A view makes the visible text from settled spans as they come (G13).
type view struct {
	bodies string // join, first, last
	most   int    // white space that may wait, and bytes of a last body; 0 without bound
	inline uint8  // channels given in the text, a bit each

	one  []byte // what became visible in this call: one slice of the reply,
	many []byte // or what several make
	wide bool   // many holds

	blank        bool   // the visible text is blank so far
	newline      bool   // it ends in a newline
	outerNewline bool   // the text outside ends in one, while a body is read
	drop         bool   // white space is dropped until something else comes
	wait         []byte // white space whose place is not certain
	white        int    // length of the run of white space that waits, or has waited for too long

	block    int  // the output body that is read, 0 for the text outside
	started  bool // it has shown something
	shown    int  // bodies that have
	only     int  // the body besides which no other is shown, 0 without
	kept     []byte
	anything bool // something visible that is no white space
}

func (v *view) reset(bodies string, inline uint8, most int) {
	*v = view{bodies: bodies, inline: inline, most: most, many: v.many[:0], wait: v.wait[:0], kept: v.kept[:0], blank: true}
}

func (v *view) begin() { v.one, v.many, v.wide = nil, v.many[:0], false }

// easy reports whether text outside is shown as it comes.
func (v *view) easy() bool { return v.block == 0 && v.shown == 0 && !v.drop && !v.blank }

func (v *view) out() []byte {
	if v.wide {
		return v.many
	}
	return v.one
}

func (v *view) blankSoFar() bool { return !v.anything }

// add reads the next span, whose bytes are b.
func (v *view) add(sp span, b []byte) {
	if sp.ch != Text && v.inline>>sp.ch&1 == 0 {
		v.removed()
		return
	}
	block := 0
	if sp.output {
		block = sp.block
	}
	if sp.ch != Text {
		block = v.block
	}
	if block != v.block {
		v.turn(block)
	}
	if v.block == 0 && v.shown > 0 {
		return // white space outside, once a body holds the answer
	}
	if v.block > 0 {
		v.addBody(b)
		return
	}
	v.addOuter(b, sp.start)
}

// turn begins another body, or the text outside.
func (v *view) turn(block int) {
	if v.block == 0 {
		v.outerNewline = v.newline
	}
	v.block = block
	v.clearWait()
	if block > 0 {
		v.started, v.drop, v.newline = false, false, false
	} else { // after a body that was blank
		v.newline = v.outerNewline
		v.drop = v.blank || v.newline
	}
}

// removed says that a block or a stray was taken out here.
func (v *view) removed() {
	if v.block > 0 {
		if !v.started || v.newline {
			v.drop = true
		}
		return
	}
	if v.blank {
		v.clearWait()
		v.drop = true
	} else if v.newline {
		v.drop = true
	}
}

func (v *view) addOuter(b []byte, at int) {
	if v.drop || v.blank {
		i := firstInk(skipMark(b, at))
		if i >= 0 {
			i += len(b) - len(skipMark(b, at))
		}
		if i < 0 {
			if !v.drop {
				v.addWhite(b)
				v.blank, v.newline = !v.flows(), b[len(b)-1] == '\n'
			}
			return
		}
		if v.drop {
			b = b[i:]
		}
		v.drop = false
		if v.blank {
			v.blank = false
			v.flushWait()
		}
		v.anything = true
	} else if !v.anything { // white space that waited for too long has come before
		v.anything = firstInk(b) >= 0
	}
	v.newline = b[len(b)-1] == '\n'
	v.show(b)
}

// addBody reads bytes of an output body, which is trimmed at both ends.
func (v *view) addBody(b []byte) {
	if !v.started || v.drop {
		i := firstInk(b)
		if i < 0 {
			return
		}
		if !v.started && !v.start() {
			return
		}
		v.drop = false
		b = b[i:]
	}
	if v.only > 0 && v.block != v.only {
		return
	}
	end := len(b)
	for end > 0 && isSpace(b[end-1]) {
		end--
	}
	v.newline = b[len(b)-1] == '\n'
	if end > 0 {
		v.flushWait()
		v.show(b[:end])
	}
	if end < len(b) {
		v.addWhite(b[end:])
	}
}

// addWhite takes white space whose place is not certain. What is beyond the
// bound is shown, with all of its run.
func (v *view) addWhite(b []byte) {
	v.white += len(b)
	if v.flows() {
		white := v.white
		v.flushWait()
		v.show(b)
		v.white = white
		return
	}
	v.wait = append(v.wait, b...)
}

// flows reports whether the run of white space is longer than may wait.
func (v *view) flows() bool { return v.most > 0 && v.white > v.most }

func (v *view) clearWait() { v.wait, v.white = v.wait[:0], 0 }

// start begins to show a body that is not blank; false where it shows nothing.
func (v *view) start() bool {
	v.started = true
	v.shown++
	switch {
	case v.only > 0:
		return false
	case v.bodies == "first":
		v.only = v.block
	case v.bodies == "last":
		v.kept = v.kept[:0]
	case v.anything:
		v.show([]byte("\n\n"))
	}
	v.clearWait()
	v.anything = true
	return true
}

func (v *view) flushWait() {
	if len(v.wait) > 0 {
		v.show(v.wait)
	}
	v.clearWait()
}

func (v *view) show(b []byte) {
	switch {
	case v.bodies == "last" && v.block > 0 && v.only == 0:
		v.kept = append(v.kept, b...)
		if v.most > 0 && len(v.kept) > v.most { // it is the answer, whatever follows
			kept := v.kept
			v.only, v.kept = v.block, nil
			v.show(kept)
		}
	case v.wide:
		v.many = append(v.many, b...)
	case v.one == nil && len(v.wait) == 0:
		v.one = b
	case follows(v.one, b):
		v.one = v.one[:len(v.one)+len(b)]
	default:
		v.many = append(append(v.many[:0], v.one...), b...)
		v.wide = true
	}
}

// follows reports whether b stands behind a in the same memory.
func follows(a, b []byte) bool {
	k := len(a)
	return cap(a) >= k+len(b) && len(b) > 0 && &a[:k+1][k] == &b[0]
}

// end settles what waited for the end.
func (v *view) end() {
	if v.block == 0 && v.blank && v.shown == 0 {
		v.flushWait()
	}
	if len(v.kept) > 0 {
		block := v.block
		v.block = 0
		v.show(v.kept)
		v.block = block
	}
	v.clearWait()
}

// Visible returns the user-facing answer.
func (r *Reply) Visible() string { return r.VisibleWith() }

// VisibleWith is Visible with the bytes of further channels in their places:
// narration, or tool markup, where a consumer has nowhere else for them.
func (r *Reply) VisibleWith(inline ...Channel) string {
	var v view
	var mask uint8
	for _, c := range inline {
		mask |= 1 << c
	}
	v.reset(r.bodies, mask, 0)
	var b strings.Builder
	raw := bytesOf(r.Raw)
	for _, sg := range r.Segments {
		v.begin()
		v.add(span{start: sg.Start, end: sg.End, ch: sg.Channel, output: sg.Output, block: sg.Block}, raw[sg.Start:sg.End])
		b.Write(v.out())
	}
	v.begin()
	v.end()
	b.Write(v.out())
	return b.String()
}

// Reasoning returns an entry per block of reasoning that is not blank, trimmed.
func (r *Reply) Reasoning() []string { return r.blocks(Reasoning) }

// Narration returns an entry per block of narration that is not blank, trimmed.
func (r *Reply) Narration() []string { return r.blocks(Narration) }

func (r *Reply) blocks(c Channel) []string {
	var texts []string
	at := map[int]int{}
	for _, sg := range r.Segments {
		if sg.Channel != c {
			continue
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

// RawOf returns the bytes of a channel, joined, nothing trimmed.
func (r *Reply) RawOf(c Channel) string {
	var b strings.Builder
	for _, sg := range r.Segments {
		if sg.Channel == c {
			b.WriteString(r.Raw[sg.Start:sg.End])
		}
	}
	return b.String()
}
