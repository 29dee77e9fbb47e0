package npm_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/interop/internal/displays"
)

var update = flag.Bool("update", false, "write the tables of clients and of other readers to the documents")

// checkTable compares the table in docs/evidence/clients.md to the clients that were judged.
func checkTable(t *testing.T, clients []*npmClient) {
	checkListed(t, clients)
	checkGenerated(t, "../../docs/evidence/clients.md", "clients of npm", table(clients))
	var rows []displays.Row
	for _, c := range sorted(clients) {
		r := displays.Row{Name: c.Name, API: c.API, Client: c.does()}
		if l := c.limit(tools); l != nil {
			r.Beside = "calls " + l.cell
		}
		rows = append(rows, r)
	}
	checkGenerated(t, "../../docs/evidence/clients.md", "displays, clients of npm", displays.Table(rows))
}

// checkGenerated compares the part of a document that a test of this package writes.
func checkGenerated(t *testing.T, document, name, want string) {
	t.Helper()
	displays.CheckDocument(t, document, name+", from: go test ./npm -update", want, *update)
}

func sorted(clients []*npmClient) []*npmClient {
	return slices.SortedStableFunc(slices.Values(clients), func(a, b *npmClient) int { return strings.Compare(a.Name, b.Name) })
}

// table has a row for each client, and the limits of the clients.
func table(clients []*npmClient) string {
	clients = sorted(clients)
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
	case aspect == history && c.Bare:
		return c.limit(bare).cell
	case (aspect == tools || aspect == history) && !slices.Contains(withTools, c.API):
		return "–"
	case aspect != reasoning:
		return "yes"
	case !c.reads():
		return "reads none"
	case c.Bare:
		return "not `tool_plan`"
	case c.Field == summary:
		return "with `--responses-reasoning summary`"
	case c.Field != "":
		return "with `--reasoning-field " + c.Field + "`"
	}
	return "yes"
}
