package answer

import (
	"strings"
	"unicode/utf8"
)

// maxCases is how many clauses of a sentence are looked at for cases.
const maxCases = 16

// oneOfCases reports whether the value that was taken holds in one of several cases only, of which
// the sentence gives another value for another: "For two people 200 g, for four 400 g."
func (s *search) oneOfCases(out *Extraction) bool {
	if out.Candidate == "" || s.suffix != "" || out.Method == s.form.Method || out.Method == methodBoxed || out.Method == methodBlock ||
		!s.form.amounts && !s.form.Letters && !s.form.Verdicts {
		return false
	}
	sn := s.discourse.sentenceAt(s.taken.Start)
	if sn == nil || sn.uses&(useCase|usePair) == 0 || s.inFence(sn.Start) {
		return false
	}
	list := s.casesOf(sn)
	own := -1
	for i, c := range list {
		if c.Start <= s.taken.Start && s.taken.End <= c.End {
			own = i
		}
	}
	if own < 0 {
		return false
	}
	if _, so := sn.has(useSo|useTotal|useNoun, list[own].Start, s.taken.Start); so {
		return false
	}
	for i, c := range list {
		if i != own && (c.pair && list[own].pair || c.word == list[own].word) && s.givesOther(sn, c.Span, out.Candidate) {
			return true
		}
	}
	return false
}

// A caseClause is a part of a sentence that begins with a word for a case, up to the next one.
type caseClause struct {
	Span
	word string
	pair bool // it is one of two words of which one says the contrary of the other: "with", "without"
}

// casesOf returns the parts of a sentence that begin with a word for a case. Where the word stands
// after what it governs, the clause begins before it.
func (s *search) casesOf(sn *sentence) []caseClause {
	var list []caseClause
	for at, left := sn.Start, maxCases; at < sn.End && left > 0; left-- {
		end := clauseAfter(s.text, at, sn.End)
		from := skipAny(s.text, skipBlanks(s.text, at), joins)
		for from < end && strings.IndexByte("*_ ¿(", s.text[from]) >= 0 {
			from++
		}
		for _, m := range sn.marks {
			if m.uses&(useCase|usePair) == 0 || m.start < from || m.end > end {
				continue
			}
			first, _ := utf8.DecodeRuneInString(s.text[m.start:])
			if m.start != from && !follows(first) {
				continue
			}
			word := strings.ToLower(s.text[m.start:m.end])
			if n := len(list); n > 0 && list[n-1].Start == at {
				list[n-1].pair = list[n-1].pair || m.uses&usePair != 0
				continue // a longer word, or another one of the clause
			}
			list = append(list, caseClause{Span{at, sn.End}, word, m.uses&usePair != 0})
		}
		_, n := utf8.DecodeRuneInString(s.text[end:])
		at = max(end+n, at+1)
	}
	for i := range list {
		if i+1 < len(list) {
			list[i].End = list[i+1].Start
		}
	}
	return list
}

// givesOther reports whether a part of a sentence gives another value than the candidate.
func (s *search) givesOther(sn *sentence, sp Span, candidate string) bool {
	text := s.text[sp.Start:sp.End]
	switch {
	case s.form.Letters:
		marks := lexicon().marks(nil, text, 0, len(text))
		for at := range len(text) {
			if l := letterAt(text, at, s.problem); l.End > 0 && s.task.Normalise(text[l.Start:l.End]) != candidate && !deniedIn(text, marks, l) {
				return true
			}
		}
		return false
	case s.form.Verdicts:
		yes, hasYes := sn.has(useYes, sp.Start, sp.End)
		no, hasNo := sn.has(useNo, sp.Start, sp.End)
		return candidate == "no" && hasYes && yes.end-yes.start > 1 || candidate == "yes" && hasNo && no.end-no.start > 1
	}
	for _, a := range amountsIn(text, nil) {
		if a.value != "" && a.value != candidate {
			return true
		}
	}
	return false
}
