package probe

import (
	"fmt"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
)

// leakIn says what reasoning parts deliver as if it were the answer, or "".
func leakIn(parts []*a2a.Part) string {
	for _, p := range parts {
		if p == nil {
			continue
		}
		if a2aserver.IsThought(p) {
			return "a part that is marked as reasoning: " + quote(p.Text())
		}
		if found := leakInText(p.Text()); found != "" {
			return found
		}
	}
	return ""
}

// leakInText reads a text as a reply in every dialect. A tag that is quoted or
// stands in code is no leak.
func leakInText(text string) string {
	if text == "" {
		return ""
	}
	for i, g := range grammars() {
		start := sotto.Outside
		if i == 0 {
			start = sotto.Auto // a close alone is the end of reasoning that leaked
		}
		r, err := g.Parse(text, start, sotto.Unknown)
		if err != nil {
			continue
		}
		for _, thought := range r.Reasoning() {
			return fmt.Sprintf("reasoning (dialect %s): %s", g.Dialect().Name, quote(thought))
		}
		for _, d := range r.Diagnostics {
			if d.Code == sotto.OrphanClose {
				return "the end of a block of reasoning, whose beginning is not there: " + quote(text[max(0, d.Offset-40):])
			}
		}
	}
	return ""
}

// grammars are those of all dialects, the default one first.
var grammars = sync.OnceValue(func() []*sotto.Grammar {
	list := []*sotto.Grammar{sotto.Default()}
	for _, d := range sotto.Dialects() {
		if d.Start == "" || d.Start == sotto.Outside {
			list = append(list, sotto.MustCompile(d))
		}
	}
	return list
})

// quote shows the beginning of a text.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
