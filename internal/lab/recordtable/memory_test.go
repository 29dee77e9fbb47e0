package recordtable

import (
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// generated returns n events of about 8 KiB, without a file.
func generated(n int, each func(i int)) iter.Seq2[recordset.Event, error] {
	from := &recordset.Source{Name: "r"}
	return func(yield func(recordset.Event, error) bool) {
		for i := range n {
			each(i)
			text := fmt.Sprintf("<think>%d %s</think>%s", i, strings.Repeat("because ", 500), strings.Repeat("so ", 1300))
			e := record.Event{Seq: uint64(i + 1), Type: record.TypeInvocation, Run: "r", Payload: record.Invocation{
				Model: "m", Replies: []record.Reply{record.ReplyOf(sotto.Parse(text, sotto.EndStopped))},
			}}
			if i%2 == 1 {
				e.Type, e.Payload = record.TypeToolCall, record.ToolCall{Name: "t", Phase: "start", Number: i, Arguments: record.Say(text)}
			}
			if !yield(recordset.Event{Event: e, Source: from}, nil) {
				return
			}
		}
	}
}

// The memory in use does not grow with the number of events, whatever the format. Uses
// of tools that never end do not add up either.
func TestMemory(t *testing.T) {
	if effort.Brief() {
		t.Skip("brief")
	}
	for _, f := range []Format{CSV, Parquet} {
		for _, table := range []*Table{replies, thoughts, calls} {
			peak := func(n int) (most uint64) {
				var m runtime.MemStats
				w, err := NewWriter(f, io.Discard, table.Columns, newParquet)
				if err != nil {
					t.Fatal(err)
				}
				err = table.Write(w, generated(n, func(i int) {
					if i%2000 == 0 {
						runtime.GC()
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapAlloc)
					}
				}), func(err error) error { return err })
				if err != nil {
					t.Fatal(err)
				}
				return most
			}
			few, many := peak(20_000), peak(80_000)
			t.Logf("%s as %s: %d and %d MiB", table.Name, f, few>>20, many>>20)
			if many > few+few/2+(32<<20) {
				t.Errorf("%s as %s: %d MiB in use for 20,000 events, %d for 80,000", table.Name, f, few>>20, many>>20)
			}
		}
	}
}
