package responses

import (
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, refusals, reasoning, errors and how a response ended.
//
// What a response repeats of its request is not shown: its instructions, its tools and the
// schema of its text. The client has them, and a guard would judge them as the model's.
var (
	shownID       = shown.Object("id", nil)
	shownResponse = shown.Object("id object created_at completed_at background service_tier previous_response_id parallel_tool_calls temperature top_p top_logprobs frequency_penalty presence_penalty max_output_tokens max_tool_calls truncation user safety_identifier prompt_cache_key prompt_cache_retention store", shown.Members{
		"model": shown.Label, "status": shown.Word, "output_text": shown.Blank, "tools": shown.Blank,
		"usage": shown.Counts, "incomplete_details": shown.Object("reason", nil),
		"reasoning":    shown.Object("effort summary generate_summary", nil),
		"text":         shown.Object("verbosity", shown.Members{"format": shown.Object("type strict", shown.Members{"name": shown.Label})}),
		"tool_choice":  shown.Or(shown.Object("type server_label mode", shown.Members{"name": shown.Label}), shown.Word),
		"conversation": shown.Object("id", nil),
		"metadata":     shown.MapOf(shown.Text), // the client's own
		"prompt":       shown.Object("id version", nil),
	})

	shownPart  = shown.Object("", shown.Members{"annotations": shown.List(schema.Annotation)})
	shownItem  = shown.Object("type id status call_id created_by server_label", shown.Members{"name": shown.Text, "namespace": shown.Text})
	shownItems = shown.ByType(itemsShown(map[string]shown.Members{
		"message":               {"role": shown.Word, "phase": shown.Word},
		"reasoning":             {"encrypted_content": shown.Sealed},
		"function_call":         {"arguments": shown.Opaque},
		"custom_tool_call":      {"input": shown.Opaque},
		"tool_search_call":      {"arguments": shown.Opaque, "execution": shown.Word},
		"tool_search_output":    {"tools": shown.Blank, "execution": shown.Word},
		"mcp_call":              {"arguments": shown.Opaque, "output": shown.Text, "error": shown.Fault, "approval_request_id": shown.Word},
		"mcp_list_tools":        {"tools": shown.List(shown.Object("", shown.Members{"name": shown.Text, "description": shown.Text, "input_schema": shown.Blank})), "error": shown.Fault},
		"mcp_approval_request":  {"arguments": shown.Opaque},
		"web_search_call":       {"action": shownSearch},
		"file_search_call":      {"queries": shown.List(shown.Text), "results": shown.List(shownFound)},
		"computer_call":         {"action": shown.Opaque, "actions": shown.Opaque, "pending_safety_checks": shown.List(shownCheck)},
		"code_interpreter_call": {"code": shown.Opaque, "container_id": shown.Word, "outputs": shown.List(shownOutput)},
		"image_generation_call": {"result": shown.Sealed, "revised_prompt": shown.Text, "size": shown.Word, "quality": shown.Word, "background": shown.Word, "output_format": shown.Word, "action": shown.Word},
		"local_shell_call":      {"action": shown.Opaque},
		"shell_call":            {"action": shown.Opaque, "environment": shown.Object("type container_id", nil), "max_output_length": shown.Word},
		"apply_patch_call":      {"operation": shown.Opaque},
		"compaction":            {"encrypted_content!": shown.Sealed},
	}, "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"))

	shownSearch = shown.Object("type", shown.Members{
		"query": shown.Text, "queries": shown.List(shown.Text), "url": shown.Text, "pattern": shown.Text,
		"sources": shown.List(shown.Object("type", shown.Members{"url": shown.Text, "name": shown.Text})),
	})
	shownFound  = shown.Object("file_id score", shown.Members{"filename": shown.Text, "text": shown.Text, "attributes": shown.MapOf(shown.Text)})
	shownCheck  = shown.Object("id", shown.Members{"code": shown.Text, "message": shown.Text})
	shownOutput = shown.Object("type", shown.Members{"logs": shown.Text, "url": shown.Text})
	// shownResult is what a tool gave: a text, a list of parts, or of a shell's outputs.
	shownResult = shown.Object("type file_id detail", shown.Members{
		"text": shown.Text, "image_url": shown.Text, "file_url": shown.Text, "filename": shown.Text, "file_data": shown.Sealed,
		"stdout": shown.Text, "stderr": shown.Text, "outcome": shown.Object("type exit_code", nil),
	})
)

func itemsShown(items map[string]shown.Members, outputs ...string) map[string]*shown.Value {
	all := map[string]*shown.Value{}
	for kind, members := range items {
		all[kind] = shownItem.With("", members)
	}
	result := shown.TextOr(shown.OneOrList(shownResult))
	for _, kind := range outputs {
		all[kind] = shownItem.With("max_output_length", shown.Members{"output": result, "acknowledged_safety_checks": shown.List(shownCheck)})
	}
	return all
}

// shownEvents are the events about an item that pass, without what says where they belong.
var shownEvents = eventsShown()

func eventsShown() map[string]*shown.Value {
	event := shown.Object("content_index", nil)
	arguments := shown.Object("", shown.Members{"arguments": shown.Opaque, "name": shown.Text})
	all := map[string]*shown.Value{
		"response.output_text.annotation.added":        event.With("annotation_index", shown.Members{"annotation!": schema.Annotation}),
		"response.function_call_arguments.done":        arguments,
		"response.mcp_call_arguments.done":             arguments,
		"response.image_generation_call.partial_image": event.With("partial_image_index size quality background output_format", shown.Members{"partial_image_b64": shown.Sealed}),
		"response.custom_tool_call_input.done":         shown.Object("", shown.Members{"input": shown.Opaque}),
		"response.code_interpreter_call_code.done":     shown.Object("", shown.Members{"code": shown.Opaque}),
	}
	for _, name := range []string{"function_call_arguments", "custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code"} {
		all["response."+name+".delta"] = shown.Object("obfuscation", shown.Members{"delta!": shown.Opaque})
	}
	for _, call := range []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools"} {
		for _, state := range []string{"in_progress", "searching", "interpreting", "generating", "completed", "failed"} {
			all["response."+call+"."+state] = event
		}
	}
	return all
}

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the response", Value: shownResponse},
		{Of: "the response, before it is read", Value: shownID},
		{Of: "an item", Value: shownItems},
		{Of: "a part of a message", Value: shownPart},
		{Of: "an event", Value: shown.ByType(shownEvents)},
	}
}
