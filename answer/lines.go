package answer

import "strings"

const white = " \t\n\v\f\r"

func isWhite(c byte) bool { return c == ' ' || c-'\t' < 5 }

// skipWhite returns the first place in s[i:end] that is not white space, or end.
func skipWhite(s string, i, end int) int {
	for i < end && isWhite(s[i]) {
		i++
	}
	return i
}

// trim returns the span without the white space at its ends.
func trim(s string, sp Span) Span {
	sp.Start = skipWhite(s, sp.Start, sp.End)
	for sp.End > sp.Start && isWhite(s[sp.End-1]) {
		sp.End--
	}
	return sp
}

// lineEnd returns the end of the line that contains i, without its newline.
func lineEnd(s string, i int) int { return lineEndIn(s, i, len(s)) }

// lineEndIn is lineEnd in s[:end].
func lineEndIn(s string, i, end int) int {
	if i >= end {
		return end
	}
	if k := strings.IndexByte(s[i:end], '\n'); k >= 0 {
		return i + k
	}
	return end
}

// isDelimiter reports whether a line only separates or wraps the text around it: a
// fence, a rule, the delimiters of displayed mathematics.
func isDelimiter(line string) bool {
	line = strings.Trim(line, white)
	switch line {
	case "$$", `\[`, `\]`, `\(`, `\)`, "$":
		return true
	}
	if f, _ := fenceOf(line); f.size > 0 {
		return true
	}
	return len(line) > 1 && strings.Trim(line, line[:1]) == "" && strings.IndexByte("-*_=~", line[0]) >= 0
}

// A fence is a run of three or more back-ticks or tildes.
type fence struct {
	char byte
	size int
}

// fenceOf returns the fence that a line begins with, by rule G4c, and the text
// after it.
func fenceOf(line string) (f fence, rest string) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == len(line) || line[i] != '`' && line[i] != '~' {
		return fence{}, ""
	}
	n := i
	for n < len(line) && line[n] == line[i] {
		n++
	}
	rest = line[n:]
	if n-i < 3 || line[i] == '`' && strings.IndexByte(rest, '`') >= 0 {
		return fence{}, ""
	}
	return fence{line[i], n - i}, rest
}

// closes reports whether a line ends the fence.
func (f fence) closes(line string) bool {
	g, rest := fenceOf(line)
	return g.char == f.char && g.size >= f.size && strings.Trim(rest, white) == ""
}

// fences returns the contents of the text's fenced code, in order. A fence that
// never closes protects nothing, unless the reply was cut.
func fences(text string, cut bool) []Span {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	var list []Span
	var open fence
	from := 0
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := text[at:end]
		switch {
		case open.size == 0:
			if open, _ = fenceOf(line); open.size > 0 {
				from = min(end+1, len(text))
			}
		case open.closes(line):
			list = append(list, Span{from, at})
			open = fence{}
		}
		at = end + 1
	}
	if open.size > 0 && cut {
		list = append(list, Span{from, len(text)})
	}
	return list
}
