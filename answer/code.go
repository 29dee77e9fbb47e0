package answer

import (
	"strings"
)

// Code is the task of answers that are a program: "code". The last fenced block in
// the problem's language counts. If the problem has no language, the last block of
// any language counts. A block without a label counts only if no block has the
// right label. The package does not run programs. With a gold, a program is right
// if it equals the gold line by line. Without a gold, any program is right, and
// your own validator must judge it further.
var Code Task = codeTask{}

type codeTask struct{}

const maxCode = 16 << 20 // bytes of a candidate

func (codeTask) Name() string { return "code" }

func (codeTask) Form() Form {
	return Form{Rules: "code/1", Extent: All, Find: findCode, Method: "fence"}
}

// languages groups fence labels that mean the same language.
var languages = languageTable(`
	python py python3 py3 ipython
	javascript js node jsx mjs
	typescript ts tsx
	go golang
	c++ cpp cxx cc
	c#  csharp cs
	bash sh shell zsh console
	ruby rb
	rust rs
	kotlin kt
	haskell hs
	sql mysql postgresql sqlite
	yaml yml
	json jsonc
	text txt plain plaintext
`)

func languageTable(list string) map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(list) {
		names := strings.Fields(line)
		for _, name := range names {
			table[name] = names[0]
		}
	}
	return table
}

// languageOf reads the label of a fence: its first word, without the braces and
// dots that some models write around it.
func languageOf(info string) string {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(info, white)), " ")
	word, _, _ = strings.Cut(word, ":")
	word = strings.Trim(word, "{}.,")
	if name, ok := languages[word]; ok {
		return name
	}
	return word
}

// endOfLine returns the end of the line that contains i.
func endOfLine(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// A codeBlock is the contents of a fence, and its label.
type codeBlock struct {
	Span
	lang string
}

// codeBlocks finds fenced code. A fence that never closes holds the rest of the
// text, because a reply that ends with its program often leaves the fence open.
func codeBlocks(text string) []codeBlock {
	var list []codeBlock
	var open fence
	var now codeBlock
	for at := 0; at < len(text); {
		end := endOfLine(text, at)
		line := text[at:end]
		switch {
		case open.size == 0:
			var info string
			if open, info = fenceOf(line); open.size > 0 {
				next := min(end+1, len(text))
				now = codeBlock{Span{next, len(text)}, languageOf(info)}
			}
		case open.closes(line):
			now.End = at
			list = append(list, now)
			open = fence{}
		}
		at = end + 1
	}
	if open.size > 0 {
		list = append(list, now)
	}
	return list
}

func findCode(text string, p Problem) []Span {
	var right, unlabelled []Span
	want := languageOf(p.Lang)
	for _, b := range codeBlocks(text) {
		switch {
		case strings.Trim(text[b.Start:b.End], white) == "":
		case want == "" || b.lang == want:
			right = append(right, b.Span)
		case b.lang == "":
			unlabelled = append(unlabelled, b.Span)
		}
	}
	if right == nil {
		return unlabelled
	}
	return right
}

// Normalise removes the fence, blank lines at both ends, and white space at the
// ends of lines. It keeps indentation.
func (codeTask) Normalise(candidate string) string { return rest(candidate, plainCode) }

func plainCode(s string) string {
	if len(s) > maxCode {
		return s
	}
	s = withoutFenceOnly(strings.ReplaceAll(s, "\r\n", "\n"))
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, white)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// withoutFenceOnly removes a fence that encloses the whole text, and keeps the
// indent of the first line.
func withoutFenceOnly(s string) string {
	blocks := codeBlocks(s)
	if len(blocks) != 1 {
		return s
	}
	b := blocks[0]
	before := strings.TrimSpace(s[:b.Start])
	after := strings.TrimSpace(s[min(endOfLine(s, b.End)+1, len(s)):])
	if strings.Contains(before, "\n") || after != "" {
		return s
	}
	if open, _ := fenceOf(before); open.size == 0 {
		return s
	}
	return s[b.Start:b.End]
}

func (codeTask) Precheck(string, Problem) bool { return false }

func (t codeTask) Validate(candidate string, p Problem) Verdict {
	switch {
	case strings.Trim(candidate, white) == "":
		return Verdict{Reason: Empty}
	case len(candidate) > maxCode:
		return Verdict{Reason: TooLarge}
	case p.Gold == "":
		return Verdict{OK: true, Reason: ReasonOK}
	case candidate == t.Normalise(p.Gold):
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	}
	return Verdict{Reason: Different, By: byNone}
}

func (codeTask) Distil(p Problem, _ string) (query, trace string) { return oneLine(p.Input), "" }
