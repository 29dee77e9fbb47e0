package providers_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/gemini/interactions"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/conversations"
	"github.com/sotto-llm/sotto/wire/openai/responses"
	"github.com/sotto-llm/sotto/wire/shown"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// An apiTrees is the trees of an API, whose codec is in a folder below wire.
type apiTrees struct {
	api, folder string
	list        []shown.Tree
}

var trees = []apiTrees{
	{"Chat completions and completions", "openai", openai.Shown()},
	{"Responses", "openai/responses", responses.Shown()},
	{"Mistral's conversations", "openai/conversations", conversations.Shown()},
	{"Messages", "anthropic", anthropic.Shown()},
	{"Gemini", "gemini", gemini.Shown()},
	{"Interactions", "gemini/interactions", interactions.Shown()},
	{"Ollama", "ollama", ollama.Shown()},
	{"llama.cpp", "llamacpp", llamacpp.Shown()},
	{"Cohere", "cohere", cohere.Shown()},
	{"Converse", "bedrock", bedrock.Shown()},
	{"Every API", "shown", shown.Common()},
}

// kinds are those of leaves, in the order of the tables.
var kinds = []string{"text", "piece", "texts", "label", "word", "number", "counts", "sealed", "token", "opaque", "empty"}

// TestMembers: the tables of docs/members.md are those of the trees.
func TestMembers(t *testing.T) {
	const name, begin = "../../docs/members.md", "<!-- generated: members -->\n"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(begin))
	if at < 0 {
		t.Fatalf("%s has no place for the tables", name)
	}
	for _, kind := range kinds {
		if !bytes.Contains(data[:at], []byte("\n| "+kind+" | ")) {
			t.Errorf("%s does not say what passes as %s", name, kind)
		}
	}
	got := append(data[:at+len(begin):at+len(begin)], tables(t)...)
	switch {
	case bytes.Equal(got, data):
	case *update:
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the trees say: go test ./wire/providers -run TestMembers -update, and read the diff", name)
	}
}

func tables(t *testing.T) string {
	var b strings.Builder
	for _, of := range trees {
		fmt.Fprintf(&b, "\n## %s\n", of.api)
		for _, tree := range of.list {
			fmt.Fprintf(&b, "\n%s:\n\n| kind | members |\n| --- | --- |\n", strings.ToUpper(tree.Of[:1])+tree.Of[1:])
			paths := map[string][]string{}
			for _, leaf := range tree.Value.Leaves() {
				if !slices.Contains(kinds, leaf.Kind) {
					t.Errorf("%s: %s is of a kind that the document does not explain: %s", of.api, leaf.Path, leaf.Kind)
				}
				paths[leaf.Kind] = append(paths[leaf.Kind], "`"+leaf.Path+"`")
			}
			for _, kind := range kinds {
				if len(paths[kind]) > 0 {
					fmt.Fprintf(&b, "| %s | %s |\n", kind, strings.Join(paths[kind], ", "))
				}
			}
		}
	}
	return b.String()
}

// TestTreesListed: each tree that a codec uses outside its file shown.go is one that the
// codec lists, and each codec that has trees is listed here.
func TestTreesListed(t *testing.T) {
	files, err := filepath.Glob("../*/shown.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*/*/shown.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range append(files, more...) {
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(file), ".."+string(filepath.Separator)))
		if !slices.ContainsFunc(trees, func(of apiTrees) bool { return of.folder == folder }) {
			t.Errorf("wire/%s has trees that are not in the table", folder)
		}
		declared, listed := treesOf(t, file)
		for name := range used(t, filepath.Dir(file)) {
			if !declared[name] {
				continue
			}
			if n++; !listed[name] {
				t.Errorf("%s: Shown does not list %s", file, name)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d trees are used: is the code where it was?", n)
	}
}

// treesOf returns the variables of a file that are trees, and what its function Shown names.
func treesOf(t *testing.T, file string) (declared, listed map[string]bool) {
	declared, listed = map[string]bool{}, map[string]bool{}
	for _, d := range parsed(t, file).Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					for _, name := range v.Names {
						declared[name.Name] = name.Name != "shownExceptions" // names of events
					}
				}
			}
		case *ast.FuncDecl:
			if d.Name.Name == "Shown" {
				names(d.Body, listed)
			}
		}
	}
	return declared, listed
}

// used returns the names that the files of a folder use, without shown.go.
func used(t *testing.T, folder string) map[string]bool {
	all := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if base := filepath.Base(file); base != "shown.go" && !strings.HasSuffix(base, "_test.go") {
			names(parsed(t, file), all)
		}
	}
	return all
}

func names(in ast.Node, to map[string]bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			to[id.Name] = true
		}
		return true
	})
}

func parsed(t *testing.T, file string) *ast.File {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
