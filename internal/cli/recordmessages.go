package cli

import (
	"cmp"
	"encoding/json"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// The messages of the semantic conventions: gen-ai-input-messages.json and
// gen-ai-output-messages.json, version 1.41.0.

type genAIMessage struct {
	Role   string      `json:"role"`
	Parts  []genAIPart `json:"parts"`
	Finish string      `json:"finish_reason,omitempty"` // of output
}

type genAIPart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// partTypes are the types of parts by channel. Those that the conventions do not
// name are generic parts.
var partTypes = map[sotto.Channel]string{
	sotto.ChannelText: "text", sotto.ChannelTool: "text", sotto.ChannelReasoning: "reasoning", sotto.ChannelNarration: "sotto.narration", sotto.ChannelAside: "sotto.aside",
}

func inputMessages(list []record.Message) []genAIMessage {
	var out []genAIMessage
	for _, m := range list {
		parts := thoughtParts(m.Reasoning)
		switch {
		case m.Text.Text == "" && m.CallID == "":
		case m.Role == "tool" || m.CallID != "":
			parts = append(parts, genAIPart{Type: "tool_call_response", ID: m.CallID, Response: string(m.Text.Text)})
		default:
			parts = append(parts, genAIPart{Type: "text", Content: string(m.Text.Text)})
		}
		out = append(out, genAIMessage{Role: m.Role, Parts: callParts(parts, m.ToolCalls)})
	}
	return out
}

func outputMessages(list []record.Reply) []genAIMessage {
	var out []genAIMessage
	for i := range list {
		r := &list[i]
		parts := thoughtParts(r.Reasoning)
		text := eventText{content: r.Raw, reply: &record.Reply{Segments: segmentsOf(r)}}
		for _, s := range text.stretches() {
			if kind := partTypes[s.channel]; kind != "" && s.Text != "" {
				parts = appendPart(parts, kind, s.Text)
			}
		}
		out = append(out, genAIMessage{Role: "assistant", Parts: callParts(parts, r.ToolCalls), Finish: finishReason(r)})
	}
	return out
}

// appendPart appends text; what goes on in the same type is one part.
func appendPart(parts []genAIPart, kind, text string) []genAIPart {
	if n := len(parts); n > 0 && parts[n-1].Type == kind {
		parts[n-1].Content += text
		return parts
	}
	return append(parts, genAIPart{Type: kind, Content: text})
}

// thoughtParts are never nil: a message has parts, if none.
func thoughtParts(list []record.Thought) []genAIPart {
	parts := []genAIPart{}
	for _, t := range list {
		if t.Text.Text != "" {
			parts = append(parts, genAIPart{Type: "reasoning", Content: string(t.Text.Text)})
		}
	}
	return parts
}

func callParts(parts []genAIPart, calls []record.Call) []genAIPart {
	for _, c := range calls {
		p := genAIPart{Type: "tool_call", ID: c.ID, Name: c.Name}
		if text := string(c.Arguments.Text); json.Valid([]byte(text)) {
			p.Arguments = json.RawMessage(text)
		} else if quoted, err := compactJSON(text); err == nil {
			p.Arguments = json.RawMessage(quoted)
		}
		parts = append(parts, p)
	}
	return parts
}

// finishReason names a reply's end as the conventions do.
func finishReason(r *record.Reply) string {
	switch {
	case r.End == sotto.EndStopped && len(r.ToolCalls) > 0:
		return "tool_call"
	case r.End == sotto.EndStopped:
		return "stop"
	case r.End == sotto.EndCut:
		return "length"
	case r.End == sotto.EndAborted:
		return "error"
	}
	return cmp.Or(r.End.String(), "unknown")
}
