package a2aserver

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The members of metadata that this package writes and reads.
const (
	// ThoughtKey marks a part that holds reasoning. Other agents use the same.
	ThoughtKey = "adk_thought"
	// ChannelKey says what a part of a status update holds: narration, tool,
	// reasoning.
	ChannelKey = "sotto_channel"
	// OutcomeKey, on the last status update and the task, holds an [Ending].
	OutcomeKey = "sotto_outcome"
	// DiagnosticsKey, beside it, lists the remarks of the reading of the reply.
	DiagnosticsKey = "sotto_diagnostics"
	// UsageKey, on the last status update, the task and the artifact, says what the task took:
	// a [record.Spent].
	UsageKey = "sotto_usage"
	// LimitsKey, on a message of an agent, says what the task may take from then on: tokens, ms,
	// and cost in a currency. It can only lower the limits that the task has anyway.
	LimitsKey = "sotto_limits"
	// ProgressKey marks a message that only says how the work goes.
	ProgressKey = "sotto_progress"
	// ConsentKey marks a question that asks a person for consent to a call. A model
	// that calls this agent as a tool cannot answer it. The message has a part of the type
	// [QuestionType].
	ConsentKey = "sotto_consent"
	// AgentKey marks a message that an agent wrote, and not a person: its text is no
	// answer to a question for a person.
	AgentKey = "sotto_agent"
)

// IsThought reports whether a part is marked as reasoning, by this server or by
// others.
func IsThought(p *a2a.Part) bool {
	if p == nil {
		return false
	}
	for _, key := range []string{ThoughtKey, "thought"} {
		switch v := p.Metadata[key].(type) {
		case bool:
			if v {
				return true
			}
		case string:
			if strings.EqualFold(v, "true") {
				return true
			}
		}
	}
	return p.Metadata[ChannelKey] == "reasoning"
}

// VisibleText returns the text of parts, a line for each, without those that are marked
// as reasoning.
func VisibleText(parts []*a2a.Part) string { return strings.Join(unmarkedTexts(parts), "\n") }

// unmarkedTexts returns the texts of the parts that are not marked as reasoning.
func unmarkedTexts(parts []*a2a.Part) []string {
	var texts []string
	for _, p := range parts {
		if p != nil && !IsThought(p) && p.Text() != "" {
			texts = append(texts, p.Text())
		}
	}
	return texts
}
