package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
)

// words is the text of a part of a page, with single spaces.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// rowsOf are the rows of the list on a page: the address of each, and its cells by their class.
func rowsOf(t *testing.T, page string) (list []map[string]string) {
	t.Helper()
	walk(t, page, func(n *html.Node) {
		if n.Data != "tr" || n.Parent.Data != "tbody" || n.Parent.Parent.Data != "table" || !strings.Contains(attr(n.Parent.Parent, "class"), "rows") {
			return
		}
		row := map[string]string{}
		for d := range n.Descendants() {
			switch {
			case d.Data == "td":
				row[attr(d, "class")] = words(d)
			case d.Data == "a" && attr(d, "class") == "row":
				row["link"] = attr(d, "href")
			}
		}
		list = append(list, row)
	})
	return list
}

// What stands on two pages is the same on both: the numbers of a row of a list are on the
// page that it leads to, and the number of rows below the list is that of the rows.
func TestPagesAgree(t *testing.T) {
	runs, _ := consoletest.Runs(t)
	for _, dir := range []string{consoletest.Traced(t), runs, consoletest.Scripted(t)} {
		base := serve(t, withLab(console.Config{Record: consoletest.Store(t, dir)}, screens.Config{}), "/")
		compared := 0
		for _, list := range []struct {
			path, counted string
			is            map[string]string // a pattern on the page for each class of a cell
		}{
			{"exchanges", "exchanges", map[string]string{"c-took": "Took %s ", "c-tokens": "Tokens %s ", "c-model": "%s "}},
			{"runs?below=1", "runs", map[string]string{"c-num": " %s cycle", "c-took": "· %s ", "c-agent": "%s "}},
		} {
			_, page := get(t, base+list.path)
			rows := rowsOf(t, page)
			if want := fmt.Sprintf(">%d %s", len(rows), list.counted); len(rows) > 0 && !strings.Contains(page, want) {
				t.Errorf("%s: %d rows, and nothing says %q", list.path, len(rows), want)
			}
			for _, row := range rows {
				if row["link"] == "" {
					t.Fatalf("%s: a row leads nowhere: %v", list.path, row)
				}
				_, to := get(t, base+row["link"])
				var text string
				walk(t, to, func(n *html.Node) {
					if n.Data == "main" {
						text = words(n)
					}
				})
				for class, pattern := range list.is {
					value := row[class]
					if value == "" || value == "0" {
						continue
					}
					compared++
					if want := fmt.Sprintf(pattern, value); !strings.Contains(text, want) {
						t.Errorf("%s: a row says %s %q, and the page %s does not have %q:\n%.600s", list.path, class, value, row["link"], want, text)
					}
				}
			}
		}
		if compared < 6 {
			t.Errorf("%d numbers were compared", compared)
		}
	}
}

// No page says "1 cycles": where a number precedes the name of a thing, its form fits.
func TestFormsFit(t *testing.T) {
	runs, _ := consoletest.Runs(t)
	base := serve(t, withLab(console.Config{Record: consoletest.Store(t, runs)}, screens.Config{}), "/")
	for _, path := range []string{"runs", "runs/" + consoletest.First, "runs/" + consoletest.First + "?from=1&to=1", "runs/" + consoletest.First + "?view=memory&cycle=1", "memory", "health", "exchanges", "exchanges/3"} {
		_, page := get(t, base+path)
		var text string
		walk(t, page, func(n *html.Node) {
			if n.Data == "main" {
				text = words(n)
			}
		})
		if bad := regexp.MustCompile(`(?:^|[^0-9.,\x{202f}])1 (cycles|invocations|calls|failures|tokens|templates|traces|events|lines|steps)\b`).FindString(text); bad != "" {
			t.Errorf("%s says %q", path, bad)
		}
	}
}
