package answer

import (
	"slices"
	"strconv"
	"strings"
)

// maxTokens is how many tokens are looked at that may be quoted.
const maxTokens = 64

// turnEnd returns where the text ends for an end-of-turn token that the log kept. A
// token that is quoted, or in code, is text.
func turnEnd(text string) int {
	return min(turnEndAt(text, '<'), turnEndAt(text, '['))
}

// turnEndAt is turnEnd for the tokens that begin with a byte.
func turnEndAt(text string, first byte) int {
	tries := 0
	for at := 0; at < len(text) && tries < maxTokens; at++ {
		k := strings.IndexByte(text[at:], first)
		if k < 0 {
			break
		}
		at += k
		for _, kind := range []string{"token", "turn"} {
			for _, token := range rows(kind) {
				if !strings.HasPrefix(text[at:], token) {
					continue
				}
				tries++
				if (kind == "token" || !blank(text[:at])) && !quoted(text, at, at+len(token)) && !inProgram(text, at) {
					return at
				}
			}
		}
	}
	return len(text)
}

// inProgram reports whether a place is within a line of fenced code. A token after
// the closing fence, or where the fence never closes, is not.
func inProgram(text string, at int) bool {
	var open fence
	for i := 0; i < at; {
		end := lineEnd(text, i)
		line := text[i:min(end, at)]
		switch {
		case open.size == 0:
			open, _ = fenceOf(line)
		case open.closes(line):
			open = fence{}
		}
		i = end + 1
	}
	if open.size == 0 {
		return false
	}
	for i := lineEnd(text, at) + 1; i < len(text); {
		end := lineEnd(text, i)
		line := text[i:end]
		if open.closes(line) {
			return true
		}
		if f, info := fenceOf(line); f.size > 0 && strings.Trim(info, white) != "" {
			return false // another block opens: this one did not close
		}
		i = end + 1
	}
	return false
}

// runOn returns where the text ends for the task: before the first line that begins
// a further problem, once an answer has been stated. A line in code, or within what
// was found, begins none.
func (s *search) runOn() int {
	stops, parts := s.stopLines()
	if len(stops) == 0 {
		return len(s.text)
	}
	first, end, labelled := s.firstStated()
	from := 0
	for i, stop := range stops {
		switch {
		case parts[i] && first >= stops[0]: // the reply answers question 1, question 2, …
		case labelled && first < stop && s.form.Extent == FirstLine && !s.beginsLine(stop):
			return stop // the answer of a line ends where the further problem begins
		case first < stop && end <= stop, i == 0 && s.isBare(s.text[:stop]):
			return stop
		case s.form.Scan && s.scanned(Span{from, stop}):
			return stop
		}
		from = stop
	}
	return len(s.text)
}

// firstStated returns the first place where an explicit tier finds something, or
// the end of the text. labelled says that a label states it, so that it may go on to the
// end of its line.
func (s *search) firstStated() (first, end int, labelled bool) {
	first, end = len(s.text), len(s.text)
	tier := func(look func()) {
		s.forget()
		look()
		for _, f := range s.list {
			if f.weak && s.strong > 0 {
				continue
			}
			if stop := lineEndIn(s.text, f.value.Start, f.value.End); f.value.Start < first && !blank(s.text[f.value.Start:f.value.End]) {
				first, end, labelled = f.value.Start, f.value.End, f.label != ""
				if f.label != "" {
					end = max(stop, f.value.Start)
				}
			}
			break
		}
		s.forget()
	}
	tier(s.answerBlocks)
	if s.form.Find != nil {
		tier(func() { s.own(s.form.Find) })
	}
	tier(s.claims)
	return first, end, labelled
}

// stopLines returns where the lines begin that could begin a further problem, and
// that follow some other text. parts says which of them number the parts of a reply
// that begins with question 1.
func (s *search) stopLines() (list []int, parts []bool) {
	labels := stopLabels()
	numbered := false
	for at := skipWhite(s.text, 0, len(s.text)); at < len(s.text) && len(list) < maxFinds; {
		end := lineEnd(s.text, at)
		if number, ok := stopLine(s.text[at:end], labels, s.form.Stops); ok && !s.inFence(at) {
			numbered = numbered || number == 1
			if !blank(s.text[:at]) {
				list, parts = append(list, at), append(parts, number > 0 && numbered)
			} else if numbered {
				list, parts = append(list, at), append(parts, true)
			}
		}
		for _, stop := range s.stopsWithin(at, end, maxFinds-len(list)) {
			list, parts = append(list, stop), append(parts, false)
		}
		at = end + 1
	}
	return list, parts
}

// beginsLine reports whether only white space stands before a place on its line.
func (s *search) beginsLine(at int) bool {
	return blank(s.text[strings.LastIndexByte(s.text[:at], '\n')+1 : at])
}

// stopsWithin returns where stops of the task begin within a line, after other text.
func (s *search) stopsWithin(at, end, most int) (list []int) {
	for _, stop := range s.form.Stops {
		for from := skipBlanks(s.text, at) + 1; from < end && len(list) < most; {
			i := strings.Index(s.text[from:end], stop)
			if i < 0 {
				break
			}
			if k := from + i; !s.inFence(k) {
				list = append(list, k)
			}
			from += i + len(stop)
		}
	}
	slices.Sort(list)
	return list
}

// stopLabels are the labels of further problems, by their first byte.
func stopLabels() *[256][]string { return lexicon().stops }

func labelsByByte(labels []string) *[256][]string {
	var t [256][]string
	for _, label := range labels {
		t[label[0]] = append(t[label[0]], label)
	}
	return &t
}

// stopLine reports whether a line begins a further problem: one of the stops of the
// task, or a label such as "Question", in any Markdown, with a number or without,
// and a colon, or alone in a heading. number is the number, or 0.
func stopLine(line string, labels *[256][]string, stops []string) (number int, ok bool) {
	line = line[skipBlanks(line, 0):]
	for _, stop := range stops {
		if strings.HasPrefix(line, stop) {
			return 0, true
		}
	}
	heading := strings.HasPrefix(line, "#")
	i := 0
	for i < len(line) && i < maxLead && strings.IndexByte("#*_> ", line[i]) >= 0 {
		i++
	}
	if i == len(line) {
		return 0, false
	}
	for _, label := range labels[line[i]] {
		if strings.HasPrefix(line[i:], label) {
			if number, ok = labelEnds(line[i+len(label):], heading); ok {
				return number, true
			}
		}
	}
	return 0, false
}

func labelEnds(rest string, heading bool) (number int, ok bool) {
	rest = strings.TrimLeft(rest, " #*_")
	after := strings.TrimLeft(rest, "0123456789")
	if digits := rest[:len(rest)-len(after)]; digits != "" {
		if number, _ = strconv.Atoi(digits); number == 0 {
			number = 2
		}
	}
	rest = strings.TrimLeft(after, " *_")
	if colonAt(rest) > 0 {
		return number, true
	}
	return number, heading && blank(rest)
}
