package cli

import (
	"errors"
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

// insertion is a block of a recipe that goes into a file of the tree, after the first line that
// begins as the comment says.
var insertion = lazyregexp.New("(?s)<!-- into: (\\S+), after: ([^\n]+) -->\n```\\w*\n(.*?)```\n")

// A recipe is a page of docs/howto whose steps a test follows.
type recipe struct {
	page     string                        // its name after contribute-
	commands int                           // that it runs
	by       func(*testing.T, string)      // does what it says in words; nil if nothing
	prints   string                        // what its last command prints, or begins with
	wrote    []struct{ file, want string } // what is there in the end
}

var recipes = []recipe{
	{
		page: "a-family", commands: 6, by: addDialect, prints: "Seven eggs are left.\n",
		wrote: []struct{ file, want string }{
			{"testdata/corpus/family-acme3.txtar", `reasoning:   "A dozen eggs, five used. Seven are left."`},
			{"testdata/corpus/family-acme3-cut.txtar", "diagnostic:  truncated at 0"},
			{"testdata/conformance.want.jsonl", "A dozen eggs, five used. Seven are left."},
			{"docs/reference/dialects.md", "| `acme3` | Acme Thinker 3 |"},
		},
	},
	{
		page: "a-task", commands: 2, prints: "ok",
		wrote: []struct{ file, want string }{{"answer/testdata/limits.txt", `roman "M":`}},
	},
	{
		page: "an-api", commands: 9, prints: "ok",
		wrote: []struct{ file, want string }{
			{"api/wire-borealis.txt", "var Provider"}, {"js/src/table.ts", `"deliberation"`}, {"docs/reference/access.md", "`/borealis/v2/talk`"}, {"docs/reference/packages.md", "wire_providers --> wire_borealis"},
		},
	},
	{
		page: "a-screen", commands: 3, prints: "ok",
		wrote: []struct{ file, want string }{{"internal/console/testdata/pages/exchanges.txt", `{"model":"qwen3","replies":2}`}},
	},
	{
		page: "a-client", commands: 2, by: installedClients, prints: "ok",
		wrote: []struct{ file, want string }{
			{"docs/evidence/clients.md", "| acme-client | 1.0.0 | yes | yes | yes | yes |"}, {"docs/evidence/clients.md", "| acme-client | reads, returns |"},
		},
	},
}

// TestContributing follows each recipe in a copy of the source tree: it writes the files,
// inserts the lines, and runs the commands.
func TestContributing(t *testing.T) {
	if effort.Times() < 2 || race.Enabled {
		t.Skip("compiles the tree once more: .ci/long contributing runs it")
	}
	const pages = "../../docs/howto/contribute-"
	if found, err := filepath.Glob(pages + "*.md"); err != nil || len(found) != len(recipes) {
		t.Errorf("%d recipes are written, and %d followed: %v", len(found), len(recipes), err)
	}
	dir := treeCopy(t)
	for _, r := range recipes {
		t.Run(r.page, func(t *testing.T) { r.follow(t, dir, readText(t, pages+r.page+".md")) })
	}
	if out := inTree(t, dir, "go test -count=1 -run TestConformanceKit ."); !strings.HasPrefix(out, "ok") {
		t.Errorf("the kit is not written: %s", out)
	}
}

func (r *recipe) follow(t *testing.T, dir, text string) {
	t.Helper()
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

// installedClients gives the copy the packages that interop/npm/install has installed, which
// SOTTO_NPM names. The copy may add packages, and does not change those.
func installedClients(t *testing.T, dir string) {
	t.Helper()
	from := os.Getenv("SOTTO_NPM")
	if from == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	for _, folder := range []string{"node_modules", "duckdb/node_modules", "mcpservers/node_modules", "node/node_modules"} {
		list, err := os.ReadDir(filepath.Join(from, folder))
		if os.IsNotExist(err) { // of a node that is there already
			continue
		}
		to := filepath.Join(dir, "interop", "npm", folder)
		if err := errors.Join(err, os.MkdirAll(to, 0o755)); err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			name := filepath.Join(from, folder, e.Name())
			if e.Name() == ".installed" { // the lock file that was installed
				writeText(t, filepath.Join(to, e.Name()), readText(t, name))
			} else if err := os.Symlink(name, filepath.Join(to, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
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
		info, err := os.Stat(filepath.Join("../..", name))
		if err = errors.Join(err, os.Chmod(filepath.Join(dir, name), info.Mode())); err != nil {
			t.Fatal(err)
		}
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
