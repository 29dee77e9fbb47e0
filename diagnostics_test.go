package sotto_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestOneHoldIsReportedOnce: two doubts opened at one byte and ran out together, so
// they are one expired hold. Here they are that the reply may have begun inside a
// block, and that an output block may follow.
func TestOneHoldIsReportedOnce(t *testing.T) {
	d := sotto.Default().Dialect()
	d.Output, d.OnDoubt, d.MaxMarker = "anywhere", "deliver", 16
	s, err := sotto.MustCompile(d).NewSplitter(sotto.Options{Start: sotto.BeginAuto, MaxHold: 16})
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

// TestRunsOfAnyLength: a run of back-ticks and the next one of its length enclose a marker
// between them, however long they are.
func TestRunsOfAnyLength(t *testing.T) {
	for n := 1; n <= 40; n++ {
		run := strings.Repeat("`", n)
		for _, marker := range []string{"<think>", "</think>"} {
			raw := "x " + run + " " + marker + " " + run + "` " + run + " y"
			whole, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
			if err != nil {
				t.Fatal(err)
			}
			want := []sotto.Diagnostic{{Code: sotto.CodeLiteralMarker, Offset: 3 + n, Reason: sotto.ReasonInlineCode}}
			if whole.Visible() != raw || !slices.Equal(whole.Diagnostics, want) {
				t.Errorf("%q: visible %q, %v", raw, whole.Visible(), whole.Diagnostics)
			}
		}
	}
}

// TestDiagnosticsAreOrdered: by their offsets, and those at one offset always alike, at
// every cut; when the reply has ended, they are those of the whole reading.
func TestDiagnosticsAreOrdered(t *testing.T) {
	g := sotto.Default()
	late := 0 // readings in which one was found later than one after it
	tokens := []string{"<think>", "</think>", "<output>", "</output>", "<narrate>", "</scratch_pad>", "x", "\n\n", "<think>a<think>b</think></think>"}
	shortReplies(tokens, 4, func(raw string) {
		s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginOutside})
		if err != nil {
			t.Fatal(err)
		}
		var before []sotto.Diagnostic
		check := func() {
			list := s.Diagnostics()
			if !slices.IsSortedFunc(list, func(a, b sotto.Diagnostic) int { return a.Offset - b.Offset }) {
				t.Fatalf("%q: %v", raw, list)
			}
			counts := sotto.Counts{}
			for _, d := range list {
				counts[d.Code]++
			}
			if got := s.Counts(); !maps.Equal(got, counts) {
				t.Fatalf("%q: %v are counted as %v", raw, list, got)
			}
			if len(before) > 0 && len(list) > len(before) && list[len(before)-1] != before[len(before)-1] {
				late++
			}
			before = list
		}
		for i := range len(raw) {
			s.FeedString(raw[i : i+1])
			check()
		}
		s.Close(sotto.EndStopped)
		check()
		whole, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, whole.Diagnostics) {
			t.Fatalf("%q: %v, whole %v", raw, before, whole.Diagnostics)
		}
	})
	if late == 0 {
		t.Error("no diagnostic was found late: the order is not tested")
	}
}

// shortReplies calls f with all sequences of up to n tokens.
func shortReplies(tokens []string, n int, f func(raw string)) {
	var extend func(raw string, n int)
	extend = func(raw string, n int) {
		f(raw)
		for _, token := range tokens {
			if n > 0 {
				extend(raw+token, n-1)
			}
		}
	}
	extend("", n)
}
