package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	recipeFile = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```\\w*\n(.*?)```\n")
	recipeInto = regexp.MustCompile(`<!-- into: (\S+), after: ([^\n]+) -->`)
	recipeTest = regexp.MustCompile(`(?m)^    (?:cd (\S+) && )?(?:[A-Z_]+=\S+ )*go test (.*)$`)
	testName   = regexp.MustCompile(`\bTest\w+`)
)

// TestRecipes: the recipes to which CONTRIBUTING.md leads fit the tree. What they write into is
// there, with the line that they name; what they add is not; and the tests that they run exist, in
// the tree or in what the recipe adds. `.ci/long contributing` follows them.
func TestRecipes(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := filepath.Glob(filepath.Join(root, "docs/howto/contribute-*.md"))
	if err != nil || len(recipes) < 5 {
		t.Errorf("only %d recipes: %v", len(recipes), err)
	}
	for _, file := range recipes {
		name := filepath.Base(file)
		if !strings.Contains(string(index), "](docs/howto/"+name+")") {
			t.Errorf("CONTRIBUTING.md does not lead to %s", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		recipe := string(text)
		added := ""
		for _, m := range recipeFile.FindAllStringSubmatch(recipe, -1) {
			added += m[2]
			if _, err := os.Stat(filepath.Join(root, m[1])); err == nil {
				t.Errorf("%s: %s is there already", name, m[1])
			}
		}
		for _, m := range recipeInto.FindAllStringSubmatch(recipe, -1) {
			file, err := os.ReadFile(filepath.Join(root, m[1]))
			if at := regexp.MustCompile(`(?m)^\s*`+regexp.QuoteMeta(m[2])).FindAllString(string(file), -1); err != nil || len(at) != 1 {
				t.Errorf("%s: %s has %d lines that begin with %s: %v", name, m[1], len(at), m[2], err)
			}
		}
		commands := recipeTest.FindAllStringSubmatch(recipe, -1)
		if len(commands) == 0 {
			t.Errorf("%s: it runs no test", name)
		}
		for _, m := range commands {
			checkRecipeTest(t, name, m[1], m[2], added)
		}
	}
}

// checkRecipeTest checks the arguments of go test in a folder: folders, and names of tests after -run.
func checkRecipeTest(t *testing.T, recipe, folder, arguments, added string) {
	tests := added
	for _, argument := range strings.Fields(arguments) {
		if argument != "." && !strings.HasPrefix(argument, "./") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, folder, argument, "*_test.go"))
		if len(files) == 0 {
			t.Errorf("%s: go test %s: %s has no tests", recipe, arguments, argument)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests += string(data)
		}
	}
	for _, want := range testName.FindAllString(arguments, -1) {
		if !strings.Contains(tests, "func "+want) {
			t.Errorf("%s: go test %s: there is no %s", recipe, arguments, want)
		}
	}
}
