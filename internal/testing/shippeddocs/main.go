// Command shippeddocs writes the documents of a release so that each link leads somewhere:
// to another document beside it, or to the file in the repository, at the version of the
// release. Packages and archives have the documents, and not the examples and pictures that
// they link to.
//
//	go run ./internal/testing/shippeddocs -version 1.2.0 DIR
//
// It reads the current folder, which is that of the repository, and writes DIR/package and
// DIR/archive.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	version := flag.String("version", "(devel)", "the version of the release")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: shippeddocs [-version VERSION] DIR")
		os.Exit(2)
	}
	if err := run(".", flag.Arg(0), *version); err != nil {
		fmt.Fprintln(os.Stderr, "shippeddocs:", err)
		os.Exit(1)
	}
}

func run(root, dir, version string) error {
	guides, err := guides(root)
	if err != nil || len(guides) == 0 {
		return fmt.Errorf("there are no guides in %s: %w", root, err)
	}
	inPackage := collection{"CHANGELOG.md": "CHANGELOG.md", "LICENSE": "copyright"}
	for _, name := range guides {
		inPackage["docs/"+name] = name
	}
	inArchive := collection{"README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "LICENSE": "LICENSE"}
	for name, files := range map[string]collection{"package": inPackage, "archive": inArchive} {
		if err := files.write(root, filepath.Join(dir, name), refOf(version)); err != nil {
			return err
		}
	}
	return nil
}

// guides returns the pages of docs and its folders, without the decisions.
func guides(root string) (list []string, err error) {
	docs := os.DirFS(filepath.Join(root, "docs"))
	err = fs.WalkDir(docs, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "adr":
			return fs.SkipDir
		case path.Ext(name) == ".md":
			list = append(list, name)
		}
		return nil
	})
	return list, err
}

// refOf returns the tag of a version. A build that is no release has none.
func refOf(version string) string {
	if strings.HasPrefix(version, "(") || strings.Contains(version, "-dev.") {
		return "main"
	}
	return "v" + version
}

// A collection has the files that are shipped together: by the path in the repository, the
// name that they have where they are installed.
type collection map[string]string

// write writes the documents of a collection.
func (c collection) write(root, dir, ref string) error {
	for name, installed := range c {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		made, err := c.resolve(root, name, ref, string(text))
		if err != nil {
			return err
		}
		file := filepath.Join(dir, installed)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(made), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// link matches the targets of links and pictures, in Markdown and in HTML. An exclamation
// mark or an attribute says that it is a picture.
var link = regexp.MustCompile(`(!\[[^\]]*\]\(|\]\(|\bsrc="|\bsrcset="|\bhref=")([^)\s"]+)`)

// The repository, and its files as they are.
const (
	repository = "https://github.com/sotto-llm/sotto"
	raw        = "https://raw.githubusercontent.com/sotto-llm/sotto"
)

// resolve returns a document with links that can be followed where it is installed.
func (c collection) resolve(root, name, ref, text string) (string, error) {
	var fault error
	made := link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		target, anchor, anchored := strings.Cut(m[2], "#")
		if target == "" || strings.Contains(target, ":") {
			return found
		}
		inRepository := path.Join(path.Dir(name), target)
		info, err := os.Stat(filepath.Join(root, inRepository))
		if err != nil {
			fault = fmt.Errorf("%s: the link %s leads nowhere", name, m[2])
			return found
		}
		to := c[inRepository]
		switch {
		case to != "":
			to = strings.Repeat("../", strings.Count(c[name], "/")) + to
		case strings.HasPrefix(m[1], "!") || strings.HasPrefix(m[1], "src"):
			to = raw + "/" + ref + "/" + inRepository
		case info.IsDir():
			to = repository + "/tree/" + ref + "/" + inRepository
		default:
			to = repository + "/blob/" + ref + "/" + inRepository
		}
		if anchored {
			to += "#" + anchor
		}
		return m[1] + to
	})
	return made, fault
}
