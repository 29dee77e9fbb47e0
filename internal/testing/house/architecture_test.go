package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const architecture = "docs/explanation/architecture.md"

// packagePages are the pages with what is drawn from the imports.
var packagePages = map[string]func(*testing.T) string{
	"docs/reference/packages.md": func(t *testing.T) string {
		return picture(t) + "\n## Packages below public ones\n\n" + packageTable(t, func(path string) bool { return neighbourhood(path) == "" })
	},
	"docs/reference/internal-packages.md": func(t *testing.T) string {
		return packageTable(t, func(path string) bool { return tools[neighbourhood(path)] })
	},
	"docs/reference/program-packages.md": func(t *testing.T) string {
		return packageTable(t, func(path string) bool { n := neighbourhood(path); return n != "" && !tools[n] })
	},
}

// tools are the neighbourhoods that know no command.
var tools = map[string]bool{"base": true, "data": true, "net": true, "reply": true, "recorded": true}

// neighbourhood is the folder below internal that a package is in, or "" for one that is beside
// a public package.
func neighbourhood(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// The picture of the packages and the tables of what they are for show their imports.
func TestPicture(t *testing.T) {
	for page, draw := range packagePages {
		data, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		const begin, end = "<!-- generated: packages -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(string(data), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no place for the packages", page)
		}
		golden(t, page, before+begin+draw(t)+end+after)
	}
}

// picture draws the public packages and the command as a Mermaid flowchart, with an
// arrow for each import that does not follow from the others.
func picture(t *testing.T) string {
	all := packages(t)
	imports := imported(t)
	edges := map[string]map[string]bool{}
	var walk func(from, at string, seen map[string]bool)
	walk = func(from, at string, seen map[string]bool) {
		for _, to := range imports[at] {
			if seen[to] {
				continue
			}
			seen[to] = true
			switch r := room(to); {
			case r == from || internal(r) || from == "cmd/sotto-gateway" && internal(to): // its commands are below internal/cli too
				walk(from, to, seen) // through internal packages, to what they import
			default:
				if edges[from] == nil {
					edges[from] = map[string]bool{}
				}
				edges[from][r] = true
			}
		}
	}
	public := map[string]bool{}
	for path := range all {
		if r := room(path); !internal(r) {
			public[r] = true
			walk(r, path, map[string]bool{})
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	id := func(path string) string {
		return strings.NewReplacer("/", "_", ".", "sotto").Replace(path)
	}
	for _, path := range slices.Sorted(maps.Keys(public)) {
		fmt.Fprintf(&b, "    %s[%q]\n", id(path), label(path))
	}
	for _, from := range slices.Sorted(maps.Keys(public)) {
		for _, to := range slices.Sorted(maps.Keys(edges[from])) {
			if !follows(edges, from, to) {
				fmt.Fprintf(&b, "    %s --> %s\n", id(from), id(to))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// imported returns what each package imports of this module.
func imported(t *testing.T) map[string][]string {
	imports := map[string][]string{}
	for path, p := range packages(t) {
		for _, i := range p.Imports {
			if to, ok := strings.CutPrefix(i, module); ok {
				to = strings.TrimPrefix(to, "/")
				if to == "" {
					to = "."
				}
				imports[path] = append(imports[path], to)
			}
		}
	}
	return imports
}

// room is the node of a package: the command is one node, with everything below internal/cli.
func room(path string) string {
	if path == "cmd/sotto" || strings.HasPrefix(path, "internal/cli") {
		return "cmd/sotto"
	}
	return path
}

// label is the name of a package in the picture and the tables.
func label(path string) string { return strings.Replace(path, ".", "sotto", 1) }

// packageTable has a row for each internal package that belongs to it: what it is for, and what imports it.
func packageTable(t *testing.T, belongs func(path string) bool) string {
	all, imports := packages(t), imported(t)
	var b strings.Builder
	b.WriteString("| internal package | what it is for | imported by |\n| --- | --- | --- |\n")
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if !internal(path) || !belongs(path) || strings.HasPrefix(path, "internal/cli/") || path == "internal/testing/house" {
			continue
		}
		users := map[string]bool{}
		for from, list := range imports {
			if slices.Contains(list, path) {
				users[label(room(from))] = true
			}
		}
		names := strings.Join(slices.Sorted(maps.Keys(users)), ", ")
		if names == "" {
			names = "tests"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", path, synopsis(all[path].Doc), names)
	}
	return b.String()
}

// follows reports whether an import follows from others, that is, whether from
// reaches to by another path.
func follows(edges map[string]map[string]bool, from, to string) bool {
	seen := map[string]bool{}
	var reach func(at string) bool
	reach = func(at string) bool {
		for next := range edges[at] {
			if next == to && at != from {
				return true
			}
			if next != to && !seen[next] {
				seen[next] = true
				if reach(next) {
					return true
				}
			}
		}
		return false
	}
	return reach(from)
}

// synopsis returns a package's first sentence without "Package NAME".
func synopsis(doc string) string {
	words := strings.Fields(doc)
	if len(words) < 3 || words[0] != "Package" {
		return doc
	}
	return strings.TrimSuffix(strings.Join(words[2:], " "), ".")
}

// Every function that docs/explanation/architecture.md names, as `package.Function` or
// `package.Type.Method`, exists in that package.
func TestFunctionsNamed(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	all := packages(t)
	declared := map[string]map[string]bool{}
	n := 0
	for _, m := range regexp.MustCompile("`([a-z][a-z0-9/]*)\\.([A-Za-z]\\w*)(?:\\.([A-Za-z]\\w*))?(?:\\(\\))?`").FindAllStringSubmatch(string(data), -1) {
		path := m[1]
		if path == "sotto" {
			path = "."
		}
		p := all[path]
		if p == nil {
			continue // a file name, or a key of a configuration
		}
		if declared[path] == nil {
			declared[path] = declarations(t, path, p.GoFiles)
		}
		name := m[2]
		if m[3] != "" {
			name += "." + m[3]
		}
		if n++; !declared[path][name] {
			t.Errorf("%s names %s: there is no such declaration", architecture, m[0])
		}
	}
	if n < 20 {
		t.Errorf("%d functions were found in %s", n, architecture)
	}
}

// A request takes one way, and each station is a file: the functions of a row are
// declared in its file.
func TestStations(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	var stations []string
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `(gateway(?:/\\w+)*)/(\\w+\\.go)` \\| (.*) \\|$").FindAllStringSubmatch(string(data), -1) {
		stations = append(stations, row[1])
		declared := declarations(t, row[2], []string{row[3]})
		for _, name := range regexp.MustCompile("`"+row[2]+"\\.([\\w.]+)`").FindAllStringSubmatch(row[4], -1) {
			if !declared[name[1]] {
				t.Errorf("%s/%s does not declare %s", row[2], row[3], name[1])
			}
		}
	}
	if want := []string{"access", "route", "exchange", "upstream", "reply", "observers"}; !slices.Equal(stations, want) {
		t.Errorf("%s has the stations %q, want %q", architecture, stations, want)
	}
}

// Each question has an answer: the file declares where it begins.
func TestQuestions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| Where .*\\? \\| `([\\w/.]+\\.go)` \\| `([\\w.]+)` \\|$").FindAllStringSubmatch(string(data), -1)
	for _, row := range rows {
		dir, file := path.Split(row[1])
		if !declarations(t, dir, []string{file})[row[2]] {
			t.Errorf("%s does not declare %s", row[1], row[2])
		}
	}
	if len(rows) != 10 {
		t.Errorf("%s has %d questions", architecture, len(rows))
	}
}

// declarations returns the functions, types and methods of a package.
func declarations(t *testing.T, path string, files []string) map[string]bool {
	names := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					on := d.Recv.List[0].Type
					if star, ok := on.(*ast.StarExpr); ok {
						on = star.X
					}
					if i, ok := on.(*ast.IndexExpr); ok {
						on = i.X
					}
					name = on.(*ast.Ident).Name + "." + name
				}
				names[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						names[s.Name.Name] = true
						if i, ok := s.Type.(*ast.InterfaceType); ok {
							for _, m := range i.Methods.List {
								for _, n := range m.Names {
									names[s.Name.Name+"."+n.Name] = true
								}
							}
						}
						if st, ok := s.Type.(*ast.StructType); ok {
							for _, m := range st.Fields.List {
								for _, n := range m.Names {
									names[s.Name.Name+"."+n.Name] = true
								}
							}
						}
					}
				}
			}
		}
	}
	return names
}
