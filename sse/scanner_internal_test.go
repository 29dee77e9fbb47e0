package sse

import (
	"bytes"
	"strings"
	"testing"
)

// Where lines end in CR, no LF is sought twice over all that the buffer holds.
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
