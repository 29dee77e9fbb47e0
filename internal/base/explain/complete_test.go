package explain

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// A vocabulary is the constants of a type in the files of a package, or all of a type in a
// variable: each is the name of something that a user meets.
type vocabulary struct {
	pattern string // of files
	typ     string // of the constants
	without []string
}

var vocabularies = []vocabulary{
	{"internal/base/faultname/faultname.go", "Name", nil},
	{"reply.go", "Code", nil},
	{"reply.go", "Reason", nil},
	{"gateway/internal/reading/*.go", "sotto.Code", nil},
	{"answer/answer.go", "Status", []string{"ok"}},
	{"answer/answer.go", "Reason", []string{"ok"}},
	{"internal/reply/leak/leak.go", "Kind", nil},
	{"internal/check/checks/names.go", "Name", nil},
	{"internal/cli/servecmd/names.go", "name", nil},
}

// tables are variables whose composite literals hold the codes of an API in a place of each
// row.
var tables = map[string]string{
	"wire/openai/responses/socket.go": "turnFaults",
	"wire/openai/responses/steer.go":  "steerFaults",
}

func parseFile(t *testing.T, file string) *ast.File {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	}
	return ""
}

func literal(x ast.Expr) (string, bool) {
	l, ok := x.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// constants returns the values of the constants of a type.
func (v vocabulary) constants(t *testing.T) (values []string) {
	files, _ := filepath.Glob(filepath.Join(root, v.pattern))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		file, _ = filepath.Rel(root, file)
		ast.Inspect(parseFile(t, file), func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok && typeName(s.Type) == v.typ {
				for _, x := range s.Values {
					if text, ok := literal(x); ok && !slices.Contains(v.without, text) {
						values = append(values, text)
					}
				}
			}
			return true
		})
	}
	return values
}

// codes returns the words with underscores, or in lower case, in the rows of a table: the
// first words are those of the API, and the texts have spaces.
func codes(t *testing.T, file, name string) (list []string) {
	for _, d := range parseFile(t, file).Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if v.Names[0].Name != name {
				continue
			}
			for _, row := range v.Values[0].(*ast.CompositeLit).Elts {
				list = append(list, codeOf(row.(*ast.KeyValueExpr).Value.(*ast.CompositeLit)))
			}
		}
	}
	return list
}

// codeOf is the code in a row: the word after the kind of the error, if the row has one.
func codeOf(row *ast.CompositeLit) string {
	for _, x := range row.Elts {
		if text, ok := literal(x); ok && text != "invalid_request_error" && text != "rate_limit_error" {
			return text
		}
	}
	return ""
}

// named are all names that the programs use.
func named(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, v := range vocabularies {
		values := v.constants(t)
		if len(values) < 2 {
			t.Errorf("%s has no constants of the type %s any more", v.pattern, v.typ)
		}
		for _, value := range values {
			all[Name(value)] = v.pattern
		}
	}
	for file, table := range tables {
		list := codes(t, file, table)
		if len(list) < 5 {
			t.Errorf("%s has no table %s any more", file, table)
		}
		for _, code := range list {
			all[Name(code)] = file
		}
	}
	return all
}

// TestComplete: every name has an entry, and so has every error that a package of the API
// exports.
func TestComplete(t *testing.T) {
	for name, from := range named(t) {
		if _, ok := Find(name); !ok {
			t.Errorf("%s has %q, which no entry explains", from, name)
		}
	}
	for _, dir := range []string{"record", "model", "gateway"} {
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		found := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			file, _ = filepath.Rel(root, file)
			for name, text := range sentinels(parseFile(t, file)) {
				found++
				if _, ok := OfText(text); !ok {
					t.Errorf("%s: no entry has the message of %s, %q", file, name, text)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s exports no errors", dir)
		}
	}
}

// sentinels returns the exported errors of a file with their texts.
func sentinels(f *ast.File) map[string]string {
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, x := range s.Values {
			call, ok := x.(*ast.CallExpr)
			if !ok || !strings.HasPrefix(s.Names[i].Name, "Err") || typeName(call.Fun) != "errors.New" {
				continue
			}
			if text, ok := literal(call.Args[0]); ok {
				all[s.Names[i].Name] = text
			}
		}
		return true
	})
	return all
}

// TestAlive: each entry is of a name that the programs use, or has a message; and each message
// is in a text of the programs.
func TestAlive(t *testing.T) {
	names, texts := named(t), sources(t)
	for _, e := range Entries() {
		used := len(e.Messages) > 0
		for _, name := range append([]string{e.Name}, e.Also...) {
			_, ok := names[name]
			used = used || ok
			if !ok && name != e.Name {
				t.Errorf("%s: nothing is called %q", e.Name, name)
			}
		}
		if !used {
			t.Errorf("%s: nothing is called so, and it has no message", e.Name)
		}
		for _, m := range e.Messages {
			for part := range strings.SplitSeq(m, Varies) {
				if part = strings.TrimSpace(part); !strings.Contains(texts, part) {
					t.Errorf("%s: no text of the programs has %q", e.Name, part)
				}
			}
		}
	}
}

// TestNamesAreUsed: each name of package faultname is used, and nobody makes a name up.
func TestNamesAreUsed(t *testing.T) {
	var all strings.Builder
	for _, dir := range []string{"gateway", "internal/net/access"} {
		each(t, dir, func(file string, data []byte) {
			all.Write(data)
			ast.Inspect(parseFile(t, file), func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && slices.Contains([]string{"faults.New", "faults.Refuse", "admission.Refuse", "faultname.Set"}, typeName(call.Fun)) {
					for _, x := range call.Args[:min(3, len(call.Args))] {
						if text, ok := literal(x); ok && text != "" {
							t.Errorf("%s: the name %q is not one of package faultname", file, text)
						}
					}
				}
				return true
			})
		})
	}
	ast.Inspect(parseFile(t, "internal/base/faultname/faultname.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && typeName(s.Type) == "Name" && !strings.Contains(all.String(), "faultname."+s.Names[0].Name) {
			t.Errorf("faultname.%s is not used", s.Names[0].Name)
		}
		return true
	})
}

// TestStatuses: an entry names each status with which the gateway answers by its name. Names whose
// status comes with the error are those of replies, and of the Responses API.
func TestStatuses(t *testing.T) {
	names := map[string]string{}
	ast.Inspect(parseFile(t, "internal/base/faultname/faultname.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && typeName(s.Type) == "Name" {
			names["faultname."+s.Names[0].Name], _ = literal(s.Values[0])
		}
		return true
	})
	found := 0
	for _, dir := range []string{"gateway", "internal/net/access"} {
		each(t, dir, func(file string, _ []byte) {
			ast.Inspect(parseFile(t, file), func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name, said, status := "", "", 0
				for _, x := range call.Args {
					if known := names[typeName(x)]; known != "" {
						name = known
					} else if s, ok := strings.CutPrefix(typeName(x), "http.Status"); ok {
						said, status = s, statuses[s]
					}
				}
				if name == "" || said == "" {
					return true
				}
				if status == 0 {
					t.Errorf("%s: add http.Status%s to the table of this test", file, said)
				}
				found++
				if e, _ := Find(name); !strings.Contains(e.Where, strconv.Itoa(status)) {
					t.Errorf("%s answers %s with status %d, and its entry says %q", file, name, status, e.Where)
				}
				return true
			})
		})
	}
	if found < 30 {
		t.Errorf("only %d answers were found", found)
	}
}

var statuses = map[string]int{
	"BadRequest": 400, "Unauthorized": 401, "Forbidden": 403, "NotFound": 404, "MethodNotAllowed": 405, "RequestTimeout": 408, "Conflict": 409,
	"RequestEntityTooLarge": 413, "UnsupportedMediaType": 415, "UpgradeRequired": 426, "TooManyRequests": 429, "RequestHeaderFieldsTooLarge": 431,
	"InternalServerError": 500, "BadGateway": 502, "ServiceUnavailable": 503, "GatewayTimeout": 504,
}

// each passes the Go files below a folder that are not tests.
func each(t *testing.T, dir string, do func(file string, data []byte)) {
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "_benchmark", "interop", "testdata", "node_modules", "internal/base/explain", "internal/testing"}, filepath.ToSlash(rel)), d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			do(rel, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sources returns the string literals of the programs. Those that are added up are one text.
func sources(t *testing.T) string {
	var b strings.Builder
	each(t, ".", func(file string, data []byte) {
		var s scanner.Scanner
		set := token.NewFileSet()
		s.Init(set.AddFile(file, -1, len(data)), data, nil, 0)
		before, added := token.ILLEGAL, false
		for {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				return
			}
			if tok == token.STRING {
				if !added || before != token.ADD {
					b.WriteByte(0)
				}
				text, _ := strconv.Unquote(lit)
				b.WriteString(text)
				added = true
			} else if tok != token.ADD {
				added = false
			}
			before = tok
		}
	})
	return b.String()
}
