package record_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// bytesRead is how much this process has read so far, where the system tells.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the system does not say what was read")
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Skip(err)
	}
	return n
}

// A query reads indexes and the lines that it selects, not the record.
func TestQueriesReadTheIndex(t *testing.T) {
	if effort.Brief() {
		t.Skip("a measurement: SOTTO_EFFORT=1 runs it")
	}
	events, each := 20_000, 1000
	if os.Getenv("RECORD_RATIOS") != "" {
		events = 1_000_000
	}
	dir := t.TempDir()
	w := open(t, dir, record.Options{Policy: record.None})
	var group sync.WaitGroup
	for g := range 20 {
		group.Go(func() {
			for i := range events / 20 {
				p := said(fmt.Sprintf("model-%d", g%7), "<think>Six times seven is forty-two.</think>"+"The answer is 42, and here is why it is: six times seven makes it so. And so on, and so on, and so on.")
				if i == events/40 && g == 7 {
					p.Error = "the one"
				}
				if _, err := w.Append(t.Context(), record.Event{Run: fmt.Sprintf("run-%d-%d", g, i/each), Cycle: i % each, Payload: p}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	shut(t, w)
	report := sound(t, dir, record.VerifyOptions{})
	want := fmt.Sprintf("run-7-%d", events/40/each)
	from, before := time.Now(), bytesRead(t)
	runs := map[string]int{}
	r, _ := record.OpenReader(dir, record.ReadOptions{})
	for e, err := range r.Entries(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		runs[e.Run]++
	}
	listed, atList := time.Since(from), bytesRead(t)
	from = time.Now()
	cycle := events / 40 % each
	found := read(t, dir, record.ReadOptions{}, record.Query{Run: want, Cycle: &cycle, Model: "model-0"})
	grepped, atGrep := time.Since(from), bytesRead(t)
	if len(found) != 1 || found[0].Payload.(record.Invocation).Error != "the one" || len(runs) != max(20, events/each) {
		t.Fatalf("%d found, %d runs", len(found), len(runs))
	}
	t.Logf("%d events, %d MB in %d segments: ls of all in %v (%d MB read), grep of one in %v (%d MB read)",
		events, report.Bytes>>20, report.Segments, listed, (atList-before)>>20, grepped, (atGrep-atList)>>20)
	if got := atGrep - atList; got > report.Bytes/4 {
		t.Errorf("a query read %d bytes of a record of %d", got, report.Bytes)
	}
}
