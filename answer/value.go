package answer

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// These functions find the one value of a task that a part of a sentence gives. They
// return an empty span if it gives none, or several that differ. A value that the
// words around it deny is not given.

// amountExpr matches an amount in a sentence, with its currency, and what scales it.
var amountExpr = lazyregexp.New(`(?:(?i:minus|negative|moins|menos|meno|минус|零下|负|マイナス|영하|마이너스) ?)?[-−–]?(?:R?` + currencyExpr + `)? ?[-−]?` +
	`(?:(?:(?:\p{Nd}+(?:[.,]\p{Nd}+)? ?(?:[x×*·]|\\times|\\cdot) ?)?10 ?(?:\^ ?\{ ?[-−–]?\p{Nd}+ ?\}|\^ ?[-−–]?\p{Nd}+|⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|` +
	`\p{Nd}+ ?(?:分之|分の|분의) ?\p{Nd}+|` +
	`\p{Nd}+ ?[千천百백]?[億亿억万萬만千천](?: ?\p{Nd}+ ?[千천百백]?[億亿억万萬만千천百백]| ?\p{Nd}{3,4})+|` +
	`[０-９]{1,3}(?:，[０-９]{3})+(?:．[０-９]+)?|[0-9]+ ?€ ?[0-9]{2}\b|` +
	`\p{Nd}{1,3}(?:[,.'’\x{a0}\x{2009}\x{202f} ]\p{Nd}{3})+(?:[.,]\p{Nd}+)?|\p{Nd}+[.,]\p{Nd}+|\p{Nd}+|\.\p{Nd}+)(?: ?/ ?\p{Nd}+| \p{Nd}+/\p{Nd}+| ?[½⅓⅔¼¾])?|[½⅓⅔¼¾])` +
	`(?: ?(?i:hundred|thousand|million|billion|trillion|Mio|Mrd|Millionen|Milliarden|millions|milliards|mila|mil|tausend|Tausend|mille|millones|millón|milhões|milhão|bilhões|bilhão|milioni|miliardi)\b| ?(?:млн|млрд|тыс|тысяч|миллионов|миллиона)|[kKMB]\b| ?[千천]?[万萬亿億만억]| ?천)?`)

// amountIn finds the amount that a part of a sentence gives: what follows its last
// equals sign, or else the only one.
func amountIn(text string, _ Problem) Span {
	if whole := trim(text, Span{0, len(text)}); len(strings.Fields(text)) <= 3 && numberShape.MatchString(plainNumber(text[whole.Start:whole.End])) {
		marks := lexicon().marks(nil, text, 0, len(text))
		if !slices.ContainsFunc(marks, func(m mark) bool { return m.uses&(useNever|useNot) != 0 }) {
			return whole
		}
	}
	if strings.ContainsAny(text, "=÷＝") {
		text = beforeCheck(text, lexicon().marks(nil, text, 0, len(text)))
	}
	from := 0
	if k := strings.LastIndex(text, ">>"); k >= 0 && strings.Contains(text[:k], "<<") {
		from = k + len(">>") // the calculator's note: "<<16-3=13>>13"
	} else if k := strings.LastIndexByte(text, '='); k >= 0 && !listedBefore(text[:k]) {
		from = k + 1
	}
	if from == 0 {
		from = afterColon(text)
	}
	region := text[from:]
	if !strings.ContainsAny(region, bareDigits) {
		return numeralIn(region, from)
	}
	marks := lexicon().marks(nil, region, 0, len(region))
	list := amountsIn(region, marks)
	if from == 0 {
		list = slices.DeleteFunc(list, func(a amount) bool { return comparedIn(region, marks, a) })
	}
	if from > 0 && len(list) > 0 && !goesOn(region, marks, list) { // "= 8 apples, 3 of them green"
		list = list[:1]
	}
	sp := theAmount(region, marks, list)
	if sp.End == 0 {
		return Span{}
	}
	return Span{from + sp.Start, from + sp.End}
}

// afterColon returns where the last colon of a text ends, if one amount and at most its unit follow
// it: "That is 2 h 25 min, in minutes: 145". It returns 0 if not.
func afterColon(text string) int {
	k, n := strings.LastIndex(text, ": "), len(": ")
	if wide := strings.LastIndex(text, "："); wide > k {
		k, n = wide, len("：")
	}
	if k < 0 {
		return 0
	}
	rest := strings.Trim(text[k+n:], " *_")
	list := amountSpans(rest)
	if len(list) != 1 || len(strings.TrimSpace(rest[:list[0].Start])) > 0 || len(strings.Fields(rest[list[0].End:])) > 2 {
		return 0
	}
	return k + n
}

// goesOn reports whether a sentence goes on after the value of its equation to another
// amount, in a clause with a word that concludes: "= 84, so that each gets 42".
func goesOn(text string, marks []mark, list amounts) bool {
	for _, m := range marks {
		if m.uses&(useSub|useSo) == 0 || m.start < list[0].End {
			continue
		}
		for _, a := range list[1:] {
			if a.Start >= m.end && a.value != list[0].value && !bracketedIn(text, nil, a) {
				return true
			}
		}
	}
	return false
}

// isPercentOf reports whether a number is another one in percent.
func isPercentOf(percent, value string) bool {
	a, ok1 := exactNumber(percent)
	b, ok2 := exactNumber(value)
	return ok1 && ok2 && a.Cmp(new(big.Rat).Mul(b, big.NewRat(100, 1))) == 0
}

// namesPart reports whether the word before a number makes it no amount: "page 8".
func namesPart(text string, marks []mark, sp Span) bool {
	for _, m := range marks {
		if m.uses&usePart != 0 && m.end <= sp.Start && strings.Trim(text[m.end:sp.Start], " ") == "" {
			return true
		}
	}
	return strings.HasPrefix(text[sp.End:], " of ")
}

// listedBefore reports whether an equals sign after a text belongs to one of several
// values: "x = 2, y".
func listedBefore(s string) bool {
	k := strings.IndexByte(s, '=')
	return k >= 0 && (strings.Contains(s[k:], ", ") || strings.Contains(s[k:], " and "))
}

// amountAt returns a span without what does not belong to an amount. It is empty if a
// letter or another mark makes it a part of a name: "x2", "A4", "2nd", "3:00".
func amountAt(s string, sp Span) Span {
	sp.Start = skipWhite(s, sp.Start, sp.End)
	if sp.Start > 0 {
		r, _ := utf8.DecodeLastRuneInString(s[:sp.Start])
		if spaced(r) || r == '_' || r == '^' {
			if strings.IndexByte("-", s[sp.Start]) >= 0 && isDigit(byte(r)) {
				sp.Start++ // a dash between two numbers
				return sp
			}
			return Span{}
		}
	}
	head, tail := strings.TrimRight(s[:sp.Start], " $"), strings.TrimLeft(s[sp.End:], " ")
	head, tail = strings.TrimRight(strings.TrimSuffix(head, "**"), " $"), strings.TrimPrefix(tail, "**")
	if strings.HasSuffix(head, "\\") && s[sp.Start] == '$' { // \$230
		head = strings.TrimRight(head[:len(head)-1], " $")
	}
	if head != "" && strings.IndexByte("+*/^<>\\{", head[len(head)-1]) >= 0 || strings.HasSuffix(head, "×") || strings.HasSuffix(head, "√") || strings.HasSuffix(head, " -") ||
		tail != "" && strings.IndexByte("+*^<>", tail[0]) >= 0 || strings.HasPrefix(tail, "- ") || strings.HasPrefix(tail, "×") || strings.HasPrefix(tail, "√") || strings.HasPrefix(tail, "π") || strings.HasPrefix(tail, "\\") && !texSpace.MatchString(tail) {
		return Span{} // a part of a calculation
	}
	if last, _ := utf8.DecodeLastRuneInString(head); strings.ContainsRune("＜＞≤≥≠±", last) {
		return Span{} // a relation
	}
	if rest := s[sp.End:]; rest != "" && strings.IndexByte("xyzn", rest[0]) >= 0 && (len(rest) == 1 || !isLetter(rest[1])) {
		return Span{} // 2x
	}
	if n := len(head); n > 1 && head[n-1] == ':' && sp.Start == n && isDigit(head[n-2]) {
		return Span{} // 7:30
	}
	if rest := s[sp.End:]; rest != "" {
		if strings.HasPrefix(rest, "st ") || strings.HasPrefix(rest, "nd ") || strings.HasPrefix(rest, "rd ") || strings.HasPrefix(rest, "th ") ||
			strings.IndexByte(":.,", rest[0]) >= 0 && len(rest) > 1 && isDigit(rest[1]) || rest[0] == '_' || rest[0] == '^' {
			return Span{}
		}
	}
	return sp
}

// texSpace matches what may stand in TeX between an amount and its unit, or end it.
var texSpace = lazyregexp.New(`^\\(?:[ ,;:!%)\]]|text|mathrm|mathit|quad|circ|degree)`)

// deniedIn reports whether the words of a text deny the value at a span.
func deniedIn(text string, marks []mark, sp Span) bool {
	clause := 0
	for _, stop := range []string{", ", "，", "、", "; ", ": ", "："} {
		if k := strings.LastIndex(text[:sp.Start], stop); k >= 0 {
			clause = max(clause, k+len(stop))
		}
	}
	is := false
	for _, m := range marks {
		switch {
		case m.uses&useNot != 0 && m.start >= clause && m.end <= sp.Start:
			is = true
		case m.uses&useBut != 0 && m.end <= sp.Start && is:
			is = false
		case m.uses&(useNever|useWrong) != 0 && m.start >= sp.End && strings.Trim(text[sp.End:m.start], " )]*_$\"'”」开개個个本人选项選項") == "":
			return true
		case m.uses&useNever != 0 && m.start >= sp.End && m.start <= sp.End+24 && nounBetween(text, marks, sp.End, m.start):
			return true // "5는 답이 아니고"
		case m.uses&useWrong != 0 && m.start >= sp.End && m.start <= sp.End+16 && strings.Trim(text[sp.End:m.start], " )]*_$\"'”」") != "" && wordsBetween(marks, sp.End, m.start):
			return true
		}
	}
	return is || predicateDenies(text, marks, sp)
}

// nounBetween reports whether nothing but a particle and a word for the answer stands in a range.
func nounBetween(text string, marks []mark, from, to int) bool {
	for _, m := range marks {
		if m.uses&useNoun != 0 && m.start >= from && m.end <= to {
			return utf8.RuneCountInString(strings.TrimSpace(text[from:m.start])) <= 1 && utf8.RuneCountInString(strings.TrimSpace(text[m.end:to])) <= 1
		}
	}
	return false
}

// predicateDenies reports whether the next clause has the value of a span as its subject, without
// naming it, and calls it wrong: "B comes close, but is wrong".
func predicateDenies(text string, marks []mark, sp Span) bool {
	for _, wrong := range marks {
		if wrong.uses&(useWrong|useNever) == 0 || wrong.start < sp.End || wrong.end-wrong.start <= len("out") {
			continue
		}
		at := clauseBefore(text, wrong.start)
		if next := skipAny(text, sp.End, joins); next > sp.End && next <= wrong.start && (next == wrong.start || wordsBetween(marks, next, wrong.start)) {
			return true // "I gave 17 and that is wrong"
		}
		if at <= sp.End || clauseBefore(text, max(at-2, 0)) > sp.Start {
			return false
		}
		but, verb := false, false
		from := skipBlanks(text, at)
		for _, m := range marks {
			switch {
			case m.start != from || m.end > wrong.start && m.start != wrong.start:
			case m.uses&useBut != 0 && m.uses&useIs == 0:
				from, but = skipBlanks(text, m.end), true
			case m.uses&useIs != 0 && m.end-m.start > 1:
				verb = true
			}
		}
		return (verb || but && isCJKAt(text, wrong.start) && wrong.start <= from+len("也是")) && !slices.ContainsFunc(marks, func(m mark) bool {
			return m.uses&useNot != 0 && m.start > at && m.end <= wrong.start
		})
	}
	return false
}

// isCJKAt reports whether a letter of Chinese, Japanese or Korean stands at a place.
func isCJKAt(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return isCJK(r)
}

// wordsBetween reports whether a verb stands in a range: "A is wrong".
func wordsBetween(marks []mark, from, to int) bool {
	for _, m := range marks {
		if m.uses&useIs != 0 && m.start >= from && m.end <= to && m.start <= from+2 {
			return true
		}
	}
	return false
}

// letterIn finds the letter of an option that a part of a sentence gives, or else the
// option whose text it has.
func letterIn(text string, p Problem) Span {
	if sp, ok := lettersAt(text, skipAny(text, 0, rows("letter"))); ok {
		return sp
	}
	marks := lexicon().marks(nil, text, 0, len(text))
	if sp := quotedOption(strings.ToLower(text), p); sp.End > 0 && len(strings.ToLower(text)) == len(text) && !deniedIn(text, outside(marks, sp), sp) {
		return sp
	}
	var list amounts
	for at := 0; at < len(text) && at < maxSentence && len(list) < maxAmounts; at++ {
		sp := Span{at, at + 1}
		if !isOptionLetter(text, at, p) {
			if sp = otherLetter(text, at, p); sp.End == 0 {
				continue
			}
		}
		if !deniedIn(text, marks, sp) {
			list = append(list, amount{sp, Choice.Normalise(text[sp.Start:sp.End])})
		}
	}
	if len(list) == 0 {
		return optionIn(text, marks, p)
	}
	return theLetter(text, marks, list)
}

// otherLetter returns the letter of an option that stands within a sentence in another form than
// a capital: "d)", "Ｄ".
func otherLetter(text string, at int, p Problem) Span {
	var sp Span
	letter := 0
	if r, n := utf8.DecodeRuneInString(text[at:]); 'Ａ' <= r && r <= 'Ｊ' {
		after, _ := utf8.DecodeRuneInString(text[at+n:])
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if 'Ａ' <= after && after <= 'ｚ' || 'Ａ' <= before && before <= 'ｚ' {
			return Span{}
		}
		sp, letter = Span{at, at + n}, int(r-'Ａ')
	} else if c := text[at]; 'a' <= c && c <= 'j' && at > 0 && at+1 < len(text) && text[at+1] == ')' {
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); spaced(before) || strings.ContainsRune("'’(-", before) || !strings.ContainsFunc(text[:at], unicode.IsLetter) {
			return Span{}
		}
		sp, letter = Span{at, at + 2}, int(c-'a')
	} else if 'a' <= c && c <= 'j' && at > 0 && (at+1 == len(text) || strings.IndexByte(".,;:*", text[at+1]) >= 0) && followsLetterWord(text, at) {
		sp, letter = Span{at, at + 1}, int(c-'a') // "item d."
	}
	if len(p.Options) > 0 && letter >= len(p.Options) {
		return Span{}
	}
	return sp
}

// followsLetterWord reports whether a word that leads to a letter stands before a place. An article
// may be any other word's.
func followsLetterWord(text string, at int) bool {
	head := strings.TrimRight(text[max(0, at-24):at], " *_\"“«„")
	for _, word := range rows("letter") {
		k := len(head) - len(word)
		if k >= 0 && len(word) > len("also") && strings.EqualFold(head[k:], word) && apart(head, k, len(head)) {
			return true
		}
	}
	return false
}

// theLetter returns the only letter of a list, or of several the one that is left: the
// clauses of the others rule them out, or the last clause chooses one.
func theLetter(text string, marks []mark, list amounts) Span {
	if a, ok := oneOf(text, list); ok {
		return a.Span
	}
	list = without(list, func(a amount) bool { return rejected(text, marks, a) })
	if a, ok := oneOf(text, list); ok {
		return a.Span
	}
	last := list[len(list)-1]
	from := clauseBefore(text, last.Start)
	if from <= list[len(list)-2].Start {
		return Span{}
	}
	for _, m := range marks {
		if m.uses&(useIs|useIt|usePick|useSo) != 0 && m.start >= from && m.end <= last.Start && m.end-m.start > 1 {
			return last.Span
		}
	}
	return Span{}
}

// isOptionLetter reports whether a letter stands alone at a place, and names an option.
func isOptionLetter(text string, at int, p Problem) bool {
	c := text[at]
	if initials.MatchString(text[at:]) || c < 'A' || c > 'Z' || len(p.Options) > 0 && int(c-'A') >= len(p.Options) || len(p.Options) == 0 && c > 'J' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+1:])
	if at > 0 && (spaced(before) || strings.ContainsRune("'’-+=\\_^", before)) {
		return false
	}
	if at+1 < len(text) && (spaced(after) || strings.ContainsRune("'’-+=_^", after)) {
		return false
	}
	if c == 'A' || c == 'I' || c == 'E' || c == 'O' { // words of one letter
		rest := strings.TrimLeft(text[at+1:], " ")
		if next, _ := utf8.DecodeRuneInString(rest); after == ' ' && spaced(next) && !strings.HasPrefix(rest, "and ") && !strings.HasPrefix(rest, "or ") {
			if c == 'I' {
				return false
			}
			if head := strings.TrimRight(text[max(0, at-4):at], " *_"); strings.HasSuffix(head, " la") {
				return true // "sia la A sia la C"
			}
			table := lexicon()
			for _, m := range table.marks(nil, rest, 0, min(len(rest), 24)) {
				if m.start == 0 && m.uses&(useIs|useRight|useNot|useWrong|useNever) != 0 {
					return true
				}
			}
			return false
		}
	}
	return true
}

// optionIn finds the only option whose text stands in a text, and is not denied.
func optionIn(text string, marks []mark, p Problem) Span {
	var found Span
	folded := strings.ToLower(text)
	if len(folded) != len(text) {
		return Span{}
	}
	for _, option := range p.Options {
		option = strings.ToLower(strings.TrimSpace(option))
		k := strings.Index(folded, option)
		if option == "" || k < 0 || !apart(text, k, k+len(option)) {
			continue
		}
		sp := Span{k, k + len(option)}
		if deniedIn(text, outside(marks, sp), sp) {
			continue
		}
		if found.End > 0 {
			if sp.Start <= found.Start && sp.End >= found.End { // "New York" has "York"
				found = sp
				continue
			}
			if sp.Start >= found.Start && sp.End <= found.End {
				continue
			}
			return Span{}
		}
		found = sp
	}
	return found
}

// outside returns the marks that are no part of a span.
func outside(marks []mark, sp Span) []mark {
	var list []mark
	for _, m := range marks {
		if m.end <= sp.Start || m.start >= sp.End {
			list = append(list, m)
		}
	}
	return list
}

// quoteMarks stand around the text of an option.
var quoteMarks = [][2]string{{"“", "”"}, {"「", "」"}, {"『", "』"}, {"«", "»"}, {"„", "“"}, {"‘", "’"}, {"\"", "\""}, {"'", "'"}}

// quotedOption returns the only option that stands in quotation marks.
func quotedOption(folded string, p Problem) Span {
	var found Span
	for _, option := range p.Options {
		if option = strings.ToLower(strings.TrimSpace(option)); option == "" {
			continue
		}
		for _, q := range quoteMarks {
			for _, space := range []string{"", " ", "\u00a0"} {
				if k := strings.Index(folded, q[0]+space+option+space+q[1]); k >= 0 {
					sp := Span{k + len(q[0]+space), k + len(q[0]+space+option)}
					if found.End > 0 && found != sp {
						return Span{}
					}
					found = sp
				}
			}
		}
	}
	return found
}

// verdictIn finds the answer of yes or no that a part of a sentence gives.
func verdictIn(text string, _ Problem) Span {
	sp := trim(text, Span{0, len(text)})
	if isYesNo(yesOrNo(text[sp.Start:sp.End])) {
		return sp
	}
	table := lexicon()
	marks := table.marks(nil, text, 0, len(text))
	var found Span
	said := ""
	for _, m := range marks {
		y := yesNoOf(text[m.start:m.end])
		if m.uses&(useYes|useNo) == 0 || y == "" || m.end-m.start < 2 || m.start < found.End || partOfWords(text, marks, Span{m.start, m.end}) {
			continue
		}
		for _, longer := range marks {
			if longer.start == m.start && longer.end > m.end && table.answers[strings.ToLower(text[longer.start:longer.end])] != "" {
				m, y = longer, table.answers[strings.ToLower(text[longer.start:longer.end])]
			}
		}
		if said != "" && said != y {
			return Span{}
		}
		found, said = Span{m.start, m.end}, y
	}
	if found.End > 0 {
		if k := strings.LastIndex(text[:found.Start], "not "); k >= 0 && k+4 == found.Start {
			found.Start = k
		}
	}
	return found
}

// partOfWords reports whether a yes or no is a part of longer words that have another use,
// "I need to correct", or of a Korean word.
func partOfWords(text string, marks []mark, sp Span) bool {
	no := slices.ContainsFunc(marks, func(m mark) bool {
		return m.start == sp.Start && m.end == sp.End && m.uses&useNo != 0 // "ah, no"
	})
	for _, m := range marks {
		if !no && m.start < sp.Start && sp.End <= m.end && m.uses&(useWait|useVoid|useSlip|useDrop) != 0 {
			return true
		}
	}
	first, _ := utf8.DecodeRuneInString(text[sp.Start:])
	before, _ := utf8.DecodeLastRuneInString(text[:sp.Start])
	return unicode.Is(unicode.Hangul, first) && unicode.Is(unicode.Hangul, before)
}

// chineseDigits and chineseUnits are the parts of Chinese numerals.
var (
	chineseDigits = map[rune]int{'零': 0, '〇': 0, '一': 1, '二': 2, '两': 2, '兩': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}
	chineseUnits  = map[rune]int{'十': 10, '百': 100, '千': 1000}
)

// chineseIn returns where the Chinese numeral of a text stands, and its length. A single
// 一 is mostly a part of a word.
func chineseIn(s string) (at, n int) {
	for i, r := range s {
		if _, ok := chineseDigits[r]; !ok && chineseUnits[r] == 0 || i < at+n {
			continue
		}
		value, k := readChinese(s[i:])
		for _, over := range []string{"分之", "分の"} {
			if rest, ok := strings.CutPrefix(s[i+k:], over); ok && k > 0 {
				if _, size := readChinese(rest); size > 0 {
					k += len(over) + size
				}
			}
		}
		if k > 0 && value != 1 && !strings.HasSuffix(s[:i], "第") {
			if n > 0 {
				return 0, 0 // several
			}
			at, n = i, k
		} else if k > 0 {
			continue
		}
	}
	return at, n
}

// chineseNumber reads a text that is a Chinese numeral, or a fraction of two, with at most
// a counter after it.
func chineseNumber(s string) (string, bool) {
	n, k := readChinese(s)
	if k == 0 {
		return "", false
	}
	for _, over := range []string{"分之", "分の"} {
		if rest, ok := strings.CutPrefix(s[k:], over); ok {
			m, size := readChinese(rest)
			return strconv.Itoa(m) + "/" + strconv.Itoa(n), size > 0 && n > 0 && utf8.RuneCountInString(rest[size:]) <= 3
		}
	}
	return strconv.Itoa(n), utf8.RuneCountInString(s[k:]) <= 3
}

// readChinese reads the Chinese numeral that s begins with: 三百二十五, 二万.
func readChinese(s string) (value, n int) {
	total, part, digit := 0, 0, 0
	for i, r := range s {
		if d, ok := chineseDigits[r]; ok {
			digit = d
		} else if unit, ok := chineseUnits[r]; ok {
			if digit == 0 {
				digit = 1
			}
			part, digit = part+digit*unit, 0
		} else if (r == '万' || r == '萬') && total == 0 && part+digit > 0 {
			total, part, digit = (part+digit)*10000, 0, 0
		} else {
			return total + part + digit, i
		}
		if total+part > 1e9 {
			return 0, 0
		}
	}
	return total + part + digit, len(s)
}
