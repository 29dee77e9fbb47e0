package history

import (
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/wire"
)

// BenchmarkRemember keeps the reply to a short conversation, as a gateway does at the end of each stream.
func BenchmarkRemember(b *testing.B) {
	text := strings.Repeat("Some words of an answer. ", 20)
	thought := strings.Repeat("Some words of a thought. ", 40)
	for name, raw := range map[string]string{"field": "", "tags": "<think>" + thought + "</think>" + text} {
		b.Run(name, func(b *testing.B) {
			s := NewStore(1024, 16<<20, time.Hour)
			q := &wire.Request{Model: "qwen3:8b", Messages: []wire.Message{
				{Role: "system", Texts: []string{"You help."}}, {Role: "user", Texts: []string{"What is it?"}},
			}}
			b.ReportAllocs()
			for b.Loop() {
				s.Remember("c", q, Said{Visible: text, Remembered: Remembered{Thought: thought, Raw: raw}})
			}
		})
	}
}
