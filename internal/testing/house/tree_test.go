package house

import (
	"flag"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

// root is the folder of the module.
var root = filepath.Join("..", "..", "..")

const module = "github.com/sotto-llm/sotto"

// packages returns the packages of the module by their paths below it; "." is the
// root.
func packages(t *testing.T) map[string]*build.Package {
	t.Helper()
	all := map[string]*build.Package{}
	context := build.Default
	context.CgoEnabled = true // also where no C compiler is
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if _, other := os.Stat(filepath.Join(path, "go.mod")); path != root && (other == nil || name == "testdata" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		p, err := context.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := filepath.Rel(root, path)
		all[filepath.ToSlash(at)] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all["."] == nil || len(all) < 20 {
		t.Fatalf("%d packages: is the tree where it was?", len(all))
	}
	return all
}

func internal(path string) bool {
	return strings.HasPrefix(path, "internal/") || strings.Contains(path, "/internal/")
}

// golden compares a text with a file, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	want := string(data)
	if got == want {
		return
	}
	have, listed := lines(got), lines(want)
	for line := range have {
		if !listed[line] {
			t.Errorf("%s lacks: %s", name, line)
		}
	}
	for line := range listed {
		if !have[line] {
			t.Errorf("%s has, and the code no longer: %s", name, line)
		}
	}
	t.Errorf("if the change is meant: go test ./internal/testing/house -update, and read the diff")
}

func lines(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		set[strings.TrimSuffix(line, "\n")] = true
	}
	return set
}

// The tests of the root package do not import the command line: who changes a
// command must not have to wait for them.
func TestRootTests(t *testing.T) {
	p := packages(t)["."]
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if strings.HasPrefix(path, module+"/internal/cli") || strings.HasPrefix(path, module+"/cmd") {
			t.Errorf("a test of the root package imports %s", path)
		}
	}
}
