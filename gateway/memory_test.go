package gateway_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A reading's memory does not grow with the stream, whatever the upstream
// repeats in it, where reasoning is shown, hidden or written as tags, and where
// the exchange is recorded: of what is recorded only the room for it is kept.
// HOSTILE_SIZE multiplies the length of the replies.
func TestReadingIsBounded(t *testing.T) {
	if effort.Brief() {
		t.Skip("one goroutine reads: SOTTO_EFFORT=1 runs it")
	}
	const hold, recorded = 4 << 10, 128 << 10
	const most = 1 << 20
	size := 2 << 20
	if n, err := strconv.Atoi(os.Getenv("HOSTILE_SIZE")); err == nil && n > 0 {
		size *= n
	}
	for _, u := range []struct{ native, before, unit string }{
		{"thought", "", "\n"},
		{"", "<think>x</think>", " \n"},
		{"", "<think>x", "\n"}, // at the end of a thought
		{"", "<think>x\n</thought>", " "},
		{"same", "<think>same", " "}, // of a thought that comes twice
		{"", "", "</think>"},
		{"", "a", "</think>\n"},
		{"", "", "<think></think>"},
		{"", "", "<think>x</think>"},
		{"", "<output>a", "\n"},
		{"", "", "<output> </output>"},
		{"", "a\n```\n", "</think>"},
		{"", "a", "`"},
		{"", "a", `"`},
		{"", "", "<narrate>"},
	} {
		for display, room := range map[routing.Display]int{
			routing.DisplayField: 0, routing.DisplayHide: recorded, routing.DisplayTags: recorded,
		} {
			name := fmt.Sprintf("%s, %d recorded, %q %q and then %q", display, room, u.native, u.before, u.unit)
			r := gateway.NewReading(gateway.Manner{
				Grammar: sotto.Default(), Start: sotto.BeginOutside, MaxHold: hold, Display: display, Recorded: room,
			})
			delta := []byte(strings.Repeat(u.unit, 4096/len(u.unit)))
			least := heapInUse()
			r.Native(0, []byte(u.native))
			r.Text(0, []byte(u.before))
			for n := 0; n < size; n += len(delta) {
				r.Text(0, delta)
			}
			if heap := heapInUse() - least; heap > most {
				t.Errorf("%s: %d KB of the heap", name, heap>>10)
			}
			runtime.KeepAlive(r)
		}
	}
}

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
