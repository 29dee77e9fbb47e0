package batch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// TestPipelineCuts feeds the same lines cut into pieces of every kind, with both
// kinds of line end. One line is far longer than a batch, and the last line has no
// line end.
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
			p := &Pipeline{Batch: 64, Workers: 3, Line: func(dst, line, end []byte, number Place) ([]byte, error) {
				if next.Add(1)%7 == 0 {
					time.Sleep(50 * time.Microsecond) // so that batches overtake one another
				}
				return append(append(dst, line...), end...), nil
			}}
			if err := p.Run(wrap(strings.NewReader(input)), &out); err != nil {
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
	p := &Pipeline{Batch: 16, Workers: 2, Fault: func(n Place, _ error) { faults = append(faults, n.Number()) },
		Line: func(dst, line, _ []byte, number Place) ([]byte, error) {
			if string(line) != fmt.Sprint(number.Number()) {
				return dst, fmt.Errorf("%s is %v", line, number)
			}
			if number.Number()%1000 == 0 {
				return dst, errors.New("each thousandth")
			}
			return dst, nil
		}}
	var in strings.Builder
	for n := 1; n <= 5000; n++ {
		fmt.Fprintln(&in, n)
	}
	err := p.Run(strings.NewReader(in.String()), io.Discard)
	if !errors.Is(err, ErrFailed) || fmt.Sprint(faults) != "[1000 2000 3000 4000 5000]" {
		t.Errorf("faults %v, error %v", faults, err)
	}
}

// TestPipelineIsPrompt checks that a line is passed on even if no more lines
// follow.
func TestPipelineIsPrompt(t *testing.T) {
	r, w := io.Pipe()
	out := make(chan string, 1)
	p := &Pipeline{Line: func(dst, line, end []byte, _ Place) ([]byte, error) { return append(append(dst, line...), end...), nil }}
	done := make(chan error)
	go func() { done <- p.Run(r, chunkWriter(func(b []byte) { out <- string(b) })) }()
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

// A chunkWriter passes on what is written.
type chunkWriter func([]byte)

func (f chunkWriter) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestNextLine: a line has a bound, also where it is longer than the reader's buffer. The
// line after a long one is read.
func TestNextLine(t *testing.T) {
	text := strings.Repeat("x", 99) + "\n" + strings.Repeat("y", 101) + "\nz\r\n" + strings.Repeat("w", 100)
	r := bufio.NewReaderSize(strings.NewReader(text), 16)
	for _, want := range []string{strings.Repeat("x", 99) + "\n", "", "z\r\n", strings.Repeat("w", 100)} {
		line, err := NextLine(r, 100)
		var long *LongLineError
		if string(line) != want || (want == "") != errors.As(err, &long) || want != "" && err != nil {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
	}
	if _, err := NextLine(r, 100); err != io.EOF {
		t.Error(err)
	}
}

// TestLongLines: of an input with lines that are too long, however it is cut, the others
// are processed, and each long one is a fault with its number and its first byte.
func TestLongLines(t *testing.T) {
	const most = 1000
	var in, want strings.Builder
	var faults []string
	for n := 1; n <= 60; n++ {
		line := strings.Repeat("x", n*7%40) + strings.Repeat("y", []int{0, most - 39, most + 1, 40 * most}[n%7%4])
		if len(line) > most {
			faults = append(faults, fmt.Sprint(n, " ", in.Len()))
		} else {
			want.WriteString(line + "\n")
		}
		in.WriteString(line + "\n")
	}
	in.WriteString(strings.Repeat("z", 3*most)) // without a line end
	faults = append(faults, fmt.Sprint("61 ", in.Len()-3*most))
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"half":     iotest.HalfReader,
		"data+err": iotest.DataErrReader,
	} {
		for _, size := range []int{64, 3000, 1 << 20} {
			var out strings.Builder
			var got []string
			read := 0
			p := &Pipeline{Batch: size, Workers: 2, MaxLine: most, Offsets: true, Advance: func(n int) { read += n }}
			p.Line = func(dst, line, end []byte, at Place) ([]byte, error) {
				if err := Fault(line); err != nil {
					return dst, err
				}
				return append(append(dst, line...), end...), nil
			}
			p.Fault = func(at Place, err error) {
				var from int
				if _, scan := fmt.Sscanf(err.Error(), "longer than 1000, from byte %d on; --max-line raises the bound", &from); scan != nil {
					t.Errorf("%v: %v", err, scan)
				}
				got = append(got, fmt.Sprint(at.Number(), " ", from))
			}
			if err := p.Run(wrap(strings.NewReader(in.String())), &out); !errors.Is(err, ErrFailed) {
				t.Errorf("%s, %d: %v", name, size, err)
			}
			if out.String() != want.String() || strings.Join(got, ",") != strings.Join(faults, ",") || read != in.Len() {
				t.Errorf("%s, batches of %d: %d bytes of %d came out; %d of %d were read; faults\n%q, want\n%q", name, size, out.Len(), want.Len(), read, in.Len(), got, faults)
			}
		}
	}
}
