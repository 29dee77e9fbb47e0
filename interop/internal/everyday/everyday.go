// Package everyday has the replies of the table in docs/alternatives.md.
package everyday

import (
	"strings"

	"github.com/sotto-llm/sotto"
)

// A Reply is one of which a reader shows the text. SECRET is only in thoughts.
type Reply struct {
	Name  string
	Model string
	Raw   string
	Text  string
	End   sotto.Ending
}

// NobodyKnows is a model that Sotto does not know either: the document explains what
// becomes of its stream.
const NobodyKnows = "nobody-knows-it"

// Replies are those of the table.
var Replies = []Reply{
	{"a tagged block", "qwen3:8b", "<think>\nSECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"the prompt opened the block", "deepseek-r1", "SECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"the same, from a model that nobody knows", NobodyKnows, "SECRET\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"cut inside a tagged block", "qwen3:8b", "<think>\nSECRET, and then", "", sotto.EndCut},
	{"cut inside a block that the prompt opened", "deepseek-r1", "SECRET, and then", "", sotto.EndCut},
	{"no block, from a model whose prompt opens none", "qwen3:8b", "The answer.", "The answer.", sotto.EndStopped},
	{"no block, from a model whose prompt opens one", "deepseek-r1", "The answer.", "The answer.", sotto.EndStopped},
	{"an answer about the tags", "qwen3:8b", "Put it between `<think>` and `</think>`, then go on.", "Put it between `<think>` and `</think>`, then go on.", sotto.EndStopped},
	{"tags in the code of the answer", "qwen3:8b", "<think>SECRET</think>\n```xml\n<think>an example</think>\n```\n", "```xml\n<think>an example</think>\n```", sotto.EndStopped},
	{"a thought about the closing tag", "qwen3:8b", "<think>\nIt ends with `</think>`, SECRET.\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"a block within a block", "qwen3:8b", "<think>\nOne <think>two</think> SECRET.\n</think>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"closed with another tag", "my-agent", "<think>\nSECRET\n</thinking>\n\nThe answer.", "The answer.", sotto.EndStopped},
	{"a second block after some text", "qwen3:8b", "<think>SECRET</think>\nFirst.\n\n<think>SECRET</think>\nSecond.", "First.\n\nSecond.", sotto.EndStopped},
	{"a scratch pad and an output block", "my-agent", "<scratch_pad>\nSECRET\n</scratch_pad>\n<output>The answer.</output>", "The answer.", sotto.EndStopped},
	{"the markers of Mistral", "magistral-small", "[THINK]SECRET[/THINK]The answer.", "The answer.", sotto.EndStopped},
	{"the channels of gpt-oss", "gpt-oss:20b", "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>The answer.<|return|>", "The answer.", sotto.EndStopped},
}

// Deltas cuts a reply as a server does.
func (e Reply) Deltas() (list []string) {
	for rest := e.Raw; rest != ""; {
		n := min(5, len(rest))
		list, rest = append(list, rest[:n]), rest[n:]
	}
	return list
}

// Judge says in a word or two what is wrong with a text, or "yes".
func (e Reply) Judge(text string) string {
	switch same := strings.Join(strings.Fields(text), " "); {
	case strings.Contains(text, "SECRET"):
		return "**leaks**"
	case same == strings.Join(strings.Fields(e.Text), " "):
		return "yes"
	case len(same) < len(e.Text):
		return "**loses text**"
	default:
		return "leaves markup"
	}
}
