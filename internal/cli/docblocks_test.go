package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// documents are README.md and the other documents at the root, and the pages of docs
// with its folders, except the decisions, which stay as they were written.
func documents(t *testing.T) []string {
	t.Helper()
	list := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "adr":
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			list = append(list, path)
		}
		return nil
	})
	if err != nil || len(list) < 60 {
		t.Fatalf("%d documents: %v", len(list), err)
	}
	return list
}

// A docCommand is a command of a document, with the output that the document shows.
//
// In a code block, a line that begins with "$ " is a command. The lines up to the
// next one are everything that it prints, on both streams. "…" stands for any text
// within a line, and a line of its own for any lines. A block without such lines may
// list commands, one per line: they run, and what they print is not compared.
//
// A comment before a block says what else it is:
//
//	<!-- file: NAME -->        the block is a file that later commands read
//	<!-- not run: REASON -->   its commands cannot run here
//	<!-- before: COMMAND -->   runs before it: what the reader has done earlier
type docCommand struct {
	line     int    // of the command in the document, from 1
	text     string // without the prompt
	shown    bool   // the document shows its output
	want     string // the output
	from, to int    // the lines of the output, from 0
	indent   string
	skip     string // why it does not run; "" if it does
	file     string // not a command: a file with the text want
}

var (
	docComment = lazyregexp.New(`^<!-- (file|not run|before): (.+) -->$`)
	// listed is a line that is a command, though no "$ " says so.
	listed = lazyregexp.New(`^(?:[A-Z_]+=\S* )*(?:sotto|curl|printf|cat|head|ollama|age-keygen|go|cd|\.ci/\S+) `)
	// placeholder is what the reader replaces.
	placeholder = lazyregexp.New(`…|\b(?:URL|FILE|NAME|FOLDER|DIR|TOKEN|HOST)\b`)
	omitted     = lazyregexp.New(` ?… ?`)
	// ofTheTree are commands for those who work on the program.
	ofTheTree = lazyregexp.New(`^(?:[A-Z_]+=\S* )*(?:go (?:test|build|install|get|run (?:-C _benchmark|\./(?:ratios|load|score|internal))\S*)|cd |\.ci/|.* testdata/)`)
)

// docCommands returns the commands and files of a document, in order.
func docCommands(text string) (list []docCommand) {
	lines := strings.Split(text, "\n")
	kind, value := "", "" // of the last comment, if nothing but blank lines follows it
	for i := 0; i < len(lines); i++ {
		if m := docComment.FindStringSubmatch(lines[i]); m != nil {
			kind, value = m[1], m[2]
			if kind == "before" {
				list = append(list, docCommand{line: i + 1, text: value})
			}
			continue
		}
		if lines[i] == "" {
			continue
		}
		end, indent := docBlock(lines, i)
		if end > i {
			from, to := i, end
			language := ""
			if indent == "" {
				language = strings.TrimLeft(lines[i], "`")
				from, to = i+1, end-1
			}
			switch {
			case kind == "file":
				list = append(list, docCommand{line: from + 1, file: value, want: strings.Join(unindented(lines[from:to], indent), "\n") + "\n"})
			case language == "" || language == "console" || language == "sh":
				reason := ""
				if kind == "not run" {
					reason = value
				}
				list = append(list, commandsIn(lines, from, to, indent, reason)...)
			}
			i = end - 1
		}
		kind, value = "", ""
	}
	return list
}

// docBlock returns where the code block at a line ends, and its indentation. end is
// the line itself if no block is there.
func docBlock(lines []string, at int) (end int, indent string) {
	switch {
	case strings.HasPrefix(lines[at], "```"):
		for end = at + 1; end < len(lines) && !strings.HasPrefix(lines[end], "```"); end++ {
		}
		return min(end+1, len(lines)), ""
	case strings.HasPrefix(lines[at], "    ") && (at == 0 || lines[at-1] == ""):
		last := at
		for end = at; end < len(lines) && (lines[end] == "" || strings.HasPrefix(lines[end], "    ")); end++ {
			if lines[end] != "" {
				last = end
			}
		}
		return last + 1, "    "
	}
	return at, ""
}

func unindented(lines []string, indent string) (out []string) {
	for _, l := range lines {
		out = append(out, strings.TrimPrefix(l, indent))
	}
	return out
}

// commandsIn returns the commands of a block.
func commandsIn(all []string, from, to int, indent, reason string) (list []docCommand) {
	lines := unindented(all[:to], indent)
	session := false
	for _, l := range lines[from:] {
		session = session || strings.HasPrefix(l, "$ ")
	}
	for i := from; i < to; {
		text, isCommand := strings.CutPrefix(lines[i], "$ ")
		if !session {
			isCommand = listed.MatchString(lines[i])
		}
		if !isCommand {
			i++
			continue
		}
		c := docCommand{line: i + 1, text: text, shown: session, indent: indent}
		for i++; i < to && unfinished(c.text); i++ {
			c.text += "\n" + lines[i]
		}
		c.from = i
		for session && i < to && !strings.HasPrefix(lines[i], "$ ") {
			i++
		}
		c.to = i
		if session {
			c.want = strings.Join(lines[c.from:c.to], "\n")
		}
		c.skip = cmp.Or(reason, unrunnable(c))
		list = append(list, c)
	}
	return list
}

// unfinished reports whether a command continues on the next line.
func unfinished(text string) bool {
	return strings.HasSuffix(text, `\`) || strings.HasSuffix(text, "|") || strings.Count(text, "'")%2 == 1
}

// unrunnable says why a command cannot run, if its text shows it.
func unrunnable(c docCommand) string {
	text, _, _ := strings.Cut(c.text, " #")
	switch {
	case ofTheTree.MatchString(text):
		return "works on the source tree"
	case !c.shown && placeholder.MatchString(text):
		return "has a placeholder"
	}
	return ""
}

// matchesShown reports whether an output is what a document shows.
func matchesShown(want, got string) bool {
	pattern := `^`
	for line := range strings.Lines(strings.TrimRight(want, "\n") + "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern += `(?:.*\n)*`
			continue
		}
		pattern += omitted.ReplaceAllString(regexp.QuoteMeta(line), `.*`)
	}
	got = strings.TrimRight(got, "\n") + "\n"
	return regexp.MustCompile(pattern + `$`).MatchString(got)
}

// rewritten returns the document with other outputs.
func rewritten(text string, commands []docCommand, outputs []string) string {
	lines := strings.Split(text, "\n")
	for i := len(commands) - 1; i >= 0; i-- {
		c := commands[i]
		var out []string
		if got := strings.TrimRight(outputs[i], "\n"); got != "" {
			for _, l := range strings.Split(got, "\n") {
				out = append(out, strings.TrimRight(c.indent+l, " "))
			}
		}
		lines = append(lines[:c.from:c.from], append(out, lines[c.to:]...)...)
	}
	return strings.Join(lines, "\n")
}

func (c docCommand) String() string {
	first, _, more := strings.Cut(c.text, "\n")
	if more {
		first += " …"
	}
	return fmt.Sprintf("$ %.150s", first)
}
