package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/race"
)

// TestPathsCost: what limits.memory counts for a stream, exact or written, covers what it
// keeps of long texts, of many items, and of a large frame after which small ones come.
func TestPathsCost(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	if !alone(t) {
		return
	}
	// A step of the reservation, what baseCost has to spare, and what the heap rounds up.
	const slack = 24 << 10
	for i, s := range speakers {
		if effort.Brief() && i != 2 { // the Responses API, whose end repeats all texts
			continue
		}
		stream := func(n int, text string) string { return strings.Repeat(s.say(text), n) }
		begins := s.open + stream(10, "word ") + "\x00"
		small := strings.Repeat("\x00"+s.say("word "), 10)
		for what, text := range map[string]string{
			"a long text":     stream(20_000, "word ") + small,
			"a large frame":   stream(1, strings.Repeat("word ", 200<<10)) + small,
			"a medium frame":  stream(1, strings.Repeat("word ", 10<<10)) + small,
			"a long thought":  s.say("<think>") + stream(20_000, "word ") + small,
			"many thoughts":   stream(10, strings.Repeat("<think>a</think>b", 100)) + small,
			"a large thought": stream(1, "<think>"+strings.Repeat("word ", 200<<10)+"</think>") + small,
		} {
			for path, route := range map[string]routing.Route{"exact": {}, "written": {ThinkingLimit: 1 << 20}, "hide": {Display: routing.DisplayHide}} {
				route.Start = sotto.BeginOutside
				cost := func(text string) (heap, held int64) {
					q := (&conversation{s: s}).request("qwen3", true, "")
					return costOf(t, gateway.Config{Default: route}, posting(addressed(s.path, q), q), s.kind(true), text, true)
				}
				heap1, held1 := cost(begins)
				heap, held := cost(begins + text)
				name := fmt.Sprintf("%s, %s, %s", s.name(), path, what)
				t.Logf("%s: %d bytes of the heap, and %d counted", name, heap-heap1, held-held1)
				if heap-heap1 > (held-held1)*6/5+slack {
					t.Errorf("%s: %d bytes of the heap, and only %d are counted", name, heap-heap1, held-held1)
				}
			}
		}
	}
}
