package bytescan

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// forms are Forms, and what they were made of.
type forms struct {
	*Forms
	first, second []byte
	may           func(b, c byte) bool
}

func newForms(first, second []byte, may func(b, c byte) bool) forms {
	return forms{NewForms(first, second, may), first, second, may}
}

// tags are forms like those of a reader: `<`, then a letter, or a lead and any of them.
func tags() forms { return formsOf("<[", "th/ <[", "ohp/ <[") }

// formsOf has forms of which each place has one of some bytes; a lead may come before any byte.
func formsOf(first, second, third string) forms {
	return newForms([]byte(first), []byte(second), func(b, c byte) bool {
		return bytes.IndexByte([]byte(third), c) >= 0 && (b != 'h' || c != 'p')
	})
}

// want is Next by its definition.
func want(f forms, b []byte) int {
	for i, c := range b {
		if bytes.IndexByte(f.first, c) >= 0 && (i+2 >= len(b) || bytes.IndexByte(f.second, b[i+1]) >= 0 && f.may(b[i+1], b[i+2])) {
			return i
		}
	}
	return len(b)
}

func wantFence(b []byte) int {
	for i := range b {
		if i+2 < len(b) && (b[i] == '`' || b[i] == '~') && b[i+1] == b[i] && b[i+2] == b[i] {
			return i
		}
	}
	return len(b)
}

func check(t *testing.T, f forms, b []byte) {
	t.Helper()
	if got, want := f.Next(b), want(f, b); got != want {
		t.Fatalf("Next(%q) = %d, want %d", b, got, want)
	}
	if got, want := Fence(b), wantFence(b); got != want {
		t.Fatalf("Fence(%q) = %d, want %d", b, got, want)
	}
	if m, ok := Code(b); ok {
		for i := range 64 {
			c := byte(0)
			if i < len(b) {
				c = b[i]
			}
			if m.Ticks>>i&1 == 1 != (c == '`') || m.Tildes>>i&1 == 1 != (c == '~') || m.Newlines>>i&1 == 1 != (c == '\n') {
				t.Fatalf("Code(%q) = %b, byte %d", b, m, i)
			}
		}
		checkBlock(t, f, b)
		at := bits.TrailingZeros64(m.Fences())
		if want := wantFence(b); min(at, len(b)) != want {
			t.Fatalf("Code(%q).Fences() begin at %d, want %d", b, at, want)
		}
	}
}

// checkBlock checks the masks of a block: those of code are exact, and those of forms are what
// the nibbles say, which every form is among.
func checkBlock(t *testing.T, f forms, b []byte) {
	t.Helper()
	m := Masks{Forms: 1 << 63}
	if !f.Block(b, &m) {
		return
	}
	if code, ok := Code(b); !ok || code != m.CodeMasks {
		t.Fatalf("Block(%q) = %b, want %b", b, m.CodeMasks, code)
	}
	for i := range 64 {
		begins := i < len(b) && want(f, b[i:]) == 0
		may := begins
		if i+2 < len(b) {
			buckets := byte(allBuckets)
			for place, c := range b[i : i+3] {
				buckets &= f.nibbles[2*place][c&15] & f.nibbles[2*place+1][c>>4]
			}
			may = buckets != 0
		}
		if got := m.Forms>>i&1 == 1; got != may || begins && !got {
			t.Fatalf("Block(%q): a form at byte %d: %v, want %v", b, i, got, may)
		}
	}
}

// TestBlocksAreFew: a block's masks are not asked of other lengths, or where nothing begins a form.
func TestBlocksAreFew(t *testing.T) {
	f, m := tags(), Masks{}
	for n := range 80 {
		if b := make([]byte, n); f.Block(b, &m) && (n < fewest || n > 64) {
			t.Errorf("a block of %d bytes", n)
		}
	}
	if (*Forms)(nil).Block(make([]byte, 40), &m) {
		t.Error("a block without forms")
	}
	if b := bytes.Repeat([]byte("ab `c\n~d"), 7); f.Block(b, &m) && m.Forms != 0 {
		t.Errorf("forms in %q: %b", b, m.Forms)
	}
}

// TestAtEveryPlace puts a form and a fence at every place of texts of every length up to
// four blocks, at every alignment, with bytes around them that nearly are one.
func TestAtEveryPlace(t *testing.T) {
	f := tags()
	memory := make([]byte, 512)
	for n := range 200 {
		for align := range 4 {
			b := memory[align : align+n]
			for at := range n + 1 {
				for i := range b {
					b[i] = "a<`b~[\n"[(i*i+n)%7]
				}
				copy(b[at:], "<th")
				check(t, f, b)
				copy(b[at:], "```")
				check(t, f, b)
				copy(b[at:], "~~~")
				check(t, f, b)
			}
		}
	}
}

// TestBuckets: bytes after which nothing may follow are in no bucket, and those with the same
// bytes after them share one.
func TestBuckets(t *testing.T) {
	f := newForms([]byte("<"), []byte("abcdefghijz"), func(b, c byte) bool { return b != 'z' && (c == 'x' || c == b && b < 'i') })
	if f.Forms.second['z'] != nil || f.Forms.second['i'] != f.Forms.second['j'] || f.Forms.second['a'] == f.Forms.second['b'] {
		t.Error("the rows are not shared as they may be")
	}
	if one := f.nibbles[2]['a'&15] & f.nibbles[3]['a'>>4]; bits.OnesCount8(one) > 3 { // it has its own, and those of its nibbles
		t.Errorf("byte a is in buckets %b", one)
	}
	if tags := tags(); tags.nibbles[4][1] != 0 { // no third byte has this low nibble
		t.Errorf("a third byte with the low nibble 1 is in buckets %b", tags.nibbles[4][1])
	}
	for _, n := range []int{40, 64, 65, 66, 67, 200} {
		b := bytes.Repeat([]byte{'.'}, n)
		for _, text := range []string{"<ax", "<ab", "<jx", "<jj", "<zx", "<aa"} {
			copy(b[n/2:], text)
			check(t, f, b)
		}
	}
}

// TestManyRows has more kinds of second bytes than there are buckets.
func TestManyRows(t *testing.T) {
	var seconds []byte
	for c := range 64 {
		seconds = append(seconds, byte(c+'0'))
	}
	f := newForms([]byte("<{(["), seconds, func(b, c byte) bool { return c&b == b&0x35 && c > ' ' })
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, r.IntN(300))
		for i := range b {
			b[i] = byte(r.IntN(128))
			if r.IntN(4) == 0 {
				b[i] = "<{(["[r.IntN(4)]
			}
		}
		check(t, f, b)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("a <think> b ``` c"), uint8(40))
	tags := tags()
	f.Fuzz(func(t *testing.T, b []byte, pad uint8) {
		b = append(bytes.Repeat([]byte{'.'}, int(pad)), b...)
		check(t, tags, b)
		check(t, tags, append(b, bytes.Repeat([]byte{'`', '<'}, 40)...))
	})
}

func BenchmarkScan(b *testing.B) {
	f := tags()
	for _, gap := range []int{1 << 20, 512, 64} {
		text := bytes.Repeat([]byte{'a'}, 1<<20)
		for i := gap; i < len(text); i += gap {
			copy(text[i:], "< ``b")
		}
		b.Run(fmt.Sprintf("forms/%d", gap), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f.Next(text)
			}
		})
		b.Run(fmt.Sprintf("fence/%d", gap), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Fence(text)
			}
		})
		b.Run(fmt.Sprintf("IndexByte/%d", gap), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for rest := text; ; {
					i := bytes.IndexByte(rest, '<')
					if i < 0 {
						break
					}
					rest = rest[i+1:]
				}
			}
		})
	}
}
