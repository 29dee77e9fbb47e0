package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/wire"
)

// BenchmarkPaths compares a frame of a written reply with one of an exact reply.
func BenchmarkPaths(b *testing.B) {
	grammar := sotto.Default()
	for _, s := range speakers {
		for _, written := range s.paths() {
			b.Run(fmt.Sprintf("%s/written=%v", s.name(), written), func(b *testing.B) {
				var frames []wire.Frame
				text := strings.Repeat("word ", 100)
				for f := range framesOf(s.codec, []byte(s.stream(inPieces("<think>"+text+"</think>"+text, 5), sotto.EndStopped))) {
					frames = append(frames, f)
				}
				settings := s.settings()
				settings.Written = written
				b.ReportAllocs()
				n := 0
				var out []byte
				for b.Loop() {
					y, r := s.codec.Reply(settings), gateway.NewReading(gateway.Manner{Grammar: grammar, Start: sotto.StartOutside})
					for _, f := range frames {
						out = y.Frame(out[:0], f, r)
					}
					n += len(frames)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/frame")
			})
		}
	}
}
