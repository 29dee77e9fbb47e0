package shards

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/internal/base/decompress"
)

// packed compresses a text as one frame, or as one member of gzip.
func packed(t interface{ Fatal(...any) }, format, text string) []byte {
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if format != "gzip" {
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(format != "no checksum"), zstd.WithZeroFrames(true))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// skippable is a frame of zstd that holds something other than text.
func skippable(data []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x5e, 0x2a, 0x4d, 0x18}, uint32(len(data))), data...)
}

// A framed is a compressed file, and where its frames begin in it and in the text.
type framed struct {
	data  []byte
	text  string
	frame []int
	begin []int
}

// add adds a frame.
func (f *framed) add(frame []byte, text string) {
	if text != "" {
		f.frame, f.begin = append(f.frame, len(f.data)), append(f.begin, len(f.text))
	}
	f.data, f.text = append(f.data, frame...), f.text+text
}

// drawFramed draws a file whose frames end anywhere: in lines, between CR and LF, with frames
// without a text.
func drawFramed(t *rapid.T) *framed {
	format := rapid.SampledFrom([]string{"gzip", "zstd", "no checksum"}).Draw(t, "format")
	f := new(framed)
	frames := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\r\n\n")), 0, 12, -1), 1, 8).Draw(t, "frames")
	for i, text := range frames {
		if format != "gzip" && rapid.IntRange(0, 3).Draw(t, "skippable") == 0 {
			f.data = append(f.data, skippable(bytes.Repeat([]byte{'x'}, i))...)
		}
		f.add(packed(t, format, text), text)
	}
	return f
}

// framesOf returns the lines of each shard, with their places.
func framesOf(data []byte, count int, line func(at Placed, line []byte)) (text []byte, err error) {
	head := data[:min(len(data), 64<<10)]
	for i := range count {
		pieces, err := Cut([]Input{{Size: int64(len(data))}}, Shard{i, count}, func(Input) (bool, error) { return true, nil })
		if err != nil {
			return nil, err
		}
		for _, p := range pieces {
			l, err := NewFrameLines(func(at int64) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(data[min(at, int64(len(data))):])), nil
			}, p, head)
			if err != nil {
				return nil, err
			}
			part, err := io.ReadAll(l)
			l.Close()
			if err != nil {
				return nil, err
			}
			at := int64(0)
			for one := range bytes.Lines(part) {
				frame, offset := l.Place(at)
				line(Placed{frame, offset}, one)
				at += int64(len(one))
			}
			text = append(text, part...)
		}
	}
	return text, nil
}

// A Placed is the place of a line.
type Placed struct{ frame, offset int64 }

// TestFramesAreTheWhole: each line of a compressed file comes once, in order and with its
// place, whatever the number of shards is and wherever frames end.
func TestFramesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFramed(t)
		count := rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(7, 40)).Draw(t, "count")
		var want, got []string
		at := 0
		for line := range strings.Lines(f.text) {
			i := len(f.begin) - 1
			for f.begin[i] > at {
				i--
			}
			want = append(want, fmt.Sprint(Placed{int64(f.frame[i]), int64(at - f.begin[i])}, line))
			at += len(line)
		}
		if _, err := framesOf(f.data, count, func(at Placed, line []byte) { got = append(got, fmt.Sprint(at, string(line))) }); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%d shards of %q, frames %v at %v, read\n%q\nwant\n%q", count, f.text, f.begin, f.frame, got, want)
		}
	})
}

// A watchedFile notes which bytes of a file are read.
type watchedFile struct {
	data            []byte
	first, end, all int64
}

func (w *watchedFile) open(at int64) (io.ReadCloser, error) {
	if w.first = min(w.first, at); at > int64(len(w.data)) {
		return nil, io.ErrUnexpectedEOF
	}
	return io.NopCloser(&watchedPart{w, at}), nil
}

type watchedPart struct {
	*watchedFile
	at int64
}

func (w *watchedPart) Read(p []byte) (int, error) {
	n := copy(p, w.data[w.at:])
	w.at += int64(n)
	w.end, w.all = max(w.end, w.at), w.all+int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestFramesAreReadInParts: a shard reads the frames that begin in its part, what shows that
// the next one begins, and nothing before them.
func TestFramesAreReadInParts(t *testing.T) {
	const frames, ahead = 4, 3 << 20
	r := rand.New(rand.NewPCG(1, 2))
	for _, format := range []string{"zstd", "gzip"} {
		f := new(framed)
		for range frames {
			var text strings.Builder
			for text.Len() < 4<<20 {
				fmt.Fprintf(&text, "{\"raw\":%d%d}\n", r.Uint64(), r.Uint64())
			}
			f.add(packed(t, format, text.String()), text.String())
		}
		size := int64(len(f.data))
		got := 0
		for i := range frames {
			p, err := Cut([]Input{{Size: size}}, Shard{i, frames}, func(Input) (bool, error) { return true, nil })
			if err != nil {
				t.Fatal(err)
			}
			w := &watchedFile{data: f.data, first: size}
			l, err := NewFrameLines(w.open, p[0], f.data[:64<<10])
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, l)
			if err != nil || l.Close() != nil {
				t.Fatal(err)
			}
			end := max(l.end, p[0].To)
			if got += int(n); w.first < p[0].From || w.end > end+ahead/2 || w.all > (end-p[0].From)+(end-p[0].To)+ahead {
				t.Errorf("%s: of %d bytes, shard %d with bytes %d to %d, whose frames end at %d, has read %d between %d and %d", format, size, i, p[0].From, p[0].To, end, w.all, w.first, w.end)
			}
		}
		if got != len(f.text) {
			t.Errorf("%s: the shards have %d bytes of text, want %d", format, got, len(f.text))
		}
	}
}

// hostileFrames are files that lie about their frames, or hold others.
func hostileFrames(t testing.TB) map[string][]byte {
	a, b := packed(t, "zstd", "one\ntwo\n"), packed(t, "zstd", "three\nfour\n")
	member := packed(t, "gzip", "five\nsix\n")
	return map[string][]byte{
		"a frame in a frame that is skipped":  slicesConcat(a, skippable(b), b),
		"a frame in a raw block":              slicesConcat(a, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(b)), byte(len(b)<<3 | 1), byte(len(b) >> 5), 0}, b, b),
		"a member in a stored block":          slicesConcat(member, stored(t, member), member),
		"cut":                                 slicesConcat(a, b[:len(b)-3]),
		"cut in a header":                     slicesConcat(a, b[:5]),
		"a member that is cut":                slicesConcat(member, member[:len(member)-5]),
		"what follows is not a frame":         slicesConcat(a, b, []byte("x")),
		"a frame that is skipped is too long": slicesConcat(a, []byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}, b),
		"a wrong checksum":                    slicesConcat(a[:len(a)-1], []byte{a[len(a)-1] + 1}, b),
		"begins with frames to skip":          slicesConcat(bytes.Repeat(skippable(nil), 20), a, b),
	}
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// stored is a member of gzip that holds data as it is.
func stored(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// whole decompresses a file as one shard does.
func whole(data []byte) ([]byte, error) {
	d := decompress.NewReader(bytes.NewReader(data))
	defer d.Close()
	return io.ReadAll(io.LimitReader(d, 1<<20))
}

// holdsFrames holds that the shards have the text that the file has, or that one fails; and
// that one shard fails if the file is not whole, and only then.
func holdsFrames(t *testing.T, what string, data []byte, count int) (failed bool) {
	t.Helper()
	want, wrong := whole(data)
	if len(want) == 1<<20 {
		t.Skip()
	}
	got, err := framesOf(data, count, func(Placed, []byte) {})
	switch {
	case err == nil && wrong != nil:
		t.Fatalf("%s: %d shards read %q, and the file is not whole: %v", what, count, got, wrong)
	case err == nil && !bytes.Equal(got, want):
		t.Fatalf("%s: %d shards read %q, want %q", what, count, got, want)
	case count == 1 && err != nil && wrong == nil:
		t.Fatalf("%s: one shard: %v", what, err)
	}
	return err != nil
}

// TestHostileFrames divides files that lie.
func TestHostileFrames(t *testing.T) {
	for what, data := range hostileFrames(t) {
		failed := false
		for count := 1; count <= len(data)+1; count++ {
			failed = holdsFrames(t, what, data, count) || failed
		}
		if !failed {
			t.Errorf("%s: no number of shards fails", what)
		}
	}
}

// FuzzFrames is the same law for any file.
func FuzzFrames(f *testing.F) {
	for _, data := range hostileFrames(f) {
		f.Add(data, uint8(3))
	}
	f.Add(slicesConcat(packed(f, "zstd", "a\nb"), packed(f, "zstd", "c\n"), packed(f, "zstd", "")), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, count uint8) {
		if len(data) < 4 || len(data) > 4<<10 || !decompress.Compressed(data) {
			t.Skip()
		}
		holdsFrames(t, "a file", data, 1)
		holdsFrames(t, "a file", data, int(count)+1)
	})
}
