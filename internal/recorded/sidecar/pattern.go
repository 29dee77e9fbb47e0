package sidecar

import (
	"regexp"
	"regexp/syntax"
	"unicode"
)

// A need is what a text must have for a pattern to match in it. The zero need is nothing, so
// that every text may match.
type need struct {
	kind needKind
	text string
	subs []need
}

type needKind uint8

const (
	needNothing needKind = iota
	needText             // the text, in any case of its letters
	needAll              // all of subs
	needAny              // one of subs
)

func (n need) all() bool { return n.kind == needNothing }

// needOf returns what a pattern needs.
func needOf(p *regexp.Regexp) need {
	if p == nil {
		return need{}
	}
	re, err := syntax.Parse(p.String(), syntax.Perl)
	if err != nil {
		return need{} // a pattern of POSIX
	}
	return partOf(re.Simplify()).need()
}

// needOfText returns what a search for a plain text needs.
func needOfText(text string) need { return literal(text).need() }

// A piece is a part of a pattern: one text, or a need.
type piece struct {
	exact bool
	text  string // that it matches, in any case of its letters, if exact
	n     need
}

func literal(text string) piece { return piece{exact: true, text: text} }

// need returns what a piece needs. A text without words needs nothing.
func (p piece) need() need {
	if !p.exact {
		return p.n
	}
	if len(wantedIn(p.text)) == 0 {
		return need{}
	}
	return need{kind: needText, text: p.text}
}

func partOf(re *syntax.Regexp) piece {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(string(re.Rune))
	case syntax.OpCharClass:
		if r, ok := oneFold(re.Rune); ok {
			return literal(string(r))
		}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literal("")
	case syntax.OpCapture:
		return partOf(re.Sub[0])
	case syntax.OpPlus:
		return piece{n: partOf(re.Sub[0]).need()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return piece{n: partOf(re.Sub[0]).need()}
		}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return piece{}
}

// oneFold returns the rune of a class whose runes a search takes for the same.
func oneFold(ranges []rune) (rune, bool) {
	if len(ranges) == 0 || len(ranges) > 8 {
		return 0, false
	}
	want := fold(ranges[0])
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 4 || ranges[i+1] > unicode.MaxRune {
			return 0, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if fold(r) != want {
				return 0, false
			}
		}
	}
	return ranges[0], true
}

// concat joins texts that stand side by side.
func concat(list []*syntax.Regexp) piece {
	var subs []need
	text, exact := "", true
	flush := func() {
		if n := literal(text).need(); !n.all() {
			subs = append(subs, n)
		}
		text = ""
	}
	for _, re := range list {
		p := partOf(re)
		if p.exact {
			text += p.text
			continue
		}
		exact = false
		flush()
		if n := p.n; !n.all() {
			subs = append(subs, n)
		}
	}
	if exact {
		return literal(text)
	}
	flush()
	switch len(subs) {
	case 0:
		return piece{}
	case 1:
		return piece{n: subs[0]}
	}
	return piece{n: need{kind: needAll, subs: subs}}
}

func alternate(list []*syntax.Regexp) piece {
	var subs []need
	for _, re := range list {
		n := partOf(re).need()
		if n.all() {
			return piece{}
		}
		subs = append(subs, n)
	}
	return piece{n: need{kind: needAny, subs: subs}}
}
