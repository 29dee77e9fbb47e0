package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// A generator gives n lines of about the same length, and nothing is kept of them.
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

// An orderWriter checks that the ids come in order.
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
	if testing.Short() {
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

// TestPipelineCuts feeds the same lines in every kind of piece, with line ends
// of both kinds, a line far longer than a batch, and no end to the last.
func TestPipelineCuts(t *testing.T) {
	input := "a\n\nbb\r\n" + strings.Repeat("long", 5000) + "\nc\n" + strings.Repeat("x\n", 3000) + "last\r"
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"half":     iotest.HalfReader,
		"data+err": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			next := new(atomic.Int64)
			p := &pipeline{batch: 64, workers: 3, line: func(dst, line, end []byte, number int) ([]byte, error) {
				if next.Add(1)%7 == 0 {
					time.Sleep(50 * time.Microsecond) // so that batches overtake one another
				}
				return append(append(dst, line...), end...), nil
			}}
			if err := p.run(wrap(strings.NewReader(input)), &out); err != nil {
				t.Fatal(err)
			}
			if out.String() != input {
				t.Errorf("the lines changed: %d bytes came out of %d", out.Len(), len(input))
			}
		})
	}
}

// TestPipelineNumbers checks the numbers of lines across batches.
func TestPipelineNumbers(t *testing.T) {
	var faults []int
	p := &pipeline{batch: 16, workers: 2, fault: func(n int, _ error) { faults = append(faults, n) },
		line: func(dst, line, _ []byte, number int) ([]byte, error) {
			if string(line) != fmt.Sprint(number) {
				return dst, fmt.Errorf("%s is %d", line, number)
			}
			if number%1000 == 0 {
				return dst, errors.New("each thousandth")
			}
			return dst, nil
		}}
	var in strings.Builder
	for n := 1; n <= 5000; n++ {
		fmt.Fprintln(&in, n)
	}
	err := p.run(strings.NewReader(in.String()), io.Discard)
	if !errors.Is(err, errReported) || fmt.Sprint(faults) != "[1000 2000 3000 4000 5000]" {
		t.Errorf("faults %v, error %v", faults, err)
	}
}

// TestPipelineIsPrompt checks that a line goes through although no more follow.
func TestPipelineIsPrompt(t *testing.T) {
	r, w := io.Pipe()
	out := make(chan string, 1)
	p := &pipeline{line: func(dst, line, end []byte, _ int) ([]byte, error) { return append(append(dst, line...), end...), nil }}
	done := make(chan error)
	go func() { done <- p.run(r, writerFunc(func(b []byte) { out <- string(b) })) }()
	for _, line := range []string{"first\n", "second\n"} {
		io.WriteString(w, line)
		if got := <-out; got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestPipelineFailures checks what becomes of a broken reader and a broken writer.
func TestPipelineFailures(t *testing.T) {
	same := func(dst, line, end []byte, _ int) ([]byte, error) { return append(append(dst, line...), end...), nil }
	broken := errors.New("broken")
	var out strings.Builder
	err := (&pipeline{line: same}).run(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(broken)), &out)
	if !errors.Is(err, broken) || out.String() != "a\nb\n" {
		t.Errorf("a broken reader gave %q, %v", out.String(), err)
	}
	err = (&pipeline{line: same}).run(&generator{n: 1000}, failingWriter{broken})
	if !errors.Is(err, broken) {
		t.Errorf("a broken writer gave %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
