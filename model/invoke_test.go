package model_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/model"
)

// canned answers every request with one stream.
type canned struct{ kind, stream string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}},
		Body: io.NopCloser(strings.NewReader(c.stream)), Request: r,
	}, nil
}

// BenchmarkInvoke is one call of a model, without a network: 500 pieces of reasoning
// and 500 of text.
func BenchmarkInvoke(b *testing.B) {
	var chat, blocks, lines strings.Builder
	blocks.WriteString("data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n")
	for i := range 1000 {
		word := fmt.Sprintf("word%d ", i)
		chatMember, kind, member, block := "reasoning_content", "thinking", `"content":"","thinking"`, 0
		if i >= 500 {
			chatMember, kind, member, block = "content", "text", `"content"`, 1
		}
		if i == 500 {
			blocks.WriteString("data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
		}
		fmt.Fprintf(&chat, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{%q:%q},\"finish_reason\":null}]}\n\n", chatMember, word)
		fmt.Fprintf(&blocks, "data: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s_delta\",%q:%q}}\n\n", block, kind, kind, word)
		fmt.Fprintf(&lines, "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00.%06dZ\",\"message\":{\"role\":\"assistant\",%s:%q},\"done\":false}\n", i, member, word)
	}
	chat.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	blocks.WriteString("data: {\"type\":\"content_block_stop\",\"index\":1}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	lines.WriteString("{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n")
	for _, test := range []struct{ provider, kind, stream string }{
		{"openai", "text/event-stream", chat.String()},
		{"anthropic", "text/event-stream", blocks.String()},
		{"ollama", "application/x-ndjson", lines.String()},
	} {
		b.Run(test.provider, func(b *testing.B) {
			m, err := model.Open(model.Config{Provider: test.provider, Model: "m", Transport: canned{test.kind, test.stream}})
			if err != nil {
				b.Fatal(err)
			}
			q := model.Request{Messages: []model.Message{{Role: model.User, Text: "What is it?"}}}
			b.SetBytes(int64(len(test.stream)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := m.Invoke(b.Context(), q, func(model.Delta) error { return nil })
				if err != nil || len(r.Raw) < 3500 || len(r.Thoughts) != 1 {
					b.Fatal(err, len(r.Raw), len(r.Thoughts))
				}
			}
		})
	}
}
