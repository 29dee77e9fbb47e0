package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The exported names of every public package are those that api/*.txt lists, one
// per line. This way no name is added, changed or dropped by accident.
func TestAPI(t *testing.T) {
	listed := map[string]bool{}
	for path, p := range packages(t) {
		if internal(path) || p.IsCommand() {
			continue
		}
		name := "api/" + strings.ReplaceAll(strings.Replace(path, ".", "sotto", 1), "/", "-") + ".txt"
		listed[name] = true
		golden(t, name, api(t, path, p))
	}
	files, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := "api/" + filepath.Base(f); !listed[name] {
			if *update {
				_ = os.Remove(f)
				continue
			}
			t.Errorf("%s lists a package that is no longer there", name)
		}
	}
}

// api lists the exported names of a package, one a line, sorted.
func api(t *testing.T, path string, p *build.Package) string {
	t.Helper()
	l := listing{fset: token.NewFileSet()}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(l.fset, filepath.Join(root, path, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			l.decl(d)
		}
	}
	slices.Sort(l.lines)
	return strings.Join(slices.Compact(l.lines), "")
}

type listing struct {
	fset  *token.FileSet
	lines []string
}

func (l *listing) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...)+"\n")
}

// source is a node as gofmt prints it, on one line.
func (l *listing) source(n any) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, l.fset, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func (l *listing) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		l.function(d)
	case *ast.GenDecl:
		var last ast.Expr // the type of a group of constants
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				l.typ(s)
			case *ast.ValueSpec:
				if s.Type != nil || len(s.Values) > 0 {
					last = s.Type
				}
				l.values(d.Tok, s, last)
			}
		}
	}
}

func (l *listing) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(l.source(d.Type), "func")
	if d.Recv == nil {
		l.add("func %s%s", d.Name, signature)
		return
	}
	on := d.Recv.List[0].Type
	base := on
	if star, ok := on.(*ast.StarExpr); ok {
		base = star.X
	}
	if i, ok := base.(*ast.IndexExpr); ok {
		base = i.X
	}
	if name, ok := base.(*ast.Ident); ok && name.IsExported() {
		l.add("method (%s) %s%s", l.source(on), d.Name, signature)
	}
}

func (l *listing) values(tok token.Token, s *ast.ValueSpec, typ ast.Expr) {
	for i, name := range s.Names {
		if !name.IsExported() {
			continue
		}
		line := tok.String() + " " + name.Name
		if typ != nil {
			line += " " + l.source(typ)
		}
		// Others compare with the value of a constant, but not with a variable's.
		if tok == token.CONST && i < len(s.Values) {
			line += " = " + l.source(s.Values[i])
		}
		l.add("%s", line)
	}
}

func (l *listing) typ(s *ast.TypeSpec) {
	if !s.Name.IsExported() {
		return
	}
	params := ""
	if s.TypeParams != nil {
		var list []string
		for _, f := range s.TypeParams.List {
			for _, n := range f.Names {
				list = append(list, n.Name+" "+l.source(f.Type))
			}
		}
		params = "[" + strings.Join(list, ", ") + "]"
	}
	is := " "
	if s.Assign.IsValid() {
		is = " = "
	}
	switch x := s.Type.(type) {
	case *ast.StructType:
		l.add("type %s%s struct", s.Name, params)
		for _, f := range x.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					l.add("field %s.%s %s", s.Name, n, strings.TrimSpace(l.source(f.Type)+" "+tag(f)))
				}
			}
			if len(f.Names) == 0 {
				l.add("field %s embeds %s", s.Name, l.source(f.Type))
			}
		}
	case *ast.InterfaceType:
		l.add("type %s%s interface", s.Name, params)
		for _, f := range x.Methods.List {
			for _, n := range f.Names {
				l.add("method %s.%s%s", s.Name, n, strings.TrimPrefix(l.source(f.Type), "func"))
			}
			if len(f.Names) == 0 {
				l.add("method %s embeds %s", s.Name, l.source(f.Type))
			}
		}
	default:
		l.add("type %s%s%s%s", s.Name, params, is, l.source(s.Type))
		l.alias(s)
	}
}

// alias lists what a type has that another package declares: an alias of an internal
// type is the only public name of its fields.
func (l *listing) alias(s *ast.TypeSpec) {
	of, ok := s.Type.(*ast.SelectorExpr)
	if !ok || !s.Assign.IsValid() {
		return
	}
	files, _ := filepath.Glob(filepath.Join(root, "internal", l.source(of.X), "*.go"))
	for _, name := range files {
		f, err := parser.ParseFile(l.fset, name, nil, parser.SkipObjectResolution)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				if t := spec.(*ast.TypeSpec); t.Name.Name == of.Sel.Name {
					l.typ(&ast.TypeSpec{Name: s.Name, Type: t.Type})
				}
			}
		}
	}
}

// tag returns the tag of a field, because files and APIs depend on it.
func tag(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	return f.Tag.Value
}
