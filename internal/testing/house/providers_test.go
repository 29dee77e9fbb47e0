package house

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// namesProviders are the packages outside wire that may import a provider's codecs or
// name a provider or its codecs in a string, each with the reason.
var namesProviders = map[string]string{
	"wire/providers":               "the list of the providers",
	"model":                        "a client of each provider's API",
	"agent":                        "the keys of an experiment's file name the clients of package model",
	"internal/reply/promptshown":   "a rendering endpoint reads the members of one API",
	"internal/check/chatprobe":     "a probe asks in one API",
	"internal/console/talk":        "a page asks in one API",
	"internal/check/doctor":        "a diagnosis asks in the APIs of the providers",
	"internal/lab/inputfiles":      "a flag names the logs that are read",
	"internal/check/scripted":      "an upstream that imitates the providers",
	"internal/testing/sayings":     "a reader for tests that knows the APIs without their codecs",
	"internal/agents/agentmodel":   "an agent answers in the APIs of the providers that it is a model of",
	"internal/cli/solvecmd":        "a flag names the clients of package model",
	"internal/console/consoletest": "an exchange in a record names its API",
	"internal/serve/settings":      "a setting names the clients of package model",
}

// A provider is known in its own folder below wire, and in one list. Adding one
// changes nothing else: no other package imports its codecs, or decides by its name
// or by the name of one of its codecs.
func TestProvidersNamed(t *testing.T) {
	names := map[string]bool{}
	for _, p := range providers.All() {
		names[p.Name] = true
	}
	for _, c := range providers.Codecs() {
		names[c.Name()] = true
	}
	if len(names) < 9 {
		t.Fatalf("%d names: %v", len(names), names)
	}
	used := map[string]bool{}
	for path, p := range packages(t) {
		if strings.HasPrefix(path, "wire/") && path != "wire/providers" && path != "wire/shown" {
			continue
		}
		eachString(t, path, p, func(file, value string) {
			of, isImport := strings.CutPrefix(value, module+"/wire/")
			of, _, _ = strings.Cut(of, "/")
			if !names[value] && !names[strings.TrimSuffix(value, ".")] && !(isImport && names[of]) {
				return
			}
			used[path] = true
			if namesProviders[path] == "" {
				t.Errorf("%s/%s: %q: what is known of a provider belongs into its folder below wire, and in wire.Capabilities", path, file, value)
			}
		})
	}
	for path := range namesProviders {
		if !used[path] {
			t.Errorf("%s names no provider: remove it from the list", path)
		}
	}
}

// What an API can do, its codec declares: a message has members beside its text, or
// reasoning has blocks, parts or items.
func TestCapabilitiesDeclared(t *testing.T) {
	for _, c := range providers.Codecs() {
		can := c.Capabilities()
		if can.Members && can.Texts || can.Members == (can.Kind != "") || can.Adjacent && !can.Texts || can.Field != "" && !can.Members || can == (wire.Capabilities{}) {
			t.Errorf("%s: %+v", c.Name(), can)
		}
	}
}

// eachString calls do with each string of a package's code, tests left out.
func eachString(t *testing.T, path string, p *build.Package, do func(file, value string)) {
	t.Helper()
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatalf("%s/%s: %v", path, file, err)
				}
				do(file, value)
			}
			return true
		})
	}
}
