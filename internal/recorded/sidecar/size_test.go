package sidecar

import (
	"os"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestSize: sidecars of realistic texts have at most 8 % of the bytes of the record.
func TestSize(t *testing.T) {
	effort.OneGoroutine(t)
	m := newBenchMaker(t)
	for _, size := range []int{600, 2400, 12_000} {
		dir := t.TempDir()
		bytes := m.record(t, dir, 24_000_000/size, size)
		start := time.Now()
		made, err := Make(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("events of %d: %d bytes, made at %.1f MB/s", size, bytes, float64(bytes)/took.Seconds()/1e6)
		if testing.Verbose() {
			shares(t, dir, bytes)
		}
		if made.Sidecars*100 > made.Bytes*8 {
			t.Errorf("events of %d bytes: %d bytes of sidecars for %d", size, made.Sidecars, made.Bytes)
		}
		os.RemoveAll(dir)
	}
}
