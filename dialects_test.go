package sotto

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// Every dialect of package dialect is compiled once, and its grammar has its defaults.
func TestNamed(t *testing.T) {
	for _, d := range dialect.All() {
		g, err := Named(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Dialect(); got.Name != d.Name || got.Placement == "" || got.MaxMarker == 0 || got.Code == nil {
			t.Errorf("Named(%q) is %+v", d.Name, got)
		}
		if again, _ := Named(d.Name); again != g {
			t.Errorf("%s: compiled twice", d.Name)
		}
	}
	var unknown *dialect.UnknownError
	if _, err := Named("qwn3"); !errors.As(err, &unknown) || unknown.Nearest != "qwen3" {
		t.Errorf("%v", err)
	}
}

// A model's grammar is that of its dialect, and Default if none is known.
func TestForModel(t *testing.T) {
	qwen3, err := Named("qwen3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		model string
		g     *Grammar
		known bool
	}{{"qwen3:8b", qwen3, true}, {"gpt-4o-mini", Default(), false}, {"", Default(), false}} {
		if g, known := ForModel(tc.model); g != tc.g || known != tc.known {
			t.Errorf("%q: %s, %v", tc.model, g.Dialect().Name, known)
		}
	}
}

// docs/reference/dialects.md shows the shipped dialects; go test -run Docs -update writes them.
func TestDialectDocs(t *testing.T) {
	const file, begin, end = "docs/reference/dialects.md", "<!-- table: begin -->\n", "<!-- table: end -->\n"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(old, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no %q … %q", file, begin, end)
	}
	now := bytes.Join([][]byte{head, []byte(begin), []byte(dialectTable(dialect.All())), []byte(end), tail}, nil)
	if bytes.Equal(old, now) {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the dialects as they are: go test -run TestDialectDocs -update .", file)
	}
	if err := os.WriteFile(file, now, 0o666); err != nil {
		t.Fatal(err)
	}
}

func dialectTable(dialects []dialect.Dialect) string {
	var b strings.Builder
	b.WriteString("| dialect | written by | markers | prompt opens it? | since | sources |\n|---|---|---|---|---|---|\n")
	for _, d := range dialects {
		pre, since := d.PreOpens, d.PreOpensSince
		switch {
		case pre == "":
			pre, since = "-", "-"
		case since == "":
			since = "not found"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", d.Name, cell(d.Title), markerCell(d), pre, cell(since), cell(strings.Join(d.Sources, "; ")))
	}
	return b.String()
}

func markerCell(d dialect.Dialect) string {
	byRole := map[dialect.Role][]string{}
	var order []dialect.Role
	add := func(r dialect.Role, s string) {
		if byRole[r] == nil {
			order = append(order, r)
		}
		byRole[r] = append(byRole[r], s)
	}
	for _, m := range d.Markers {
		switch {
		case m.Tag != "":
			add(m.Role, code("<"+m.Tag+">"))
		case len(m.Close) == 0:
			add(m.Role, code(m.Open[0]))
		default:
			add(m.Role, code(m.Open[0])+" … "+code(m.Close[0]))
		}
	}
	if h := d.Header; h != nil {
		form := code(h.Begin[0]) + " … " + code(h.Body[0])
		if len(h.End) > 0 {
			form += " … " + code(h.End[0])
		}
		add("headers", form)
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, string(r)+" "+strings.Join(byRole[r], ", "))
	}
	return strings.Join(parts, "; ")
}

func code(s string) string { return "`" + cell(s) + "`" }

// cell keeps text within a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", "⏎").Replace(s)
}
