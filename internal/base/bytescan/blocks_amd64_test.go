//go:build !purego

package bytescan

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestAVX2: the processor's instructions are used where it has them, and only there; without
// them, the same is found.
func TestAVX2(t *testing.T) {
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(info), " avx2 ") != hasAVX2 {
		t.Errorf("AVX2: %v, the system says otherwise", hasAVX2)
	}
	defer func(has bool) { hasAVX2 = has }(hasAVX2)
	f := tags()
	b := bytes.Repeat([]byte("a < `b ``` c\n~~~ <th "), 12)
	for {
		for n := range b {
			check(t, f, b[:n])
		}
		_, few := f.block(b[:40])
		_, many := f.block(b[:200])
		_, fence := fenceBlock(b[:200])
		_, code := Code(b[:40])
		if block := f.Block(b[:40], &Masks{}); few != hasAVX2 || many != hasAVX2 || fence != hasAVX2 || code != hasAVX2 || block != hasAVX2 {
			t.Errorf("AVX2: %v, used for forms %v %v, fences %v, code %v, blocks %v", hasAVX2, few, many, fence, code, block)
		}
		if !hasAVX2 {
			return
		}
		hasAVX2 = false
	}
}
