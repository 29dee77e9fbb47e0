package npm_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of clients and of other readers to the documents")

// checkTable compares the table in docs/gateway.md to the clients that were judged.
func checkTable(t *testing.T, clients []*npmClient) {
	checkGenerated(t, "../../docs/gateway.md", "clients of npm", table(clients))
}

// checkGenerated compares the part of a document that a test of this package writes.
func checkGenerated(t *testing.T, document, name, want string) {
	t.Helper()
	tableOpen := "<!-- " + name + ", from: go test ./npm -update -->\n"
	const tableClose = "<!-- end -->\n"
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), tableOpen)
	old, after, closed := strings.Cut(rest, tableClose)
	if !ok || !closed {
		t.Fatalf("%s has no %s…%s", document, tableOpen, tableClose)
	}
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s has another table than the run (go test ./npm -update):\n%s", document, want)
	}
	if err := os.WriteFile(document, []byte(before+tableOpen+want+tableClose+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// table has a row for each client, and the limits of the clients.
func table(clients []*npmClient) string {
	clients = slices.Clone(clients)
	slices.SortStableFunc(clients, func(a, b *npmClient) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString("| client | version | text | reasoning | tools | history |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range clients {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.Name, c.Version, c.cell(text), c.cell(reasoning), c.cell(tools), c.cell(history))
	}
	b.WriteString("\nLimits of the clients themselves, with any server:\n\n")
	for i := range limits {
		b.WriteString(limits[i].sentence())
	}
	return b.String()
}

// cell is what the table says about an aspect.
func (c *npmClient) cell(aspect string) string {
	switch l := c.limit(aspect); {
	case l != nil:
		return l.cell
	case (aspect == tools || aspect == history) && !slices.Contains(withTools, c.API):
		return "–"
	case aspect != reasoning:
		return "yes"
	case !c.reads():
		return "reads none"
	case c.Field == summary:
		return "with `--responses-reasoning summary`"
	case c.Field != "":
		return "with `--reasoning-field " + c.Field + "`"
	}
	return "yes"
}
