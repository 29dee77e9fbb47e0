package bridging

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
)

// cutShort is how a client of each API reads that a reply is not complete.
var cutShort = map[string]string{
	"chat": `"finish_reason":"length"`, "responses": `"status":"incomplete"`, "messages": `"stop_reason":"max_tokens"`,
	"ollama": `"done_reason":"length"`, "gemini": `"finishReason":"MAX_TOKENS"`, "bedrock": `max_tokens`, "cohere": `"finish_reason":"MAX_TOKENS"`,
}

// TestPausedTurn: a turn that a server of Messages has paused is not complete. Only a client of that API can have it
// continued, so for others it is a reply that was cut short.
func TestPausedTurn(t *testing.T) {
	codec, _ := providers.Named("messages")
	from := providers.API{Name: "messages", Codec: codec}
	v := replyVocabularyOf(t, from)
	pause := func(frame json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(frame), "end_turn", "pause_turn"))
	}
	var frames []json.RawMessage
	for _, f := range v.stream("", nil) {
		frames = append(frames, pause(f))
	}
	for _, to := range others(from) {
		for _, c := range []crossed{crossing(from, to, false, pause(v.Whole)), crossing(from, to, true, frames...)} {
			if c.err != nil || !strings.Contains(c.out, cutShort[to.Name]) || !strings.Contains(c.out, "Yes.") || strings.Contains(c.out, "pause_turn") {
				t.Errorf("%s: %v, no %s in %s", to.Name, c.err, cutShort[to.Name], c.out)
			}
		}
	}
}
