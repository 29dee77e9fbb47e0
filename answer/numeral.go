package answer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNumeral is how many words a number in words may have, and maxNumeralWord how long
// one may be, in bytes.
const (
	maxNumeral     = 12
	maxNumeralWord = 48
)

// numeral reads the number that a text begins with in words: "two hundred and five",
// "vinte e uma", "zweihundertfünf", "two thirds". n is the length of its words, 0 if
// there is none.
func numeral(text string) (value string, n int) {
	sum := numeralSum{}
	for at, words := 0, 0; words < maxNumeral; words++ {
		k := at
		if words > 0 {
			k = joint(text, at)
			if k == at {
				break
			}
		}
		v, size := numberAt(text[k:])
		if size == 0 {
			break
		}
		if strings.ContainsAny(v, "/.") {
			if words == 0 {
				return v, size
			}
			break
		}
		if !sum.add(v) {
			break
		}
		at = k + size
		n = at
	}
	if n == 0 {
		return "", 0
	}
	return strconv.Itoa(sum.total + sum.part), n
}

// joint returns where the next word of a number begins, after a space, a hyphen or "and".
func joint(text string, at int) int {
	k := at
	for k < len(text) && (text[k] == ' ' || text[k] == '-') && k < at+2 {
		k++
	}
	for _, and := range []string{"and ", "y ", "e ", "et ", "et-", "und "} {
		if k > at && strings.HasPrefix(text[k:], and) {
			return k + len(and)
		}
	}
	return k
}

// numberAt returns the value of the longest row that a text begins with: of three words,
// two or one, or of what one word is put together from.
func numberAt(text string) (value string, n int) {
	table := lexicon()
	ends := [3]int{}
	count, at := 0, 0
	for count < len(ends) && at < len(text) && at < 2*maxNumeralWord {
		end := at
		for end < len(text) && end < at+maxNumeralWord {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsLetter(r) && !(r == '-' && end > at) {
				break
			}
			end += size
		}
		if end == at {
			break
		}
		ends[count] = end
		count++
		if at = end; at == len(text) || text[at] != ' ' {
			break
		}
		at++
	}
	if count == 0 {
		return "", 0
	}
	for i := count - 1; i >= 0; i-- {
		if v, ok := table.numbers[strings.ToLower(text[:ends[i]])]; ok {
			return v, ends[i]
		}
	}
	word := strings.ToLower(text[:ends[0]])
	for k := strings.LastIndexByte(word, '-'); k > 0; k = strings.LastIndexByte(word[:k], '-') { // "twenty-one": the hyphen is a joint
		if v, ok := table.numbers[word[:k]]; ok {
			return v, k
		}
	}
	if r, _ := utf8.DecodeRuneInString(word); unicode.Is(unicode.Hangul, r) {
		return hangulNumber(word)
	}
	if v, ok := compound(word, 0); ok && len(word) == ends[0] {
		return strconv.Itoa(v), ends[0]
	}
	return "", 0
}

// hangulNumber reads the number that a Korean word begins with: the counter or an ending
// follows without a space.
func hangulNumber(word string) (value string, n int) {
	for end := len(word); end > len("열"); end-- {
		if !utf8.RuneStart(byteAt(word, end)) {
			continue
		}
		if v, ok := lexicon().numbers[word[:end]]; ok {
			return v, end
		}
	}
	return "", 0
}

// byteAt returns a byte of a text, or 0 at its end.
func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// compound reads a number that is written as one word: "zweihundertfünf", "duecentotre".
func compound(word string, depth int) (int, bool) {
	if depth > 4 || len(word) < 3 {
		return 0, false
	}
	table := lexicon()
	for end := len(word) - 1; end >= 3; end-- {
		if !utf8.RuneStart(word[end]) {
			continue
		}
		head, ok := table.numbers[word[:end]]
		if !ok || strings.ContainsAny(head, "/.") {
			continue
		}
		tail, ok := table.numbers[strings.TrimPrefix(word[end:], "und")]
		if !ok {
			rest, more := compound(word[end:], depth+1)
			tail, ok = strconv.Itoa(rest), more
		}
		var sum numeralSum
		if ok && !strings.ContainsAny(tail, "/.") && sum.add(head) && sum.add(tail) {
			return sum.total + sum.part, true
		}
	}
	return 0, false
}

// A numeralSum adds up the words of a number.
type numeralSum struct{ total, part int }

// add adds a word, or reports false if it does not go on with the number.
func (s *numeralSum) add(word string) bool {
	v, err := strconv.Atoi(word)
	if err != nil || v < 0 || s.total+s.part > 1e9 {
		return false
	}
	last := s.part % 100
	switch {
	case v >= 1e6 || v == 1000:
		s.total, s.part = (s.total+max(s.part, 1))*v, 0
		if s.total > 1e12 {
			return false
		}
	case v == 100 && s.part < 10 && s.part > 0:
		s.part *= 100
	case s.part == 0 && s.total%1000 == 0:
		s.part = v
	case s.part >= 100 && v > 100 && v%100 == 0, v >= 1000:
		// "cento mila" and the like, in which a tail is a number of its own
		return false
	case v == 0, last == 0 && v >= 100, last > 0 && last%10 != 0:
		return false
	case last == 0, v < 10 && last >= 20, v < 20 && (last == 60 || last == 80):
		s.part += v
	default:
		return false
	}
	return true
}

// numeralIn finds the number of a text that is written as a word. Of several, it is the
// one that the sentence is about.
func numeralIn(text string, from int) Span {
	marks := lexicon().marks(nil, text, 0, len(text))
	list, ok := numeralsIn(text, marks)
	if !ok {
		return Span{}
	}
	sp := theAmount(text, marks, list)
	if sp.End == 0 {
		return Span{}
	}
	return Span{from + sp.Start, from + sp.End}
}

// numeralsIn returns the numbers of a text that are written as words, and that nothing in it
// denies. It reports false if one is part of an amount that cannot be read: "six dozen".
func numeralsIn(text string, marks []mark) (list amounts, ok bool) {
	add := func(sp Span, value string) {
		if len(list) < maxAmounts && !deniedIn(text, marks, sp) && !namesPart(text, marks, sp) {
			list = append(list, amount{sp, value})
		}
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsLetter(r) {
			at += size
			continue
		}
		end := at
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsLetter(r) && !(r == '-' && end > at) {
				break
			}
			end += size
		}
		if v, n := numeral(text[at:]); n > 2 && v != "1" {
			if skipAny(text, at+n, rows("multiple")) > at+n {
				return nil, false
			}
			add(Span{at, at + n}, v)
			end = max(end, at+n)
		} else if k, n := chineseIn(text[at:end]); n > 0 {
			sp := Span{at + k, at + k + n}
			v, _ := chineseNumber(text[sp.Start:sp.End])
			add(sp, v)
		}
		at = end
	}
	return list, true
}
