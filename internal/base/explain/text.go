package explain

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Markdown returns the entries as the sections of a page, whose links are relative to the
// folder docs.
func Markdown() string {
	var b strings.Builder
	group := ""
	for _, e := range Entries() {
		if e.Group != group {
			group = e.Group
			fmt.Fprintf(&b, "### %s\n\n", group)
		}
		fmt.Fprintf(&b, "#### %s\n\n*%s.*", e.Name, e.Where)
		if len(e.Also) > 0 {
			fmt.Fprintf(&b, " Also: `%s`.", strings.Join(e.Also, "`, `"))
		}
		b.WriteString("\n\n")
		for _, m := range e.Messages {
			fmt.Fprintf(&b, "    %s\n", m)
		}
		if len(e.Messages) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n%s\n%s\n", shorttext.Wrap(e.Meaning, pageWidth, ""), shorttext.Wrap(whyWord+e.Why, pageWidth, ""), shorttext.Wrap(doWord+e.Do, pageWidth, ""))
	}
	return b.String()
}

// pageWidth is that of the pages in docs.
const pageWidth = 120

// Plain returns an entry as text for people, in lines of a width.
func (e *Entry) Plain(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Name, plain(e.Where))
	for _, m := range e.Messages {
		fmt.Fprintf(&b, "\n    %s", m)
	}
	if len(e.Messages) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range []string{e.Meaning, "Why: " + e.Why, "What to do: " + e.Do} {
		b.WriteString("\n" + shorttext.Wrap(plain(p), width, ""))
	}
	return b.String()
}

var link = lazyregexp.New(`\[([^\]]+)\]\(([^)]+)\)`)

// plain returns Markdown as text: a link is its text and, in parentheses, where it leads.
func plain(text string) string { return link.ReplaceAllString(text, "$1 (docs/$2)") }
