// Package effort says how much work the long tests do. Plain "go test ./..." is
// brief, for somebody who wants to know whether the tree works. SOTTO_EFFORT=1 runs
// every test in full, as a change must pass before it lands, and a larger number
// multiplies what random tests try.
package effort

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Brief reports whether long tests are left out or do less: without SOTTO_EFFORT,
// and with -short.
func Brief() bool { return testing.Short() || number() == 0 }

// OneGoroutine skips a test with -short, with which the race detector runs the tests: what one
// goroutine does has no race.
func OneGoroutine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine: without -short it runs")
	}
}

// Times returns by how much random tests multiply their ordinary work: SOTTO_EFFORT,
// or 1.
func Times() int { return max(1, number()) }

// OneIn returns a function to call once for each case of a test that tries all
// combinations of something. It returns true for the cases to run: all of them, or if
// [Brief] one of each n that follow each other. Which one it is looks random and depends on
// the name, so that nested loops meet all their values; it is the same in each run.
func OneIn(n int, name string) func() bool { return OneOf(n, 1, name) }

// OneOf is OneIn for a test that takes too long for a change that lands: SOTTO_EFFORT=1 runs
// one of each full cases, and SOTTO_EFFORT=2 all of them.
func OneOf(brief, full int, name string) func() bool {
	n := 1
	switch {
	case Brief():
		n = brief
	case number() == 1:
		n = full
	}
	if n == 1 {
		return func() bool { return true }
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	i, next := 0, random.IntN(n)
	return func() bool {
		is := i == next
		if i++; i == n {
			i, next = 0, random.IntN(n)
		}
		return is
	}
}

func number() int {
	n, err := strconv.Atoi(os.Getenv("SOTTO_EFFORT"))
	if err != nil {
		return 0
	}
	return n
}
