package console_test

import (
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
)

// The first line of a list fits however many things there are, and fail.
func TestFailedOf(t *testing.T) {
	for want, got := range map[string]string{
		"None of these 3 exchanges failed": console.FailedOf(0, 3, "list.page"), "1 of these 3 exchanges failed": console.FailedOf(1, 3, "list.page"),
		"1 exchange, which did not fail": console.FailedOf(0, 1, "list.page"), "1 run, which failed": console.FailedOf(1, 1, "runs.page"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
