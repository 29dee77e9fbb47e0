package effort

import "testing"

// TestOneIn: without SOTTO_EFFORT about one case in n is chosen, in nested loops each value
// of each loop, and other cases under another name. With it, all are.
func TestOneIn(t *testing.T) {
	t.Setenv("SOTTO_EFFORT", "")
	if testing.Short() {
		t.Skip("-short is always brief")
	}
	for _, n := range []int{2, 3, 5, 7, 23} {
		for _, width := range []int{2, 3, 4, 5, 7} {
			chosen, outer, inner := OneIn(n, "a"), map[int]bool{}, map[int]bool{}
			count, rows := 0, 16*n
			for i := range rows {
				for j := range width {
					if chosen() {
						outer[i/n/4], inner[j] = true, true
						count++
					}
				}
			}
			if len(outer) != 4 || len(inner) != width || count != rows*width/n {
				t.Errorf("one in %d of %d by %d: %d cases, %d of 4 quarters, %d of %d columns", n, rows, width, count, len(outer), len(inner), width)
			}
		}
	}
	same := true
	for a, b, i := OneIn(7, "a"), OneIn(7, "b"), 0; i < 49; i++ {
		same = a() == b() && same
	}
	if same {
		t.Error("two names choose the same cases")
	}
	count := func(chosen func() bool) (n int) {
		for range 60 {
			if chosen() {
				n++
			}
		}
		return n
	}
	for _, test := range []struct {
		effort       string
		oneIn, oneOf int
	}{{"", 6, 6}, {"1", 60, 20}, {"2", 60, 60}} {
		t.Setenv("SOTTO_EFFORT", test.effort)
		if n := count(OneIn(10, "a")); n != test.oneIn {
			t.Errorf("SOTTO_EFFORT=%q: OneIn chooses %d of 60, want %d", test.effort, n, test.oneIn)
		}
		if n := count(OneOf(10, 3, "a")); n != test.oneOf {
			t.Errorf("SOTTO_EFFORT=%q: OneOf chooses %d of 60, want %d", test.effort, n, test.oneOf)
		}
	}
}
