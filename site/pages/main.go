// Command pages writes what the generator of the site reads: the documents with their titles
// and places, a page for each model family, client and error, and data about all of them.
//
//	go run ./pages -root .. -out .work
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the source tree")
	out := flag.String("out", ".work", "the folder to write")
	flag.Parse()
	if err := write(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// A page is one page of the site.
type page struct {
	Title string `json:"title"`
	// URL is where the page is: "/howto/tls.html".
	URL string `json:"url"`
	// Section is the key of the section of the navigation, or empty.
	Section string `json:"section"`
	Weight  int    `json:"weight"`
	// Source is the file of the source tree that relative links are relative to.
	Source string `json:"source"`
	// Questions are other words under which the page should be found.
	Questions []string `json:"questions,omitempty"`
	// Moved says that the page only leads on to others, and is not searched.
	Moved  bool   `json:"moved,omitempty"`
	Layout string `json:"layout,omitempty"`
	Lang   string `json:"language,omitempty"`

	body string
}

// A section is a part of the navigation. Sections are the folders of docs, and those that
// this program writes.
type section struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	// Brief sections list only their first page in the navigation: it lists the others.
	Brief bool `json:"brief"`
}

// order is the order of the sections. A folder of docs that is not listed comes after them
// under its own name.
var order = []section{
	{"tutorials", "Tutorials", false},
	{"howto", "How-to", false},
	{"guides", "Guides", false},
	{"families", "Model families", true},
	{"clients", "Clients", true},
	{"errors", "Errors by name", true},
	{"reference", "Reference", false},
	{"explanation", "Explanation", false},
	{"evidence", "Evidence", false},
	{"adr", "Decisions", true},
	{"zh", "中文", false},
	{"project", "The project", false},
}

// A site is all pages.
type site struct {
	pages    []page
	sections []section
	data     []file // for the templates
}

// A file is a file to write, by its name in the folder.
type file struct {
	name string
	data []byte
}

func write(root, out string) error {
	var s site
	for _, add := range []func(string) error{s.documents, s.families, s.clients, s.errors, s.playground} {
		if err := add(root); err != nil {
			return err
		}
	}
	urls, sources := map[string]string{}, map[string]string{}
	for _, p := range s.pages {
		if other, ok := urls[p.URL]; ok {
			return fmt.Errorf("%s and %s both have the address %s", other, p.Title, p.URL)
		}
		urls[p.URL] = p.Title
		if p.URL == urlOf(p.Source) {
			sources[p.Source] = p.URL
		}
	}
	s.sections = sections(s.pages)
	for _, name := range []string{"content", "data"} {
		if err := os.RemoveAll(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	for _, f := range s.data {
		if err := writeFile(filepath.Join(out, f.name), f.data); err != nil {
			return err
		}
	}
	for _, p := range s.pages {
		if err := p.write(filepath.Join(out, "content")); err != nil {
			return err
		}
	}
	if err := writeJSON(filepath.Join(out, "data", "sections.json"), s.sections); err != nil {
		return err
	}
	return writeJSON(filepath.Join(out, "data", "sources.json"), sources)
}

// sections returns those that have pages.
func sections(pages []page) (list []section) {
	used := map[string]bool{}
	for _, p := range pages {
		used[p.Section] = true
	}
	for _, s := range order {
		if used[s.Key] {
			list = append(list, s)
		}
		delete(used, s.Key)
	}
	delete(used, "")
	for _, key := range slices.Sorted(maps.Keys(used)) {
		list = append(list, section{key, strings.ToUpper(key[:1]) + key[1:], false})
	}
	return list
}

// write writes the page for the generator: a head in JSON, and the text. Each page is a
// folder's index, so that no name of a file means anything to the generator.
func (p page) write(dir string) error {
	head, err := marshal(p)
	if err != nil {
		return err
	}
	name := "_index.md"
	if p.URL != "/index.html" {
		name = path.Join("pages", notSlug.ReplaceAllString(strings.ToLower(p.URL), "_"), "index.md")
	}
	return writeFile(filepath.Join(dir, name), append(append(head, '\n'), p.body...))
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

func writeJSON(name string, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	return writeFile(name, data)
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
