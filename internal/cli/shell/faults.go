package shell

import (
	"errors"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// Faults prints the errors of the lines of an input: of each kind the first three. It
// counts the others. The zero value is ready to use.
type Faults struct{ kinds map[string]int }

const (
	shownFaults = 3   // of each kind
	maxKinds    = 100 // that are counted separately
)

// Print prints the error of the line at a place such as "row 3", if it is among the
// first of its kind.
func (f *Faults) Print(sh *Shell, place string, err error) {
	kind := kindOf(err)
	if f.kinds == nil {
		f.kinds = map[string]int{}
	}
	if f.kinds[kind] == 0 && len(f.kinds) >= maxKinds {
		kind = "errors of other kinds"
	}
	if f.kinds[kind]++; f.kinds[kind] <= shownFaults {
		sh.PlaceError(place, err)
	}
}

// Any reports whether there was an error.
func (f *Faults) Any() bool { return len(f.kinds) > 0 }

// More prints how many errors of each kind in an input were not printed.
func (f *Faults) More(sh *Shell, name string) {
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		if more := f.kinds[kind] - shownFaults; more > 0 {
			sh.Errorf("%s: %d more: %s", name, more, kind)
		}
	}
}

// kindOf returns what errors of one kind have in common: the name of their kind, or
// their text without numbers and quoted text.
func kindOf(err error) string {
	var named interface{ Kind() string }
	if errors.As(err, &named) {
		return named.Kind()
	}
	return particulars.ReplaceAllString(err.Error(), "…")
}

var particulars = lazyregexp.New(`"[^"]*"|[0-9]+`)
