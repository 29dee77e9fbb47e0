package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// withoutInput are the commands whose arguments name a server, a text or a file that they write.
var withoutInput = []string{"sotto a2a", "sotto completion", "sotto doctor", "sotto explain", "sotto health", "sotto init", "sotto probe"}

// TestInputsTable: the table of docs/reference/inputs.md has every command that reads what its
// arguments name, alone or by the command above it, and no other.
func TestInputsTable(t *testing.T) {
	tree, err := Tree()
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(readText(t, "../../docs/reference/inputs.md"), "| command | reads |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) == 2 {
			for _, m := range regexp.MustCompile("`(sotto [a-z0-9 -]+)`").FindAllStringSubmatch(cells[0], -1) {
				rows = append(rows, m[1])
			}
		}
	}
	under := func(path string) func(string) bool {
		return func(of string) bool { return path == of || strings.HasPrefix(path, of+" ") }
	}
	used := map[string]bool{}
	for _, leaf := range tree.Leaves(false) {
		path := "sotto " + leaf.Path()
		listed := slices.IndexFunc(rows, under(path)) >= 0
		if len(leaf.Positional) > 0 && listed == slices.ContainsFunc(withoutInput, under(path)) {
			t.Errorf("%s reads %s: it is in the table: %v", path, leaf.Positional[0].Summary(), listed)
		}
		for _, row := range rows {
			used[row] = used[row] || under(path)(row)
		}
	}
	if len(rows) < 20 {
		t.Errorf("the table has only %d commands", len(rows))
	}
	for _, row := range rows {
		if !used[row] {
			t.Errorf("there is no command %s", row)
		}
	}
}
