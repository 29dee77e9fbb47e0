package agent

import "github.com/sotto-llm/sotto/record"

// maxCycleThoughts bounds the thoughts in the end of a cycle, so that its line stays below
// the longest that a record takes.
const maxCycleThoughts = 16 << 20

// thinking names the thoughts of a cycle, which may come from members of any name and from
// texts.
const thinking = "thinking"

// CycleThoughts returns the thoughts of a cycle as its end has them, for programs that record
// it themselves. Those that exceed 16 MiB together are left out.
func CycleThoughts(list []string) []record.Thought {
	var out []record.Thought
	room := maxCycleThoughts
	for _, text := range list {
		if room -= len(text); room < 0 {
			break
		}
		out = append(out, record.Thought{Field: thinking, Text: record.Say(text)})
	}
	return out
}
