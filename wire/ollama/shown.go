package ollama

import (
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that the API shows when reasoning is hidden. The member context of
// generate is not here: it holds the tokens of the whole reply, including the
// thinking.
var (
	shownFrame = shown.Object("created_at done done_reason total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration", shown.Members{
		"model": shown.Text, "remote_model": shown.Text, "remote_host": shown.Text, "error": shown.Fault, diagnostics: shown.Text,
	})
	shownCall = shown.Object("id type", shown.Members{
		"function": shown.Object("index", shown.Members{"name": shown.Text, "arguments": shown.Opaque}),
	})
	shownText = shown.Members{
		chatjson.NarrationField: shown.Text, "tool_calls": shown.List(shownCall), "images": shown.List(shown.Text), "image": shown.Text,
	}
	shownMessage = shown.Object("role", shownText).With("", shown.Members{"content": shown.Text, "tool_name": shown.Text})

	shownChat     = shownFrame.With("", shown.Members{"message": shownMessage, "logprobs": shown.Tokens("message.content")})
	shownGenerate = shownFrame.With("", shownText).With("", shown.Members{"response": shown.Text, "logprobs": shown.Tokens("response")})
)

var (
	chatShown     = &shown.API{Framing: wire.NDJSON, Frame: shownChat, Body: shownChat, Needs: []string{"message", "done"}}
	generateShown = &shown.API{Framing: wire.NDJSON, Frame: shownGenerate, Body: shownGenerate, Needs: []string{"response", "done"}}
)
