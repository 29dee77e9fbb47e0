// Package explain says what the names of errors and diagnostics mean: why each comes, and
// what to do about it. The texts are in entries.md, a section for each name, from which
// docs/errors.md and the pages in docs/reference/errors are made too. Tests hold that every name that the programs use has an
// entry, and that no entry is about something that they no longer say.
package explain

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed entries.md
var source string

// An Entry is what there is to say about one name.
type Entry struct {
	Name string
	// Group is what the error is about.
	Group string
	// Where says who reports it, in one line.
	Where string
	// Also are other names for the same.
	Also []string
	// Messages are texts by which it is known. In them … stands for what varies.
	Messages []string
	// Meaning, Why and Do are the text: paragraphs in Markdown.
	Meaning, Why, Do string
}

// Brief is the first sentence of the meaning.
func (e *Entry) Brief() string {
	first, _, _ := strings.Cut(e.Meaning, ". ")
	return strings.TrimSuffix(first, ".")
}

// Entries returns all entries, in the order of the page.
func Entries() []Entry { return parsed() }

var parsed = sync.OnceValue(func() []Entry { return parse(source) })

// The words with which the paragraphs of an entry begin.
const (
	alsoWord = "Also: "
	whyWord  = "**Why:** "
	doWord   = "**What to do:** "
)

// parse reads the text of entries.
func parse(text string) (list []Entry) {
	group := ""
	for section := range strings.SplitSeq("\n"+text, "\n#") {
		head, rest, _ := strings.Cut(section, "\n")
		name, is := strings.CutPrefix(head, "# ")
		if !is {
			group = strings.TrimSpace(head)
			continue
		}
		e := Entry{Name: strings.TrimSpace(name), Group: group}
		for p := range strings.SplitSeq(rest, "\n\n") {
			e.add(strings.TrimSpace(p))
		}
		list = append(list, e)
	}
	return list
}

// add adds a paragraph.
func (e *Entry) add(p string) {
	line := strings.ReplaceAll(p, "\n", " ")
	switch {
	case p == "":
	case strings.HasPrefix(p, "> "):
		for m := range strings.SplitSeq(p, "\n") {
			e.Messages = append(e.Messages, strings.TrimSpace(strings.TrimPrefix(m, ">")))
		}
	case strings.HasPrefix(p, "*") && !strings.HasPrefix(p, "**"):
		e.Where = strings.Trim(line, "*.")
	case strings.HasPrefix(p, alsoWord):
		for name := range strings.SplitSeq(strings.TrimPrefix(line, alsoWord), ",") {
			e.Also = append(e.Also, strings.Trim(name, " .`"))
		}
	case strings.HasPrefix(p, whyWord):
		e.Why = strings.TrimPrefix(line, whyWord)
	case strings.HasPrefix(p, doWord):
		e.Do = strings.TrimPrefix(line, doWord)
	default:
		e.Meaning = strings.TrimSpace(e.Meaning + " " + line)
	}
}

// Names returns the names of all entries.
func Names() (names []string) {
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// Name returns a code as a name: no_visible_answer is no-visible-answer.
func Name(code string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(code)), "_", "-")
}

// Find returns the entry of a name, or of a code.
func Find(name string) (Entry, bool) {
	name = Name(name)
	list := Entries()
	i := slices.IndexFunc(list, func(e Entry) bool { return e.Name == name || slices.Contains(e.Also, name) })
	if i < 0 {
		return Entry{}, false
	}
	return list[i], true
}
