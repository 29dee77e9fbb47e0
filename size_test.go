package sotto_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/sotto-llm/sotto"
)

// A gateway holds a splitter for each choice of each stream, and most replies are short:
// what only few replies need is allocated by those that need it. The sizes that it prints are
// compared by .ci/size with its list.
func TestSplitterIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(sotto.Splitter{}); n > 2688 {
		t.Errorf("a splitter has %d bytes", n)
	}
	t.Logf("size: sotto.Splitter %d", unsafe.Sizeof(sotto.Splitter{}))
	const times = 1000
	g := sotto.Default()
	for what, reply := range map[string][]string{
		"plain":  {"Hel", "lo ", "world", "."},
		"tagged": {"<think>", "Hm", ".\n", "</think>", "\n\n", "Yes", "."},
		"code":   {"<th", "ink>", "`a` ", "<b>", "</think>", "\n\n", "Use `", "b`", "."},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		size := 0
		for range times {
			s, err := g.NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range reply {
				s.FeedString(d)
			}
			size = s.Size()
			s.Close(sotto.EndStopped)
		}
		runtime.ReadMemStats(&after)
		t.Logf("size: sotto.Splitter.%s %d", what, size)
		if n := (after.TotalAlloc - before.TotalAlloc) / times; n > 3072 {
			t.Errorf("%q takes %d bytes", reply, n)
		}
	}
}

// TestMarkersAreForgotten: a splitter takes as much memory after many markers as after few.
func TestMarkersAreForgotten(t *testing.T) {
	for _, unit := range []string{"<think>a</think>b\n", "`<think>` b\n", "a <x> b <y>\n", "</think>\n", "<think a=\"</think>"} {
		size := func(n int) int {
			s, err := sotto.Default().NewSplitter(sotto.Options{Start: sotto.BeginOutside})
			if err != nil {
				t.Fatal(err)
			}
			s.FeedString("A word. ")
			for range n {
				s.FeedString(unit)
			}
			return s.Size()
		}
		diagnostics := 2 * sotto.MaxDiagnostics * int(unsafe.Sizeof(sotto.Diagnostic{}))
		if few, many := size(100), size(20_000); many > few+2*diagnostics {
			t.Errorf("%q: %d bytes after 100, %d after 20,000", unit, few, many)
		}
	}
}
