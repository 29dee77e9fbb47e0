package ollama

import (
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, reasoning, calls, errors and why the reply ended. Nor is the member
// context of generate: it holds the tokens of the whole reply, including the thinking.
var (
	shownReply = shown.Object("created_at total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration", shown.Members{
		"model": shown.Label, "remote_model": shown.Label, "remote_host": shown.Label, diagnostics: shown.Label,
	})
	shownMessage = shown.Object("", shown.Members{
		"images": shown.List(shown.Sealed), "image": shown.Sealed, "tool_name": shown.Label,
	})
	// shownHead are those of each frame.
	shownHead = shown.Object("created_at", shown.Members{"model": shown.Label})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the reply", Value: shownReply},
		{Of: "each frame", Value: shownHead},
		{Of: "the message", Value: shownMessage},
	}
}
