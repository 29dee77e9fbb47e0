package anthropic

import "github.com/sotto-llm/sotto/wire/shown"

// The members that pass by themselves in a reply that is written from events: those that
// Anthropic documents. What is read is not here: texts, thinking, calls, errors, and why the
// message ended.
var (
	shownCitation = shown.Object("type document_index file_id start_char_index end_char_index start_page_number end_page_number start_block_index end_block_index search_result_index", shown.Members{
		"cited_text": shown.Text, "document_title": shown.Text, "url": shown.Text, "title": shown.Text, "source": shown.Text,
		"encrypted_index": shown.Sealed,
	})
	// shownTexts are those of a text block.
	shownTexts = shown.ByType(map[string]*shown.Value{
		"text": shown.Object("type", shown.Members{"citations": shown.TextOr(shown.List(shownCitation))}),
	})

	shownCaller = shown.Object("type tool_id", nil)
	shownCall   = shown.Object("type", shown.Members{"caller": shownCaller})
	// shownCalls are those of the calls of tools, which a client or a server runs.
	shownCalls = shown.ByType(map[string]*shown.Value{
		"tool_use": shownCall, "server_tool_use": shownCall, "mcp_tool_use": shownCall.With("", shown.Members{"server_name": shown.Text}),
	})

	shownSource = shown.ByType(map[string]*shown.Value{
		"base64": shown.Object("type media_type", shown.Members{"data": shown.Sealed}),
		"text":   shown.Object("type media_type", shown.Members{"data": shown.Text}),
	})
	// shownFile is a file that a tool has made, or a document that it has read.
	shownFile = shown.Object("type file_id", shown.Members{
		"title": shown.Text, "source": shownSource, "citations": shown.Object("enabled", nil),
	})
	// shownOutput is what a tool of the server's returns, or an element of it.
	shownOutput = shown.Object("type error_code file_type retrieved_at return_code is_file_update num_lines start_line total_lines new_lines new_start old_lines old_start", shown.Members{
		"title": shown.Text, "url": shown.Text, "page_age": shown.Text, "text": shown.Text, "stdout": shown.Text, "stderr": shown.Text,
		"error_message": shown.Text, "lines": shown.List(shown.Text),
		"encrypted_content": shown.Sealed, "encrypted_stdout": shown.Sealed,
		"content":         shown.TextOr(shown.OneOrList(shownFile)),
		"tool_references": shown.List(shown.Object("type tool_name", nil)),
	})
	shownResult = shown.Object("type tool_use_id is_error", shown.Members{
		"content": shown.TextOr(shown.OneOrList(shownOutput)), "caller": shownCaller,
	})
	shownCompaction = shown.Object("type", shown.Members{"content": shown.Text, "encrypted_content": shown.Sealed})
	// shownOthers are all other blocks.
	shownOthers = shown.ByType(map[string]*shown.Value{
		"tool_result": shownResult, "mcp_tool_result": shownResult, "tool_search_tool_result": shownResult,
		"web_search_tool_result": shownResult, "web_fetch_tool_result": shownResult, "code_execution_tool_result": shownResult,
		"bash_code_execution_tool_result": shownResult, "text_editor_code_execution_tool_result": shownResult,
		"container_upload": shown.Object("type file_id", nil), "compaction": shownCompaction,
	})
	// shownDeltas are the deltas that are not read.
	shownDeltas = shown.ByType(map[string]*shown.Value{
		"citations_delta":  shown.Object("type", shown.Members{"citation!": shownCitation}),
		"compaction_delta": shownCompaction,
	})

	shownEdits = shown.Object("", shown.Members{"applied_edits": shown.List(shown.Counts)})
	// shownReason is what a message says beside the reason for its end.
	shownReason = shown.Object("", shown.Members{
		"stop_sequence": shown.Text, "stop_details": shown.Object("type category", shown.Members{"explanation": shown.Text}),
		"container": shown.Object("id expires_at", shown.Members{"skills": shown.List(shown.Object("type skill_id version", nil))}),
	})
	// shownReply is what is said of the message as a whole, shownEnd what its end says, and
	// shownStop what the last event does.
	shownReply = shownReason.With("id request_id", shown.Members{"model": shown.Label, "usage": shown.Counts, "context_management": shownEdits})
	shownEnd   = shown.Object("", shown.Members{"delta": shownReason, "usage": shown.Counts, "context_management": shownEdits})
	shownStop  = shown.Object("", shown.Members{"amazon-bedrock-invocationMetrics!": shown.Counts})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the message", Value: shownReply},
		{Of: "the event message_delta", Value: shownEnd},
		{Of: "the event message_stop", Value: shownStop},
		{Of: "a text block", Value: shownTexts},
		{Of: "the block of a call", Value: shownCalls},
		{Of: "another block", Value: shownOthers},
		{Of: "a delta", Value: shownDeltas},
	}
}
