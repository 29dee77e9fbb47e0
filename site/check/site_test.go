// Package check holds what must be true of the site that site/build made: its links lead
// somewhere, its search finds what people look for, and it works from a folder, in a real
// browser, without another host.
package check

import (
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/explain"
)

const public = "../public"

// read returns the pages of the site by their paths.
func read(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	site := os.DirFS(public)
	err := fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		data, err := fs.ReadFile(site, name)
		pages[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatalf("%v: run site/build first", err)
	}
	return pages
}

var (
	target = regexp.MustCompile(`<([a-z]+)\b[^>]*?\s(?:href|src|srcset)="?([^"\s>]*)"?`)
	anchor = regexp.MustCompile(`\s(?:id|name)="([^"]+)"`)
)

// Every link within the site leads to a page, and to a place of it. Only a person's click leads
// to another host. No link needs a server: none begins with a slash or leads to a folder.
func TestLinks(t *testing.T) {
	pages := read(t)
	anchors := map[string]map[string]bool{}
	for name, text := range pages {
		anchors[name] = map[string]bool{"": true}
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			anchors[name][html.UnescapeString(m[1])] = true
		}
	}
	found := 0
	for name, text := range pages {
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			tag, to := m[1], html.UnescapeString(m[2])
			switch {
			case strings.HasPrefix(to, "data:"):
			case strings.Contains(to, "://"), strings.HasPrefix(to, "mailto:"):
				if tag != "a" {
					t.Errorf("%s: <%s> takes %s from another host", name, tag, to)
				}
			case strings.HasPrefix(to, "/"), strings.HasPrefix(to, "site:"):
				t.Errorf("%s: the link %s does not work from a folder", name, to)
			default:
				found++
				if err := leads(anchors, name, to); err != "" {
					t.Errorf("%s: %s: %s", name, to, err)
				}
			}
		}
	}
	if found < 10*len(pages) {
		t.Errorf("found %d links in %d pages", found, len(pages))
	}
}

// leads says why a link of a page leads nowhere, or "".
func leads(anchors map[string]map[string]bool, from, to string) string {
	file, place, _ := strings.Cut(to, "#")
	if plain, err := url.PathUnescape(place); err == nil {
		place = plain
	}
	if file == "" {
		file = from
	} else {
		file = path.Join(path.Dir(from), file)
	}
	set, isPage := anchors[file]
	if !isPage {
		if info, err := os.Stat(filepath.Join(public, file)); err != nil || info.IsDir() {
			return "no such file"
		}
		return ""
	}
	if !set[place] && file != "playground.html" { // whose #dialect=NAME is for its script
		return "no such place in the page"
	}
	return ""
}

// Each document, family and error has its page at the address that follows from its name, and
// a page leads to each.
func TestEveryPage(t *testing.T) {
	pages := read(t)
	var want []string
	err := fs.WalkDir(os.DirFS("../../docs"), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" && path.Base(name) != "README.md" {
			want = append(want, strings.TrimSuffix(name, ".md")+".html")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range explain.Names() {
		want = append(want, "errors/"+name+".html")
	}
	for _, d := range dialect.All() {
		want = append(want, "families/"+d.Name+".html")
	}
	for _, name := range want {
		if pages[name] == "" {
			t.Errorf("no page %s", name)
		}
	}
	linked := map[string]bool{"index.html": true, "404.html": true}
	for name, text := range pages {
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			file, _, _ := strings.Cut(m[2], "#")
			if to := path.Join(path.Dir(name), file); to != name {
				linked[to] = true
			}
		}
	}
	for name, text := range pages {
		if strings.Contains(text, " data-moved") {
			continue // old addresses lead there
		}
		if !linked[name] {
			t.Errorf("no page leads to %s", name)
		}
		if n := strings.Count(text, "<h1"); n != 1 {
			t.Errorf("%s has %d titles", name, n)
		}
	}
}

// Every family's page shows a thought and an answer.
func TestFamilies(t *testing.T) {
	for name, text := range read(t) {
		if path.Dir(name) != "families" || path.Base(name) == "all.html" {
			continue
		}
		for _, part := range []string{`<dd class="c-reasoning">`, `<dd class="c-text">`} {
			_, rest, _ := strings.Cut(text, part)
			if shown, _, _ := strings.Cut(rest, "</dd>"); strings.TrimSpace(shown) == "" {
				t.Errorf("%s shows no %s", name, part)
			}
		}
	}
}
