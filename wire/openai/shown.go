package openai

import (
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that pass by themselves in a reply that is written from events: those that
// OpenAI documents, and those of other servers that are known to hold no text of the
// model's. What is read is not here: texts, reasoning, calls and errors.
var (
	shownURL              = shown.Object("detail", shown.Members{"url": shown.Text})
	shownThoughtSignature = shown.Object("", shown.Members{ // Gemini wants it back with its calls
		"google!": shown.Object("", shown.Members{"thought_signature!": shown.Sealed}),
	})
	shownParts = shown.ByType(map[string]*shown.Value{
		"refusal":   shown.Object("type", shown.Members{"refusal": shown.Text}),
		"image_url": shown.Object("type index", shown.Members{"image_url": shown.TextOr(shownURL)}),
		"file":      shown.Object("type", shown.Members{"file": shown.Object("file_id", shown.Members{"filename": shown.Text, "file_data": shown.Text})}),
		"reference": shown.Object("type", shown.Members{"reference_ids": shown.List(shown.Word)}),
		"tool_reference": shown.Object("type tool", shown.Members{
			"title": shown.Text, "url": shown.Text, "source": shown.Text, "favicon": shown.Text, "description": shown.Text,
		}),
	})
	// shownMessage are the members of a message beside what is read of it.
	shownMessage = shown.Object("", shown.Members{
		"name": shown.Label, "extra_content": shownThoughtSignature,
		"audio":       shown.Object("id expires_at", shown.Members{"data": shown.Sealed, "transcript": shown.Piece}),
		"annotations": shown.List(schema.Annotation),
		"images":      shown.List(shown.Object("type index", shown.Members{"image_url": shownURL})),
	})

	shownFilter = shown.Object("filtered severity detected", shown.Members{
		"citation": shown.Object("license", shown.Members{"URL": shown.Text}),
	})
	// shownChoice are those of a choice of chat completions.
	shownChoice = shown.Object("native_finish_reason", shown.Members{
		"stop_reason": shown.Text, "matched_stop": shown.Text, // the client's own stop words
		"content_filter_results": shown.MapOf(shownFilter), "content_filter_offsets": shown.Counts,
		"error": shown.Fault,
	})
	// envelope is what each frame repeats, shownReply all that is said of the reply as a whole.
	envelope = shown.Object("id object created service_tier system_fingerprint obfuscation", shown.Members{
		"model": shown.Label, "provider": shown.Label,
	})
	shownReply = envelope.With("", shown.Members{
		"usage": shown.Counts, "timings": shown.Counts,
		"x_groq":                shown.Object("id", shown.Members{"usage": shown.Counts}),
		"prompt_filter_results": shown.List(shown.Object("prompt_index", shown.Members{"content_filter_results": shown.MapOf(shownFilter)})),
		"citations":             shown.List(shown.Text),
		"search_results": shown.List(shown.Object("", shown.Members{
			"title": shown.Text, "url": shown.Text, "date": shown.Text, "last_updated": shown.Text, "snippet": shown.Text, "source": shown.Text,
		})),
	})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the reply", Value: shownReply},
		{Of: "each frame", Value: envelope},
		{Of: "a choice", Value: shownChoice},
		{Of: "a message or delta", Value: shownMessage},
		{Of: "an element of content", Value: shownParts},
		{Of: "an element of reasoning_details", Value: message.ShownDetail},
		{Of: "the member extra_content of a call", Value: message.ShownSignature},
	}
}
