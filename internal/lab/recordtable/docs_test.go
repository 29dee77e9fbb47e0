package recordtable

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected files")

const docsFile = "../../../docs/tables.md"

// The documentation lists the columns as they are.
func TestColumnsAreDocumented(t *testing.T) {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated: columns -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the columns", docsFile)
	}
	want := describeColumns()
	if *update {
		if err := os.WriteFile(docsFile, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("%s differs from the columns; if the change is meant: go test ./internal/lab/recordtable -run Documented -update", docsFile)
	}
}

func describeColumns() string {
	var b strings.Builder
	for _, table := range Tables() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| column | type | unit | what it is |\n| --- | --- | --- | --- |\n", table.Name, table.Doc)
		for _, c := range table.Columns {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, c.Unit, c.Doc)
		}
	}
	return b.String() + "\n"
}

// Names of columns can be used in SQL without quotes, and differ.
func TestColumnNames(t *testing.T) {
	for _, table := range Tables() {
		seen := map[string]bool{}
		for _, c := range table.Columns {
			if seen[c.Name] || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz_") != "" {
				t.Errorf("%s: column %q", table.Name, c.Name)
			}
			seen[c.Name] = true
			if c.Doc == "" || !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("%s.%s: documented as %q", table.Name, c.Name, c.Doc)
			}
		}
	}
}
