package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of this package for what reaches a terminal or the disk. A name of a
// rule may be used in the files that are listed, for the reason that is given,
// and nowhere else.
var houseRules = []struct {
	names  []string // pkg.Name, .member, import path, or "text" in a string
	files  []string
	reason string
}{
	{[]string{"os.Stdout", "os.Stderr"}, []string{"cli.go"}, "the shell gets the streams, and gives out what writes to them safely"},
	{[]string{"fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf", "log.Println"}, nil, "these write past the shell"},
	{[]string{".verbatim", ".device"}, []string{"terminal.go", "progress.go"}, "only what writes no foreign text writes as it is"},
	{[]string{`"\x1b"`}, []string{"terminal.go", "progress.go"}, "control sequences are a style, or those of the bar"},
	{[]string{"github.com/schollz/progressbar/v3"}, []string{"progress.go"}, "every bar is made where its name is made visible"},
	{[]string{"os.Create", "os.WriteFile"}, nil, "files are made in outfile.go, for their owner only"},
	{[]string{"os.OpenFile"}, []string{"outfile.go", "readfile.go"}, "files are made in outfile.go; readfile.go opens without waiting"},
	{[]string{"os.CreateTemp"}, []string{"outfile.go", "servehttp.go"}, "files are made there; serve tries whether a folder can be written, and removes the file"},
	{[]string{"os.ReadFile", "io.ReadAll"}, []string{"readfile.go"}, "what is read whole is read within a bound"},
	{[]string{"template.HTML"}, []string{"scoreplot.go", "solvepage.go"}, "drawings, whose names are escaped by label"},
	{[]string{"template.CSS"}, []string{"scorepage.go", "solvepage.go"}, "the style sheet of this package"},
	{[]string{"template.JS", "template.JSStr", "template.URL", "template.HTMLAttr", "template.Srcset"}, nil, "pages hold nothing that html/template does not escape"},
}

// TestHouseRules holds every file of the package to the rules, and every
// exception to its use.
func TestHouseRules(t *testing.T) {
	used := map[string]map[string]bool{} // names by the files that use them
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 50 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range namesIn(tree) {
			if used[name] == nil {
				used[name] = map[string]bool{}
			}
			used[name][file] = true
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

// namesIn lists what the rules speak of.
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
