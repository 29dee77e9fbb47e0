package dialecttest

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
)

// RunBrief checks every law on a dialect as [Run] does, with fewer and shorter
// replies of its own making.
func RunBrief(t *testing.T, d sotto.Dialect, replies ...string) {
	t.Helper()
	brief := func(name string, s *suite) {
		t.Run(name, func(t *testing.T) {
			replies := slices.Clone(replies)
			for i := range 200 {
				replies = append(replies, s.random(uint64(i), 14))
			}
			s.quick(t, replies)
			t.Run("ordinary_replies", func(t *testing.T) { s.ordinary(t) })
			t.Run("linear_time", func(t *testing.T) { s.linear(t, 1<<9) })
			t.Run("earliest_emission", func(t *testing.T) { s.emission(t, 1, s.alphabets()[:1]) })
		})
	}
	brief("as_it_is", newSuite(t, d, 0))
	brief("tight", newSuite(t, tight(d), 1))
}
