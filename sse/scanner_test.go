package sse_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/sse"
)

var scanCases = []struct {
	name   string
	stream string
	frames []string // each as show writes it
	rest   string   // as returned by Last
}{
	{"one event", "data: a\n\n", []string{`"data: a\n\n" data "a" at 6`}, `none ""`},
	{"CRLF", "data: a\r\n\r\n", []string{`"data: a\r\n\r\n" data "a" at 6`}, `none ""`},
	{"CR", "data: a\r\rdata: b\r\r", []string{`"data: a\r\r" data "a" at 6`, `"data: b\r\r" data "b" at 6`}, `none ""`},
	{"mixed", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\r", []string{
		`"data: a\r\n\n" data "a" at 6`, `"data: b\n\r\n" data "b" at 6`, `"data: c\r\n\r" data "c" at 6`, `"data: d\n\r" data "d" at 6`,
	}, `none ""`},
	{"LF CR is two line ends", "data: a\n\r\n", []string{`"data: a\n\r\n" data "a" at 6`}, `none ""`},

	{"type", "event: ping\ndata: {}\n\n", []string{`"event: ping\ndata: {}\n\n" type "ping" data "{}" at 18`}, `none ""`},
	{"the last type holds", "event: a\ndata: 1\nevent:b\n\n", []string{`"event: a\ndata: 1\nevent:b\n\n" type "b" data "1" at 15`}, `none ""`},
	{"an empty type undoes it", "event: a\nevent\ndata: 1\n\n", []string{`"event: a\nevent\ndata: 1\n\n" data "1" at 21`}, `none ""`},
	{"a type holds for one event", "event: a\n\ndata: 1\n\n", []string{`"event: a\n\n" type "a"`, `"data: 1\n\n" data "1" at 6`}, `none ""`},

	{"several data fields", "data: a\ndata: b\ndata: c\n\n", []string{`"data: a\ndata: b\ndata: c\n\n" data "a\nb\nc" at -1`}, `none ""`},
	{"data fields apart", "data: a\nid: 7\ndata: b\n\n", []string{`"data: a\nid: 7\ndata: b\n\n" data "a\nb" at -1`}, `none ""`},
	{"two empty data fields", "data\ndata:\n\n", []string{`"data\ndata:\n\n" data "\n" at -1`}, `none ""`},
	{"a bare field name", "data\n\n", []string{`"data\n\n" data "" at -1`}, `none ""`},
	{"empty data", "data:\n\ndata: \n\n", []string{`"data:\n\n" data "" at 5`, `"data: \n\n" data "" at 6`}, `none ""`},
	{"no space", "data:a\n\n", []string{`"data:a\n\n" data "a" at 5`}, `none ""`},
	{"one space of two", "data:  a \n\n", []string{`"data:  a \n\n" data " a " at 6`}, `none ""`},
	{"a tab is no space", "data:\ta\n\n", []string{`"data:\ta\n\n" data "\ta" at 5`}, `none ""`},
	{"a colon in the value", "data: a: b\n\n", []string{`"data: a: b\n\n" data "a: b" at 6`}, `none ""`},
	{"names are exact", "Data: a\ndatas: b\n data: c\ndata : d\ndat\nevents: e\nEVENT: f\n\n", []string{`"Data: a\ndatas: b\n data: c\ndata : d\ndat\nevents: e\nEVENT: f\n\n"`}, `none ""`},
	{"unknown fields", "foo: bar\nid: 1\nretry: 10\ndata: a\n\n", []string{`"foo: bar\nid: 1\nretry: 10\ndata: a\n\n" data "a" at 31`}, `none ""`},

	{"a comment", ": keep-alive\n\n", []string{`": keep-alive\n\n"`}, `none ""`},
	{"a comment in an event", ":x\ndata: a\n:data: b\n\n", []string{`":x\ndata: a\n:data: b\n\n" data "a" at 9`}, `none ""`},
	{"a retry alone", "retry: 3000\n\n", []string{`"retry: 3000\n\n"`}, `none ""`},
	{"more blank lines", "\n\r\n\rdata: a\n\n\n", []string{`"\n"`, `"\r\n"`, `"\r"`, `"data: a\n\n" data "a" at 6`, `"\n"`}, `none ""`},

	{"byte order mark", "\ufeffdata: a\n\n", []string{`"\ufeffdata: a\n\n" data "a" at 9`}, `none ""`},
	{"a mark before a blank line", "\ufeff\ndata: a\n\n", []string{`"\ufeff\n"`, `"data: a\n\n" data "a" at 6`}, `none ""`},
	{"a second mark is text", "\ufeff\ufeffdata: a\n\n", []string{`"\ufeff\ufeffdata: a\n\n"`}, `none ""`},
	{"a late mark is text", "data: a\n\n\ufeffdata: b\n\n", []string{`"data: a\n\n" data "a" at 6`, `"\ufeffdata: b\n\n"`}, `none ""`},
	{"part of a mark is text", "\xef\xbbdata: a\n\n", []string{`"\xef\xbbdata: a\n\n"`}, `none ""`},

	{"NUL", "data: a\x00b\nid: 1\x002\n\x00\n\n", []string{`"data: a\x00b\nid: 1\x002\n\x00\n\n" data "a\x00b" at 6`}, `none ""`},
	{"not UTF-8", "data: \xff\xfe\xc3\n\n", []string{`"data: \xff\xfe\xc3\n\n" data "\xff\xfe\xc3" at 6`}, `none ""`},
	{"other line ends are text", "data: a\u2028b\u0085c\v\f\n\n", []string{`"data: a\u2028b\u0085c\v\f\n\n" data "a\u2028b\u0085c\v\f" at 6`}, `none ""`},

	{"no blank line", "data: a\n\ndata: [DONE]\n", []string{`"data: a\n\n" data "a" at 6`}, `"data: [DONE]\n" data "[DONE]" at 6`},
	{"no line end", "event: x\ndata: [DONE]", nil, `"event: x\ndata: [DONE]" type "x" data "[DONE]" at 15`},
	{"no line end after CR", "data: a\rdata: b\r", nil, `"data: a\rdata: b\r" data "a\nb" at -1`},
	{"half a name", "data: a\n\ndat", []string{`"data: a\n\n" data "a" at 6`}, `"dat"`},
	{"a comment at the end", ":", nil, `":"`},
	{"a mark alone", "\ufeff", nil, `none "\ufeff"`},
	{"a mark and a rest", "\ufeffdata", nil, `"\ufeffdata" data "" at -1`},
	{"nothing", "", nil, `none ""`},
}

func show(f sse.Frame) string {
	s := fmt.Sprintf("%+q", f.Raw)
	if len(f.Type) > 0 {
		s += fmt.Sprintf(" type %+q", f.Type)
	}
	if f.Data != nil {
		s += fmt.Sprintf(" data %+q at %d", f.Data, f.At)
	} else if f.At != -1 {
		s += fmt.Sprintf(" at %d without data", f.At)
	}
	return s
}

func TestScanner(t *testing.T) {
	for _, c := range scanCases {
		t.Run(c.name, func(t *testing.T) {
			var s sse.Scanner
			var got []string
			b := []byte(c.stream)
			for {
				f, ok := s.Next(b)
				if !ok {
					break
				}
				got = append(got, show(f))
				b = b[len(f.Raw):]
			}
			if !slices.Equal(got, c.frames) {
				t.Errorf("frames:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.frames, "\n"))
			}
			f, ok := s.Last(b)
			rest := show(f)
			if !ok {
				rest = "none " + rest
			}
			if rest != c.rest {
				t.Errorf("last: %s, want %s", rest, c.rest)
			}
			checkCuts(t, c.stream, rand.New(rand.NewPCG(1, 2)))
		})
	}
}

// A CR ends its frame at once; its LF begins the next frame's Raw.
func TestCutLineEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		frames []string
	}{
		{"between frames", []string{"data: a\r\n\r", "\ndata: b\r\n\r", "\n"}, []string{`"data: a\r\n\r" data "a" at 6`, `"\ndata: b\r\n\r" data "b" at 7`, `none "\n"`}},
		{"in a frame", []string{"data: a\r", "\ndata: b\r", "\n\r\n"}, []string{`"data: a\r\ndata: b\r\n\r\n" data "a\nb" at -1`, `none ""`}},
		{"a second LF is a blank line", []string{"data: a\r\r", "\n\n"}, []string{`"data: a\r\r" data "a" at 6`, `"\n\n"`, `none ""`}},
		{"nothing between", []string{"data: a\r\r", "", "\n", "", "data: b"}, []string{`"data: a\r\r" data "a" at 6`, `"\ndata: b" data "b" at 7`, `none ""`}},
		{"behind a mark", []string{"\xef", "\xbb\xbf", "\r", "\ndata: a\n\n"}, []string{`"\ufeff\r"`, `"\ndata: a\n\n" data "a" at 7`, `none ""`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			frames, end := feed(t, new(sse.Scanner), c.pieces)
			for _, f := range append(frames, end...) {
				got = append(got, f.shown)
			}
			if !slices.Equal(got, c.frames) {
				t.Errorf("frames:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.frames, "\n"))
			}
		})
	}
}

// Last gives the frames that Next was not asked for, and prepares for another stream.
func TestLast(t *testing.T) {
	var s sse.Scanner
	for range 2 {
		b := []byte("\ufeffdata: a\n\n\ndata: b\n\ndata: c\ndata: d\r")
		var got []string
		for {
			f, ok := s.Last(b)
			b = b[len(f.Raw):]
			if !ok {
				break
			}
			got = append(got, show(f))
		}
		want := []string{`"\ufeffdata: a\n\n" data "a" at 9`, `"\n"`, `"data: b\n\n" data "b" at 6`, `"data: c\ndata: d\r" data "c\nd" at -1`}
		if !slices.Equal(got, want) || len(b) != 0 {
			t.Errorf("got %s and %q, want %s", got, b, want)
		}
	}
}

// A kept is a copied frame.
type kept struct {
	raw, typ, data string
	hasData        bool
	piece          int // the frame came with this piece
	shown          string
}

// feed gives a stream in pieces, each in a buffer of its own, as a proxy that moves
// its data may do. It returns the frames and the results of Last; the last of those
// has ok false.
func feed(t *testing.T, s *sse.Scanner, pieces []string) (frames, end []kept) {
	t.Helper()
	var b []byte
	keep := func(f sse.Frame, piece int) kept {
		if f.At >= 0 && !bytes.Equal(f.Raw[f.At:f.At+len(f.Data)], f.Data) {
			t.Fatalf("%s: data is not there", show(f))
		}
		if cap(f.Raw) != len(f.Raw) || cap(f.Type) != len(f.Type) || cap(f.Data) != len(f.Data) {
			t.Fatalf("%s: spare capacity", show(f))
		}
		if !bytes.HasPrefix(b, f.Raw) {
			t.Fatalf("%s: not the bytes of %q", show(f), b)
		}
		b = b[len(f.Raw):]
		return kept{string(f.Raw), string(f.Type), string(f.Data), f.Data != nil, piece, show(f)}
	}
	for i, piece := range pieces {
		b = append(bytes.Clone(b), piece...)
		for {
			f, ok := s.Next(b)
			if !ok {
				break
			}
			frames = append(frames, keep(f, i))
		}
	}
	for {
		f, ok := s.Last(b)
		k := keep(f, len(pieces))
		if !ok {
			k.shown = "none " + k.shown
		}
		end = append(end, k)
		if !ok {
			return frames, end
		}
	}
}

// checkPieces compares the frames of a stream in pieces with the reference's.
func checkPieces(t *testing.T, pieces []string) {
	t.Helper()
	stream := strings.Join(pieces, "")
	want, rest := readReference(stream)
	got, end := feed(t, new(sse.Scanner), pieces)
	if len(got) != len(want) {
		t.Fatalf("%q: %d frames, want %d", pieces, len(got), len(want))
	}
	same := func(k kept, f refFrame) bool {
		return k.typ == f.typ && k.hasData == (f.event != nil) && (f.event == nil || k.data == f.event.data)
	}
	ends := make([]int, len(pieces)) // of the pieces, in the stream
	n := 0
	for i, p := range pieces {
		n += len(p)
		ends[i] = n
	}
	all := ""
	for i, k := range got {
		all += k.raw
		f := want[i]
		if !same(k, f) {
			t.Fatalf("%q: frame %d is %s, want %+v", pieces, i, k.shown, f)
		}
		// It ends with its blank line, or before the LF of that line, which is cut off.
		if cut := ends[k.piece] == len(all) && strings.HasPrefix(stream[len(all):], "\n"); len(all) != f.end && (!cut || len(all) != f.end-1) {
			t.Fatalf("%q: frame %d ends at %d, want %d", pieces, i, len(all), f.end)
		}
		if k.piece > 0 && ends[k.piece-1] >= len(all) {
			t.Fatalf("%q: frame %d was held back", pieces, i)
		}
	}
	for _, k := range end {
		all += k.raw
	}
	if all != stream {
		t.Fatalf("%q: the frames hold %q", pieces, all)
	}
	if last := end[0]; len(end) > 2 || !same(last, rest) {
		t.Fatalf("%q: the end is %s, want %+v", pieces, last.shown, rest)
	}
	none := end[len(end)-1].raw
	if len(end) == 2 && none != "" || !slices.Contains([]string{"", "\n", "\ufeff"}, none) {
		t.Fatalf("%q: %q is no frame", pieces, none)
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

// These are tokens that a stream may be made of, most of them traps.
var tokens = []string{
	"\n", "\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\ufeff", "\xef", "\xbb\xbf", "\x00", ":", " ", "  ", "a", "é",
	"data", "data:", "data: ", "data: x", "dat", "datax", "event", "event:", "event: e", "even", "id: 1", "retry: 5", ": c", "data: x\n\n",
}

func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		var stream strings.Builder
		for range rng.IntN(14) {
			stream.WriteString(tokens[rng.IntN(len(tokens))])
		}
		checkCuts(t, stream.String(), rng)
	}
}

// This tests every stream of up to six line ends, colons and names.
func TestExhaustive(t *testing.T) {
	const alphabet = "\n\r:d"
	rng := rand.New(rand.NewPCG(5, 6))
	for length := range 7 {
		for n := range 1 << (2 * length) {
			stream := make([]byte, length)
			for i := range stream {
				stream[i] = alphabet[n>>(2*i)&3]
			}
			checkCuts(t, strings.ReplaceAll(string(stream), "d", "data"), rng)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c.stream), uint64(len(c.stream)))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) > 1<<7 {
			return // the cost depends on the cuts, not on the length
		}
		checkCuts(t, string(stream), rand.New(rand.NewPCG(seed, 0)))
	})
}

func TestLongFrame(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		long := strings.Repeat("x", 1<<20)
		stream := "data: a" + end + end + "data: " + long + end + "data: " + long + end + end + "data: b" + end + end
		var pieces []string
		for rest := stream; rest != ""; {
			n := min(64<<10-1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, _ := feed(t, new(sse.Scanner), pieces)
		if len(got) != 3 || got[1].data != long+"\n"+long || got[2].data != "b" {
			t.Errorf("%q: %d frames", end, len(got))
		}
	}
}

// Bytes that were searched are not searched again: line ends put there are not seen.
func TestLooksOnce(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		for _, trap := range []byte("\n\r") {
			stream := "data: " + strings.Repeat("x", 100) + end + "data: " + strings.Repeat("x", 100) + end + end
			last := len(strings.TrimSuffix(stream, "\r\n"))
			if last == len(stream) {
				last--
			}
			var s sse.Scanner
			b := make([]byte, 0, len(stream))
			for i := range last + 1 {
				b = append(b, stream[i])
				if f, ok := s.Next(b); ok != (i == last) {
					t.Fatalf("%q, %q: at %d of %d a frame of %d bytes", end, trap, i, last, len(f.Raw))
				}
				if stream[i] == 'x' {
					b[i] = trap
				}
			}
		}
	}
}

// In steady state a frame costs no allocation, whatever it holds and however it
// is cut.
func TestFramesDoNotAllocate(t *testing.T) {
	for _, in := range benchFrames {
		all := []byte(strings.Repeat(in.frame, 3))
		var s sse.Scanner
		read := func(step int) {
			from, found := 0, 0
			for to := 0; to < len(all); {
				to = min(to+step, len(all))
				for {
					f, ok := s.Next(all[from:to])
					if !ok {
						break
					}
					from += len(f.Raw)
					found++
				}
			}
			if found != 3 {
				t.Fatalf("%s: %d frames", in.name, found)
			}
		}
		for _, step := range []int{1 + len(all)/300, len(all)} {
			read(step)
			if n := testing.AllocsPerRun(10, func() { read(step) }); n != 0 {
				t.Errorf("%s by %d: %v allocations", in.name, step, n)
			}
		}
	}
}
