package decompress_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/decompress"
)

func zipped(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, text string, options ...zstd.EOption) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRead reads texts that are compressed and texts that are not, whole and byte
// by byte. Several members of a gzip file, and several frames, are one text.
func TestRead(t *testing.T) {
	long := strings.Repeat("so it goes, <think>and on</think>\n", 10000)
	for what, c := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":     {nil, ""},
		"text":        {[]byte(long), long},
		"one byte":    {[]byte("("), "("},
		"like gzip":   {[]byte("\x1f"), "\x1f"},
		"like gzip 2": {[]byte("\x1fx"), "\x1fx"},
		"like zstd":   {[]byte("(\xb5/"), "(\xb5/"},
		"like zstd 2": {[]byte("(\xb5/x and more"), "(\xb5/x and more"},
		"gzip":        {zipped(t, long), long},
		"gzip twice":  {append(zipped(t, "a\n"), zipped(t, "b\n")...), "a\nb\n"},
		"zstd":        {zstded(t, long), long},
		"zstd twice":  {append(zstded(t, "a\n"), zstded(t, "b\n")...), "a\nb\n"},
		"empty gzip":  {zipped(t, ""), ""},
		"pzstd":       {append([]byte("P*M\x18\x04\x00\x00\x00\x15\x00\x00\x00"), zstded(t, long)...), long},
		"like pzstd":  {[]byte("P*M\x19"), "P*M\x19"},
		"a letter":    {[]byte("P"), "P"},
	} {
		for how, r := range map[string]io.Reader{
			"whole": bytes.NewReader(c.in), "bytes": iotest.OneByteReader(bytes.NewReader(c.in)), "early end": iotest.DataErrReader(bytes.NewReader(c.in)),
		} {
			d := decompress.NewReader(r)
			got, err := io.ReadAll(d)
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %s: %d bytes, %v; want %d", what, how, len(got), err, len(c.want))
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCutFile holds that a file that was cut gives what is certain, and an error
// that names the format.
func TestCutFile(t *testing.T) {
	text := strings.Repeat("0123456789", 100000)
	for format, whole := range map[string][]byte{"gzip": zipped(t, text), "zstd": zstded(t, text)} {
		for _, n := range []int{5, len(whole) / 2, len(whole) - 1} {
			got, err := io.ReadAll(decompress.NewReader(bytes.NewReader(whole[:n])))
			if err == nil || !strings.HasPrefix(err.Error(), format+": ") || !strings.HasPrefix(text, string(got)) {
				t.Errorf("%s, %d of %d bytes: %d bytes, %v", format, n, len(whole), len(got), err)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(decompress.NewReader(io.MultiReader(strings.NewReader("(\xb5"), iotest.ErrReader(broken)))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestWindow holds that a file cannot ask for more memory than the bound.
func TestWindow(t *testing.T) {
	head := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x01, 0, 0} // a window of 512 MiB
	if _, err := io.ReadAll(decompress.NewReader(bytes.NewReader(head))); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
		t.Error(err)
	}
}

// TestTextPassesAsItComes holds that a text is not held back: each byte of the
// upstream's is there before the next is asked for.
func TestTextPassesAsItComes(t *testing.T) {
	r, w := io.Pipe()
	d := decompress.NewReader(r)
	p := make([]byte, 10)
	for _, text := range []string{"H", "e", "(", "l"} {
		go io.WriteString(w, text)
		if n, err := d.Read(p); err != nil || string(p[:n]) != text {
			t.Fatalf("%q, %v; want %q", p[:n], err, text)
		}
	}
}

// TestAhead: a long text is decompressed ahead, within bounds, and gives the same bytes and
// the same error, at the same byte, as without a goroutine.
func TestAhead(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d of a text\n", i)
	}
	for format, whole := range map[string][]byte{"gzip": zipped(t, text.String()), "zstd": zstded(t, text.String(), zstd.WithEncoderLevel(zstd.SpeedFastest))} {
		for _, n := range []int{len(whole), len(whole) - 2, len(whole) * 2 / 3} {
			var plain io.Reader
			switch r := bytes.NewReader(whole[:n]); format {
			case "gzip":
				z, err := gzip.NewReader(r)
				if err != nil {
					t.Fatal(err)
				}
				plain = z
			default:
				z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
				if err != nil {
					t.Fatal(err)
				}
				defer z.Close()
				plain = z
			}
			want, wantErr := io.ReadAll(plain)
			d := decompress.NewReader(bytes.NewReader(whole[:n]))
			got, err := io.ReadAll(d)
			if len(got) < 1<<19 || !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || wantErr != nil && !errors.Is(err, wantErr) {
				t.Errorf("%s, %d of %d bytes: %d bytes, %v; want %d, %v", format, n, len(whole), len(got), err, len(want), wantErr)
			}
			if _, again := d.Read(make([]byte, 1)); wantErr != nil && !errors.Is(again, wantErr) {
				t.Errorf("%s: a second read gives %v", format, again)
			}
			d.Close()
		}
	}
}

// TestAheadIsBounded: while nobody reads, little is decompressed; and Close ends it, also
// while a read waits for a source that gives nothing more.
func TestAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var noise strings.Builder
		r := rand.New(rand.NewPCG(1, 2))
		for noise.Len() < 2<<20 {
			fmt.Fprintf(&noise, "%x\n", r.Uint64())
		}
		whole := zipped(t, noise.String())
		from, to := io.Pipe()
		wrote := 0
		go func() {
			for wrote < len(whole)-100_000 {
				n, err := to.Write(whole[wrote : wrote+10_000])
				if wrote += n; err != nil {
					return
				}
			}
		}()
		d := decompress.NewReader(from)
		if _, err := io.CopyN(io.Discard, d, 300<<10); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if most := len(whole) / 2; wrote > most || wrote < len(whole)/16 {
			t.Errorf("%d of %d bytes were taken, want at most %d", wrote, len(whole), most)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, d)
			failed <- err
		}()
		synctest.Wait()
		d.Close()
		if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		from.Close() // ends the read under way
		to.Close()
	})
}
