// Package effort says how much work the long tests do. Plain "go test ./..." is
// brief, for somebody who wants to know whether the tree works. SOTTO_EFFORT=1 runs
// every test in full, as a change must pass before it lands, and a larger number
// multiplies what random tests try.
package effort

import (
	"os"
	"strconv"
	"testing"
)

// Brief reports whether long tests are left out or do less: without SOTTO_EFFORT,
// and with -short.
func Brief() bool { return testing.Short() || number() == 0 }

// Times returns by how much random tests multiply their ordinary work: SOTTO_EFFORT,
// or 1.
func Times() int { return max(1, number()) }

func number() int {
	n, err := strconv.Atoi(os.Getenv("SOTTO_EFFORT"))
	if err != nil {
		return 0
	}
	return n
}
