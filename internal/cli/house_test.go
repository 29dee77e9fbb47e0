package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// otherRules are packages below internal that are not part of the command line, or
// that follow other rules.
var otherRules = []string{"console/consoletest", "data/foreignjson", "lab/studyreport/studytest", "testing/hostile", "testing/manual", "base/modelname", "testing/mutate", "testing/replies", "check/scripted", "net/serving", "testing/shippeddocs", "testing/terminaltest", "base/testhook", "testing/unsteady", "data/yamlfile"}

// The rules for the command line, and for the packages that only it uses. They
// cover what reaches a terminal or the disk. The names of a rule may be used only
// in the listed files, for the given reason.
var houseRules = []struct {
	names  []string // pkg.Name, .member, import path, or "text" in a string
	files  []string // below internal
	reason string
}{
	{[]string{"os.Stdout", "os.Stderr"}, []string{"cli/program/program.go"}, "the shell gets the streams, and gives out what writes to them safely"},
	{[]string{"fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf", "log.Println"}, nil, "these write past the shell"},
	{[]string{".verbatim", ".device"}, []string{"cli/shell/terminal.go", "cli/shell/progress.go"}, "only what writes no foreign text writes as it is"},
	{[]string{`"\x1b"`}, []string{"base/typeset/typeset.go", "cli/shell/progress.go"}, "control sequences are a style, or those of the bar"},
	{[]string{"github.com/schollz/progressbar/v3"}, []string{"cli/shell/progress.go"}, "every bar is made where its name is made visible"},
	{[]string{"os.Create", "os.WriteFile"}, nil, "files are made in outfile.go, for their owner only"},
	{[]string{"os.OpenFile"}, []string{"cli/shell/outfile.go", "base/files/files.go", "agents/conversation/file.go", "agents/scheduler/folder.go", "data/datafolder/datafolder.go", "base/filelock/hold.go", "base/files/replace.go", "reply/promptshown/examined.go", "net/owners/file.go", "base/secretfile/edit.go", "lab/databases/databases.go", "lab/metagraph/backup.go", "lab/metagraph/graph.go", "serve/databackup/restore.go", "lab/study/process.go", "lab/study/runner.go", "recorded/recordship/state.go", "recorded/recordship/mirror.go"}, "files are made in outfile.go; package files opens without waiting; conversations, schedules, studies and copies of records are in folders of their own; so are data that is restored, locks and files that gateways replace, what servers show of prompts, who made what, and copies for a backup"},
	{[]string{"os.CreateTemp"}, []string{"cli/shell/outfile.go", "cli/servecmd/data.go", "base/files/temporary.go", "lab/shards/sources.go", "lab/study/folder.go", "recorded/recordship/state.go", "recorded/recordship/mirror.go", "recorded/sidecar/make.go", "base/secretfile/edit.go"}, "files are made there, and files of secrets replaced; package files removes what a signal leaves; serve tries whether a folder can be written, and removes the file; the files of a study, of shards and of copies of records are in a folder of their own; what is left of a sidecar goes when the record is opened"},
	{[]string{"os.ReadFile", "io.ReadAll"}, []string{"base/files/files.go"}, "what is read whole is read within a bound"},
	{[]string{"template.HTML"}, []string{"lab/report/plot.go", "lab/report/series.go", "lab/report/drawing.go", "lab/report/svg.go", "lab/panel/tables.go", "lab/studyreport/page.go", "lab/studyreport/memory.go", "lab/screens/studies.go", "lab/memorygraph/draw.go", "lab/memorygraph/page.go", "console/markdown.go"}, "drawings, whose texts report.SVG escapes, and what html/template made; Markdown, which is sanitized"},
	{[]string{"template.CSS"}, []string{"lab/report/page.go", "lab/scoring/page.go", "lab/solvereport/page.go", "lab/compare/tables.go", "lab/panel/tables.go", "lab/studyreport/page.go", "lab/memorygraph/page.go", "console/pages.go"}, "the style sheet of pages"},
	{[]string{"template.JS", "template.JSStr", "template.URL", "template.HTMLAttr", "template.Srcset"}, nil, "pages hold nothing that html/template does not escape"},
}

// A houseFile is a Go file below internal that the rules apply to.
type houseFile struct {
	path string // below internal
	tree *ast.File
}

// houseFiles parses the files that the rules apply to, without tests.
func houseFiles(t *testing.T) []houseFile {
	t.Helper()
	var list []houseFile
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, _ := filepath.Rel("..", name)
		below = filepath.ToSlash(below)
		switch {
		case d.IsDir() && (d.Name() == "testdata" || slices.Contains(otherRules, below)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		list = append(list, houseFile{below, tree})
		return err
	})
	if err != nil || len(list) < 70 {
		t.Fatalf("%d files, %v: is the tree where it was?", len(list), err)
	}
	return list
}

// imports lists the packages of this module that a file imports, relative to its
// root.
func (f *houseFile) imports() []string {
	var list []string
	for _, i := range f.tree.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if below, ok := strings.CutPrefix(path, "github.com/sotto-llm/sotto/"); ok {
			list = append(list, below)
		}
	}
	return list
}

// TestHouseRules checks every file against the rules, and checks that every
// exception is used.
func TestHouseRules(t *testing.T) {
	effort.OneGoroutine(t)
	used := map[string]map[string]bool{} // names by the files that use them
	for _, file := range houseFiles(t) {
		for _, name := range namesIn(file.tree) {
			if used[name] == nil {
				used[name] = map[string]bool{}
			}
			used[name][file.path] = true
		}
	}
	for _, rule := range houseRules {
		for _, name := range rule.names {
			for file := range used[name] {
				if !slices.Contains(rule.files, file) {
					t.Errorf("%s uses %s: %s", file, name, rule.reason)
				}
			}
		}
		for _, file := range rule.files {
			if !slices.ContainsFunc(rule.names, func(name string) bool { return used[name][file] }) {
				t.Errorf("%s uses none of %v any more: take it off the list", file, rule.names)
			}
		}
	}
}

// TestRooms keeps the packages of the command line apart. A family of commands,
// internal/cli/*cmd, imports no other family. Code that families share is below
// internal/cli and imports no family. A library beside internal/cli parses no
// arguments and imports nothing of the command line. Each package has a doc comment
// that says what it is for.
func TestRooms(t *testing.T) {
	documented := map[string]bool{}
	for _, file := range houseFiles(t) {
		room := path.Dir(file.path)
		documented[room] = documented[room] || file.tree.Doc != nil
		inCLI := strings.HasPrefix(room, "cli")
		for _, imported := range file.imports() {
			switch below := strings.TrimPrefix(imported, "internal/"); {
			case below == "cli" || below == "cli/operator":
				t.Errorf("%s imports %s, which only a program in cmd starts", file.path, imported)
			case !strings.HasPrefix(below, "cli/"):
			case !inCLI:
				t.Errorf("%s imports %s: a library knows nothing of the command line", file.path, imported)
			case strings.HasSuffix(below, "cmd") && room != "cli" && room != "cli/operator":
				t.Errorf("%s imports %s: only the lists of commands, internal/cli and internal/cli/operator, import a family of commands", file.path, imported)
			}
		}
		for _, i := range file.tree.Imports {
			if name, _ := strconv.Unquote(i.Path.Value); name == "github.com/alecthomas/kong" && !inCLI {
				t.Errorf("%s imports %s: only the command line parses arguments", file.path, name)
			}
		}
	}
	for room, ok := range documented {
		if !ok {
			t.Errorf("internal/%s does not say what it is for: give it a package comment", room)
		}
	}
}

// namesIn lists the names that the rules mention.
func namesIn(file *ast.File) (names []string) {
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		names = append(names, path)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names = append(names, "."+n.Sel.Name)
			if pkg, ok := n.X.(*ast.Ident); ok {
				names = append(names, pkg.Name+"."+n.Sel.Name)
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && strings.ContainsAny(text, "\x1b\u009b") {
				names = append(names, `"\x1b"`)
			}
		}
		return true
	})
	return names
}
