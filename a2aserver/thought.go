package a2aserver

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The members of metadata that this package writes and reads.
const (
	// ThoughtKey marks a part that holds reasoning. Other agents use the same.
	ThoughtKey = "adk_thought"
	// ChannelKey says what a part of a status update is: narration, tool,
	// reasoning.
	ChannelKey = "sotto_channel"
	// OutcomeKey, on the last status update and the task, holds an [Ending].
	OutcomeKey = "sotto_outcome"
	// DiagnosticsKey, beside it, lists what the reading of the reply remarked.
	DiagnosticsKey = "sotto_diagnostics"
	// ProgressKey marks a message that only says how the work goes.
	ProgressKey = "sotto_progress"
)

// IsThought reports whether a part is marked as reasoning, by this server or by
// others.
func IsThought(p *a2a.Part) bool {
	if p == nil {
		return false
	}
	for _, key := range []string{ThoughtKey, "thought"} {
		switch v := member(p.Metadata, key).(type) {
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
	return member(p.Metadata, ChannelKey) == "reasoning"
}

// member looks a member up as it was written, and as the REST binding of
// protocol 0.3 rewrites names: adk_thought is adkThought there.
func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return m[strings.Join(words, "")]
}

// VisibleText returns the text of parts, those left out that are marked as
// reasoning.
func VisibleText(parts []*a2a.Part) string {
	var texts []string
	for _, p := range parts {
		if p != nil && !IsThought(p) && p.Text() != "" {
			texts = append(texts, p.Text())
		}
	}
	return strings.Join(texts, "\n")
}
