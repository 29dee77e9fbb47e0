package hostile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatModel checks that each row of the tables of threats in docs/evidence names tests
// that exist: a bound without a test is only a claim.
func TestThreatModel(t *testing.T) {
	var tables strings.Builder
	for _, name := range []string{"threats-from-clients.md", "threats-from-servers.md"} {
		page, err := os.ReadFile("../../../docs/evidence/" + name)
		if err != nil {
			t.Fatal(err)
		}
		tables.Write(page)
	}
	tests := testsByPackage(t, "../../..")
	rows := 0
	name := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(tables.String()) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 || strings.HasPrefix(cells[1], " what") || strings.HasPrefix(cells[1], " ---") {
			continue
		}
		rows++
		in := ""
		found := name.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(found) == 0 {
			t.Errorf("a row without a test: %s", line)
		}
		for _, m := range found {
			test := m[1]
			if i := strings.LastIndex(test, "."); i >= 0 {
				in, test = test[:i], test[i+1:]
			}
			if !tests[in][test] {
				t.Errorf("package %s has no %s: %s", in, test, line)
			}
		}
	}
	if rows < 40 {
		t.Errorf("the table has %d rows: is its form another?", rows)
	}
}

// testsByPackage lists the tests and fuzz targets of every package of the tree. A
// package goes by the last part of its path, and by all of it.
func testsByPackage(t *testing.T, root string) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, key := range []string{dir, filepath.Base(dir), strings.TrimSuffix(file.Name.Name, "_test")} {
			if all[key] == nil {
				all[key] = map[string]bool{}
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					all[key][f.Name.Name] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
