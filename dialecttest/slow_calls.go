package dialecttest

import (
	"regexp"
	"slices"
	"strings"
)

// Calls in reasoning where the request declares its tools (G11).

// callEnds reports whether a tool opener begins a whole call of a declared tool (G11).
func (r *slowReader) callEnds(m slowMark, limit int, final bool) tri {
	if len(r.g.tools) == 0 {
		return no
	}
	w := slowWatch{own: m.def, ownNoEmpty: true, tools: true, reasoning: true, fam: -1, outputClose: -1}
	for i := m.end; i < limit; i++ {
		n, got := r.g.lex(r.s, i, limit, final, &w)
		switch {
		case got == maybe:
			return r.openCall(m, i, false)
		case got == no, n.kind == kEmpty:
		case !r.g.closes(m.def):
			return r.openCall(m, i, true)
		case n.kind == kClose && r.g.defs[n.def].fam == r.g.defs[m.def].fam && r.g.namesTool(r.s[m.end:i], i-m.end):
			return yes
		default:
			return no
		}
	}
	return r.openCall(m, limit, final)
}

// openCall decides a call without a close, which is read up to byte to; whole says that
// this is all of it.
func (r *slowReader) openCall(m slowMark, to int, whole bool) tri {
	text, last := r.s[m.end:to], min(to-m.end, 512)
	if !whole && last == len(text) {
		last-- // the name may go on
	}
	switch {
	case r.g.closes(m.def):
		if whole {
			return no
		}
	case r.g.namesTool(text, last):
		return yes
	case whole, len(text) > 512:
		return no
	}
	return maybe
}

// closes reports whether the family of a def has a close.
func (g *slowGrammar) closes(def int) bool {
	fam := g.defs[def].fam
	return slices.ContainsFunc(g.defs, func(d slowDef) bool { return d.fam == fam && d.tag != "" }) ||
		slices.ContainsFunc(g.lits, func(l slowLiteral) bool { return l.def >= 0 && l.kind == kClose && g.defs[l.def].fam == fam })
}

// What stands before the name of a tool in a call, and a byte that may be part of a name.
var (
	beforeName = regexp.MustCompile(`(?s)(?:^|"name"\s*:\s*"|name=\s*"|function=|functions\.|[\[\]]|｜>|\|>)\s*$`)
	inName     = regexp.MustCompile(`^(?:[\w-]|[^\x00-\x7f])`)
)

// namesTool reports whether a declared tool is named in the text of a call, by a name that
// ends at byte last or before (G11).
func (g *slowGrammar) namesTool(text string, last int) bool {
	for _, name := range g.tools {
		for end := len(name); name != "" && end <= last; end++ {
			if strings.HasSuffix(text[:end], name) && !(end < len(text) && inName.MatchString(text[end:end+1])) && beforeName.MatchString(text[:end-len(name)]) {
				return true
			}
		}
	}
	return false
}
