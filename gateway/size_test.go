package gateway

import (
	"testing"
	"unsafe"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
)

// TestStreamSizes prints what a stream holds as long as it lasts, in bytes: .ci/size compares
// it with its list.
func TestStreamSizes(t *testing.T) {
	for _, s := range []struct {
		name string
		size uintptr
	}{
		{"exchange", unsafe.Sizeof(exchange{})}, // with its first reading
		{"body", unsafe.Sizeof(body{})},
		{"choice", unsafe.Sizeof(reading.Choice{})},
		{"activity", unsafe.Sizeof(bodies.Activity{})},
		{"watch", unsafe.Sizeof(watch{})},
	} {
		t.Logf("size: gateway.%s %d", s.name, s.size)
	}
	if unsafe.Sizeof(exchange{}) < unsafe.Sizeof(reading.Reading{}) {
		t.Error("the reading is not a part of the exchange any more: print its size too")
	}
}
