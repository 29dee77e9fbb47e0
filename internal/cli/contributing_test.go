package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/testing/race"
)

// insertion is a block of CONTRIBUTING.md that goes into a file of the tree, behind the
// first line that begins as the comment says.
var insertion = lazyregexp.New("(?s)<!-- into: (\\S+), after: ([^\n]+) -->\n```\\w*\n(.*?)```\n")

// A recipe is a section of CONTRIBUTING.md whose steps a test follows.
type recipe struct {
	title    string                        // of the section
	commands int                           // that it runs
	by       func(*testing.T, string)      // does what it says in words; nil if nothing
	prints   string                        // what its last command prints, or begins with
	wrote    []struct{ file, want string } // what is there in the end
}

var recipes = []recipe{
	{
		title: "a model family", commands: 6, by: addDialect, prints: "Seven eggs are left.\n",
		wrote: []struct{ file, want string }{
			{"testdata/corpus/family-acme3.txtar", `reasoning:   "A dozen eggs, five used. Seven are left."`},
			{"testdata/corpus/family-acme3-cut.txtar", "diagnostic:  truncated at 0"},
			{"testdata/conformance.want.jsonl", "A dozen eggs, five used. Seven are left."},
			{"docs/reference/dialects.md", "| `acme3` | Acme Thinker 3 |"},
		},
	},
	{
		title: "a task", commands: 2, prints: "ok",
		wrote: []struct{ file, want string }{{"answer/testdata/limits.txt", `roman "M":`}},
	},
}

// TestContributing follows each recipe in a copy of the source tree: it writes the files,
// inserts the lines, and runs the commands.
func TestContributing(t *testing.T) {
	if effort.Times() < 2 || race.Enabled {
		t.Skip("compiles the tree once more: .ci/long contributing runs it")
	}
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## Add ")[1:]
	if len(sections) != len(recipes) {
		t.Errorf("%d recipes are written, and %d followed", len(sections), len(recipes))
	}
	dir := treeCopy(t)
	for _, r := range recipes {
		at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, r.title+" in ten minutes\n") })
		if at < 0 {
			t.Errorf("there is no recipe for %s", r.title)
			continue
		}
		t.Run(r.title, func(t *testing.T) { r.follow(t, dir, sections[at]) })
	}
	if out := inTree(t, dir, "go test -count=1 -run TestConformanceKit ."); !strings.HasPrefix(out, "ok") {
		t.Errorf("the kit is not written: %s", out)
	}
}

func (r *recipe) follow(t *testing.T, dir, text string) {
	var commands []string
	for _, c := range docCommands(text) {
		switch {
		case c.file != "":
			writeText(t, filepath.Join(dir, c.file), c.want)
		case c.skip != "" && !strings.HasPrefix(c.text, "git "):
			commands = append(commands, c.text)
		}
	}
	if len(commands) != r.commands {
		t.Fatalf("the commands are %q", commands)
	}
	if r.by != nil {
		r.by(t, dir)
	}
	for _, m := range insertion.FindAllStringSubmatch(text, -1) {
		insert(t, filepath.Join(dir, m[1]), m[2], m[3])
	}
	var out string
	for _, c := range commands {
		out = inTree(t, dir, c)
	}
	if !strings.HasPrefix(out, r.prints) {
		t.Errorf("the last command prints %q", out)
	}
	for _, part := range r.wrote {
		if got := readText(t, filepath.Join(dir, part.file)); !strings.Contains(got, part.want) {
			t.Errorf("%s has no %s", part.file, part.want)
		}
	}
}

// addDialect puts the object of step 2 into the list, as step 4 says.
func addDialect(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "dialect", "dialects.json")
	list := readText(t, file)
	const end = "\n  ]\n}"
	at := strings.LastIndex(list, end)
	if at < 0 {
		t.Fatalf("%s does not end a list", file)
	}
	row := strings.TrimSuffix(readText(t, filepath.Join(dir, "acme3.json")), "\n")
	writeText(t, file, list[:at]+",\n"+row+list[at:])
}

func insert(t *testing.T, file, after, lines string) {
	t.Helper()
	have := strings.SplitAfter(readText(t, file), "\n")
	at := slices.IndexFunc(have, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), after) })
	if at < 0 {
		t.Fatalf("%s has no line %s", file, after)
	}
	writeText(t, file, strings.Join(slices.Insert(have, at+1, lines), ""))
}

// inTree runs a command in the copy, and returns what it prints.
func inTree(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SOTTO_") })
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// treeCopy copies the files that git knows.
func treeCopy(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Skipf("no source tree of git: %v", err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(fmt.Errorf("copy %s: %w", name, err))
		}
		writeText(t, filepath.Join(dir, name), string(data))
	}
	return dir
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
