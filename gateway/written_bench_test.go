package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// BenchmarkPaths compares a frame of a stream that is exact with one of a stream that is
// written, because a limit may cut it.
func BenchmarkPaths(b *testing.B) {
	const frames = 1000
	text := strings.Repeat("word ", frames/2)
	for _, s := range speakers {
		stream := s.stream(inPieces("<think>"+text+"</think>"+text, 5), sotto.EndStopped)
		for name, route := range map[string]routing.Route{"exact": {}, "written": {ThinkingLimit: 1 << 20}} {
			b.Run(s.name()+"/"+name, func(b *testing.B) {
				g := handler(b, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response {
					return response(s.kind(true), strings.NewReader(stream))
				}))
				b.ReportAllocs()
				for b.Loop() {
					ask(g, s.path, `{"model":"qwen3","stream":true,"messages":[]}`)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
			})
		}
	}
}
