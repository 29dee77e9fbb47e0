package otlp

import (
	"cmp"
	"encoding/json"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// The messages of the semantic conventions: gen-ai-input-messages.json and
// gen-ai-output-messages.json, version 1.41.0.

// A Message is a request or an answer, in parts.
type Message struct {
	Role   string `json:"role"`
	Parts  []Part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"` // of output
}

// A Part is a text, a thought, or the call or result of a tool.
type Part struct {
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

// InputMessages are the messages of a request.
func InputMessages(list []record.Message) []Message {
	var out []Message
	for _, m := range list {
		parts := thoughtParts(m.Reasoning)
		switch {
		case m.Text.Text == "" && m.CallID == "":
		case m.Role == "tool" || m.CallID != "":
			parts = append(parts, Part{Type: "tool_call_response", ID: m.CallID, Response: string(m.Text.Text)})
		default:
			parts = append(parts, Part{Type: "text", Content: string(m.Text.Text)})
		}
		out = append(out, Message{Role: m.Role, Parts: callParts(parts, m.ToolCalls)})
	}
	return out
}

// OutputMessages are the choices of a reply.
func OutputMessages(list []record.Reply) []Message {
	var out []Message
	for i := range list {
		r := &list[i]
		parts := thoughtParts(r.Reasoning)
		if r.Refusal.Text != "" {
			parts = append(parts, Part{Type: "text", Content: string(r.Refusal.Text)})
		}
		text := eventtext.Text{Content: r.Raw, Reply: &record.Reply{Segments: eventtext.SegmentsOf(r)}}
		for _, s := range text.Stretches() {
			if kind := partTypes[s.Channel]; kind != "" && s.Text != "" {
				parts = appendPart(parts, kind, s.Text)
			}
		}
		out = append(out, Message{Role: "assistant", Parts: callParts(parts, r.ToolCalls), Finish: finishReason(r)})
	}
	return out
}

// appendPart appends text. Consecutive text of the same type is one part.
func appendPart(parts []Part, kind, text string) []Part {
	if n := len(parts); n > 0 && parts[n-1].Type == kind {
		parts[n-1].Content += text
		return parts
	}
	return append(parts, Part{Type: kind, Content: text})
}

// thoughtParts never returns nil: a message always has a list of parts, even an
// empty one.
func thoughtParts(list []record.Thought) []Part {
	parts := []Part{}
	for _, t := range list {
		if t.Text.Text != "" {
			parts = append(parts, Part{Type: "reasoning", Content: string(t.Text.Text)})
		}
	}
	return parts
}

func callParts(parts []Part, calls []record.Call) []Part {
	for _, c := range calls {
		p := Part{Type: "tool_call", ID: c.ID, Name: c.Name}
		if text := string(c.Arguments.Text); json.Valid([]byte(text)) {
			p.Arguments = json.RawMessage(text)
		} else if quoted, err := CompactJSON(text); err == nil {
			p.Arguments = json.RawMessage(quoted)
		}
		parts = append(parts, p)
	}
	return parts
}

func finishReason(r *record.Reply) string { return FinishReason(r.End, len(r.ToolCalls) > 0) }

// FinishReason returns the end of a reply in the conventions' terms.
func FinishReason(end sotto.Ending, calls bool) string {
	switch {
	case end == sotto.EndStopped && calls:
		return "tool_call"
	case end == sotto.EndStopped:
		return "stop"
	case end == sotto.EndCut:
		return "length"
	case end == sotto.EndAborted:
		return "error"
	}
	return cmp.Or(end.String(), "unknown")
}
