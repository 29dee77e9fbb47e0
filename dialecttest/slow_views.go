package dialecttest

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
)

// This file makes the views of G13, and the diagnostics that need them.

// A slowView is a text with the place of each byte in the raw reply.
type slowView struct {
	text  []byte
	at    []int
	parts []int // where a blank line comes between two bodies of a channel grammar
}

// shown is the text with its blank lines.
func (v *slowView) shown() string {
	text := string(v.text)
	for _, i := range slices.Backward(v.parts) {
		text = text[:i] + "\n\n" + text[i:]
	}
	return text
}

func (v *slowView) blank(r *slowReader) bool {
	for _, i := range v.at {
		if !r.white(i) {
			return false
		}
	}
	return true
}

// tooLong reports whether a run of waiting text is long enough to be shown before its place is certain.
func (r *slowReader) tooLong(n int) bool { return r.maxHold > 0 && n > r.maxHold }

func (v *slowView) trim(r *slowReader) {
	i, j := 0, len(v.text)
	for i < j && r.white(v.at[i]) {
		i++
	}
	for i < j && r.white(v.at[j-1]) {
		j--
	}
	if r.tooLong(len(v.text) - j) {
		j = len(v.text)
	}
	v.text, v.at = v.text[i:j], v.at[i:j]
}

// view joins the text segments of one stream: outer text, or one output block.
func (r *slowReader) view(output bool, block int) slowView {
	var v slowView
	drop := false // white space here follows something that was removed
	body, apart := 0, false
	for _, g := range r.segs {
		if g.ch != sotto.ChannelText || g.output != output || output && g.block != block {
			if g.ch == sotto.ChannelText && output {
				continue
			}
			if v.blank(r) && !r.tooLong(len(v.text)) {
				v.text, v.at = v.text[:0], v.at[:0]
				drop = true
			} else if v.text[len(v.text)-1] == '\n' {
				drop = true
			}
			continue
		}
		if r.g.header != nil && !output && g.block != body {
			body, apart = g.block, g.block > 0 && !v.blank(r)
		}
		for i := g.start; i < g.end; i++ {
			if (drop || apart) && r.white(i) {
				continue
			}
			if apart {
				v.parts = append(v.parts, len(v.text))
			}
			drop, apart = false, false
			v.text = append(v.text, r.s[i])
			v.at = append(v.at, i)
		}
	}
	if output {
		v.trim(r)
	}
	return v
}

func (r *slowReader) views(res *slowResult) {
	var parts []slowView
	seen := 0
	if v := r.view(false, 0); r.answered && !v.blank(r) { // shown before a late output
		parts = append(parts, v)
	} else if white := r.leadingWhite(); r.answered && r.tooLong(len(white)) {
		res.visible = white
	}
	for _, g := range r.segs {
		if g.ch == sotto.ChannelText && g.output && g.block != seen && r.answered {
			seen = g.block
			if v := r.view(true, seen); len(v.text) > 0 {
				parts = append(parts, v)
			}
		}
	}
	if len(parts) == 0 {
		parts = append(parts, r.view(false, 0))
	}
	for i, v := range parts {
		if i > 0 {
			res.visible += "\n\n"
		}
		res.visible += v.shown()
		from := 0
		for _, to := range append(v.parts, len(v.text)) {
			r.spliced(slowView{text: v.text[from:to], at: v.at[from:to]})
			from = to
		}
	}
	if r.g.once {
		r.once()
	}
	if !r.someVisible(parts) {
		r.diag(sotto.CodeNoVisibleAnswer, len(r.s), "")
	}
	res.reasoning = r.perBlock(sotto.ChannelReasoning)
	res.narration = r.perBlock(sotto.ChannelNarration)
}

// leadingWhite returns the outer white space at the reply's start.
func (r *slowReader) leadingWhite() string {
	i := 0
	for len(r.segs) > 0 && r.segs[0].ch == sotto.ChannelText && !r.segs[0].output && i < r.segs[0].end && r.white(i) {
		i++
	}
	return r.s[:i]
}

func (r *slowReader) someVisible(parts []slowView) bool {
	for i := range parts {
		if !parts[i].blank(r) {
			return true
		}
	}
	return false
}

// spliced flags the markers in the view whose bytes are apart in the reply.
func (r *slowReader) spliced(v slowView) {
	n := len(v.at)
	if n == 0 || v.at[n-1]-v.at[0] == n-1 {
		return
	}
	all := slowWatch{all: true}
	text := string(v.text)
	for i := 0; i < n; {
		m, got := r.g.lex(text, i, n, true, &all)
		if got != yes {
			i++
			continue
		}
		start, end := i, m.end // the newlines around it do not make it a marker
		for end > start+1 && text[end-1] == '\n' {
			end--
		}
		for start < end-1 && text[start] == '\n' {
			start++
		}
		if v.at[end-1]-v.at[start] != end-1-start {
			r.diag(sotto.CodeSplicedMarker, v.at[i], "")
		}
		i = end
	}
}

// perBlock returns the trimmed bodies of the non-blank blocks on ch.
func (r *slowReader) perBlock(ch sotto.Channel) []string {
	var out []string
	seen := -1
	for i, g := range r.segs {
		if g.ch != ch || g.block <= seen {
			continue
		}
		seen = g.block
		first, last := g.start, g.end
		text := ""
		for _, h := range r.segs[i:] {
			if h.ch == ch && h.block == g.block {
				text += r.s[h.start:h.end]
				last = h.end
			}
		}
		for first < last && first < 3 && r.white(first) { // a BOM is more than one byte
			first++
			text = text[1:]
		}
		if text = strings.Trim(text, " \t\n\v\f\r"); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// once flags a reply that has not exactly one block of reasoning before anything else.
func (r *slowReader) once() {
	var thoughts []int // where the blocks of reasoning that are not blank begin
	first := len(r.s)  // the first byte of the first of them
	said := len(r.s)   // the first byte of anything else that is not a marker
	begins, known := map[int]int{}, map[int]bool{}
	for _, g := range r.segs {
		if _, ok := begins[g.block]; !ok {
			begins[g.block] = g.start
		}
		at := g.start
		for at < g.end && r.white(at) {
			at++
		}
		switch {
		case at == g.end || g.ch == sotto.ChannelMarkup:
		case g.ch != sotto.ChannelReasoning:
			said = min(said, at)
		case !known[g.block]:
			known[g.block] = true
			thoughts = append(thoughts, begins[g.block])
			first = min(first, at)
		}
	}
	if len(thoughts) == 0 {
		r.diag(sotto.CodeMissingReasoning, 0, "")
		return
	}
	if said < first {
		r.diag(sotto.CodeLateReasoning, thoughts[0], "")
	}
	for _, at := range thoughts[1:] {
		r.diag(sotto.CodeRepeatedReasoning, at, "")
	}
}
