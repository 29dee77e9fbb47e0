package answer

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Number and GSM8K are the tasks of answers that are one number: "number" and
// "gsm8k", which differ in name only.
//
// A candidate is normalised to plain digits: 1234.5, -3, 14/3. Its currency,
// percent sign and unit are removed; a percent sign does not divide by 100.
// Everything after the clause that holds the number is removed too. A number that
// merely occurs in a sentence is not an answer, and neither are two numbers.
// Numbers are compared as exact rationals.
var (
	Number Task = numberTask{"number"}
	GSM8K  Task = numberTask{"gsm8k"}
)

type numberTask struct{ name string }

const (
	maxNumber   = 4 << 10 // bytes of a candidate
	maxExponent = 1000
)

func (t numberTask) Name() string { return t.name }

func (t numberTask) Form() Form {
	return Form{
		Rules:       t.name + "/6",
		Markers:     numberMarkers().list,
		markers:     numberMarkers(),
		Extent:      FirstLine,
		Boxed:       true,
		Sayings:     true,
		Value:       amountIn,
		Conclusions: true,
		Bare:        bareAmount,
		Scan:        true,
		amounts:     true,
	}
}

var numberMarkers = said("Ans", "A", "#### ")

func (numberTask) Normalise(candidate string) string { return settle(candidate, plainNumber) }

func (numberTask) Precheck(line string, _ Problem) bool { return bareNumber(line) }

func (t numberTask) Validate(candidate string, p Problem) Verdict {
	gold, ok := exactNumber(t.Normalise(p.Gold))
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case !ok:
		return Verdict{Reason: BadGold, Detail: shorttext.Ellipsis(p.Gold, maxDetail)}
	case len(candidate) > maxNumber:
		return Verdict{Reason: TooLarge}
	}
	for _, reading := range numbersOf(candidate) {
		if got, ok := exactNumber(reading); ok && reading != candidate && got.Cmp(gold) == 0 {
			return Verdict{OK: true, Reason: ReasonOK, By: byRational}
		}
	}
	got, ok := exactNumber(numbersOf(candidate)[0])
	switch {
	case !ok && zeroUnder.MatchString(candidate):
		return Verdict{Reason: DivisionByZero, Detail: shorttext.Ellipsis(candidate, maxDetail)}
	case !ok && numberShape.MatchString(candidate):
		return Verdict{Reason: TooLarge, Detail: shorttext.Ellipsis(candidate, maxDetail)}
	case !ok:
		return Verdict{Reason: FormatError, Detail: shorttext.Ellipsis(candidate, maxDetail)}
	case got.Cmp(gold) != 0:
		return Verdict{Reason: Different, Detail: shorttext.Ellipsis(candidate, maxDetail), By: byNone}
	case candidate == t.Normalise(p.Gold):
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: byRational}
}

// Distil builds the trace of a solution from its calculator marks: "16-3=13;
// 13*2=26".
func (numberTask) Distil(p Problem, solution string) (query, trace string) {
	var steps []string
	for {
		_, rest, ok := strings.Cut(solution, "<<")
		step, after, closed := strings.Cut(rest, ">>")
		if !ok || !closed {
			return shorttext.OneLine(p.Input), strings.Join(steps, "; ")
		}
		steps, solution = append(steps, shorttext.OneLine(step)), after
	}
}

// maxDetail bounds the detail of a verdict, in bytes.
const maxDetail = 80

// numberShape matches a normalised number.
var numberShape = lazyregexp.New(`^-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+|/\d+)?$`)

var zeroUnder = lazyregexp.New(`^-?\d+/0+$`)

// exactNumber reads a normalised number, within the limits.
func exactNumber(s string) (*big.Rat, bool) {
	if len(s) > maxDigits || !numberShape.MatchString(s) {
		return nil, false
	}
	if _, e, ok := strings.Cut(s, "e"); ok {
		if n, err := strconv.Atoi(e); err != nil || n > maxExponent || n < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s) // it rejects 1/0
}

// These expressions say how a number is written. The first group of thousands has
// no leading zero. Every other group has three digits, or two, as in India, before
// the last three. A comma before one or two digits, or more than three, is a decimal
// comma: 3,5 is no list, which has a space after its commas.
const (
	digitsExpr = `(?:[1-9]\d{0,2}(?:[.'’\x{a0}\x{2009}\x{202f} ]\d{3})+,\d{1,2}|` +
		`[1-9]\d{0,2}(?:[,_'’\x{a0}\x{2009}\x{202f} ]\d{3})+(?:\.\d+)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?|` +
		`[1-9]\d{0,2}(?:\.\d{3}){2,}(?:,\d+)?|\d+,(?:\d{1,2}|\d{4,9})|\d+(?:\.\d+)?|\.\d+)`
	currencyExpr = `(?:US\$|R\$|USD ?|EUR ?|[$€£¥₹₩])`
)

var numberExpr = lazyregexp.New(`^(?:(?:about|approximately|exactly|only|approx\.?|just|[≈~]) ?)?` +
	`([-+]?) ?(` + currencyExpr + `?) ?([-+]?) ?(` + digitsExpr + `)` +
	`(?:(e[+-]?\d+)| ?[x*] ?10\^\{?([+-]?\d+)\}?|( ?/ ?[1-9]\d*| [1-9]\d*/[1-9]\d*))?`)

// moneyScales are letters that do so after an amount of money: $5k.
var moneyScales = map[string]int{"k": 3, "K": 3, "M": 6, "m": 6, "B": 9, "b": 9, "bn": 9, "T": 12}

// plainNumber writes a number plainly. If the candidate is not a number, it returns
// it with marks removed.
func plainNumber(s string) string {
	if len(s) > maxNumber {
		return s
	}
	clean := cleanNumber(s)
	if n, ok := readNumber(clean); ok {
		return n
	}
	return clean
}

// numberMarks writes marks and fractions plainly.
var numberMarks = strings.NewReplacer("**", "", "__", "", "`", "", "−", "-", "–", "-", "×", "*", "·", "*",
	"⁻", "-", " ½", " 1/2", " ⅓", " 1/3", " ⅔", " 2/3", " ¼", " 1/4", " ¾", " 3/4", "½", " 1/2", "⅓", " 1/3", "⅔", " 2/3", "¼", " 1/4", "¾", " 3/4")

// cleanNumber removes marks: calculator notes, mathematics, bold, full width.
func cleanNumber(s string) string {
	s = foldWidth(s)
	for {
		before, rest, ok := strings.Cut(s, "<<")
		_, after, closed := strings.Cut(rest, ">>")
		if !ok || !closed {
			break
		}
		s = before + after
	}
	s = plainMath(s)
	s = numberMarks.Replace(s)
	if strings.Contains(s, "分") || strings.Contains(s, "분") {
		s = partsExpr.ReplaceAllString(s, "$2/$1")
	}
	if strings.Contains(s, "€") {
		s = splitPrice.ReplaceAllString(s, "$1.$2 €")
	}
	if strings.Contains(s, "10") {
		s = powerOfTen.ReplaceAllStringFunc(s, writePower)
	}
	return strings.TrimSpace(strings.TrimLeft(trimStops(strings.TrimSpace(s)), ":= "))
}

// splitPrice matches a price whose currency stands for the decimal mark: 6 € 30.
var splitPrice = lazyregexp.New(`\b(\d+) ?€ ?(\d{2})\b`)

// partsExpr matches a fraction whose denominator comes first: 4分之3.
var partsExpr = lazyregexp.New(`(\d+) ?(?:分之|分の|분의) ?(\d+)`)

// powerOfTen matches a power of ten that stands alone, or whose exponent is raised.
var powerOfTen = lazyregexp.New(`(?:^|\* ?|x ?|=)10(?:\^|-?[⁰¹²³⁴⁵⁶⁷⁸⁹])[-\d{}⁰¹²³⁴⁵⁶⁷⁸⁹]*`)

// raised are raised digits, as they are written after ^.
var raised = strings.NewReplacer("⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")

// writePower writes a power of ten with ^, and a factor before it.
func writePower(s string) string {
	at := strings.Index(s, "10") + len("10")
	head, exponent := s[:at], strings.TrimPrefix(s[at:], "^")
	if strings.HasPrefix(head, "10") || strings.HasPrefix(head, "=") {
		head = strings.TrimSuffix(head, "10") + "1*10"
	}
	return head + "^" + raised.Replace(exponent)
}

// plainMath writes a number in LaTeX as it is written without LaTeX.
func plainMath(s string) string {
	if peeled := peelMath(s); peeled != strings.TrimSpace(s) {
		s = peeled
	}
	if !strings.Contains(s, `\`) && !strings.Contains(s, "{,}") {
		return s
	}
	for _, box := range []string{`\boxed{`, `\fbox{`, `\text{`, `\mathrm{`, `\textbf{`, `\mathbf{`} {
		s = unwrapInside(s, box)
	}
	s = fracExpr.ReplaceAllString(s, " $1/$2")
	s = latexPlain.Replace(s)
	return strings.ReplaceAll(shorttext.OneLine(s), " ^", "^")
}

var fracExpr = lazyregexp.New(`\\[dt]?frac\{(\d+)\}\{(\d+)\}`)

var latexPlain = strings.NewReplacer(`{,}`, ",", `,\!`, "", `\,`, " ", `\!`, "", `\ `, " ", `\;`, " ", `\$`, "$", `\%`, "%",
	`\times`, "*", `\cdot`, "*", `\(`, "", `\)`, "", `\[`, "", `\]`, "", `\left`, "", `\right`, "", `^\circ`, "°", `^{\circ}`, "°",
	`\approx`, "≈", `~`, " ")

// unwrapInside removes commands of one kind from around their arguments, within a
// text.
func unwrapInside(s, command string) string {
	for range 8 {
		i := strings.Index(s, command)
		if i < 0 {
			return s
		}
		open := i + len(command) - 1
		end := closingBrace(s[open:])
		if end < 0 {
			return s
		}
		s = s[:i] + " " + s[open+1:open+end] + " " + s[open+end+1:]
	}
	return s
}

// foldWidth replaces full-width characters by narrow ones.
func foldWidth(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 0xff01 <= r && r <= 0xff5e:
			return r - 0xfee0
		case r == 0x3000:
			return ' '
		}
		return r
	}, s)
}

// readNumber reads a clean candidate.
func readNumber(s string) (string, bool) {
	if side, ok := rightSide(s); ok {
		s = side
	}
	if words := strings.TrimRight(s, ".!。 "); words != "" && words[0]-'0' > 9 {
		if v, n := numeral(words); n > 0 && n == len(words) {
			return v, true
		}
		if v, ok := chineseNumber(words); ok {
			return v, true
		}
	}
	if m := myriads.FindString(s); m != "" && endsNumber(s[len(m):]) {
		return readMyriads(m)
	}
	s = minusExpr.ReplaceAllString(sumInBrackets.ReplaceAllString(s, "$1"), "-$1")
	m := numberExpr.FindStringSubmatch(s)
	if m == nil || m[1] != "" && m[3] != "" {
		return "", false
	}
	rest, n := s[len(m[0]):], 0
	if listed.MatchString(rest) || m[2] == "" && letterScale.MatchString(rest) {
		return "", false // 3, 4 and 5; 12k
	}
	if words := strings.Fields(rest); len(words) > 0 {
		word := strings.Trim(words[0], ".,;")
		if n = scaleOf(rest, word); n == 0 && m[2] != "" && (rest[0] != ' ' || len(word) > 1) {
			n = moneyScales[word]
		}
	}
	if !endsNumber(rest) {
		return "", false
	}
	return writeNumber(m, n)
}

// myriads matches an amount with several units of Chinese, Japanese or Korean: 1億2000万,
// 2万5千.
var myriads = lazyregexp.New(`^-?\d{1,6} ?[千천百백]?[億亿억万萬만千천](?: ?\d{1,4} ?[千천百백]?[億亿억万萬만千천百백]| ?\d{3,4})+`)

// myriadParts matches a part of such an amount.
var myriadParts = lazyregexp.New(`(\d+) ?(\D*)`)

// readMyriads adds up the parts of such an amount, whose units must become smaller.
func readMyriads(s string) (string, bool) {
	var total, section int64
	big, small := int64(1e12), int64(1e12) // the least units so far
	for _, m := range myriadParts.FindAllStringSubmatch(s, maxNumeral) {
		n, err := strconv.ParseInt(m[1], 10, 32)
		if err != nil {
			return "", false
		}
		unit := int64(1)
		for _, r := range strings.TrimSpace(m[2]) {
			switch power := lexicon().scales[string(r)]; power {
			case 2, 3:
				unit *= pow10(power)
			default:
				total += (section + n*unit) * pow10(power)
				if pow10(power) >= big {
					return "", false
				}
				section, n, unit, big, small = 0, 0, 1, pow10(power), 1e12
			}
		}
		if n > 0 {
			if unit >= small {
				return "", false
			}
			section, small = section+n*unit, unit
		}
	}
	if total += section; strings.HasPrefix(s, "-") {
		total = -total
	}
	return strconv.FormatInt(total, 10), true
}

func pow10(power int) int64 {
	n := int64(1)
	for range power {
		n *= 10
	}
	return n
}

// scaleOf returns the power of ten by which the word after a number multiplies it. In
// Chinese, Japanese and Korean a unit may follow directly: 12万元.
func scaleOf(rest, word string) int {
	t := lexicon()
	if n := t.scales[strings.ToLower(word)]; n > 0 {
		return n
	}
	rest = strings.TrimLeft(rest, " ")
	first, n := utf8.DecodeRuneInString(rest)
	if n < 2 || spaced(first) {
		return 0
	}
	second, _ := utf8.DecodeRuneInString(rest[n:])
	if first == '千' && strings.ContainsRune("瓦克米卡焦赫帕伏", second) {
		return 0 // a kilowatt
	}
	if power := t.scales[string(second)]; first == '千' || first == '천' {
		return t.scales[string(first)] + power
	}
	return t.scales[string(first)]
}

// minusExpr matches a word that makes the number after it negative.
var minusExpr = lazyregexp.New(`^(?i:minus|negative|moins|menos|meno|минус|零下|负|マイナス|영하|마이너스) ?(\d)`)

// sumInBrackets matches how an amount was computed, after its unit: "260 sheep (20 +
// 80 + 160)".
var sumInBrackets = lazyregexp.New(`^([^()]*[\pL%°]) \([$\d., ]+(?:[-+*/×÷=] ?[$\d., ]+)+\)[.!]?$`)

// listed matches the rest of a list of numbers, and letterScale a letter that may
// multiply a number without a currency, or name its unit.
var (
	listed      = lazyregexp.New(`^(?:(?:, ?[-+]?\d+)+,? (?:and|or) [-+]?\d|(?:[,;] ?[-+]?(?:\d+(?:\.\d+)?|\.\d+))+[.!]?$)`)
	letterScale = lazyregexp.New(`^[kK](?:\W|$)`)
)

// rightSide returns the text after the last equals sign of an equation, which is
// the value that its writer states. A text with a comma or "and" is not an
// equation.
func rightSide(s string) (string, bool) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 || strings.Contains(s[:i], ", ") || strings.Contains(s[:i], " and ") || strings.Contains(s[:i], " or ") {
		return "", false
	}
	return strings.TrimSpace(s[i+1:]), true
}

// writeNumber writes what numberExpr found, times 10^scale.
func writeNumber(m []string, scale int) (string, bool) {
	sign := strings.TrimPrefix(m[1]+m[3], "+")
	digits := plainDigits(m[4])
	exponent := strings.ReplaceAll(strings.TrimPrefix(m[5], "e")+m[6], "+", "")
	part := m[7]
	switch {
	case exponent != "" && scale == 0:
		return sign + digits + "e" + exponent, true
	case scale > 0 && exponent == "" && part == "":
		return sign + shift(digits, scale), true
	case exponent != "" || scale > 0:
		return "", false
	case part == "":
		return sign + digits, true
	case strings.HasPrefix(strings.TrimSpace(part), "/"):
		part = strings.ReplaceAll(part, " ", "")
		if strings.Contains(digits, ".") { // a rating, and no fraction: 4.5/5
			return sign + digits, ratingScales[part]
		}
		return sign + digits + part, true
	}
	return mixedNumber(sign, digits, part)
}

// ratingScales are the best marks of usual ratings. A decimal number before one of them
// is a mark, and not the numerator of a fraction.
var ratingScales = setOf(`/5 /10 /20 /100`)

// mixedNumber writes 2 1/2 as 5/2.
func mixedNumber(sign, digits, part string) (string, bool) {
	n, ok1 := decimal(digits)
	r, ok2 := exactNumber(strings.TrimSpace(part))
	if !ok1 || !ok2 || !n.IsInt() || r.Cmp(big.NewRat(1, 1)) >= 0 {
		return "", false
	}
	return sign + n.Add(n, r).RatString(), true
}

// plainDigits removes thousands separators, and writes a decimal comma as a point.
func plainDigits(s string) string {
	dot, comma := strings.IndexByte(s, '.'), strings.IndexByte(s, ',')
	if dot >= 0 && comma > dot || strings.Count(s, ".") > 1 || comma >= 0 && len(s)-comma < 4 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
	}
	return strings.Map(func(r rune) rune {
		if r == '.' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// shift multiplies digits by a power of ten.
func shift(digits string, by int) string {
	before, after, _ := strings.Cut(digits, ".")
	for len(after) < by {
		after += "0"
	}
	before, after = before+after[:by], strings.TrimRight(after[by:], "0")
	if before = strings.TrimLeft(before, "0"); before == "" {
		before = "0"
	}
	if after == "" {
		return before
	}
	return before + "." + after
}

// wordsExpr matches a clause that may follow a number: units and words, without
// another number or arithmetic. 5 km/h and 3 m^2 are units.
var (
	clauseEnd = lazyregexp.New(`[,;:(] ?\D|[.!?](?:\s|$)|\n| (?:because|since|as|so|which|where|and|—) `)
	wordsExpr = lazyregexp.New(`^(?: ?[%°$€£¥₹₩]|[²³]| ?/ ?[\pL]+|[ -]?[\pL%°][\pL'’.-]*(?:\^\{?[23]\}?|[²³])?(?: ?/ ?[\pL]+)?)?(?: [\pL%(\[][\pL'’./)\]-]*(?:\^\{?[23]\}?|[²³])?)*[.!)\]]*$`)
)

// endsNumber reports whether the text after a number does not change it.
func endsNumber(rest string) bool {
	if at := clauseEnd.FindStringIndex(rest); at != nil {
		if strings.HasPrefix(rest[at[0]:], " and") && !strings.HasPrefix(rest[at[0]:], " and not ") && strings.ContainsAny(firstClause(rest[at[0]+1:]), "0123456789") {
			return false // 26 apples and 3 pears are two answers
		}
		rest = rest[:at[0]]
	}
	return wordsExpr.MatchString(strings.TrimRight(rest, " "))
}

func firstClause(s string) string {
	if i := strings.IndexAny(s, ".;\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// bareDigits occur in every bare number.
const bareDigits = "0123456789０１２３４５６７８９½⅓⅔¼¾"

// bareNumber reports whether a line is only a number, with at most a sign or
// currency. "3." does not qualify, because it numbers a step.
func bareNumber(line string) bool {
	line = strings.TrimSpace(line)
	if len(line) > 200 || !strings.ContainsAny(line, bareDigits) || strings.HasSuffix(line, ".") || strings.HasSuffix(line, ")") && !strings.HasSuffix(line, `\)`) {
		return false
	}
	clean := cleanNumber(line)
	m := numberExpr.FindString(clean)
	return m != "" && strings.Trim(clean[len(m):], "% °") == ""
}
