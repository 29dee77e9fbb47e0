package record_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// One false line is one fault, and not one of each line after it: whatever number
// it says, wherever it stands, whether it takes the place of a line or was put
// between two.
func TestOneFalseLineIsOneFault(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	line := func(seq, last uint64) []byte {
		if last > 0 {
			return fmt.Appendf(nil, `{"v":2,"seq":%d,"last":%d,"time":"2026-01-02T03:04:05Z","run":"","cycle":0,"type":"SEALED","payload":{"age":"YWdl"},"prev":"%s"}`+"\n", seq, last, zeros)
		}
		return fmt.Appendf(nil, `{"v":2,"seq":%d,"time":"2026-01-02T03:04:05Z","run":"","cycle":0,"type":"CYCLE_END","payload":{},"prev":"%s"}`+"\n", seq, zeros)
	}
	_, to := recipient(t)
	for name, o := range map[string]record.Options{"plain": {}, "sealed": {Recipients: to}} {
		_, l, _ := written(t, o)
		for i := 1; i < len(l)-1; i++ {
			seq := uint64(i + 1)
			for _, c := range [][2]uint64{{seq, seq + 3}, {seq, 1 << 62}, {seq + 2, 0}, {9_999_999_999_999_999_999, 0}, {1 << 40, 1 << 50}, {seq, 0}} {
				for _, replaces := range []int{0, 1} {
					if replaces == 1 && c == [2]uint64{seq, 0} {
						continue // no false number
					}
					lines := slices.Concat(l[:i], [][]byte{line(c[0], c[1])}, l[i+replaces:])
					r := verify(t, join(t, lines...), record.VerifyOptions{Keys: public()})
					want := 1
					if c == [2]uint64{seq, 0} || c == [2]uint64{seq + 2, 0} && i+2 >= len(l)-1 {
						want = 2 // another event of the same number, which the next line does not follow
					}
					if len(r.Findings) == 0 || len(r.Findings) > want || r.More > 0 || r.Events > 12 {
						t.Errorf("%s: line %d, numbered %v, replacing %d: found %v; %d events", name, i+1, c, replaces, r.Findings, r.Events)
					}
				}
			}
		}
	}
}

// So is a tombstone that says it stands for more than it does.
func TestFalseTombstoneIsOneFault(t *testing.T) {
	dir, _ := aged(t)
	if _, err := record.Prune(dir, record.PruneOptions{Keep: 2500}); err != nil {
		t.Fatal(err)
	}
	stones, _ := filepath.Glob(filepath.Join(dir, "*.pruned"))
	data, _ := os.ReadFile(stones[0])
	os.WriteFile(stones[0], bytes.Replace(data, []byte(`"last":2`), []byte(`"last":2000000`), 1), 0o600)
	if r := verify(t, dir, record.VerifyOptions{}); len(stones) < 2 || len(r.Findings) != 1 {
		t.Errorf("%d tombstones, found %v", len(stones), r.Findings)
	}
}
