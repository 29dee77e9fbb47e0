package sotto_test

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestOneHoldIsReportedOnce: two doubts opened at one byte and ran out together, so
// they are one expired hold. Here they are that the reply may have begun inside a
// block, and that an output block may follow.
func TestOneHoldIsReportedOnce(t *testing.T) {
	d := sotto.Default().Dialect()
	d.Output, d.OnDoubt, d.MaxMarker = "anywhere", "deliver", 16
	s, err := sotto.MustCompile(d).NewSplitter(sotto.Options{Start: sotto.StartAuto, MaxHold: 16})
	if err != nil {
		t.Fatal(err)
	}
	s.FeedString("A text that is longer than both holds.")
	s.Close(sotto.EndStopped)
	var at []int
	for _, d := range s.Diagnostics() {
		if d.Code == sotto.CodeHoldExpired {
			at = append(at, d.Offset)
		}
	}
	if !slices.Equal(at, []int{0}) || s.Counts()[sotto.CodeHoldExpired] != 1 {
		t.Errorf("expired holds at %v, %d in all; want one at 0", at, s.Counts()[sotto.CodeHoldExpired])
	}
}
