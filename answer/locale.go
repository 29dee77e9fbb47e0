package answer

import (
	"strings"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// A locale says how a reply writes numbers.
type locale uint8

const (
	unknownLocale locale = iota
	pointLocale          // 1,234.5
	commaLocale          // 1.234,5
)

// oneGroup matches an amount whose only separator is of thousands or of decimals,
// which its form does not say: 1.234, or 1,234.
var oneGroup = lazyregexp.New(`^(\D*[1-9]\d{0,2})([.,])(\d{3})((?:[^\d.,]|[.,](?:\D|$)).*)?$`)

// decimalComma matches a number with a decimal comma, where a list of two would have a space.
var decimalComma = lazyregexp.New(`^[-−]?\d+,\d+$`)

// overExpr matches a fraction as Chinese, Japanese and Korean say it, the denominator first.
var overExpr = lazyregexp.New(`^(\d+) ?(?:分之|分の|분의) ?(\d+)$`)

// orReading stands between the two readings of a number of which the reply does not say
// how it writes numbers: "1.234 or 1234". The task judges both.
const orReading = " or "

// normal is the candidate of a text, as the reply writes numbers. If that is not known,
// and the text may be two numbers, the candidate has both.
func (s *search) normal(text string) string {
	local, both := s.localised(text)
	candidate := s.task.Normalise(local)
	if !both || !numberShape.MatchString(candidate) || strings.IndexByte(candidate, '.') < 0 {
		return candidate
	}
	return candidate + orReading + strings.Replace(candidate, ".", "", 1)
}

// numbersOf returns the numbers that a candidate may be: one, or the two of normal.
func numbersOf(candidate string) []string {
	point, plain, ok := strings.Cut(candidate, orReading)
	if ok && strings.Count(point, ".") == 1 && strings.Replace(point, ".", "", 1) == plain {
		return []string{point, plain}
	}
	return []string{candidate}
}

// statusOf is the status of a candidate that nothing contradicts.
func statusOf(candidate string) Status {
	if len(numbersOf(candidate)) > 1 {
		return Ambiguous
	}
	return OK
}

// localised writes an amount whose separator may be of thousands or of decimals with a
// decimal point, or without a separator. both says that it may be either. A comma before
// three digits is of thousands, unless the reply writes a decimal comma. A text that is
// no amount stays as it is.
func (s *search) localised(text string) (plain string, both bool) {
	if !s.form.Conclusions || s.form.Letters || s.form.Verdicts || len(text) > maxBare {
		return text, false
	}
	if m := overExpr.FindStringSubmatch(text); m != nil && !s.form.amounts && !s.named() {
		return m[2] + "/" + m[1], false
	}
	if !strings.ContainsAny(text, ".,") {
		return text, false
	}
	if k := strings.LastIndexByte(text, '='); k >= 0 && s.form.amounts {
		plain, both = s.localised(text[k+1:])
		return text[:k+1] + plain, both
	}
	m := oneGroup.FindStringSubmatch(text)
	if m == nil {
		if !s.form.amounts && s.discourse.comma > 0 && decimalComma.MatchString(text) {
			return strings.Replace(text, ",", ".", 1), false
		}
		return text, false
	}
	switch l := s.localeOf(m[1], m[2], m[4]); {
	case m[2] == "," && l == commaLocale && s.form.amounts:
		return m[1] + "." + m[3] + m[4], false
	case m[2] == "," || l == pointLocale:
		return text, false
	case l == commaLocale:
		return m[1] + m[3] + m[4], false
	}
	return text, s.form.amounts
}

// localeOf says how the reply writes the amount with a separator between two texts. Its other numbers say
// most about that, then its currency, then the language.
func (s *search) localeOf(before, separator, after string) locale {
	if !s.numbers.known {
		s.numbers.known, s.numbers.locale = true, numbersLocale(s.text[max(0, len(s.text)-maxDiscourse):])
	}
	if s.numbers.locale != unknownLocale {
		return s.numbers.locale
	}
	switch {
	case strings.Contains(before, "R$"), strings.HasPrefix(strings.TrimLeft(after, " \u00a0*"), "€"):
		return commaLocale
	case strings.ContainsAny(before, "$£¥₩₹"):
		return pointLocale
	}
	if local := s.discourse.locale(separator); local != unknownLocale {
		return local
	}
	if euroAfter.MatchString(s.text[max(0, len(s.text)-maxDiscourse):]) {
		return commaLocale
	}
	return unknownLocale
}

// euroAfter matches an amount as the languages write it that have a decimal comma: 12 €.
var euroAfter = lazyregexp.New(`\d[ \x{a0}\x{202f}]?€`)

// locale is that of the language of a text, for a number with a separator.
func (d *discourse) locale(separator string) locale {
	switch {
	case d.comma > 1, d.comma == 1 && separator == ".": // a label alone may be the prompt's
		return commaLocale
	case d.comma < 0, strings.Contains(d.text, " the "), strings.Contains(d.text, "The "):
		return pointLocale
	case strings.ContainsFunc(d.text, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}):
		return pointLocale
	}
	return unknownLocale
}

// maxNumbers is how many numbers are looked at that say how a reply writes numbers.
const maxNumbers = 256

// separated matches what may be a number with separators.
var separated = lazyregexp.New(`\d[\d.,]*[.,]\d+`)

// numbersLocale says how a text writes the numbers that can be read in one way only: those
// with both separators, with one that comes twice before three digits, or with one before
// another number of digits. The first two count more than any number of the last, which
// may be versions and numbers of sections.
func numbersLocale(text string) locale {
	strong, weak := 0, 0
	for _, n := range separated.FindAllString(text, maxNumbers) {
		dot, comma := strings.Count(n, "."), strings.Count(n, ",")
		last := n[strings.LastIndexAny(n, ".,"):]
		vote := 1 // for a decimal point
		if last[0] == ',' {
			vote = -1
		}
		switch {
		case dot == 1 && comma > 0 && last[0] == '.' || comma == 1 && dot > 0 && last[0] == ',':
			strong += vote
		case dot+comma > 1:
			if (dot == 0 || comma == 0) && inThrees(n) {
				strong -= vote
			}
		case len(last) != len(".123") || n[0] == '0':
			weak += vote
		}
	}
	switch sum := strong; {
	case sum == 0 && weak > 0, sum > 0:
		return pointLocale
	case sum == 0 && weak < 0, sum < 0:
		return commaLocale
	}
	return unknownLocale
}

// inThrees reports whether all groups of digits after the first have three.
func inThrees(number string) bool {
	groups := strings.FieldsFunc(number, func(r rune) bool { return r == '.' || r == ',' })
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return len(groups[0]) <= 3
}
