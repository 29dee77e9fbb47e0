package sse

import (
	"bytes"
	"strings"
	"testing"
)

// If lines end in CR, the buffer is not searched twice for an LF.
func TestSeeksLFOnce(t *testing.T) {
	var s Scanner
	all := []byte(strings.Repeat("data: a\r\r", 100))
	b := all
	for {
		f, ok := s.Next(b)
		if !ok {
			break
		}
		if b = b[len(f.Raw):]; s.lf != len(b) {
			t.Fatalf("%d bytes before the end LF is sought from %d on", len(b), s.lf)
		}
	}
	if len(b) != 0 {
		t.Errorf("left %q", b)
	}
}

// Every byte is searched twice for line ends, once for LF and once for CR, whatever
// the lines end in, and however the buffer grows.
func TestLooksTwice(t *testing.T) {
	for _, unit := range []string{"a\r", "a\n", "a\r\n", "\r", "\n", "data\r\r", "data\n", "data: a\n\n", "a"} {
		all := []byte(strings.Repeat(unit, 20_000/len(unit)))
		for _, step := range []int{1, 7, len(all)} {
			var s Scanner
			from := 0
			for to := 0; to < len(all); {
				to = min(to+step, len(all))
				for {
					f, ok := s.Next(all[from:to])
					if !ok {
						break
					}
					from += len(f.Raw)
				}
			}
			if s.looks > 2*len(all) {
				t.Errorf("%q by %d: %d looks at %d bytes", unit, step, s.looks, len(all))
			}
		}
	}
}

// The invariants that the fields state hold after every call.
func TestInvariants(t *testing.T) {
	stream := []byte("\ufeffdata: a\r\n\revent: b\r\n\n\n\r:c\rdata: d\rdata\re\r\n\r\nf\r\r\n\n")
	for step := 1; step <= len(stream); step++ {
		var s Scanner
		from := 0
		for to := 0; to < len(stream); {
			to = min(to+step, len(stream))
			for ok := true; ok; {
				var f Frame
				f, ok = s.Next(stream[from:to])
				from += len(f.Raw)
				b := stream[from:to]
				if s.line < 0 || s.line > s.seen || s.seen > len(b) || s.lf < s.line || s.lf > len(b) {
					t.Fatalf("line %d, seen %d, lf %d in %q", s.line, s.seen, s.lf, b)
				}
				if bytes.ContainsAny(b[s.line:s.seen], "\r\n") || bytes.Contains(b[s.line:s.lf], []byte("\n")) {
					t.Fatalf("line %d, seen %d, lf %d hold line ends in %q", s.line, s.seen, s.lf, b)
				}
				if !ok && s.seen != len(b) {
					t.Fatalf("%d bytes of %q are sought through again", len(b)-s.seen, b)
				}
			}
		}
	}
}
