package foreignjson_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const gjsonPath = "github.com/tidwall/gjson"

// otherEntries are the calls in other packages that parse JSON with gjson, with the
// reason why that input is harmless. None may call Valid or ValidBytes.
var otherEntries = map[string]string{
	"internal/data/jsonedit: Parse":         "jsonedit.Parse is for JSON that chatjson.Readable or this package has checked",
	"record: GetBytes":                      "lines of a record that its reader has decoded; gjson finds a member without recursion",
	"internal/reply/promptshown: Get":       "the members of a question, which are written here from a checked request or checked where they are read from a file",
	"internal/reply/promptshown: Parse":     "the same",
	"internal/recorded/eventtext: GetBytes": "an event that the record's reader has decoded; the walk has a depth of its own",
}

// recursive are gjson's functions that call themselves once for each level of
// nesting.
var recursive = []string{"Valid", "ValidBytes"}

// modifier matches the beginning of a modifier in a gjson path.
var modifier = regexp.MustCompile("[\"`|.]@[a-z]")

// Only this package passes bytes to gjson. gjson's validator and its conversion to
// Go values recurse without a bound, and a stack overflow ends the process. New
// code must call foreignjson.Check, Valid or Parse, or be listed in otherEntries
// with a reason.
func TestOnlyEntryForJSON(t *testing.T) {
	unused := map[string]bool{}
	for entry := range otherEntries {
		unused[entry] = true
	}
	seen := 0
	for _, file := range goFiles(t) {
		name := importedAs(file.syntax, gjsonPath)
		if name == "" || strings.HasPrefix(file.path, "internal/data/foreignjson/") {
			continue
		}
		seen++
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok || x.Name != name || !readsBytes(n.Sel.Name) {
					return true
				}
				entry := path.Dir(file.path) + ": " + n.Sel.Name
				if _, ok := otherEntries[entry]; !ok || slices.Contains(recursive, n.Sel.Name) {
					t.Errorf("%s: gjson.%s reads foreign JSON: call foreignjson.Check, Valid or Parse", file.at(n), n.Sel.Name)
				}
				delete(unused, entry)
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Value" && len(n.Args) == 0 {
					t.Errorf("%s: gjson's Value recurses: walk the members", file.at(n))
				}
			case *ast.BasicLit: // a path
				if n.Kind == token.STRING && modifier.MatchString(n.Value) && path.Dir(file.path) != "record" { // which flattens a list of lists
					t.Errorf("%s: gjson's modifiers recurse: do without %s", file.at(n), n.Value)
				}
			}
			return true
		})
	}
	if seen < 20 {
		t.Errorf("only %d files import gjson: is the tree where it was?", seen)
	}
	for entry := range unused {
		t.Errorf("otherEntries: nothing is %s any more", entry)
	}
}

// readsBytes reports whether a function of gjson takes a document.
func readsBytes(name string) bool {
	for _, prefix := range []string{"Valid", "Parse", "Get", "ForEachLine"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

type goFile struct {
	path   string // relative to the module's root
	syntax *ast.File
	set    *token.FileSet
}

func (f goFile) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// goFiles parses the files of the module, without its tests.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var files []goFile
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(name, "go.mod"))
			if name != root && (other == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		files = append(files, goFile{filepath.ToSlash(below), syntax, set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// importedAs returns the name under which a file imports a package, or "".
func importedAs(f *ast.File, path string) string {
	for _, i := range f.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p != path {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}
