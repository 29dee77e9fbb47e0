package ndjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/ndjson"
)

// usual is a delta in the form that Ollama sends.
const usual = `{"model":"qwen3","created_at":"2025-01-01T00:00:00.123456789Z","message":{"role":"assistant","content":" word"},"done":false}` + "\n"

var benchLines = []struct{ name, line string }{
	{"usual", usual},
	{"crlf", strings.ReplaceAll(usual, "\n", "\r\n")},
	{"blank", "\n"},
	{"1 MB", strings.Repeat("x", 1<<20) + "\n"},
}

// Lines measures a line alone in the buffer and before other lines.
func BenchmarkLines(b *testing.B) {
	for _, in := range benchLines {
		for _, lines := range []int{1, 64, 4096} {
			if lines*len(in.line) > 2<<20 {
				continue
			}
			b.Run(fmt.Sprintf("%s/buffered=%d", in.name, lines), func(b *testing.B) {
				all := []byte(strings.Repeat(in.line, lines))
				var s ndjson.Scanner
				rest := all
				b.SetBytes(int64(len(in.line)))
				b.ReportAllocs()
				for b.Loop() {
					line, ok := s.Next(rest)
					if !ok {
						b.Fatal("no line")
					}
					if rest = rest[len(line.Raw):]; len(rest) == 0 {
						rest = all
					}
				}
			})
		}
	}
}

// Pieces measures a line that comes in reads of 4 KB: quadratic cost would show.
func BenchmarkPieces(b *testing.B) {
	for _, size := range []int{16 << 10, 256 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("%d KB", size>>10), func(b *testing.B) {
			all := []byte(strings.Repeat("x", size-1) + "\n")
			var s ndjson.Scanner
			b.SetBytes(int64(len(all)))
			b.ReportAllocs()
			for b.Loop() {
				for n := 0; ; n += 4 << 10 {
					if _, ok := s.Next(all[:min(n, len(all))]); ok {
						break
					}
				}
			}
		})
	}
}
