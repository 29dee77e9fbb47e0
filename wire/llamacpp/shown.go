package llamacpp

import (
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that the API shows when reasoning is hidden. The tokens are those of
// the whole reply, including the thinking. The prompt and the settings are the
// client's own, and a server may put more into them.
var shownText = shown.Object(`index id_slot stop stop_type tokens_predicted tokens_evaluated tokens_cached truncated
	has_new_line stopped_eos stopped_word stopped_limit multimodal`, shown.Members{
	"content": shown.Text, chatjson.NarrationField: shown.Text, "model": shown.Text,
	"stopping_word": shown.Text, // the client's own stop word
	"tokens":        shown.Blank, "completion_probabilities": shown.Tokens("content"),
	"timings": shown.Counts, "prompt_progress": shown.Counts, "error": shown.Fault,
})

var completionShown = &shown.API{
	Framing: wire.SSE, Frame: shownText, Body: shown.OneOrList(shownText),
	Needs: []string{"stop", "stop_type", "tokens_predicted", "timings"},
}
