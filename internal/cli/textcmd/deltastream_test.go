package textcmd

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// The memory of a stream of deltas grows neither with ended replies nor with long
// ones, and the number of open replies is bounded.
func TestDeltaStreamIsBounded(t *testing.T) {
	if effort.Brief() {
		t.Skip("one goroutine reads: SOTTO_EFFORT=1 runs it")
	}
	var out, faults counting
	sh := shell.New(strings.NewReader(""), &out, &faults, func(string) string { return "" })
	s := newDeltaStream(sh, dialectset.Manner{Grammar: sotto.Default(), Start: sotto.BeginOutside}, linesOf(t))
	least := heapInUse()
	white := strings.Repeat(`\n`, 4096)
	for i := range 2000 {
		for _, line := range []string{
			fmt.Sprintf(`{"id":%d,"delta":"<think>a</think>b","end":"stopped"}`, i),
			`{"id":"white","delta":"` + white + `"}`,
			`{"id":"thought","delta":"<think>` + white + `"}`,
			`{"id":"close","delta":"` + strings.Repeat("</think>", 512) + `"}`,
		} {
			if err := s.line([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.write(); err != nil {
			t.Fatal(err)
		}
	}
	if heap := heapInUse() - least; heap > 8<<20 || len(s.order) > 100 {
		t.Errorf("%d KB of the heap, %d replies remembered", heap>>10, len(s.order))
	}
	var err error
	for i := 0; i <= maxOpenReplies && err == nil; i++ {
		err = s.line(fmt.Appendf(nil, `{"id":"n%d","delta":"a"}`, i))
	}
	if err == nil || !strings.Contains(err.Error(), "10000") || len(s.open) != maxOpenReplies {
		t.Errorf("%d replies are open: %v", len(s.open), err)
	}
}

// A counting counts what is written to it.
type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
