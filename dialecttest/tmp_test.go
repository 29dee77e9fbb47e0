package dialecttest

import (
	"github.com/sotto-llm/sotto"
	"os"
	"strconv"
	"testing"
)

func TestTmpMany(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		t.Skip()
	}
	name := os.Getenv("D")
	ds := sotto.Dialects()
	for _, d := range ds {
		if name != "" && d.Name != name {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			for _, v := range []sotto.Dialect{d, tight(d)} {
				seed := uint64(0)
				if v.MaxMarker != d.MaxMarker {
					seed = 1
				}
				s := newSuite(t, v, seed)
				var rs []string
				off, _ := strconv.Atoi(os.Getenv("OFF"))
				for i := 0; i < n; i++ {
					rs = append(rs, s.random(uint64(i+off), 12))
				}
				s.each(t, rs, s.slowReader)
				if t.Failed() {
					return
				}
				if os.Getenv("SI") != "" {
					s.each(t, rs, s.splitInvariance)
					s.each(t, rs, s.boundedHold)
					s.each(t, rs, s.idempotence)
					s.each(t, rs, s.monotony)
				}
			}
		})
	}
}
