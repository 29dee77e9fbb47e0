package answer

import (
	"slices"
	"strings"
)

// answerBlocks finds the closed answer blocks that have a body. Each reaches from
// an opener to the next close, with no other opener between. If there is none, it
// finds the last opener that some text follows, up to the next opener or the end. A
// quoted tag is not a tag. A block in code, or quoted as a whole, counts only if no
// other does.
func (s *search) answerBlocks() {
	var open, unclosed find
	opened, tag := false, 0
	left := func(end int) {
		if opened && !blank(s.text[open.value.Start:end]) {
			unclosed = open
			unclosed.value.End = end
		}
	}
	for at := 0; ; {
		k := strings.IndexByte(s.text[at:], '<')
		if k < 0 {
			break
		}
		at += k
		closing, n := answerTagAt(s.text[at:])
		if n == 0 {
			at++
			continue
		}
		switch {
		case quoted(s.text, at, at+n):
		case !closing:
			left(at)
			open, opened = find{value: Span{Start: at + n}, weak: s.inFence(at)}, true
			tag = at
		case opened:
			opened = false
			f := open
			f.value.End = at
			f.weak = f.weak || quoted(s.text, tag, at+n)
			if !blank(s.text[f.value.Start:at]) && f.value.Start >= s.from && (strings.Contains(strings.ToLower(s.text[tag:f.value.Start]), "answer") || s.isBare(s.text[f.value.Start:at])) {
				s.keep(f)
			}
		}
		at += n
	}
	left(len(s.text))
	if len(s.list) == 0 && unclosed.value.End > 0 && unclosed.value.Start >= s.from {
		s.keep(unclosed)
	}
}

// answerTagAt reads a tag of an answer block at the start of s. n is its length, or
// 0.
func answerTagAt(s string) (closing bool, n int) {
	const name = "answer"
	if len(s) < len(name)+2 || s[0] != '<' {
		return false, 0
	}
	i := skipTagBlanks(s, 1)
	if i < len(s) && s[i] == '/' {
		closing = true
		i = skipTagBlanks(s, i+1)
	}
	if k := i + len("final_"); k < len(s) && strings.EqualFold(s[i:k-1], "final") && (s[k-1] == '_' || s[k-1] == '-') {
		i = k // <final_answer>
	}
	const solution = "solution"
	if len(s)-i > len(solution) && strings.EqualFold(s[i:i+len(solution)], solution) && s[i+len(solution)] == '>' {
		return closing, i + len(solution) + 1
	}
	if len(s)-i <= len(name) || !strings.EqualFold(s[i:i+len(name)], name) {
		return false, 0
	}
	i = skipTagBlanks(s, i+len(name))
	if i == len(s) || s[i] != '>' {
		return false, 0
	}
	return closing, i + 1
}

// skipTagBlanks skips at most a few spaces and tabs.
func skipTagBlanks(s string, i int) int {
	for end := min(len(s), i+8); i < end && (s[i] == ' ' || s[i] == '\t'); {
		i++
	}
	return i
}

// quoted reports whether the same quote stands directly before and after a span.
func quoted(s string, start, end int) bool {
	if start == 0 || end >= len(s) || s[start-1] != s[end] {
		return false
	}
	return s[end] == '"' || s[end] == '\'' || s[end] == '`'
}

func blank(s string) bool { return skipWhite(s, 0, len(s)) == len(s) }

// boxOpeners draw a box. The second counts only if the first does not occur.
var boxOpeners = []string{`\boxed`, `\fbox`}

// boxes finds the balanced \boxed{}, or \fbox{}, ordered by where their openers
// end. Of two nested boxes the inner one is the last.
func (s *search) boxes() {
	for _, b := range boxesIn(s.text) {
		if b.Start < s.from {
			continue
		}
		s.keep(find{value: b, method: methodBoxed, weak: s.inFence(b.Start)})
	}
	if len(s.list) == 0 && (!s.reading.cut || s.bounded) {
		s.openBox()
	}
}

// openBox finds a box that is not closed, on the last line that has one.
func (s *search) openBox() {
	k := strings.LastIndex(s.text, boxOpeners[0]+"{")
	if k < s.from {
		return
	}
	k += len(boxOpeners[0]) + 1
	end := lineEnd(s.text, k)
	sp := trim(s.text, Span{k, k + len(strings.TrimRight(s.text[k:end], "$. "))})
	if sp.Start < sp.End && blank(s.text[end:]) {
		s.keep(find{value: sp, method: methodBoxed})
	}
}

// boxesIn returns the contents of boxes in the order in which they close, except
// that the box with the last opener comes last, even if another closes after it.
func boxesIn(text string) []Span {
	for _, opener := range boxOpeners {
		first := strings.Index(text, opener)
		if first < 0 {
			continue
		}
		if list := balanced(text, first, opener); len(list) > 0 {
			last := 0
			for i, b := range list {
				if b.Start > list[last].Start {
					last = i
				}
			}
			b := list[last]
			return append(slices.Delete(list, last, last+1), b)
		}
	}
	return nil
}

// balanced returns the contents of the opener's braces from i on, in the order
// in which they close.
func balanced(text string, i int, opener string) []Span {
	type box struct{ depth, from int }
	var open []box
	var list []Span
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if !strings.HasPrefix(text[i:], opener) {
				i++ // an escaped brace
				continue
			}
			k := skipBlanks(text, i+len(opener))
			if k < len(text) && text[k] == '{' {
				open = append(open, box{depth, k + 1})
				depth++
			}
			i = min(k, len(text)-1)
			if text[i] != '{' {
				i--
			}
		case '{':
			depth++
		case '}':
			depth = max(0, depth-1)
			if k := len(open) - 1; k >= 0 && open[k].depth == depth {
				list = append(list, Span{open[k].from, i})
				open = open[:k]
			}
		}
	}
	return list
}

// maxScan is how far up from its end a text is scanned.
const maxScan = 1 << 20

// scan takes the lowest line, or block, whose form could be an answer. It never
// looks at the expected value.
func (s *search) scan(out *Extraction, refused bool) bool {
	if !s.form.Scan {
		return false
	}
	if refused {
		s.attempt(methodScan, 0, nil, "refused")
		return false
	}
	var first string
	for end := len(s.text); ; {
		var sp Span
		if sp, end = s.upward(end); sp.End == 0 || sp.End < len(s.text)-maxScan {
			break
		}
		line := s.text[sp.Start:sp.End]
		if sp.Start == sp.End || !s.task.Precheck(line, s.problem) || !s.form.lowest() && !s.alone(sp) {
			continue
		}
		c := s.normal(line)
		switch {
		case c == "":
			continue
		case first == "":
			first = c
			out.Candidate, out.Method, out.Status = c, methodScan, statusOf(c)
			s.record(out, sp)
		case c != first: // several answers are none
			*out = Extraction{Method: methodEmpty, Status: Several, Rules: out.Rules}
			s.attempt(methodScan, 2, nil, "several")
			return false
		}
		if s.form.lowest() {
			break
		}
	}
	if first == "" {
		s.attempt(methodScan, 0, nil, "")
		return false
	}
	s.attempt(methodScan, 1, out.Span, "")
	return true
}

// lowest reports whether the lowest line that passes the precheck is the answer,
// whatever stands above it: the precheck of games knows the numbers. Of numbers,
// letters and words, several that differ are no answer.
func (f *Form) lowest() bool { return f.Bare == nil }

// scanned reports whether a line of a part of the text passes the scan.
func (s *search) scanned(sp Span) bool {
	for at := sp.Start; at < sp.End; {
		end := lineEndIn(s.text, at, sp.End)
		line := trim(s.text, Span{at + listMark(s.text[at:end]), end})
		if line.Start < line.End && s.task.Precheck(s.text[line.Start:line.End], s.problem) {
			return true
		}
		at = end + 1
	}
	return false
}

// alone reports whether no prose continues after a line.
func (s *search) alone(sp Span) bool {
	end := lineEnd(s.text, sp.End)
	if end == len(s.text) {
		return true
	}
	next := s.text[end+1 : lineEnd(s.text, end+1)]
	return blank(next) || isDelimiter(next) || strings.HasPrefix(strings.TrimLeft(next, white), "<") || s.task.Precheck(strings.TrimSpace(next), s.problem)
}

// upward returns the lowest line or block before end, trimmed. A line loses its
// list mark. The text still to scan ends at rest. A span that ends at 0 means there
// is none.
func (s *search) upward(end int) (sp Span, rest int) {
	for end > 0 && isWhite(s.text[end-1]) {
		end--
	}
	if end == 0 {
		return Span{}, 0
	}
	if s.form.Extent == FirstLine {
		start := strings.LastIndexByte(s.text[:end], '\n') + 1
		return Span{start + listMark(s.text[start:end]), end}, start
	}
	start := end
	for start > 0 {
		line := strings.LastIndexByte(s.text[:start-1], '\n') + 1
		if l := s.text[line:start]; blank(l) || isFence(l) {
			if start == end { // skip a fence that stands alone
				return Span{end, end}, line
			}
			break
		}
		start = line
	}
	return trim(s.text, Span{start, end}), start
}

func isFence(line string) bool {
	f, _ := fenceOf(line)
	return f.size > 0
}

// listMark returns how many bytes at the start of a line are white space, Markdown
// quotation marks, and a list mark: a number or a bullet with a space after it.
func listMark(line string) int {
	i := 0
	for i < len(line) && (isWhite(line[i]) || line[i] == '>') {
		i++
	}
	k := i
	switch rest := line[i:]; {
	case strings.HasPrefix(rest, "•"):
		k += len("•")
	case rest != "" && strings.IndexByte("-*+", rest[0]) >= 0:
		k++
	default:
		for k < len(line) && line[k]-'0' < 10 && k < i+3 {
			k++
		}
		if k == i || k == len(line) || line[k] != '.' && line[k] != ')' {
			return i
		}
		k++
	}
	if n := skipBlanks(line, k); n > k && n < len(line) {
		return n
	}
	return i
}

// inFence reports whether a place of the text is in fenced code.
func (s *search) inFence(at int) bool { return s.fenceAround(at).End > 0 }

// fenceAround returns the contents of the fenced code around a place.
func (s *search) fenceAround(at int) Span {
	lo, hi := 0, len(s.fenced)
	for lo < hi {
		if mid := (lo + hi) / 2; s.fenced[mid].End <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.fenced) && s.fenced[lo].Start <= at {
		return s.fenced[lo]
	}
	return Span{}
}
