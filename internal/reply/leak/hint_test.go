package leak

import "testing"

// TestHint: what may be a thought by its wording, and ordinary beginnings of answers that are
// not.
func TestHint(t *testing.T) {
	for _, text := range []string{
		"Here's my thinking: the user wants a sum.", "Here is the thought process:\n1. Add.", "**Reasoning:** two and two", "### Thinking\n\nFirst, add.", "My chain of thought: a",
		"Thought: I should look it up.", "Okay, the user is asking for a sum.", "The user wants a poem.", "Hmm, the user’s question is odd.", "思考过程：先相加。", "好的，用户想要一首诗。",
	} {
		if Hint(text) == "" {
			t.Errorf("no hint: %q", text)
		}
	}
	for _, text := range []string{
		"", "Four.", "Thinking about it is free: do it.", "My thoughts on the film are mixed.", "The user guide is here.", "The users want sums.", "Here's my answer: four.",
		"Reasoning is hard.", "I think: four.", "A thought: four.", "Set the user wants flag.", "用户手册在这里。", "我的想法是这样的。", "Thoughtful: a word.",
	} {
		if got := Hint(text); got != "" {
			t.Errorf("a hint: %q", text)
		}
	}
}
