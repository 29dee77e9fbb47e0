// Package bytesize parses and formats sizes in bytes, such as 64MiB.
package bytesize

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sizeUnits are the units of a size, the longer names first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

// Parse reads a number of bytes, with or without a unit.
func Parse[T int | int64](text string) (T, error) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 0, 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && n > (1<<62)/unit.bytes:
			return 0, fmt.Errorf("%q is too large", text)
		case err != nil:
			return 0, fmt.Errorf("%q: want %s", text, Want)
		case n < 1:
			return 0, fmt.Errorf("%q: want 1 or more", text)
		}
		n *= unit.bytes
		if int64(T(n)) != n {
			return 0, fmt.Errorf("%q is too large", text)
		}
		return T(n), nil
	}
	panic("unreachable: every text ends in nothing")
}

// Format writes a size in the largest unit that divides it.
func Format(n int64) any {
	for _, unit := range []int{2, 1, 0} {
		if u := sizeUnits[unit]; n%u.bytes == 0 && n > 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return n
}

// Want describes the syntax of a size.
const Want = "bytes, or a size such as 64MiB"
