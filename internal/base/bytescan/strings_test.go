package bytescan

import (
	"bytes"
	"testing"
)

// wantSpecial is Special by its definition.
func wantSpecial(b []byte, also byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < ' ' || c == also {
			return i
		}
	}
	return len(b)
}

func checkString(t *testing.T, b []byte, also byte) {
	t.Helper()
	want := wantSpecial(b, also)
	if got := Special(b, also); got != want {
		t.Fatalf("Special(%q, %q) = %d, want %d", b, also, got, want)
	}
	if got := specialOf(b, 0, also); got != want {
		t.Fatalf("without blocks, Special(%q, %q) = %d, want %d", b, also, got, want)
	}
	room := bytes.Repeat([]byte{'.'}, len(b)+64)
	if got := CopyPlain(room[32:], b, also); got != want || !bytes.Equal(room[32:32+got], b[:got]) {
		t.Fatalf("CopyPlain(%q, %q) = %d, %q, want %d", b, also, got, room[32:32+got], want)
	}
	if n := bytes.Count(room[:32], []byte{'.'}) + bytes.Count(room[32+len(b):], []byte{'.'}); n != 64 {
		t.Fatalf("CopyPlain(%q, %q) changes bytes beside those of its text", b, also)
	}
}

// TestStringsAtEveryPlace puts each byte at places of strings of every length up to four
// blocks, at every alignment of a word, where the bytes around it may be special too.
func TestStringsAtEveryPlace(t *testing.T) {
	memory := bytes.Repeat([]byte("text\x7f \xed\x80"), 64)
	for n := range 140 {
		for align := range 8 {
			b := memory[align : align+n]
			checkString(t, b, '"')
			checkString(t, b, 0xed)
			for at := range b {
				was := b[at]
				for _, c := range []byte{0, 0x1f, ' ', '!', '"', '#', '[', '\\', ']', 0x80, 0xa2, 0xdc, 0xff} {
					b[at] = c
					checkString(t, b, '"')
				}
				b[at] = was
			}
		}
	}
	long := bytes.Repeat([]byte{'a'}, 100)
	for c := range 256 {
		for at := range long {
			long[at] = byte(c)
			checkString(t, long, 0xed)
			checkString(t, long[:at+1], byte(c))
			long[at] = 'a'
		}
	}
}

func FuzzStrings(f *testing.F) {
	f.Add([]byte(`a long text, and then a "quote" and an escape \n`), byte('"'), uint8(40))
	f.Fuzz(func(t *testing.T, b []byte, also byte, pad uint8) {
		checkString(t, append(bytes.Repeat([]byte{'.'}, int(pad)), b...), also)
		checkString(t, b, also)
	})
}

func BenchmarkStrings(b *testing.B) {
	for _, gap := range []string{"8", "64", "1024"} {
		size := map[string]int{"8": 8, "64": 64, "1024": 1024}[gap]
		text := bytes.Repeat(append(bytes.Repeat([]byte{'a'}, size-1), '\\'), 1<<16/size)
		dst := make([]byte, len(text))
		b.Run("special/"+gap, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for i := 0; i < len(text); i++ {
					i += Special(text[i:], '"')
				}
			}
		})
		b.Run("copy/"+gap, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for i := 0; i < len(text); i++ {
					i += CopyPlain(dst[i:], text[i:], '"')
				}
			}
		})
		b.Run("portable/"+gap, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for i := 0; i < len(text); i++ {
					i = specialOf(text, i, '"')
				}
			}
		})
	}
}
