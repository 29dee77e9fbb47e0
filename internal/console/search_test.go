package console_test

import (
	"bufio"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// A search gives the same hits as a page, as JSON and as a stream of lines, whose
// last one says that the whole record was searched.
func TestSearchForms(t *testing.T) {
	dir := consoletest.Scripted(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	resp, page := get(t, base+"search?q=Ottawa")
	if resp.StatusCode != 200 || !strings.Contains(page, "<mark>Ottawa</mark>") || !strings.Contains(page, "the whole record") {
		t.Fatalf("%s: %s", resp.Status, page)
	}
	links := 0
	walk(t, page, func(n *html.Node) {
		if n.Data == "a" && attr(n, "class") == "row" {
			if resp, _ := get(t, base+attr(n, "href")); resp.StatusCode != 200 {
				t.Errorf("%s: %s", attr(n, "href"), resp.Status)
			}
			links++
		}
	})
	var whole struct {
		V               int
		Searched, Total int64
		List            []json.RawMessage
	}
	_, body := get(t, base+"search?q=Ottawa&format=json")
	if err := json.Unmarshal([]byte(body), &whole); err != nil || whole.V != 1 || whole.Searched != whole.Total || whole.Total == 0 || len(whole.List) == 0 || len(whole.List) != links {
		t.Fatalf("%v, %d links: %s", err, links, body)
	}
	resp, body = get(t, base+"search/stream?q=Ottawa")
	if resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%v", resp.Header)
	}
	hits, done := 0, false
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		var line struct {
			Hits     []json.RawMessage
			Progress struct{ Searched, Total int64 }
			Done     bool
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		hits += len(line.Hits)
		done = line.Done && line.Progress.Searched == whole.Total
	}
	if !done || hits != links {
		t.Errorf("the stream has %d hits, the page %d: %s", hits, links, body)
	}
	for path, status := range map[string]int{"search": 200, "search?q=zz%1b": 200, "search?q=(&regexp=1": 400, "search/stream": 400, "search?q=a&in=x": 400, "search/stream?q=a&before=x": 400} {
		if resp, page := get(t, base+path); resp.StatusCode != status || terminaltest.Forbidden([]byte(page)) != "" {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// An encrypted record that the console cannot open says which command can.
func TestSearchSealed(t *testing.T) {
	dir := sealedRecord(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/")
	if _, page := get(t, base+"search?q=a"); !strings.Contains(page, "sotto console DIR --identity FILE") {
		t.Error(page)
	}
}

// Hostile texts are inert as hits.
func TestSearchHostile(t *testing.T) {
	effort.OneGoroutine(t)
	dir, _ := consoletest.Attacked(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/")
	allowed := map[string]bool{"progress": true, "mark": true}
	for _, e := range elements {
		allowed[e] = true
	}
	for _, q := range []string{"<", "hacked", "javascript:", "\u202e", `"`, "`"} {
		_, page := get(t, base+"search?"+url.Values{"q": {q}}.Encode())
		if bad := terminaltest.Forbidden([]byte(page)); bad != "" {
			t.Errorf("%q: the page holds %s", q, bad)
		}
		walk(t, page, func(n *html.Node) {
			if !allowed[n.Data] {
				t.Errorf("%q: an element %s", q, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "src") && strings.Contains(strings.SplitN(a.Val, "?", 2)[0], ":") {
					t.Errorf("%q: %s has %s=%s", q, n.Data, a.Key, a.Val)
				}
			}
		})
	}
}
