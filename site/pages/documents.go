package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// folderRoots are documents outside docs that are pages too.
var folderRoots = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "*/README.md"}

// skipped are folders whose README.md is for those who look at the files.
var skipped = map[string]bool{"docs": true, "examples": true, "testdata": true, "interop": true, "site": true}

// documents adds the pages of docs, and the documents at the root.
func (s *site) documents(root string) error {
	var files []string
	for _, pattern := range folderRoots {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, name := range found {
			if name, err = filepath.Rel(root, name); err != nil {
				return err
			}
			if name = filepath.ToSlash(name); !skipped[path.Dir(name)] {
				files = append(files, name)
			}
		}
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	index, err := os.ReadFile(filepath.Join(root, indexSource))
	if err != nil {
		return err
	}
	places := readIndex(string(index))
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		p := document(name, string(text))
		// Pages that the index names stand in its order, and the others after them.
		p.Weight = 1000
		if place, ok := places[name]; ok {
			p.Weight, p.Questions = place.at, place.questions
		}
		s.pages = append(s.pages, p)
	}
	s.addDecisions()
	return nil
}

const indexSource = "docs/README.md"

var (
	heading = regexp.MustCompile(`(?m)^# +(.+)$`)
	marked  = regexp.MustCompile("[`*]|</?a\\b[^>]*>|\\]\\([^)]*\\)|\\[")
	// oldSection is the row of a page that was divided: it says where a section is now.
	oldSection = regexp.MustCompile(`(?m)^\| <a id="`)
	han        = regexp.MustCompile(`\p{Han}`)
	// picture is an image in HTML. Those in Markdown are the generator's.
	picture = regexp.MustCompile(`\b(src|srcset)="[./a-z]*\bimages/`)
)

// document returns the page of a file.
func document(name, text string) page {
	p := page{Title: titleOf(name, text), URL: urlOf(name), Section: sectionOf(name), Source: name}
	p.body = picture.ReplaceAllString(text, `${1}="`+strings.Repeat("../", strings.Count(p.URL, "/")-1)+"images/")
	p.Moved = oldSection.MatchString(text)
	if len(han.FindAllString(text, -1)) > 200 {
		p.Lang, p.Section = "zh", "zh"
	}
	switch {
	case name == indexSource:
		p.Section, p.Layout = "", "home"
	case p.Moved:
		p.Section = ""
	case name == "README.md":
		p.Title = "What Sotto is"
	}
	return p
}

func titleOf(name, text string) string {
	if m := heading.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(marked.ReplaceAllString(m[1], ""))
	}
	return strings.TrimSuffix(path.Base(name), ".md")
}

// urlOf returns the address of the page of a file: that of the file, without the folder docs.
func urlOf(name string) string {
	switch {
	case name == indexSource:
		return "/index.html"
	case name == "README.md":
		return "/about.html"
	case path.Base(name) == "README.md":
		return "/" + strings.TrimPrefix(path.Dir(name), "docs/") + ".html"
	case path.Dir(name) == ".":
		return "/project/" + strings.ToLower(strings.TrimSuffix(name, ".md")) + ".html"
	}
	return "/" + strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md") + ".html"
}

func sectionOf(name string) string {
	rest, in := strings.CutPrefix(name, "docs/")
	if !in {
		return "project"
	}
	folder, _, deep := strings.Cut(rest, "/")
	if !deep {
		return "guides"
	}
	return folder
}

// addDecisions adds the list of the decisions.
func (s *site) addDecisions() {
	var b strings.Builder
	b.WriteString("# Decisions\n\nWhy Sotto is as it is: a page for each decision, with its date.\n\n")
	for i := len(s.pages) - 1; i >= 0; i-- {
		if p := &s.pages[i]; p.Section == "adr" {
			b.WriteString("- " + path.Base(p.Source)[:10] + " [" + p.Title + "](" + path.Base(p.Source) + ")\n")
		}
	}
	s.pages = append(s.pages, page{Title: "Decisions", URL: "/adr.html", Section: "adr", Weight: 1, Source: "docs/adr/README.md", body: b.String()})
}

// A place is where the index names a page: how far down, and for which questions.
type place struct {
	at        int
	questions []string
}

var (
	indexRow  = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)
	indexLink = regexp.MustCompile(`\]\(([^)#]+)`)
)

// readIndex reads the rows of the index. A question is one of the first page in its row.
func readIndex(text string) map[string]place {
	places := map[string]place{}
	for i, row := range indexRow.FindAllStringSubmatch(text, -1) {
		for j, link := range indexLink.FindAllStringSubmatch(row[2], -1) {
			name := path.Join("docs", link[1])
			p, ok := places[name]
			if !ok {
				p.at = 1 + i
			}
			if j == 0 {
				p.questions = append(p.questions, marked.ReplaceAllString(row[1], ""))
			}
			places[name] = p
		}
	}
	return places
}
