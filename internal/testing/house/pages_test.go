package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pageWords is how long a page may be: a reader who looks for one thing finds it.
const pageWords = 4000

// longPages are longer than that. The design stays one page: its rules refer to each other, and a
// test runs its examples in order.
var longPages = []string{"design.md"}

// pages returns the pages of docs by their paths, without the decisions.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	docs := os.DirFS(filepath.Join(root, "docs"))
	err := fs.WalkDir(docs, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "adr":
			return fs.SkipDir
		case path.Ext(name) == ".md":
			data, err := fs.ReadFile(docs, name)
			found[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil || len(found) < 60 {
		t.Fatalf("%d pages: %v", len(found), err)
	}
	return found
}

// No page is long, except those that are listed, and these are.
func TestPagesAreShort(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range longPages {
		listed[name] = true
	}
	for name, text := range pages(t) {
		n := 0
		for word := range strings.FieldsSeq(text) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				n++
			}
		}
		if long := n > pageWords; long && !listed[name] {
			t.Errorf("docs/%s has %d words: divide it, so that no page has more than %d", name, n, pageWords)
		} else if !long && listed[name] {
			t.Errorf("docs/%s has %d words: take it out of the list", name, n)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("there is no docs/%s: take it out of the list", name)
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s#]+)(?:#[^)\s]*)?\)`)
	// oldSection is the row of a page that was divided: it says where a section is now.
	oldSection = regexp.MustCompile(`(?m)^\| <a id="`)
)

// The index leads to every page, and README.md to the index. A page that was divided is not
// in the index: only old links lead to it.
func TestPagesAreLinked(t *testing.T) {
	all := pages(t)
	linked := map[string]bool{"README.md": true}
	for _, m := range pageLink.FindAllStringSubmatch(all["README.md"], -1) {
		linked[path.Clean(m[1])] = true
	}
	for name, text := range all {
		if divided := oldSection.MatchString(text); divided == linked[name] {
			t.Errorf("docs/%s: divided into other pages: %t, in the index of docs/README.md: %t", name, divided, linked[name])
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "](docs/README.md)") {
		t.Error("README.md does not lead to docs/README.md")
	}
}
