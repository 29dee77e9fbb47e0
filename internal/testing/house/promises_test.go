package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli"
)

// The files of api/promises list what docs/compatibility.md promises to keep. Whoever changes
// a line of them breaks programs, scripts or settings of users; a new line is a new promise.

// TestPromisedCommands: the commands, their arguments, flags and variables are those that are
// listed.
func TestPromisedCommands(t *testing.T) {
	tree, err := cli.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		for _, p := range n.Positional {
			list = append(list, fmt.Sprintf("%s %s%s", path, p.Summary(), kindOf(p)))
		}
		for _, f := range n.Flags {
			if f.Hidden {
				continue
			}
			line := path + " --" + f.Name
			if f.Short != 0 {
				line += ", -" + string(f.Short)
			}
			if f.Tag.Negatable != "" {
				line += ", --no-" + f.Name
			}
			line += kindOf(f.Value)
			if variable := f.Tag.Get("setting"); variable != "" {
				line += " $" + variable
			}
			if f.Required {
				line += " (required)"
			}
			list = append(list, line)
		}
		for _, c := range n.Children {
			list = append(list, path+" "+c.Name)
			walk(c, path+" "+c.Name)
		}
	}
	walk(tree.Node, "sotto")
	if len(list) < 300 {
		t.Fatalf("only %d lines: the test sees too little", len(list))
	}
	slices.Sort(list)
	golden(t, "api/promises/commands.txt", strings.Join(list, "\n")+"\n")
}

// kindOf says whether a value is given with a flag, and whether several are.
func kindOf(v *kong.Value) string {
	switch {
	case v.IsBool() || v.IsCounter():
		return ""
	case v.IsCumulative():
		return " VALUE..."
	case v.Enum != "":
		return " " + v.Enum
	}
	return " VALUE"
}

// TestPromisedHeaders: the headers that Sotto adds to requests and responses are those that
// are listed.
func TestPromisedHeaders(t *testing.T) {
	header := regexp.MustCompile(`"(Sotto-[A-Z][A-Za-z-]*)"`)
	var list []string
	for path, p := range packages(t) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(root, path, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range header.FindAllStringSubmatch(string(text), -1) {
				list = append(list, m[1])
			}
		}
	}
	slices.Sort(list)
	golden(t, "api/promises/headers.txt", strings.Join(slices.Compact(list), "\n")+"\n")
}

// TestPromisedStatuses: the help has the exit statuses that are listed.
func TestPromisedStatuses(t *testing.T) {
	tree, err := cli.Tree()
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(tree.Help+tree.Detail, "Exit status: ")
	text, _, end := strings.Cut(text, ". ")
	if !ok || !end {
		t.Fatalf("the help has no exit statuses: %s", tree.Help)
	}
	golden(t, "api/promises/statuses.txt", strings.ReplaceAll(regexp.MustCompile(`, (\d)`).ReplaceAllString(text, "\n$1"), "  ", " ")+"\n")
}
