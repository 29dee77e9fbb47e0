package probe

import (
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// leakIn describes the reasoning that parts deliver as if it were the answer; "" if
// there is none.
func leakIn(parts []*a2a.Part) string {
	for _, p := range parts {
		if a2aserver.IsThought(p) {
			return "a part that is marked as reasoning: " + leak.Quote(said(p))
		}
	}
	return leakBeside(parts)
}

// leakBeside is leakIn for messages, where parts that are marked as reasoning are
// allowed. Parts are read one by one and joined, as clients show them.
func leakBeside(parts []*a2a.Part) string {
	var all strings.Builder
	for _, p := range parts {
		if p == nil || a2aserver.IsThought(p) {
			continue
		}
		text := said(p)
		if found := leakInText(text); found != "" {
			return found
		}
		all.WriteString(text)
	}
	return leakInText(all.String())
}

// said returns the text of a part, or the strings of its data.
func said(p *a2a.Part) string {
	if p == nil {
		return ""
	}
	switch c := p.Content.(type) {
	case a2a.Text:
		return string(c)
	case a2a.Data:
		var texts []string
		walk(c.Value, func(s string) { texts = append(texts, s) })
		return strings.Join(texts, "\n")
	}
	return ""
}

// walk finds the strings of a JSON value.
func walk(v any, found func(string)) {
	switch v := v.(type) {
	case string:
		found(v)
	case []any:
		for _, e := range v {
			walk(e, found)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], found)
		}
	}
}

// leakInText returns the leak in a text, as a sentence.
func leakInText(text string) string {
	if l, ok := leak.Shipped().Find(text, sotto.EndStopped, leak.Answer); ok {
		return l.String()
	}
	return ""
}
