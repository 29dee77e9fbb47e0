package responses

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/shown"
)

// The members that the responses API shows when reasoning is hidden. An encrypted
// reasoning item stays, without its texts, so that the client can return it.
var (
	shownOutputText = shown.Object("type", shown.Members{
		"text": shown.Text, "annotations": shown.List(schema.Annotation), "logprobs": shown.Tokens("text"),
	})
	shownOutputParts = shown.ByType(map[string]*shown.Value{
		"output_text": shownOutputText,
		"refusal":     shown.Object("type", shown.Members{"refusal": shown.Text}),
	})
	shownItem  = shown.Object("type id status call_id", shown.Members{"name": shown.Text, "namespace": shown.Text, "server_label": shown.Text})
	shownItems = shown.ByType(itemsShown(map[string]shown.Members{
		"message":               {"role": shown.Word, "phase": shown.Word, "content": shown.List(shownOutputParts)},
		"reasoning":             {"summary": shown.Blank, "content": shown.Blank, "encrypted_content": shown.Sealed},
		"function_call":         {"arguments": shown.Opaque},
		"custom_tool_call":      {"input": shown.Text},
		"tool_search_call":      {"arguments": shown.Opaque, "execution": shown.Word},
		"tool_search_output":    {"tools": shown.Opaque, "execution": shown.Word},
		"mcp_call":              {"arguments": shown.Opaque, "output": shown.Opaque, "error": shown.Opaque, "approval_request_id": shown.Word},
		"mcp_list_tools":        {"tools": shown.Opaque, "error": shown.Opaque},
		"mcp_approval_request":  {"arguments": shown.Opaque},
		"web_search_call":       {"action": shown.Opaque},
		"file_search_call":      {"queries": shown.List(shown.Text), "results": shown.Opaque},
		"computer_call":         {"action": shown.Opaque, "actions": shown.Opaque, "pending_safety_checks": shown.Opaque},
		"code_interpreter_call": {"code": shown.Text, "container_id": shown.Word, "outputs": shown.Opaque},
		"image_generation_call": {"result": shown.Text, "revised_prompt": shown.Text, "size": shown.Word, "quality": shown.Word, "background": shown.Word, "output_format": shown.Word, "action": shown.Word},
		"local_shell_call":      {"action": shown.Opaque},
		"shell_call":            {"action": shown.Opaque, "environment": shown.Opaque, "max_output_length": shown.Word},
		"apply_patch_call":      {"operation": shown.Opaque},
		"compaction":            {"encrypted_content!": shown.Sealed},
	}, "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"))

	shownResponse = shown.Object("id object created_at completed_at status background service_tier previous_response_id parallel_tool_calls temperature top_p top_logprobs frequency_penalty presence_penalty max_output_tokens max_tool_calls truncation user safety_identifier prompt_cache_key prompt_cache_retention store", shown.Members{
		"model": shown.Text, "instructions": shown.Text, "output_text": shown.Text, "output": shown.List(shownItems),
		"usage": shown.Counts, "error": shown.Fault, "incomplete_details": shown.Object("reason", nil),
		"reasoning":    shown.Object("effort summary generate_summary", nil),
		"text":         shown.Object("verbosity", shown.Members{"format": shown.Object("type name strict", shown.Members{"schema": shown.Opaque, "description": shown.Text})}),
		"tools":        shown.List(shown.Object("type strict server_label", shown.Members{"name": shown.Text, "description": shown.Text, "parameters": shown.Opaque})),
		"tool_choice":  shown.TextOr(shown.Object("type server_label mode", shown.Members{"name": shown.Text})),
		"conversation": shown.Object("id", nil),
		"metadata":     shown.MapOf(shown.Text), // the client's own
		"prompt":       shown.Object("id version", shown.Members{"variables": shown.Opaque}),
	})
	shownEvent = shown.Object("type sequence_number item_id output_index content_index summary_index obfuscation", nil)
)

func itemsShown(items map[string]shown.Members, outputs ...string) map[string]*shown.Value {
	all := map[string]*shown.Value{}
	for kind, members := range items {
		all[kind] = shownItem.With("", members)
	}
	for _, kind := range outputs {
		all[kind] = shownItem.With("max_output_length", shown.Members{"output": shown.Opaque, "acknowledged_safety_checks": shown.Opaque})
	}
	return all
}

var apiShown = &shown.API{
	Framing: wire.SSE,
	Events:  eventsShown(),
	Body:    shownResponse,
	Needs:   []string{"output"},
}

func eventsShown() map[string]*shown.Value {
	all := map[string]*shown.Value{
		"error":                                        shownEvent.With("code param status", shown.Members{"message": shown.Text, "error": shown.Fault}),
		"keepalive":                                    shownEvent,
		"response.output_text.annotation.added":        shownEvent.With("annotation_index", shown.Members{"annotation!": schema.Annotation}),
		"response.function_call_arguments.done":        shownEvent.With("", shown.Members{"arguments": shown.Opaque, "name": shown.Text}),
		"response.mcp_call_arguments.done":             shownEvent.With("", shown.Members{"arguments": shown.Opaque, "name": shown.Text}),
		"response.image_generation_call.partial_image": shownEvent.With("partial_image_index size quality background output_format", shown.Members{"partial_image_b64": shown.Text}),
		"response.output_text.delta":                   shownEvent.With("", shown.Members{"delta!": shown.Text, "logprobs": shown.Tokens("delta")}),
		"response.output_text.done":                    shownEvent.With("", shown.Members{"text!": shown.Text, "logprobs": shown.Tokens("text")}),
	}
	add := func(value *shown.Value, names ...string) {
		for _, name := range names {
			all["response."+name] = value
		}
	}
	add(shownEvent.With("", shown.Members{"response!": shownResponse}), "completed", "incomplete", "failed", "cancelled")
	// Nobody has read what an output says that comes before the end.
	begun := shownResponse.With("", shown.Members{"output": shown.Blank, "output_text": shown.Blank})
	add(shownEvent.With("", shown.Members{"response!": begun}), "created", "in_progress", "queued")
	add(shownEvent.With("", shown.Members{"item!": shownItems}), "output_item.added", "output_item.done")
	add(shownEvent.With("", shown.Members{"part!": shownOutputParts}), "content_part.added", "content_part.done")
	add(shownEvent.With("", shown.Members{"delta!": shown.Text}),
		"refusal.delta", "function_call_arguments.delta", "custom_tool_call_input.delta", "mcp_call_arguments.delta",
		"code_interpreter_call_code.delta", "audio.delta", "audio.transcript.delta")
	add(shownEvent.With("", shown.Members{"refusal": shown.Text, "input": shown.Text, "code": shown.Text}),
		"refusal.done", "custom_tool_call_input.done", "code_interpreter_call_code.done", "audio.done", "audio.transcript.done")
	for _, call := range []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools"} {
		for _, state := range []string{"in_progress", "searching", "interpreting", "generating", "completed", "failed"} {
			add(shownEvent, call+"."+state)
		}
	}
	return all
}
