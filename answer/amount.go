package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An amount is a number in a sentence, and its value in plain digits. Without a value it
// is one that answers nothing: a time of day.
type amount struct {
	Span
	value string
}

// amounts are those of one sentence, in order.
type amounts []amount

// maxAmounts is how many amounts of a sentence are looked at.
const maxAmounts = 12

// amountSpans returns the first amounts of a text, as amountExpr matches them. That is a slow
// expression, so it runs only beside numerals.
func amountSpans(text string) (list []Span) {
	for at := 0; len(list) < maxAmounts; {
		k := strings.IndexFunc(text[at:], beginsAmount)
		if k < 0 {
			break
		}
		from, end := max(at, at+k-maxSign), len(text)
		for !utf8.RuneStart(text[from]) {
			from++
		}
		from += strings.LastIndexAny(text[from:at+k], noAmount) + 1
		if n := strings.IndexAny(text[at+k:], noAmount); n >= 0 {
			end = at + k + n
		}
		m := amountExpr.FindStringIndex(text[from:end])
		if m == nil {
			at = end
			continue
		}
		list = append(list, Span{from + m[0], from + m[1]})
		at = from + m[1]
	}
	return list
}

const (
	// noAmount are bytes that no amount contains. None of them is part of a word.
	noAmount = "\n;:\"()<>[]|#%!?&@+=~`"

	// maxSign is more than the bytes that amountExpr allows before the first numeral.
	maxSign = 40
)

// beginsAmount reports whether an amount may begin with a rune, after its sign and currency.
func beginsAmount(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return unicode.Is(unicode.Nd, r) || strings.ContainsRune("½⅓⅔¼¾", r)
}

// amountsIn returns the amounts of a text that nothing in it denies.
func amountsIn(text string, marks []mark) amounts {
	var list amounts
	for _, sp := range amountSpans(text) {
		if time := timeAt(text, sp); time.End > 0 {
			if n := len(list); n == 0 || list[n-1].End < time.Start {
				list = append(list, amount{Span: time})
			}
			continue
		}
		if sp = amountAt(text, sp); sp.End == 0 || deniedIn(text, marks, sp) || namesPart(text, marks, sp) {
			continue
		}
		if text[sp.Start] == '$' && sp.End < len(text) && text[sp.End] == '$' { // a formula
			sp.Start++
		}
		list = append(list, amount{sp, plainNumber(text[sp.Start:sp.End])})
	}
	return withoutDays(text, list)
}

// withoutDays returns a list without the days and months of dates, of which the year is the
// amount: "17 marzo 1861".
func withoutDays(text string, list amounts) amounts {
	if len(list) < 2 {
		return list
	}
	for _, year := range slices.Clone(list) {
		if len(year.value) != 4 || year.Start == 0 || text[year.Start-1] != ' ' {
			continue
		}
		if day := dayBefore(text, year); day >= 0 {
			list = slices.DeleteFunc(list, func(a amount) bool { return a.Start == day })
		}
	}
	return list
}

// dayBefore returns where the day of a date begins that ends in a year, or -1.
func dayBefore(text string, year amount) int {
	from := 0
	if year.Start > maxDate {
		from = year.Start - maxDate
		from += strings.IndexByte(text[from:], ' ') + 1 // after a word that is cut
	}
	window := text[from:year.End]
	for _, m := range dateNamed.FindAllStringSubmatchIndex(window, maxAmounts) {
		if from+m[6] == year.Start && monthOf(window[m[4]:m[5]]) > 0 {
			return from + m[2]
		}
	}
	for _, m := range dateEnglish.FindAllStringSubmatchIndex(window, maxAmounts) {
		if from+m[6] == year.Start && monthOf(window[m[2]:m[3]]) > 0 {
			return from + m[4]
		}
	}
	return -1
}

// maxDate is more than the bytes before the year of a date.
const maxDate = 80

// timeAt returns the time of day that begins at an amount: 7:30.
func timeAt(text string, sp Span) Span {
	sp.Start = skipWhite(text, sp.Start, sp.End)
	if rest := text[sp.End:]; sp.End-sp.Start <= 2 && len(rest) > 2 && rest[0] == ':' && isDigit(rest[1]) && isDigit(rest[2]) {
		return Span{sp.Start, sp.End + 3}
	}
	return Span{}
}

// theAmount returns the only amount of a list, or of several the one that the sentence
// is about: that of the last main clause. What stands in brackets, after words such as
// "that is", in another clause, or after a preposition, is about something else. The
// result is empty if several remain that differ.
func theAmount(text string, marks []mark, list amounts) Span {
	filters := []func(string, []mark, amount) bool{nil, bracketedIn, yearsBeside(list), restates, subordinate, beforeLast(list), governed}
	for i, other := range filters {
		if other != nil {
			list = without(list, func(a amount) bool { return other(text, marks, a) })
		}
		if len(list) == 0 {
			return Span{}
		}
		if a, ok := oneOf(text, list); ok {
			if a.value == "" {
				return Span{}
			}
			return a.Span
		}
		if list.alternatives(text, marks) || i == len(filters)-2 && list.apart(text) {
			return Span{}
		}
	}
	return Span{}
}

// yearsBeside returns a filter for the amounts that are years, if others are not: a preposition stands
// before a year, and the clause ends with it ("8848.86 m, by the measurement of 2020").
func yearsBeside(list amounts) func(string, []mark, amount) bool {
	year := func(a amount) bool {
		return len(a.value) == 4 && (a.value[0] == '1' || a.value[0] == '2') && strings.IndexByte(a.value, '.') < 0
	}
	return func(text string, marks []mark, a amount) bool {
		if !year(a) || !slices.ContainsFunc(list, func(b amount) bool { return !year(b) }) {
			return false
		}
		rest := strings.TrimLeft(text[a.End:], " *_")
		if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) || strings.ContainsRune("%€$°", r) {
			return false
		}
		return slices.ContainsFunc(marks, func(m mark) bool {
			return m.uses&useBy != 0 && m.end <= a.Start && strings.Trim(text[m.end:a.Start], " *_") == ""
		})
	}
}

// beforeCheck returns the part of a sentence before the clause that checks its value: "…, as
// a sanity check, 45 ÷ 3 = 15".
func beforeCheck(text string, marks []mark) string {
	for _, m := range marks {
		if m.uses&useNote != 0 {
			if from := clauseBefore(text, m.start); from > 0 && strings.ContainsAny(text[:from], bareDigits) {
				return text[:from]
			}
		}
	}
	return text
}

// beforeLast returns a filter for the amounts of main clauses before the last one, if that
// concludes, or opposes them: "he had 5 and ate 3, so 2 are left", "the first came in 1871, but
// this one in 1861".
func beforeLast(list amounts) func(string, []mark, amount) bool {
	return func(text string, marks []mark, a amount) bool {
		for _, b := range list {
			from := clauseBefore(text, b.Start)
			if from < a.End || subordinate(text, marks, b) {
				continue
			}
			if opposed(text, marks, from) {
				return true
			}
			for _, m := range marks {
				if m.uses&(useSo|useTotal) != 0 && m.start >= from && m.end <= b.Start || m.uses&useSo != 0 && m.end > from-3 && m.end <= from {
					return true
				}
			}
		}
		return false
	}
}

// opposed reports whether the clause that begins at a place opposes the one before it: it begins
// with a word such as "but", or the other one ends with such words.
func opposed(text string, marks []mark, from int) bool {
	head := strings.TrimRight(text[:from], " ,，、")
	for _, ending := range rows("concede") {
		if strings.HasSuffix(head, ending) {
			return true
		}
	}
	for _, m := range marks {
		if m.uses&useBut != 0 && m.uses&(useIs|useIt|useNot) == 0 && m.start >= from && m.start <= from+1 {
			return true
		}
	}
	return false
}

// alternatives reports whether amounts stand on both sides of "or".
func (l amounts) alternatives(text string, marks []mark) bool {
	for i := range l[1:] {
		for _, m := range marks {
			if m.uses&useOr != 0 && m.start >= l[i].End && m.end <= l[i+1].Start {
				return true
			}
		}
	}
	return false
}

// apart reports whether amounts stand in several clauses, so that no preposition tells
// them apart.
func (l amounts) apart(text string) bool {
	return clauseBefore(text, l[len(l)-1].Start) > l[0].Start
}

// without returns a list without the amounts of a kind, or all of it if none is left.
func without(list amounts, drop func(amount) bool) amounts {
	var kept amounts
	for _, a := range list {
		if !drop(a) {
			kept = append(kept, a)
		}
	}
	if len(kept) == 0 {
		return list
	}
	return kept
}

// oneOf returns the amount of a list whose members are equal. Of a number and the same in
// percent it is the number.
func oneOf(text string, list amounts) (amount, bool) {
	first := list[0]
	for _, a := range list[1:] {
		switch {
		case a.value == first.value:
		case inPercent(text, a) && isPercentOf(a.value, first.value):
		case inPercent(text, first) && isPercentOf(first.value, a.value):
			first = a
		default:
			return amount{}, false
		}
	}
	return first, true
}

// maxCompared is how far a word that compares may be from an amount, in bytes.
const maxCompared = 16

// comparedIn reports whether a word beside an amount compares it with another one: "5 less
// than 12".
func comparedIn(text string, marks []mark, a amount) bool {
	for _, m := range marks {
		if m.uses&useThan == 0 {
			continue
		}
		between := ""
		if m.start >= a.End {
			between = text[a.End:m.start]
		} else if m.end <= a.Start {
			between = text[m.end:a.Start]
		} else {
			return true
		}
		if len(between) <= maxCompared && !strings.ContainsAny(between, ",;:.(") && !strings.Contains(between, "，") && !strings.Contains(between, "、") {
			return true
		}
	}
	return false
}

// inPercent reports whether a percent sign follows an amount.
func inPercent(text string, a amount) bool {
	rest := strings.TrimLeft(text[a.End:], " \\")
	return strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "％") || strings.HasPrefix(rest, "percent")
}

// bracketedIn reports whether an amount stands in brackets.
func bracketedIn(text string, _ []mark, a amount) bool {
	return bracketOpen(text, 0, a.Start)
}

// restates reports whether words before an amount say that it is what stands before them:
// "that is", "or about".
func restates(text string, marks []mark, a amount) bool {
	from := clauseBefore(text, a.Start)
	for _, m := range marks {
		if m.uses&useSame != 0 && m.start > 0 && m.end <= a.Start && m.start >= from && (m.start <= from+2 || len(strings.Fields(text[m.end:a.Start])) <= 2) {
			return true
		}
	}
	head := strings.TrimRight(text[:a.Start], " $")
	return strings.HasSuffix(head, "≈") || strings.HasSuffix(head, "~")
}

// beginsSo reports whether words that begin a conclusion stand at a place: "per cui".
func beginsSo(marks []mark, at int) bool {
	for _, m := range marks {
		if m.start == at && m.uses&useSo != 0 {
			return true
		}
	}
	return false
}

// complements begin what a sentence says, where they begin a text: "that the answer is 8".
var complements = setOf(`that que che что dass daß`)

// subordinate reports whether a clause that is not the main one has an amount.
func subordinate(text string, marks []mark, a amount) bool {
	from := clauseBefore(text, a.Start)
	for _, m := range marks {
		if m.start < from || m.end > a.Start || from == 0 && complements[text[m.start:m.end]] || beginsSo(marks, m.start) {
			continue
		}
		if m.uses&useWere != 0 || m.uses&(useSub|useIf|useNote) != 0 && m.start <= from+4 || m.uses&useBy != 0 && m.start == from && governed(text, marks, a) {
			return true
		}
	}
	return false
}

// clauseStops end a clause within a sentence.
var clauseStops = []string{", ", "，", "、", "—", "; ", "；", ": ", "：", " – ", " - ", "("}

// clauseBefore returns where the clause of a place begins, as its marks say.
func clauseBefore(text string, at int) int {
	start := 0
	for _, stop := range clauseStops {
		if k := strings.LastIndex(text[:at], stop); k >= 0 {
			start = max(start, k+len(stop))
		}
	}
	return start
}

// governed reports whether a preposition stands before an amount, or a word with that
// use after it.
func governed(text string, marks []mark, a amount) bool {
	from := clauseBefore(text, a.Start)
	for _, m := range marks {
		if m.uses&useBy == 0 || m.start < from {
			continue
		}
		r, _ := utf8.DecodeRuneInString(text[m.start:])
		switch {
		case follows(r):
			if m.start >= a.End && !isEnding(text[m.start:]) && m.start <= a.End+maxCounter && !strings.ContainsFunc(text[a.End:m.start], notCounter) {
				return true
			}
		case m.end <= a.Start && len(strings.Fields(strings.Trim(text[m.end:a.Start], " $€£*_"))) <= 1 && !endsVerb(marks, m):
			return true
		}
	}
	return false
}

// isEnding reports whether a Japanese particle is the beginning of the verb that ends a
// sentence: です, になります.
func isEnding(s string) bool {
	for _, ending := range []string{"です", "でし", "であ", "でき", "にな"} {
		if strings.HasPrefix(s, ending) {
			return true
		}
	}
	return false
}

// maxCounter is how long the counter between an amount and its particle may be, in bytes.
const maxCounter = 18

// follows reports whether words in the alphabet of a letter stand after what they govern.
func follows(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Hangul) }

// notCounter reports whether a rune is no part of a counter: "5枚の", "3 개의".
func notCounter(r rune) bool {
	return r != ' ' && r != '%' && r != '％' && !unicode.IsLetter(r) || unicode.Is(unicode.Hiragana, r)
}

// endsVerb reports whether a preposition is a part of a verb: "comes to".
func endsVerb(marks []mark, by mark) bool {
	for _, m := range marks {
		if m.uses&(useIs|useIt|useSo) != 0 && m.end == by.end && m.start <= by.start {
			return true
		}
	}
	return false
}
