package probe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
)

// leakIn describes the reasoning that parts deliver as if it were the answer; "" if
// there is none.
func leakIn(parts []*a2a.Part) string {
	for _, p := range parts {
		if a2aserver.IsThought(p) {
			return "a part that is marked as reasoning: " + quote(said(p))
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

// leakInText reads a text as a reply in every dialect. A tag that is quoted or in
// code is not a leak.
func leakInText(text string) string {
	if text == "" {
		return ""
	}
	for i, g := range grammars() {
		start := sotto.StartOutside
		if i == 0 {
			start = sotto.StartAuto // a close alone is the end of reasoning that leaked
		}
		r, err := g.Parse(text, start, sotto.EndUnknown)
		if err != nil {
			continue
		}
		for _, thought := range r.Reasoning() {
			return fmt.Sprintf("reasoning (dialect %s): %s", g.Dialect().Name, quote(thought))
		}
		if r.Counts[sotto.CodeOrphanClose] == 0 {
			continue
		}
		found := "the end of a reasoning block whose beginning is missing"
		for _, d := range r.Diagnostics { // the first of them
			if d.Code == sotto.CodeOrphanClose {
				return found + ": " + quote(text[max(0, d.Offset-40):])
			}
		}
		return found
	}
	return ""
}

// grammars are those of all dialects, the default one first.
var grammars = sync.OnceValue(func() []*sotto.Grammar {
	list := []*sotto.Grammar{sotto.Default()}
	for _, d := range sotto.Dialects() {
		if d.Start == "" || d.Start == sotto.StartOutside {
			list = append(list, sotto.MustCompile(d))
		}
	}
	return list
})

// quote shows the beginning of a text.
func quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > 80 {
			s = s[:i] + "…"
			break
		}
	}
	return fmt.Sprintf("%q", s)
}
