package house

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// linkLike is what a reader takes for a link to a name of this package or of another one.
var linkLike = regexp.MustCompile(`\[\*?(?:[a-z]+\.)?[A-Z]\w*[a-z]\w*(?:\.[A-Z]\w*)?\]`)

// TestDocLinks: in the documentation of the public packages, what looks like a link to a name is
// one. A name that was changed leaves its old form in brackets.
func TestDocLinks(t *testing.T) {
	links := 0
	for path, p := range packages(t) {
		if internal(path) || p.IsCommand() {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(root, path, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		d, err := doc.NewFromFiles(fset, files, path)
		if err != nil {
			t.Fatal(err)
		}
		reader := d.Parser()
		for _, text := range docsOf(d) {
			for _, block := range reader.Parse(text).Content {
				inline(block, func(x comment.Text) {
					switch x := x.(type) {
					case *comment.DocLink:
						links++
					case comment.Plain:
						for _, bad := range linkLike.FindAllString(string(x), -1) {
							t.Errorf("%s: %s is no name that its documentation can refer to, in %q", path, bad, strings.TrimSpace(firstLine(text)))
						}
					}
				})
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// docsOf are the comments of a package that its documentation shows.
func docsOf(d *doc.Package) (all []string) {
	add := func(text string) { all = append(all, text) }
	values := func(list []*doc.Value) {
		for _, v := range list {
			add(v.Doc)
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			add(f.Doc)
		}
	}
	add(d.Doc)
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		add(typ.Doc)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
		ast.Inspect(typ.Decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				add(f.Doc.Text())
				add(f.Comment.Text())
			}
			return true
		})
	}
	return all
}

// inline calls a function for each piece of text in a block.
func inline(b comment.Block, f func(comment.Text)) {
	var texts func([]comment.Text)
	texts = func(list []comment.Text) {
		for _, x := range list {
			f(x)
			if l, ok := x.(*comment.Link); ok {
				texts(l.Text)
			}
		}
	}
	switch b := b.(type) {
	case *comment.Paragraph:
		texts(b.Text)
	case *comment.Heading:
		texts(b.Text)
	case *comment.List:
		for _, item := range b.Items {
			for _, c := range item.Content {
				inline(c, f)
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
