package llamacpp

import (
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, reasoning and errors. The tokens are those of the whole reply,
// including the thinking, and nobody reads them. The prompt and the settings are the
// client's own, and a server may put more into them.
var (
	// envelope is what each frame of a stream repeats.
	envelope  = shown.Object("index id_slot stop tokens_predicted tokens_evaluated", shown.Members{"tokens": shown.Blank})
	shownText = envelope.With("stop_type tokens_cached truncated has_new_line stopped_eos stopped_word stopped_limit multimodal", shown.Members{
		"model":         shown.Label,
		"stopping_word": shown.Text, // the client's own stop word
		"timings":       shown.Counts, "prompt_progress": shown.Counts,
	})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the reply", Value: shownText},
		{Of: "each frame", Value: envelope},
	}
}
