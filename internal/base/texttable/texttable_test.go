package texttable_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/texttable"
)

// TestLayout: a row is what package fmt makes of it, without the spaces at its end.
func TestLayout(t *testing.T) {
	l := texttable.Layout{Widths: []int{5, -8, -3, 0}, Gap: 1}
	for _, cells := range [][]string{{"1", "two", "3", "four"}, {"", "", "", ""}, {"longer than five", "é", "日本語日本", " x "}, {"…", "a b", "", ""}} {
		want := strings.TrimRight(fmt.Sprintf("%5s %-8s %-3s %s", cells[0], cells[1], cells[2], cells[3]), " ") + "\n"
		if got := string(l.Append([]byte("before  "), cells...)); got != "before  "+want {
			t.Errorf("%q: %q, want %q", cells, got, want)
		}
	}
}

func TestPrint(t *testing.T) {
	for _, c := range []struct {
		rows [][]string
		want string
	}{
		{nil, ""},
		{[][]string{{"A", "B"}}, "A  B\n"},
		{[][]string{{"NAME", "N", "SAYS"}, {"é", "12", ""}, {"x", "", "long text"}, {"a long one"}}, "NAME        N   SAYS\né           12\nx               long text\na long one\n"},
	} {
		var b strings.Builder
		if err := texttable.Print(&b, c.rows); err != nil || b.String() != c.want {
			t.Errorf("%q: %q, %v; want %q", c.rows, b.String(), err, c.want)
		}
	}
}

// TestOnlyWay: no other package has columns of its own by text/tabwriter.
func TestOnlyWay(t *testing.T) {
	root, err := os.OpenRoot("../../..")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		seen++
		text, err := fs.ReadFile(root.FS(), name)
		if strings.Contains(string(text), `"text/tabwriter"`) {
			t.Errorf("%s: use internal/base/texttable", name)
		}
		return err
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files read, %v", seen, err)
	}
}
