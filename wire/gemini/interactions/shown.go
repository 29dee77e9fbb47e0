package interactions

import (
	"maps"

	"github.com/sotto-llm/sotto/wire/shown"
)

type shownTree = *shown.Value

// The members that pass by themselves in a reply that is written from events. What is read is not here: texts,
// summaries, signatures, calls, errors, and the status.
var (
	shownInteraction = shown.Object("object agent created updated service_tier environment_id previous_interaction_id", shown.Members{
		"continuation_token": shown.Sealed, "usage": shown.Counts,
	})
	shownStatus = shown.Object("event_type event_id interaction_id status", shown.Members{"continuation_token": shown.Sealed, "usage": shown.Counts})

	shownCitation = shown.ByType(map[string]*shown.Value{
		"url_citation":   shown.Object("type start_index end_index url", shown.Members{"title": shown.Text}),
		"file_citation":  shown.Object("type start_index end_index document_uri media_id page_number", shown.Members{"file_name": shown.Text}),
		"place_citation": shown.Object("type start_index end_index place_id url", shown.Members{"name": shown.Text}),
	})
	shownMedia   = shown.Object("type mime_type uri resolution", shown.Members{"data": shown.Sealed})
	shownContent = shown.Members{
		"image": shownMedia, "audio": shownMedia, "document": shownMedia, "video": shownMedia,
	}

	shownResult = shown.TextOr(shown.List(shown.Object("type url status", shown.Members{"search_suggestions": shown.Text, "text": shown.Text})))
	// shownStep is a step of one of the provider's tools. Their arguments and results are those of searches and programs.
	shownStep = shown.ByType(toolSteps(shown.Members{
		"arguments": shown.Opaque, "result": shownResult, "call_id": shown.Word, "id": shown.Word, "signature": shown.Sealed,
		"server_name": shown.Label, "name": shown.Label, "is_error": shown.Word, "search_type": shown.Word,
	}))
	// shownPiece is a piece of a step: a citation, a picture, or a piece of what a tool of the provider's did.
	shownPiece = shown.ByType(pieces())
)

// toolKinds are the provider's tools, whose calls and results are steps.
var toolKinds = []string{"code_execution", "url_context", "google_search", "google_maps", "file_search", "mcp_server_tool", "retrieval", "processing"}

func toolSteps(members shown.Members) map[string]*shown.Value {
	all := map[string]*shown.Value{}
	for _, kind := range toolKinds {
		all[kind+"_call"] = shown.Object("type", members)
		all[kind+"_result"] = shown.Object("type", members)
	}
	all["function_result"] = shown.Object("type", members)
	return all
}

func pieces() map[string]*shown.Value {
	all := toolSteps(shown.Members{"arguments": shown.Opaque, "result": shownResult, "signature": shown.Sealed, "is_error": shown.Word})
	maps.Copy(all, shownContent)
	all["text_annotation_delta"] = shown.Object("type", shown.Members{"annotations": shown.List(shownCitation)})
	return all
}

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "an interaction", Value: shownInteraction},
		{Of: "the event interaction.status_update", Value: shownStatus},
		{Of: "a step", Value: shownStep},
		{Of: "a piece of a step", Value: shownPiece},
	}
}
