package openai

import (
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that the APIs of choices show when reasoning is hidden: those that
// OpenAI documents, and those of other servers that are known to hold no text of
// the model's thinking. Reasoning members and reasoning_details are not here.
var (
	shownURL              = shown.Object("detail", shown.Members{"url": shown.Text})
	shownThoughtSignature = shown.Object("", shown.Members{ // Gemini wants it back with its calls
		"google!": shown.Object("", shown.Members{"thought_signature!": shown.Sealed}),
	})
	shownFunction = shown.Object("index", shown.Members{"name": shown.Text, "arguments": shown.Opaque})
	shownCall     = shown.Object("id type index", shown.Members{
		"function": shownFunction, "extra_content": shownThoughtSignature,
		"custom": shown.Object("", shown.Members{"name": shown.Text, "input": shown.Text}),
	})
	shownParts = shown.ByType(map[string]*shown.Value{
		"text":        shown.Object("type index", shown.Members{"text": shown.Text, "annotations": shown.List(schema.Annotation)}),
		"output_text": shown.Object("type index", shown.Members{"text": shown.Text, "annotations": shown.List(schema.Annotation)}),
		"refusal":     shown.Object("type", shown.Members{"refusal": shown.Text}),
		"image_url":   shown.Object("type index", shown.Members{"image_url": shown.TextOr(shownURL)}),
		"file":        shown.Object("type", shown.Members{"file": shown.Object("file_id", shown.Members{"filename": shown.Text, "file_data": shown.Text})}),
		"reference":   shown.Object("type", shown.Members{"reference_ids": shown.List(shown.Word)}),
		"tool_reference": shown.Object("type tool", shown.Members{
			"title": shown.Text, "url": shown.Text, "source": shown.Text, "favicon": shown.Text, "description": shown.Text,
		}),
	})
	shownMessage = shown.Object("role tool_call_id", shown.Members{
		"content": shown.TextOr(shown.List(shownParts)), "refusal": shown.Text, "name": shown.Text, chatjson.NarrationField: shown.Text,
		"tool_calls": shown.List(shownCall), "function_call": shownFunction, "extra_content": shownThoughtSignature,
		"audio":       shown.Object("id expires_at", shown.Members{"data": shown.Text, "transcript": shown.Text}),
		"annotations": shown.List(schema.Annotation),
		"images":      shown.List(shown.Object("type index", shown.Members{"image_url": shownURL})),
	})

	shownFilter = shown.Object("filtered severity detected", shown.Members{
		"citation": shown.Object("license", shown.Members{"URL": shown.Text}),
	})
	shownChoice = shown.Object("index finish_reason native_finish_reason", shown.Members{
		"stop_reason": shown.Text, "matched_stop": shown.Text, // the client's own stop words
		"content_filter_results": shown.MapOf(shownFilter), "content_filter_offsets": shown.Counts,
		"error": shown.Fault,
	})
	shownRoot = shown.Object("id object created service_tier system_fingerprint obfuscation", shown.Members{
		"model": shown.Text, "provider": shown.Text, "error": shown.Fault,
		"usage": shown.Counts, "timings": shown.Counts,
		"x_groq":                shown.Object("id", shown.Members{"usage": shown.Counts}),
		"prompt_filter_results": shown.List(shown.Object("prompt_index", shown.Members{"content_filter_results": shown.MapOf(shownFilter)})),
		"citations":             shown.List(shown.Text),
		"search_results": shown.List(shown.Object("", shown.Members{
			"title": shown.Text, "url": shown.Text, "date": shown.Text, "last_updated": shown.Text, "snippet": shown.Text, "source": shown.Text,
		})),
	})
)

// choicesOf is a frame or a body whose choices have these members beside those that
// all have.
func choicesOf(members shown.Members) *shown.Value {
	return shownRoot.With("", shown.Members{"choices": shown.List(shownChoice.With("", members))})
}

var chatShown = &shown.API{
	Framing: wire.SSE,
	Frame:   choicesOf(shown.Members{"delta": shownMessage, "logprobs": shown.Tokens("delta.content")}),
	Body:    choicesOf(shown.Members{"message": shownMessage, "logprobs": shown.Tokens("message.content")}),
	Needs:   []string{"choices"},
}

var completionsShown = &shown.API{
	Framing: wire.SSE,
	Frame:   choicesOf(shown.Members{"text": shown.Text, chatjson.NarrationField: shown.Text, "logprobs": shown.Tokens("text")}),
	Body:    choicesOf(shown.Members{"text": shown.Text, chatjson.NarrationField: shown.Text, "logprobs": shown.Tokens("text")}),
	Needs:   []string{"choices"},
}
