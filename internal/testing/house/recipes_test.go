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
	recipeTest = regexp.MustCompile(`(?m)^    go test (.*)$`)
	testName   = regexp.MustCompile(`\bTest\w+`)
)

// TestRecipes: the recipes of CONTRIBUTING.md fit the tree. What they write into is there, with the
// line that they name; what they add is not; and the tests that they run exist, in the tree or in
// what the recipe adds. `.ci/long contributing` follows them.
func TestRecipes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipes := strings.Split(string(text), "\n## Add ")[1:]
	if len(recipes) < 2 {
		t.Errorf("only %d recipes", len(recipes))
	}
	for _, recipe := range recipes {
		name, _, _ := strings.Cut(recipe, "\n")
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
			checkRecipeTest(t, name, m[1], added)
		}
	}
}

// checkRecipeTest checks the arguments of go test: folders, and names of tests behind -run.
func checkRecipeTest(t *testing.T, recipe, arguments, added string) {
	tests := added
	for _, argument := range strings.Fields(arguments) {
		if argument != "." && !strings.HasPrefix(argument, "./") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, argument, "*_test.go"))
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
