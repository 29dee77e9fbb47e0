package anthropic

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// What the API shows where reasoning is hidden. A signed thinking block stays
// without its text, for the client to return.
var (
	shownCitation = shown.Object("type document_index file_id start_char_index end_char_index start_page_number end_page_number start_block_index end_block_index search_result_index", shown.Members{
		"cited_text": shown.Text, "document_title": shown.Text, "url": shown.Text, "title": shown.Text, "source": shown.Text,
		"encrypted_index": shown.Sealed,
	})
	shownUse    = shown.Object("type id", shown.Members{"name": shown.Text, "server_name": shown.Text, "input": shown.Opaque, "caller": shown.Object("type tool_id", nil)})
	shownResult = shown.Object("type tool_use_id is_error", shown.Members{"content": shown.Opaque})

	shownBlocks = shown.ByType(map[string]*shown.Value{
		"text":              shown.Object("type", shown.Members{"text": shown.Text, "citations": shown.TextOr(shown.List(shownCitation))}),
		"thinking":          shown.Object("type", shown.Members{"thinking": shown.Blank, "signature": shown.Sealed}),
		"redacted_thinking": shown.Object("type", shown.Members{"data!": shown.Sealed}),
		"tool_use":          shownUse,
		"server_tool_use":   shownUse,
		"mcp_tool_use":      shownUse,
		"tool_result":       shownResult, "mcp_tool_result": shownResult, "tool_search_tool_result": shownResult,
		"web_search_tool_result": shownResult, "web_fetch_tool_result": shownResult, "code_execution_tool_result": shownResult,
		"bash_code_execution_tool_result": shownResult, "text_editor_code_execution_tool_result": shownResult,
		"container_upload": shown.Object("type file_id", nil),
	})
	shownDeltas = shown.ByType(map[string]*shown.Value{
		"text_delta":       shown.Object("type", shown.Members{"text!": shown.Text}),
		"input_json_delta": shown.Object("type", shown.Members{"partial_json!": shown.Text}),
		"signature_delta":  shown.Object("type", shown.Members{"signature!": shown.Sealed}),
		"citations_delta":  shown.Object("type", shown.Members{"citation!": shownCitation}),
	})
	shownEnd = shown.Object("stop_reason", shown.Members{
		"stop_sequence": shown.Text, "container": shown.Object("id expires_at", nil),
		"stop_details": shown.Object("type category", shown.Members{"explanation": shown.Text}),
	})
	shownEdits = shown.Object("", shown.Members{"applied_edits": shown.List(shown.Counts)})
	shownBody  = shownEnd.With("id type role request_id", shown.Members{
		"model": shown.Text, "content": shown.List(shownBlocks), "usage": shown.Counts, "context_management": shownEdits,
		"error": shown.Fault,
	})
)

var messagesShown = &shown.API{
	Framing: wire.SSE,
	Events: map[string]*shown.Value{
		"message_start":       shown.Object("type", shown.Members{"message!": shownBody.With("", shown.Members{"content": shown.Blank})}),
		"content_block_start": shown.Object("type index", shown.Members{"content_block!": shownBlocks}),
		"content_block_delta": shown.Object("type index", shown.Members{"delta!": shownDeltas}),
		"content_block_stop":  shown.Object("type index", nil),
		"message_delta":       shown.Object("type", shown.Members{"delta!": shownEnd, "usage": shown.Counts, "context_management": shownEdits}),
		"message_stop":        shown.Object("type", shown.Members{"amazon-bedrock-invocationMetrics": shown.Counts}),
		"ping":                shown.Object("type", nil),
		"error":               shown.Object("type request_id", shown.Members{"error!": shown.Fault}),
	},
	Body:  shownBody,
	Needs: []string{"content"},
}
