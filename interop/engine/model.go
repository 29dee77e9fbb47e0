package engine

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/interop/gguf"
)

// A Model is a model that a server can create.
type Model struct {
	// Name is the model's name in requests.
	Name string
	// Script is what the model can say. Models with equal scripts share a file and
	// a running engine.
	Script gguf.Script
	// Template renders the prompt, in Ollama's language. It ends in the cue of the
	// model's reply to every chat.
	Template string
	// Parameters are Ollama's parameters, such as "num_predict". "num_thread" is 1
	// unless set.
	Parameters map[string]any

	// Pieces are the expected stream events. Text is all of them joined, the raw
	// reply. Thinking and Answer are its two halves, without the tags and the white
	// space around them.
	Pieces                 []string
	Text, Thinking, Answer string
	// DoneReason is "stop", or "length" if the reply is cut off.
	DoneReason string
}

// Models returns all models of this package.
func Models() []Model {
	return []Model{Inline(), Preopened(), Plain(), Cut(), Split()}
}

// turns renders a conversation in the style of many models. A cue follows it.
const turns = "{{ range .Messages }}<|{{ .Role }}|>\n{{ .Content }}<|end|>\n{{ end }}"

// The ends of the prompts, each a cue.
const (
	chatCue    = "<|assistant|>\n"
	openedCue  = "<|assistant|>\n<think>\n"               // as of DeepSeek-R1
	skippedCue = "<|assistant|>\n<think>\n\n</think>\n\n" // as of Qwen3, thinking off
)

const (
	sums      = "Six sevens: 6 × 7 = 42. Check: 42 ÷ 7 = 6, yes."
	sumsFound = "The answer is **42**. 👍"
	capital   = "Paris is the capital of France."
	greeting  = "Okay, the user greets me. I should greet back, briefly."
	hello     = "Hello! How can I help?"
	tokens    = "Is 3 < 5? Yes, it is."
	compared  = "Three is less than five."
)

// Inline thinks in its content: "<think>\n…\n</think>\n\n…".
func Inline() Model {
	m := thinker("sotto-inline")
	m.says(m.Script.Replies[0])
	m.Thinking, m.Answer = sums, sumsFound
	return m
}

// Plain uses the file of [Inline] with a template that ends in an empty thought, so
// the reply is only an answer.
func Plain() Model {
	m := thinker("sotto-plain")
	m.Template = turns + skippedCue
	m.says(m.Script.Replies[1])
	m.Answer = capital
	return m
}

// cutAfter is the number of tokens in [EndCut].
const cutAfter = 12

// Cut is [Inline], cut off within its thought by num_predict.
func Cut() Model {
	m := thinker("sotto-cut")
	m.Parameters = map[string]any{"num_predict": cutAfter}
	m.says(gguf.Reply{Pieces: m.Script.Replies[0].Pieces[:cutAfter]})
	m.Thinking = strings.TrimPrefix(m.Text, "<think>\n")
	m.DoneReason = "length"
	return m
}

// Preopened has a template that opens the block, so that there is no "<think>" in
// the reply: "…\n</think>\n\n…".
func Preopened() Model {
	var c gguf.Cutter
	m := one("sotto-preopened", openedCue, c.Cut(greeting+"\n</think>\n\n"+hello))
	m.Thinking, m.Answer = greeting, hello
	return m
}

// Split has no tokens for its tags: "<", "think", ">" and "</", "th", "ink",
// ">\n\n" are separate events.
func Split() Model {
	var c gguf.Cutter
	opener := c.Use("<", "think", ">", "\n")
	closer := c.Use("</", "th", "ink", ">\n\n")
	thought, answer := c.Cut(tokens+"\n"), c.Cut(compared)
	m := one("sotto-split", chatCue, slices.Concat(opener, thought, closer, answer))
	m.Thinking, m.Answer = tokens, compared
	return m
}

// thinker is a model with two replies. The end of the prompt chooses one.
func thinker(name string) Model {
	var c gguf.Cutter
	return Model{
		Name:     name,
		Template: turns + chatCue,
		Script: gguf.Script{Name: "sotto thinker", Replies: []gguf.Reply{
			{Cue: chatCue, Pieces: c.Cut("<think>\n" + sums + "\n</think>\n\n" + sumsFound)},
			{Cue: skippedCue, Pieces: c.Cut(capital)},
		}},
	}
}

// one is a model with one reply.
func one(name, cue string, pieces []string) Model {
	reply := gguf.Reply{Cue: cue, Pieces: pieces}
	m := Model{
		Name:     name,
		Template: turns + cue,
		Script:   gguf.Script{Name: name, Replies: []gguf.Reply{reply}},
	}
	m.says(reply)
	return m
}

// says sets the expected parts of a finished reply.
func (m *Model) says(r gguf.Reply) {
	m.Pieces, m.Text, m.DoneReason = r.Pieces, r.Text(), "stop"
}
