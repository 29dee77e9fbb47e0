package cohere

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// What the API shows where reasoning is hidden. Log probabilities are left out: they
// hold the ids of tokens, whose text is not known.
var (
	shownFunction = shown.Object("", shown.Members{"name": shown.Text, "arguments": shown.Opaque})
	shownCall     = shown.Object("id type", shown.Members{"function": shownFunction})
	shownCitation = shown.Object("start end type content_index", shown.Members{
		"text": shown.Text,
		"sources": shown.List(shown.ByType(map[string]*shown.Value{
			"tool":     shown.Object("type id", shown.Members{"tool_output": shown.Opaque}),
			"document": shown.Object("type id", shown.Members{"document": shown.Opaque}),
		})),
	})
	shownPart    = shown.ByType(map[string]*shown.Value{"text": shown.Object("type", shown.Members{"text": shown.Text})})
	shownMessage = shown.Object("role", shown.Members{
		"content": shown.List(shownPart), "tool_calls": shown.List(shownCall), "citations": shown.List(shownCitation),
	})
	shownEnd = shown.Object("finish_reason", shown.Members{"usage": shown.Counts, "error": shown.Text})
)

// deltaOf is what is shown of an event of the message.
func deltaOf(message *shown.Value) *shown.Value {
	return shown.Object("type index id", shown.Members{"delta": shown.Object("", shown.Members{"message": message})})
}

// inMessage is a message with one member.
func inMessage(name string, v *shown.Value) *shown.Value {
	return shown.Object("role", shown.Members{name: v})
}

var chatShown = &shown.API{
	Framing: wire.SSE,
	Events: map[string]*shown.Value{
		"message-start":   deltaOf(inMessage("content", shown.List(shownPart))),
		"content-start":   deltaOf(inMessage("content!", shownPart)),
		"content-delta":   deltaOf(inMessage("content!", shown.Object("", shown.Members{"text!": shown.Text}))),
		"content-end":     shown.Object("type index", nil),
		"tool-call-start": deltaOf(inMessage("tool_calls", shownCall)),
		"tool-call-delta": deltaOf(inMessage("tool_calls", shownCall)),
		"tool-call-end":   shown.Object("type index", nil),
		"citation-start":  deltaOf(inMessage("citations", shownCitation)),
		"citation-end":    shown.Object("type index", nil),
		"message-end":     shown.Object("type id", shown.Members{"delta": shownEnd}),
		"error":           shown.Object("type", shown.Members{"message": shown.Text, "error": shown.Fault}),
	},
	Body: shown.Object("id finish_reason", shown.Members{
		"message": shownMessage, "usage": shown.Counts, "error": shown.Fault,
	}),
	Needs: []string{"message"},
}
