package sse_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/sse"
)

// usual is a delta in the form that most servers send.
const usual = `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"qwen3","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"

var benchFrames = []struct{ name, frame string }{
	{"usual", usual},
	{"crlf", strings.ReplaceAll(usual, "\n", "\r\n")},
	{"cr", strings.ReplaceAll(usual, "\n", "\r")},
	{"typed", "event: content_block_delta\n" + usual},
	{"three data fields", "data: {\"a\":\ndata: 1\ndata: }\n\n"},
	{"comment", ": keep-alive\n\n"},
	{"blank", "\n"},
	{"1 MB", "data: " + strings.Repeat("x", 1<<20) + "\n\n"},
}

// Frames measures a frame alone in the buffer and before other frames.
func BenchmarkFrames(b *testing.B) {
	for _, in := range benchFrames {
		for _, frames := range []int{1, 64, 4096} {
			if frames*len(in.frame) > 2<<20 {
				continue
			}
			b.Run(fmt.Sprintf("%s/buffered=%d", in.name, frames), func(b *testing.B) {
				all := []byte(strings.Repeat(in.frame, frames))
				var s sse.Scanner
				rest := all
				b.SetBytes(int64(len(in.frame)))
				b.ReportAllocs()
				for b.Loop() {
					f, ok := s.Next(rest)
					if !ok {
						b.Fatal("no frame")
					}
					if rest = rest[len(f.Raw):]; len(rest) == 0 {
						rest = all
					}
				}
			})
		}
	}
}

// Pieces measures a frame that comes in reads of 4 KB: quadratic cost would show.
func BenchmarkPieces(b *testing.B) {
	for _, size := range []int{16 << 10, 256 << 10, 4 << 20} {
		for _, shape := range []struct{ name, line string }{
			{"one line", strings.Repeat("x", size)},
			{"many lines", strings.Repeat("data: 0123456789\n", size/17)},
		} {
			b.Run(fmt.Sprintf("%s/%d KB", shape.name, size>>10), func(b *testing.B) {
				all := []byte("data: " + shape.line + "\n\n")
				var s sse.Scanner
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
}

func BenchmarkAppend(b *testing.B) {
	data := bytes.TrimSpace([]byte(usual[len("data: "):]))
	var dst []byte
	b.SetBytes(int64(len(usual)))
	b.ReportAllocs()
	for b.Loop() {
		dst = sse.Append(dst[:0], "", data)
	}
}
