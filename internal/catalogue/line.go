package catalogue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/jsonpath"
)

// The members of a JSON line that say how to read its reply, in the order of
// LinePaths. Of the members from memberReasons on, each is the reason that an API
// gives for the end of a reply.
const (
	memberDialect = iota
	memberStart
	memberEnd
	memberReasons
)

var lineMembers = []string{
	memberDialect: "dialect", memberStart: "start", memberEnd: "end",
	memberReasons: "finish_reason", "stop_reason", "done_reason", "choices.0.finish_reason",
}

// LinePaths returns the paths of the members of a JSON line that ReadLine reads.
func LinePaths() [][]jsonpath.Step {
	paths := make([][]jsonpath.Step, len(lineMembers))
	for i, name := range lineMembers {
		paths[i], _ = jsonpath.Parse(name)
	}
	return paths
}

// ReadLine changes m to what a line says about its own reply. A finder has found the
// LinePaths from the path first on. The member end takes precedence over the reason
// of an API.
func (c *Catalogue) ReadLine(f *jsonpath.Finder, first int, m *Manner) error {
	var own [memberReasons]string
	for i := range own {
		text, err := f.Text(first+i, lineMembers[i])
		if err != nil {
			return err
		}
		if text != nil {
			own[i] = *text
		}
	}
	if name := own[memberDialect]; name != "" {
		grammar, err := c.Named(name)
		if err != nil {
			return err
		}
		m.Grammar, m.Name = grammar, name
		m.Start = cmp.Or(OwnStart(grammar), m.Start)
	}
	if own[memberStart] != "" {
		m.Start = sotto.Start(own[memberStart])
		if _, err := m.Grammar.NewSplitter(sotto.Options{Start: m.Start}); err != nil {
			return err
		}
	}
	if own[memberEnd] != "" {
		return m.End.UnmarshalText([]byte(own[memberEnd]))
	}
	for i := memberReasons; i < len(lineMembers); i++ {
		// A log may use the name for something else: what is not a text says nothing.
		if reason, err := f.Text(first+i, lineMembers[i]); err == nil && reason != nil {
			m.End = cmp.Or(endFor(*reason), m.End)
		}
	}
	return nil
}

// The reasons by which the APIs of OpenAI, Anthropic, Ollama, Google and Cohere, and
// the servers that imitate them, say how a reply ended.
var (
	stopReasons = []string{"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_use", "tool_calls", "function_call", "tool_call", "complete", "completed"}
	cutReasons  = []string{"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "pause_turn"}
	failReasons = []string{"content_filter", "refusal", "safety", "recitation", "error", "abort", "aborted", "cancelled", "canceled"}
)

// endFor returns the end that a reason stands for.
func endFor(reason string) sotto.End {
	reason = strings.ToLower(reason)
	switch {
	case slices.Contains(stopReasons, reason):
		return sotto.EndStopped
	case slices.Contains(cutReasons, reason):
		return sotto.EndCut
	case slices.Contains(failReasons, reason):
		return sotto.EndAborted
	}
	return sotto.EndUnknown
}
