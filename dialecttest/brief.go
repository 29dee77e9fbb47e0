package dialecttest

import (
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

// RunBrief checks every law on a dialect, as [Run] does, but generates fewer
// replies.
func RunBrief(t *testing.T, d dialect.Dialect, replies ...string) {
	t.Helper()
	run(t, d, effort{replies: 100, units: 16, search: 200 << 10}, replies)
}
