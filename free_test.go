package sotto_test

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/sotto-llm/sotto"
)

// TestDeltaIsFreed: after the next call a splitter no longer refers to a delta, however large
// it was and however many pieces it made.
func TestDeltaIsFreed(t *testing.T) {
	s, err := sotto.Default().NewSplitter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	feed := func(text string) weak.Pointer[byte] {
		delta := []byte(text)
		if len(s.Feed(delta)) == 0 {
			t.Fatalf("%q gave nothing", text)
		}
		return weak.Make(&delta[0])
	}
	for _, text := range []string{strings.Repeat("word ", 1000), "a<think>b</think>c<think>d</think>e", "<think>f</think>g"} {
		delta := feed(text)
		feed("h</think")
		feed(">i")
		if runtime.GC(); delta.Value() != nil {
			t.Errorf("%.40q is still there", text)
		}
	}
	runtime.KeepAlive(s)
}
