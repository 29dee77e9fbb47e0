package scripted

import "strings"

// signs reports whether a model signs its thoughts, and requires them back.
func signs(m *Model) bool { return m.Wire == "litellm" }

// anthropicHistory checks the thoughts that a request returns. They must be the
// model's own and unchanged, and in a tool loop they must be present. It returns
// nil, or the refusal in Anthropic's words.
func anthropicHistory(m *Model, q *messagesRequest) *fault {
	if !signs(m) {
		return nil
	}
	for i, message := range q.Messages {
		for j, b := range message.Content {
			if f := checkThought(m, b, i, j); f != nil {
				return f
			}
		}
	}
	n := len(q.Messages)
	if q.off() || n < 2 || !q.Messages[n-1].Content.has("tool_result") {
		return nil
	}
	called := q.Messages[n-2].Content
	if q.Messages[n-2].Role != "assistant" || len(called) == 0 {
		return nil
	}
	if kind := called[0].Type; kind != "thinking" && kind != "redacted_thinking" {
		return badRequest("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking", n-2, kind)
	}
	return nil
}

// checkThought checks block j of message i, if it is a thought.
func checkThought(m *Model, b anthropicContent, i, j int) *fault {
	switch {
	case b.Type == "redacted_thinking" && b.Data != sign(m.Name, "redacted"):
		return badRequest("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, j)
	case b.Type != "thinking":
		return nil
	case b.Signature == nil || *b.Signature == "":
		return badRequest("messages.%d.content.%d.thinking.signature: Field required", i, j)
	case *b.Signature == sign(m.Name, b.Thinking):
		return nil
	}
	for _, r := range m.replies() {
		if *b.Signature == sign(m.Name, strings.Join(r.Thought, "")) {
			return badRequest("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", i, j)
		}
	}
	return badRequest("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
}
