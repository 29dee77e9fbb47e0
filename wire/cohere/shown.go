package cohere

import "github.com/sotto-llm/sotto/wire/shown"

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, reasoning, calls and errors. Log probabilities are left out: they hold
// the ids of tokens, whose text is not known.
var (
	shownCitation = shown.Object("start end type", shown.Members{
		"text": shown.Text,
		"sources": shown.List(shown.ByType(map[string]*shown.Value{
			"tool":     shown.Object("type id", shown.Members{"tool_output": shown.Texts}),
			"document": shown.Object("type id", shown.Members{"document": shown.Texts}),
		})),
	})
	// shownStart is the message as its start has it: with members that are still empty.
	shownStart = shown.Object("role", shown.Members{
		"content": shown.Blank, plan: shown.Blank, "tool_calls": shown.Blank, "citations": shown.Blank,
	})
	shownUsage = shown.Members{"usage": shown.Counts}
	shownEnd   = shown.Object("id", shown.Members{"delta": shown.Object("", shownUsage)})
	shownBody  = shown.Object("", shownUsage)
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the event message-start", Value: shownStart},
		{Of: "the event message-end", Value: shownEnd},
		{Of: "a whole reply", Value: shownBody},
		{Of: "a citation", Value: shownCitation},
	}
}
