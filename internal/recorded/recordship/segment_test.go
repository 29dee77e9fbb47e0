package recordship

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var noDigest [sha256.Size]byte

// TestPack: a packed segment has all bytes of the file, the digest and the last line of it,
// and a large segment is not held in memory.
func TestPack(t *testing.T) {
	line := append(bytes.Repeat([]byte("a line "), 1000), '\n')
	for name, plain := range map[string][]byte{
		"empty":          nil,
		"a line":         line,
		"torn":           append(bytes.Clone(line), "torn"...),
		"without an end": []byte("torn"),
		"empty lines":    []byte("\n\n"),
		"large":          bytes.Repeat(line, 32<<20/len(line)),
	} {
		path := filepath.Join(t.TempDir(), "segment")
		if err := os.WriteFile(path, plain, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := pack(file)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 12<<20 {
			t.Errorf("%s: %d bytes were allocated for a segment of %d", name, made, len(plain))
		}
		z, err := zstd.NewReader(bytes.NewReader(p.data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		z.Close()
		if err != nil || !bytes.Equal(got, plain) || p.size != int64(len(plain)) || p.digest != sha256.Sum256(plain) {
			t.Errorf("%s: %d of %d bytes came back, size %d, error %v", name, len(got), len(plain), p.size, err)
		}
		if want := plain[bytes.LastIndexByte(plain[:max(len(plain)-1, 0)], '\n')+1:]; !bytes.Equal(p.last, want) {
			t.Errorf("%s: the last line is %.20q, want %.20q", name, p.last, want)
		}
	}
}

// TestLastLine: the last line does not depend on how the text was cut.
func TestLastLine(t *testing.T) {
	const text = "a\n\nbc\nd\n"
	for end := range len(text) + 1 {
		want := text[bytes.LastIndexByte([]byte(text)[:max(end-1, 0)], '\n')+1 : end]
		for first := range end + 1 {
			for second := first; second <= end; second++ {
				var l lastLine
				for _, piece := range []string{text[:first], text[first:second], text[second:end]} {
					_, _ = l.Write([]byte(piece))
				}
				if string(l) != want {
					t.Fatalf("%q, cut at %d and %d: %q, want %q", text[:end], first, second, l, want)
				}
			}
		}
	}
}
