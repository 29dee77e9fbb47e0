package answer

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Code is the task of answers that are a program: "code". The last fenced block in
// the problem's language counts. If the problem has no language, the last block of
// any language counts. A block without a label counts only if no block has the
// right label. If the problem names a file, only blocks with that name count, or, if no
// block has it, those without any name. A block has the name in its label (python
// title="a.py", or a.py), in a comment on its first line (# file: a.py), or in the
// line above, if that line has one name (**a.py**, ### src/a.py). The package does not run programs. With a gold, a program is right
// if it equals the gold line by line. Without a gold, any program is right, and
// your own validator must judge it further.
var Code Task = codeTask{}

type codeTask struct{}

const maxCode = 16 << 20 // bytes of a candidate

func (codeTask) Name() string { return "code" }

func (codeTask) Form() Form {
	return Form{Rules: "code/4", Extent: All, Find: findCode, Method: "fence", Bare: bareCode, blocks: true}
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
	info string // all of the label
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
				now = codeBlock{Span{next, len(text)}, languageOf(info), info}
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

// findCode finds the blocks that may be the program: those in the right language, or
// of any language; without a label only if there are no others. Tests, examples of
// use, shell commands and printed output count only if there is nothing else.
func findCode(text string, p Problem) []Span {
	var right, unlabelled []codeBlock
	blocks := codeBlocks(text)
	if len(blocks) == 0 && p.File == "" && bareCode(text, p).End == 0 {
		return inlineCode(text)
	}
	if p.File != "" {
		blocks = blocksOf(text, blocks, p.File)
	}
	want := languageOf(p.Lang)
	for _, b := range blocks {
		switch {
		case strings.Trim(text[b.Start:b.End], white) == "":
		case b.lang == "" && want == "", b.lang == "":
			unlabelled = append(unlabelled, b)
		case want == "" || b.lang == want:
			right = append(right, b)
		}
	}
	if right == nil {
		right = unlabelled
	}
	if want == "" {
		right = programs(right, func(b codeBlock) bool { return !besides[b.lang] })
	}
	right = programs(right, func(b codeBlock) bool { return !isUse(text[b.Start:b.End]) && !namedTest(text, b) })
	var found []Span
	for _, b := range right {
		found = append(found, b.Span)
	}
	return found
}

// programs returns the blocks for which is holds, or all if there are none.
func programs(list []codeBlock, is func(codeBlock) bool) []codeBlock {
	var some []codeBlock
	for _, b := range list {
		if is(b) {
			some = append(some, b)
		}
	}
	if some == nil {
		return list
	}
	return some
}

// besides are the languages of blocks that stand beside a program.
var besides = map[string]bool{"bash": true, "text": true, "output": true, "json": true, "yaml": true, "diff": true}

// isUse reports whether a block only uses or tests a program: it is a test, or each
// of its lines imports, comments, calls, checks or prints.
func isUse(block string) bool {
	if testExpr.MatchString(block) {
		return true
	}
	seen := false
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, white)
		if line == "" {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' || strings.IndexByte(")]}", line[0]) >= 0 {
			continue // it continues the line above
		}
		if !useExpr.MatchString(line) {
			return defined(line) == "" && strings.HasPrefix(strings.TrimLeft(block, white), ">>>")
		}
		seen = seen || !commentExpr.MatchString(line)
	}
	return seen
}

// defined returns what a line defines, or "".
func defined(line string) string { return definesExpr.FindString(line) }

var (
	commentExpr = lazyregexp.New(`^(?:#|//|--|/\*|\*)`)
	// useExpr matches a line that uses a program.
	useExpr = lazyregexp.New(`^(?:#|//|--|/\*|\*|>>>|\.\.\.|\$ |import |from \S+ import |assert\b|print|console\.|fmt\.Print|System\.out|puts |echo |println!?\(|assert\w*!?\(|expect\(|describe\(|it\(|test\(|(?:(?:const |let |var )?\w+ :?= )?(?:[\w.]+\.)?\w+\(.*\)\s*;?\s*(?:(?:#|//).*)?$|if __name__|for \S+ in .*:$)`)
	// testExpr matches what only tests hold.
	testExpr    = lazyregexp.New(`(?m)^(?:\s*def test_|class Test\w*|\s*import (?:unittest|pytest)\b|func Test[A-Z_]\w*\(|\s*@Test\b|#\[(?:test|cfg\(test\))\]|describe\(|\s*unittest\.main\()`)
	definesExpr = lazyregexp.New(`^(?:async )?(?:def|class|func|function|fn|public|private|static|struct|type|const|let|var|interface|enum|template|#include|SELECT|CREATE|INSERT|WITH)\b`)
)

// lineAbove returns the line above a fenced block, or the beginning of a long one.
func lineAbove(text string, b codeBlock) string {
	head := strings.TrimRight(text[:strings.LastIndexByte(text[:max(0, b.Start-1)], '\n')+1], white)
	line := head[strings.LastIndexByte(head, '\n')+1:]
	return line[:min(len(line), 200)]
}

// blocksOf returns the blocks of a file, or if there are none, those of no file.
func blocksOf(text string, blocks []codeBlock, file string) []codeBlock {
	var named, nameless []codeBlock
	for _, b := range blocks {
		switch name := nameOf(text, b); {
		case sameFile(name, file):
			named = append(named, b)
		case name == "":
			nameless = append(nameless, b)
		}
	}
	if named == nil {
		return nameless
	}
	return named
}

// nameOf returns the name of the file that a block holds, or "".
func nameOf(text string, b codeBlock) string {
	if name := fileExpr.FindString(b.info); name != "" {
		return name
	}
	first := strings.Trim(text[b.Start:lineEndIn(text, b.Start, b.End)], white)
	if m := fileComment.FindStringSubmatch(first[:min(len(first), 200)]); m != nil {
		return m[1]
	}
	line := lineAbove(text, b)
	if isFence(line) {
		return "" // the end of the block above
	}
	if names := fileExpr.FindAllString(line, 2); len(names) == 1 {
		return names[0]
	}
	return ""
}

// sameFile reports whether two paths name one file: one of them may have more folders.
func sameFile(name, file string) bool {
	name, file = strings.TrimPrefix(name, "./"), strings.TrimPrefix(file, "./")
	return name != "" && (name == file || strings.HasSuffix(name, "/"+file) || strings.HasSuffix(file, "/"+name))
}

var (
	// fileExpr matches the name of a file, which has an ending of letters.
	fileExpr = lazyregexp.New(`(?:[\w-]+/|\.{1,2}/)*[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}\b`)
	// fileComment matches a comment that holds nothing but the name of a file.
	fileComment = lazyregexp.New(`^(?:#|//|--|;|%|/\*+|<!--|\(\*|"""|\x27\x27\x27)\s*(?i:file(?:name| name| path)?\s*[:=]\s*|title\s*[:=]\s*)?` + "[`\"']?" + `((?:[\w-]+/|\.{1,2}/)*[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7})` + "[`\"']?" + `\s*(?:\*/|-->|\*\)|"""|\x27\x27\x27)?$`)
)

// namedTest reports whether the line above a block names a file of tests.
func namedTest(text string, b codeBlock) bool { return testFile.MatchString(lineAbove(text, b)) }

var testFile = lazyregexp.New(`(?i)\b(?:test_\w+\.\w+|\w+_test\.\w+|\w+\.(?:test|spec)\.\w+)\b`)

// bareCode accepts a reply without a fence whose first line begins a program.
func bareCode(text string, _ Problem) Span {
	sp := trim(text, Span{0, len(text)})
	if sp.Start == sp.End || !programExpr.MatchString(text[sp.Start:lineEndIn(text, sp.Start, sp.End)]) {
		return Span{}
	}
	return sp
}

// programExpr matches the first line of a program.
var programExpr = lazyregexp.New(`^(?:(?:async )?def \w+\(.*:|class \w+.*[:{]|import [\w., {}*"']+;?|from [\w.]+ import |func \w*\(?.*\{|package \w+$|function \w+\(.*\{|#include\s*[<"]|#!|public (?:static |final |abstract )*class |(?:const|let|var) \w+ = |fn \w+\(.*\{|use [\w:]+;|SELECT |CREATE |WITH \w+ AS|@\w+)`)

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

func (codeTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}
