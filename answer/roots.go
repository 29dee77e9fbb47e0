package answer

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// maxRoots is how many values of one unknown are read as a list.
const maxRoots = 8

// rootExpr matches the value of an unknown, as a formula or in plain text.
var rootExpr = lazyregexp.New(`\$ ?([A-Za-z])(?:_\{?[0-9A-Za-z]\}?)? ?= ?[^$=<>\n]{1,60}\$|\\\( ?([A-Za-z])(?:_\{?[0-9A-Za-z]\}?)? ?= ?[^=<>\n]{1,60}?\\\)|` +
	`([A-Za-z])(?:_[0-9]|[₀-₉])? ?= ?[-−]?(?:\p{Nd}+(?:[.,]\p{Nd}+)?)?(?:√\p{Nd}+|√\(\p{Nd}+\)|π)?(?:/\p{Nd}+)?`)

// rootJoin matches what stands between two members of a list.
var rootJoin = lazyregexp.New(`^(?:[,;]? (?:and|or|und|oder|et|ou|y|o|e|и|или)(?: bien)? |[,;] ?|[、，；]|,? ?(?:和|与|或|及|または|と|와|과|또는|및|그리고) ?)$`)

// rootsIn returns the list of the values that a sentence gives to one unknown: "x = 1 and x = 4".
func rootsIn(text string, marks []mark) Span {
	list := rootList(text)
	if len(list) < 2 || deniedIn(text, marks, Span{list[0].Start, list[len(list)-1].End}) {
		return Span{}
	}
	if _, asks := rootName(text, list); !asks {
		return Span{}
	}
	return Span{list[0].Start, list[len(list)-1].End}
}

// rootList returns the last members of a list that a text gives.
func rootList(text string) []Span {
	if strings.Count(text, "=") < 2 {
		return nil
	}
	var list []Span
	for _, m := range rootExpr.FindAllStringIndex(text, maxRoots+1) {
		sp := trim(text, Span{m[0], m[1]})
		if last := text[sp.End-1]; last == '=' || sp.Start > 0 && (isDigit(text[sp.Start-1]) || isWordByte(text[sp.Start-1])) {
			return nil // not a plain value
		}
		if n := len(list); n > 0 && !rootJoin.MatchString(text[list[n-1].End:sp.Start]) {
			list = list[:0]
		}
		list = append(list, sp)
	}
	if len(list) > maxRoots {
		return nil
	}
	return list
}

// rootName returns the unknown of a list. ok is false if its members are of different ones.
func rootName(text string, list []Span) (name byte, ok bool) {
	for _, sp := range list {
		k := strings.IndexFunc(text[sp.Start:sp.End], func(r rune) bool { return r < 0x80 && isLetter(byte(r)) })
		if k < 0 || name != 0 && text[sp.Start+k] != name {
			return 0, false
		}
		name = text[sp.Start+k]
	}
	return name, true
}

// joinedRoots writes a list of values of one unknown with commas between them, or returns s if it is
// not one.
func joinedRoots(s string) string {
	list := rootList(s)
	if len(list) < 2 || list[0].Start > 0 || list[len(list)-1].End < len(s) {
		return s
	}
	if _, ok := rootName(s, list); !ok {
		return s
	}
	parts := make([]string, len(list))
	for i, sp := range list {
		part := s[sp.Start:sp.End]
		part = strings.TrimSuffix(strings.TrimPrefix(part, `\(`), `\)`)
		parts[i] = strings.Trim(part, "$ ")
	}
	return strings.Join(parts, ", ")
}

// condition matches a condition on a parameter at the end of a formula: ", n ∈ Z".
var condition = lazyregexp.New(`^(.+?)(?:[,;] ?|\\quad ?)[a-z](?:, ?[a-z])*\\in ?(?:\\mathbb\{[ZNQ]\}|[ZN])$`)

// withoutCondition returns a formula without the condition on its parameter.
func withoutCondition(s string) string {
	if !strings.Contains(s, `\in`) || len(s) > maxSentence {
		return s
	}
	if m := condition.FindStringSubmatch(s); m != nil {
		return strings.TrimRight(m[1], ", ")
	}
	return s
}

// onlyConditions reports whether a sentence has no value, but says what a variable is not: "with
// $x ≠ 2$".
func onlyConditions(text string) bool {
	return (strings.Contains(text, `\ne`) || strings.Contains(text, "≠")) && strings.IndexByte(text, '=') < 0
}

// definition matches the value of a function, in plain text: "f'(x) = 6x² − 4".
var definition = lazyregexp.New(`(?:^|[ (：:])[A-Za-z]['′’]{0,3}(?:\([a-z]\))? ?= ?([-−]?[0-9a-z().²³⁴⁵^/]+(?: ?[-+−*·/] ?[0-9a-z().²³⁴⁵^/]*[0-9a-z)²³⁴⁵])+)(?:[ ,.;。，]|$)`)

// definedIn returns the right side of the only definition of a sentence that has a variable in it.
func definedIn(text string) Span {
	if strings.Count(text, "=") != 1 {
		return Span{}
	}
	m := definition.FindStringSubmatchIndex(text)
	if m == nil {
		return Span{}
	}
	side := text[m[2]:m[3]]
	run := 0
	variable := false
	for i := range len(side) {
		if isLetter(side[i]) {
			if run++; run > 1 {
				return Span{} // a word
			}
			variable = true
		} else {
			run = 0
		}
	}
	if !variable || strings.HasPrefix(strings.TrimLeft(text[m[3]:], " "), "=") {
		return Span{}
	}
	return Span{m[2], m[3]}
}
