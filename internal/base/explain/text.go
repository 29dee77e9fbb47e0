package explain

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Folder has the pages of the entries, relative to the folder docs.
const Folder = "reference/errors"

// A Page has the entries of a group.
type Page struct {
	// File is its name in Folder.
	File, Text string
}

// Pages returns a page in Markdown for each group.
func Pages() (pages []Page) {
	var b strings.Builder
	list := Entries()
	for i, e := range list {
		if i == 0 || e.Group != list[i-1].Group {
			b.Reset()
			fmt.Fprintf(&b, "# %s\n\n`sotto explain NAME` prints the same texts. [Error messages](../../errors.md) has the names of all areas.\n", e.Group)
		}
		fmt.Fprintf(&b, "\n## %s\n\n*%s.*", e.Name, e.Where)
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
		fmt.Fprintf(&b, "%s\n%s\n%s", wrapped(e.Meaning), wrapped(whyWord+e.Why), wrapped(doWord+e.Do))
		if i == len(list)-1 || list[i+1].Group != e.Group {
			pages = append(pages, Page{e.file(), b.String()})
		}
	}
	return pages
}

// file is the page on which an entry stands.
func (e *Entry) file() string { return groupSlug(e.Group) + ".md" }

// groupSlug is the name of a group in an address: words of small letters, with hyphens.
func groupSlug(group string) string {
	return strings.Join(wordsOf(group), "-")
}

// Index returns, in Markdown, the list of the pages and the table of all entries by their
// names. Each name and each group is an anchor, so that a link to docs/errors.md#NAME leads on.
func Index() string {
	var list, table strings.Builder
	entries := slices.Clone(Entries())
	for i, e := range entries {
		if i == 0 || e.Group != entries[i-1].Group {
			fmt.Fprintf(&list, "- <a id=\"%s\"></a>[%s](%s)\n", groupSlug(e.Group), e.Group, path.Join(Folder, e.file()))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	table.WriteString("| name | message, or *meaning* |\n| --- | --- |\n")
	for _, e := range entries {
		known := "*" + e.Brief() + "*"
		if len(e.Messages) > 0 {
			known = "`" + strings.Join(e.Messages, "`<br>`") + "`"
		}
		if len(e.Also) > 0 {
			known += "<br>also `" + strings.Join(e.Also, "`, `") + "`"
		}
		// The anchor is behind the link: a row that begins with one is of a divided page.
		fmt.Fprintf(&table, "| [%s](%s#%s)<a id=\"%s\"></a> | %s |\n", e.Name, path.Join(Folder, e.file()), e.Name, e.Name, known)
	}
	return list.String() + "\n" + table.String()
}

// wrapped is a paragraph of a page, whose links are relative to Folder.
func wrapped(text string) string {
	text = link.ReplaceAllStringFunc(text, func(l string) string {
		m := link.FindStringSubmatch(l)
		if strings.Contains(m[2], "://") {
			return l
		}
		to, err := filepath.Rel(Folder, m[2])
		if err != nil { // an absolute path
			return l
		}
		return "[" + m[1] + "](" + filepath.ToSlash(to) + ")"
	})
	return shorttext.Wrap(text, pageWidth, "")
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
