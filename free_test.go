package sotto_test

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/sotto-llm/sotto"
)

// TestDeltaIsFreed: after the next call a splitter no longer refers to a delta, however large
// it was and however many pieces it made. Some of the calls take the fast path.
func TestDeltaIsFreed(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, texts := range [][]string{
		{long}, {"a<think>b</think>c<think>d</think>e" + long}, {"<think>" + long}, {"<output>g</output>" + long}, {"h\n\n<narrate>i</narrate>\n\nj" + long},
		{"a", long}, {"a", long + "`b`"}, {"<think>b", long},
	} {
		for _, next := range [][]string{{"k</think", ">l"}, {"k"}, {"k", "l"}, {"`"}, {""}, {"<narrate>", "k"}} {
			s, err := sotto.Default().NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var freed weak.Pointer[byte]
			for _, text := range texts {
				delta := []byte(text)
				if len(s.Feed(delta)) == 0 {
					t.Fatalf("%q gave nothing", text)
				}
				freed = weak.Make(&delta[0])
			}
			for _, d := range next {
				s.FeedString(d)
			}
			if runtime.GC(); freed.Value() != nil {
				t.Errorf("the last of %.40q is still there after %q", texts, next)
			}
			runtime.KeepAlive(s)
		}
	}
}
