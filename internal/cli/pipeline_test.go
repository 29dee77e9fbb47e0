package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/batch"
)

// A generator produces n lines of about the same length, without keeping them.
type generator struct {
	n, next int
	body    string
	rest    []byte
}

func (g *generator) Read(p []byte) (int, error) {
	if len(g.rest) == 0 {
		if g.next == g.n {
			return 0, io.EOF
		}
		g.rest = fmt.Appendf(g.rest[:0], "{\"id\":%d,\"raw\":\"<think>%s</think>answer %d\"}\n", g.next, g.body, g.next)
		g.next++
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// An orderWriter checks that the ids arrive in order.
type orderWriter struct {
	t    *testing.T
	next int
	peak uint64
	rest []byte
}

func (o *orderWriter) Write(p []byte) (int, error) {
	o.rest = append(o.rest, p...)
	for {
		i := bytes.IndexByte(o.rest, '\n')
		if i < 0 {
			break
		}
		if want := fmt.Sprintf(`"id":%d,`, o.next); !bytes.Contains(o.rest[:i], []byte(want)) {
			o.t.Fatalf("line %d is %.80s", o.next, o.rest[:i])
		}
		o.next++
		o.rest = o.rest[i+1:]
		if o.next%20000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			o.peak = max(o.peak, m.HeapAlloc)
		}
	}
	return len(p), nil
}

// TestLinesKeepOrderInBoundedMemory runs 200,000 lines, about 140 MB, through
// both kinds of batch.
func TestLinesKeepOrderInBoundedMemory(t *testing.T) {
	lines := 200_000
	if effort.Brief() {
		lines = 20_000
	}
	for _, args := range [][]string{
		{"split", "--jsonl"},
		{"strip", "--jsonl", "--field", "raw"},
	} {
		t.Run(args[0], func(t *testing.T) {
			in := &generator{n: lines, body: strings.Repeat("so it goes, ", 55)}
			out := &orderWriter{t: t}
			var stderr bytes.Buffer
			if status := Run(args, in, out, &stderr, noEnv); status != 0 {
				t.Fatalf("status %d: %s", status, stderr.String())
			}
			if out.next != lines {
				t.Errorf("%d lines came out, want %d", out.next, lines)
			}
			if limit := uint64(64 << 20); out.peak > limit {
				t.Errorf("the heap grew to %d bytes, want at most %d", out.peak, limit)
			}
		})
	}
}

func noEnv(string) string { return "" }

// TestPipelineFailures checks how a broken reader and a broken writer are handled.
func TestPipelineFailures(t *testing.T) {
	same := func(dst, line, end []byte, _ batch.Place) ([]byte, error) {
		return append(append(dst, line...), end...), nil
	}
	broken := errors.New("broken")
	var out strings.Builder
	err := (&batch.Pipeline{Line: same}).Run(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(broken)), &out)
	if !errors.Is(err, broken) || out.String() != "a\nb\n" {
		t.Errorf("a broken reader gave %q, %v", out.String(), err)
	}
	err = (&batch.Pipeline{Line: same}).Run(&generator{n: 1000}, failingWriter{broken})
	if !errors.Is(err, broken) {
		t.Errorf("a broken writer gave %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
