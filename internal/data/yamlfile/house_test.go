package yamlfile_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Only this package imports a YAML library, tests included, because only Read has
// the bounds on size, depth and number that files from outside need.
func TestOnlyEntryForYAML(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	here := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (other == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			switch {
			case !strings.Contains(name, "yaml") || strings.HasPrefix(name, "github.com/sotto-llm/"):
			case filepath.ToSlash(filepath.Dir(path)) == "../../../internal/data/yamlfile":
				here++
			default:
				t.Errorf("%s imports %s: read YAML by internal/data/yamlfile, which bounds it", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if here == 0 {
		t.Error("this package imports no YAML library: is the tree where it was?")
	}
}
