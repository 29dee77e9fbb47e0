package latergc

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// goal is the percentage by which the heap may grow before the next collection.
func goal() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestFirstCollection: the first collection is late, and those after it come as usual.
func TestFirstCollection(t *testing.T) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.NumGC > 0 {
		t.Skip("a collection came before the test")
	}
	if got := goal(); got != percent {
		t.Fatalf("before the first collection the goal is %d %%, want %d", got, percent)
	}
	for range 1000 {
		runtime.GC() // cleanups run beside it
		if goal() == 100 {
			return
		}
	}
	t.Errorf("after the first collection the goal is still %d %%", goal())
}
