package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// A reply of a chat may give its JSON or its code within a sentence, and have no block. These
// functions find the only value of that kind. What the sentence does with it is read later.

// inlineList returns the only list of JSON within the sentences of a text. A number of a
// reference, the text of a link and an index are not lists.
func inlineList(text string) []Span {
	var found []Span
	data := []byte(text)
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			break
		}
		at += i
		end, _, fault := jsonLimits.Value(data, at)
		if sp := (Span{at, end}); fault == "" && isInlineList(text, sp) {
			if found != nil && text[found[0].Start:found[0].End] != text[at:end] {
				return nil
			}
			found = []Span{sp}
		}
		at = max(end, at+1)
	}
	return found
}

// isInlineList reports whether a list stands by itself in a sentence.
func isInlineList(text string, sp Span) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:sp.Start])
	after, _ := utf8.DecodeRuneInString(text[sp.End:])
	if sp.Start > 0 && (spaced(before) || strings.ContainsRune("_)]}\\", before)) {
		return false // an index
	}
	if sp.End < len(text) && (after == '(' || spaced(after)) {
		return false // a link
	}
	if quoted(text, sp.Start, sp.End) {
		return true
	}
	if head := strings.TrimRight(text[max(0, sp.Start-16):sp.Start], " "); strings.HasSuffix(head, `\in`) || strings.HasSuffix(head, "∈") || strings.HasSuffix(head, "$") {
		return false // an interval
	}
	return strings.ContainsAny(text[sp.Start:sp.End], ",\"{") // "[1]" is a reference
}

// maxInlineCode is how long code within a sentence may be, in bytes.
const maxInlineCode = 400

// inlineCode returns the only code that a text without blocks has in back-ticks within a
// sentence. The name of a file and a single word do not count.
func inlineCode(text string) []Span {
	var found []Span
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			break
		}
		from := at + i
		n := skipRun(text, from) - from
		inner := from + n
		k := strings.Index(text[inner:min(len(text), inner+maxInlineCode)], text[from:inner])
		if k < 0 || strings.IndexByte(text[inner:inner+k], '\n') >= 0 {
			at = inner
			continue
		}
		at = inner + k + n
		sp := trim(text, Span{inner, inner + k})
		code := text[sp.Start:sp.End]
		if plainSpan.MatchString(code) || refused(text, from) && codeFollows(text, at) {
			continue
		}
		if found != nil && text[found[0].Start:found[0].End] != code {
			return nil
		}
		found = []Span{sp}
	}
	return found
}

// maxRefusal is how far before a value a word may stand that refuses it, in bytes.
const maxRefusal = 48

// refused reports whether a word that denies, and at most one more, stand before a value in its
// sentence, "not `git pull` but `git fetch --all`", so that another one on its line is meant.
func refused(text string, at int) bool {
	from := max(0, at-maxRefusal)
	from += strings.LastIndexAny(text[from:at], "\n`") + 1
	for from < at && !utf8.RuneStart(text[from]) {
		from++
	}
	for _, m := range lexicon().marks(nil, text, from, at) {
		if m.uses&useNot != 0 && m.uses&useBut == 0 && len(strings.Fields(text[m.end:at])) <= 1 && strings.IndexByte(text[m.end:at], ',') < 0 {
			return true
		}
	}
	return false
}

// codeFollows reports whether code follows a place on its line, not far from it.
func codeFollows(text string, at int) bool {
	k := strings.IndexAny(text[at:min(len(text), at+maxInlineCode)], "`\n")
	return k >= 0 && text[at+k] == '`'
}

// plainSpan matches what is rather a name than a program: a word, a flag, a file or a path.
var plainSpan = lazyregexp.New(`^[\pL\pN_./~*#<>@:$+-]*(?:\(\))?$`)
