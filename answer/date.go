package answer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// These expressions match dates of a day, a month and a year.
var (
	dateNumbers = lazyregexp.New(`\b(\d{1,2})[./-] ?(\d{1,2})[./-] ?(\d{4})\b`)
	dateISO     = lazyregexp.New(`\b(\d{4}) ?[-/.年년] ?(\d{1,2}) ?[-/.月월] ?(\d{1,2})(?:日|일|\b)`)
	dateNamed   = lazyregexp.New(`(?i)\b(\d{1,2})(?:er|º|\.|st|nd|rd|th)? (?:de |of )?(\pL{3,12})\.?,? (?:de |del )?(\d{4})\b`)
	dateEnglish = lazyregexp.New(`(?i)\b(\pL{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`)
)

// dates returns the one date that a text has, as year-month-day. A date in numbers may
// have its day or its month first, so it has two readings. It is nil if the text has no
// date, or several.
func dates(s string) []string {
	s = foldWidth(s)
	var found []string
	add := func(year, month, day string) {
		m, _ := strconv.Atoi(month)
		d, _ := strconv.Atoi(day)
		if 1 <= m && m <= 12 && 1 <= d && d <= 31 {
			found = append(found, fmt.Sprintf("%s-%02d-%02d", year, m, d))
		}
	}
	n := 0
	each := func(expr *lazyregexp.Regexp, use func(m []string)) {
		for _, m := range expr.FindAllStringSubmatch(s, 3) {
			n++
			use(m)
		}
	}
	each(dateISO, func(m []string) { add(m[1], m[2], m[3]) })
	each(dateNumbers, func(m []string) { add(m[3], m[2], m[1]); add(m[3], m[1], m[2]) })
	each(dateNamed, func(m []string) { add(m[3], strconv.Itoa(monthOf(m[2])), m[1]) })
	each(dateEnglish, func(m []string) { add(m[3], strconv.Itoa(monthOf(m[1])), m[2]) })
	if n != 1 {
		return nil
	}
	return found
}

// monthNames are the beginnings of the names of the months in eight languages, without
// accents.
var monthNames = [12]string{
	"jan ene gen янв", "feb fev fév фев", "mar mär мар", "apr avr abr апр", "may mai mag май мая", "jun jui giu июн",
	"jul lug июл", "aug aoû aou ago авг", "sep set сен", "oct okt out ott окт", "nov ноя", "dec dez déc dic дек",
}

// monthOf returns the number of a month, or 0.
func monthOf(name string) int {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "juil") {
		return 7
	}
	for i, starts := range monthNames {
		for start := range strings.FieldsSeq(starts) {
			if strings.HasPrefix(name, start) {
				return i + 1
			}
		}
	}
	return 0
}

// sameDate reports whether two texts have the same date.
func sameDate(a, b string) bool {
	if !strings.ContainsAny(a, bareDigits) || !strings.ContainsAny(b, bareDigits) {
		return false
	}
	of := dates(b)
	for _, x := range dates(a) {
		for _, y := range of {
			if x == y {
				return true
			}
		}
	}
	return false
}
