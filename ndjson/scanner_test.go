package ndjson_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/ndjson"
)

var scanCases = []struct {
	name   string
	stream string
	lines  []string // each as show writes it
	rest   string   // as returned by Last
}{
	{"one line", "{}\n", []string{`"{}\n" data "{}" at 0`}, `none ""`},
	{"two lines", "{}\n[]\n", []string{`"{}\n" data "{}" at 0`, `"[]\n" data "[]" at 0`}, `none ""`},
	{"CRLF", "{}\r\n", []string{`"{}\r\n" data "{}" at 0`}, `none ""`},
	{"CR is white space", "{}\r{}\n", []string{`"{}\r{}\n" data "{}\r{}" at 0`}, `none ""`},
	{"white space around", " \t{ } \t\r\r\n", []string{`" \t{ } \t\r\r\n" data "{ }" at 2`}, `none ""`},
	{"other white space is text", "\v\u00a0{}\f\u2028\n", []string{`"\v\u00a0{}\f\u2028\n" data "\v\u00a0{}\f\u2028" at 0`}, `none ""`},
	{"blank lines", "\n\r\n \t\n{}\n\n", []string{`"\n" blank`, `"\r\n" blank`, `" \t\n" blank`, `"{}\n" data "{}" at 0`, `"\n" blank`}, `none ""`},
	{"not JSON", "\x00\xff<\n", []string{`"\x00\xff<\n" data "\x00\xff<" at 0`}, `none ""`},
	{"a byte order mark is text", "\ufeff{}\n", []string{`"\ufeff{}\n" data "\ufeff{}" at 0`}, `none ""`},
	{"no line end", "{}\n {} ", []string{`"{}\n" data "{}" at 0`}, `" {} " data "{}" at 1`},
	{"CR at the end", "{}\r", nil, `"{}\r" data "{}" at 0`},
	{"a blank rest", "{}\n \r", []string{`"{}\n" data "{}" at 0`}, `none " \r"`},
	{"nothing", "", nil, `none ""`},
}

func show(line ndjson.Line) string {
	if line.Data == nil && line.At == -1 {
		return fmt.Sprintf("%+q blank", line.Raw)
	}
	return fmt.Sprintf("%+q data %+q at %d", line.Raw, line.Data, line.At)
}

func TestScanner(t *testing.T) {
	for _, c := range scanCases {
		t.Run(c.name, func(t *testing.T) {
			var s ndjson.Scanner
			var got []string
			b := []byte(c.stream)
			for {
				line, ok := s.Next(b)
				if !ok {
					break
				}
				got = append(got, show(line))
				b = b[len(line.Raw):]
			}
			if !slices.Equal(got, c.lines) {
				t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.lines, "\n"))
			}
			line, ok := s.Last(b)
			rest := show(line)
			if !ok {
				rest = fmt.Sprintf("none %+q", line.Raw)
			}
			if rest != c.rest {
				t.Errorf("last: %s, want %s", rest, c.rest)
			}
			checkCuts(t, c.stream, rand.New(rand.NewPCG(1, 2)))
		})
	}
}

// Last gives the lines that Next was not asked for, and prepares for another stream.
func TestLast(t *testing.T) {
	var s ndjson.Scanner
	for range 2 {
		b := []byte("1\n\n2")
		if _, ok := s.Next(b[:1]); ok {
			t.Fatal("a line without its end")
		}
		var got []string
		for {
			line, ok := s.Last(b)
			b = b[len(line.Raw):]
			if !ok {
				break
			}
			got = append(got, show(line))
		}
		if want := []string{`"1\n" data "1" at 0`, `"\n" blank`, `"2" data "2" at 0`}; !slices.Equal(got, want) || len(b) != 0 {
			t.Errorf("got %s and %q, want %s", got, b, want)
		}
	}
}

// checkPieces compares the lines of a stream in pieces with the reference's. Each
// piece comes in a buffer of its own, as from a proxy that moves its data.
func checkPieces(t *testing.T, pieces []string) {
	t.Helper()
	stream := strings.Join(pieces, "")
	want, rest := readReference(stream)
	var s ndjson.Scanner
	var b []byte
	same := func(line ndjson.Line, w refLine) bool {
		if cap(line.Raw) != len(line.Raw) || cap(line.Data) != len(line.Data) {
			t.Fatalf("%q: %s has spare capacity", pieces, show(line))
		}
		if line.Data == nil {
			return line.At == -1 && w.data == "" && string(line.Raw) == w.raw
		}
		return string(line.Raw) == w.raw && string(line.Data) == w.data && w.data != "" &&
			bytes.Equal(line.Raw[line.At:line.At+len(line.Data)], line.Data)
	}
	for _, piece := range pieces {
		b = append(bytes.Clone(b), piece...)
		for {
			line, ok := s.Next(b)
			if !ok {
				break
			}
			if len(want) == 0 || !same(line, want[0]) {
				t.Fatalf("%q: %s, want of %q", pieces, show(line), want)
			}
			b, want = b[len(line.Raw):], want[1:]
		}
		if bytes.Contains(b, []byte("\n")) {
			t.Fatalf("%q: %q was held back", pieces, b)
		}
	}
	if len(want) > 0 {
		t.Fatalf("%q: without %q", pieces, want)
	}
	if line, ok := s.Last(b); ok != (rest.data != "") || !same(line, rest) {
		t.Fatalf("%q: the end is %s, %v, want %q", pieces, show(line), ok, rest)
	}
}

// checkCuts feeds a stream whole, byte by byte, at every single cut and at some
// random cuts.
func checkCuts(t *testing.T, stream string, rng *rand.Rand) {
	t.Helper()
	checkPieces(t, []string{stream})
	single := make([]string, len(stream))
	for i := range len(stream) {
		single[i] = stream[i : i+1]
		checkPieces(t, []string{stream[:i], stream[i:]})
	}
	checkPieces(t, single)
	for range 4 {
		var pieces []string
		for rest := stream; rest != ""; {
			n := min(rng.IntN(1+rng.IntN(12)), len(rest)) // some are empty
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		checkPieces(t, pieces)
	}
}

func TestRandom(t *testing.T) {
	tokens := []string{"\n", "\r\n", "\r", " ", "\t", "{", "}", "\x00", "\v", "\ufeff", "é", `{"a":"b c"}`}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		var stream strings.Builder
		for range rng.IntN(14) {
			stream.WriteString(tokens[rng.IntN(len(tokens))])
		}
		checkCuts(t, stream.String(), rng)
	}
}

func FuzzScanner(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c.stream), uint64(len(c.stream)))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) > 1<<8 {
			return // the cost depends on the cuts, not on the length
		}
		checkCuts(t, string(stream), rand.New(rand.NewPCG(seed, 0)))
	})
}

// Bytes that were searched are not searched again: line ends put there are not seen.
func TestLooksOnce(t *testing.T) {
	var s ndjson.Scanner
	var b []byte
	for range 1 << 20 {
		b = append(b, 'x')
		if line, ok := s.Next(b); ok {
			t.Fatalf("a line of %d bytes", len(line.Raw))
		}
		b[len(b)-1] = '\n'
	}
	if line, ok := s.Next(append(b, '\n')); !ok || len(line.Raw) != 1<<20+1 {
		t.Errorf("a line of %d bytes", len(line.Raw))
	}
}

// A line costs no allocation, whatever it holds and however it is cut.
func TestLinesDoNotAllocate(t *testing.T) {
	for _, in := range benchLines {
		all := []byte(strings.Repeat(in.line, 3))
		for _, step := range []int{1 + len(all)/300, len(all)} {
			if n := testing.AllocsPerRun(10, func() {
				var s ndjson.Scanner
				from := 0
				for to := 0; to < len(all); {
					to = min(to+step, len(all))
					for {
						line, ok := s.Next(all[from:to])
						if !ok {
							break
						}
						from += len(line.Raw)
					}
				}
				if from != len(all) {
					t.Fatalf("%s: %d bytes are left", in.name, len(all)-from)
				}
			}); n != 0 {
				t.Errorf("%s by %d: %v allocations", in.name, step, n)
			}
		}
	}
}
