package conversations

import "github.com/sotto-llm/sotto/wire/shown"

type shownTree = *shown.Value

// The members that pass by themselves in a reply that is written from events. What is read is not here: texts,
// thoughts, calls, errors.
var (
	shownStart = shown.Object("type created_at conversation_id", nil)
	shownDone  = shown.Object("type created_at", shown.Members{"usage": shown.Counts})
	shownReply = shown.Object("object conversation_id", shown.Members{"usage": shown.Counts})

	// shownOutput is an entry, or an event of one, without what is read of it. What the client sent itself passes.
	shownOutput = func() *shown.Value {
		entry := shown.Object("type object id agent_id created_at completed_at output_index role confirmation_status", shown.Members{"model": shown.Label})
		tool := entry.With("", shown.Members{"name": shown.Label, "arguments": shown.Opaque})
		agent := entry.With("previous_agent_id next_agent_id", shown.Members{"previous_agent_name": shown.Text, "next_agent_name": shown.Text})
		return shown.ByType(map[string]*shown.Value{
			messageOutput: entry, messageEvent: entry, functionCall: entry, callEvent: entry,
			"tool.execution": tool, "tool.execution.started": tool, "tool.execution.delta": tool, "tool.execution.done": tool,
			"agent.handoff": agent, "agent.handoff.started": agent, "agent.handoff.done": agent,
			messageInput: entry.With("prefix", shown.Members{"content": shown.Texts}), resultOfCall: entry.With("tool_call_id", shown.Members{"result": shown.Text}),
		})
	}()

	// shownChunk is a chunk of a message that is no text.
	shownChunk = shown.ByType(map[string]*shown.Value{
		"tool_reference": shown.Object("type url favicon", shown.Members{"tool": shown.Label, "title": shown.Text, "description": shown.Text}),
		"tool_file":      shown.Object("type file_id file_type", shown.Members{"tool": shown.Label, "file_name": shown.Text}),
		"image_url":      shown.Object("type", shown.Members{"image_url": shown.Or(shown.Object("detail", shown.Members{"url": shown.Sealed}), shown.Sealed)}),
		"document_url":   shown.Object("type document_url", shown.Members{"document_name": shown.Text}),
	})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the event conversation.response.started", Value: shownStart},
		{Of: "the event conversation.response.done", Value: shownDone},
		{Of: "a reply", Value: shownReply},
		{Of: "an entry", Value: shownOutput},
		{Of: "a chunk", Value: shownChunk},
	}
}
