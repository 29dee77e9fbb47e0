// Package spelling finds the name that was probably meant.
package spelling

import "strings"

// maxName is the longest name, in bytes, that is compared. Longer names are similar
// to none, and a comparison costs the product of the two lengths.
const maxName = 64

// Nearest returns the name that was probably meant by got: the name that the fewest
// edits produce, if they are few, or otherwise the first name that begins with got.
// A word that ends one name and begins another is the beginning of a name. Case,
// spaces, dots, hyphens and underscores do not count. It returns "" if no name is
// near.
func Nearest(got string, names []string) string {
	if len(got) > maxName {
		return ""
	}
	want := fold(got)
	best := within(want, names, max(1, len(want)/3))
	if len(want) >= 3 && (best == "" || len(want) < len(fold(best)) && strings.HasSuffix(fold(best), want)) {
		for _, name := range names {
			if strings.HasPrefix(fold(name), want) {
				return name
			}
		}
	}
	return best
}

// Slip returns the name that got probably is with a slip of the hand: at most two edits
// produce it, or it begins with got. It is for words that may be right although they are
// not in names. It returns "" if there is no such name.
func Slip(got string, names []string) string {
	want := fold(got)
	if len(got) > maxName || len(want) < 4 {
		return ""
	}
	if best := within(want, names, 2); best != "" {
		return best
	}
	for _, name := range names {
		if strings.HasPrefix(fold(name), want) {
			return name
		}
	}
	return ""
}

// within returns the name that the fewest edits produce, if they are at most so many.
func within(want string, names []string, most int) string {
	best, least := "", most+1
	for _, name := range names {
		if d := edits(want, fold(name), least); d < least && d < max(1, len(want)) {
			best, least = name, d
		}
	}
	return best
}

// DidYouMean returns "did you mean NAME?" for the name that was probably meant. If
// there is none, it returns the given words and all names: DidYouMean("tok", names,
// "the keys are").
func DidYouMean(got string, names []string, all string) string {
	if near := Nearest(got, names); near != "" {
		return `did you mean "` + near + `"?`
	}
	return all + " " + strings.Join(names, ", ")
}

// fold leaves out what does not count when names are compared.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', ' ', '.':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// edits counts the bytes to insert, remove, change or swap to get from a to b. It
// gives up at limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, row = old, row, older
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := old[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(old[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}
