package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPromisedJSON: in the packages that write JSON with a version ("v"), each member of each
// object has the name and the type that are listed.
func TestPromisedJSON(t *testing.T) {
	var list []string
	for path, p := range packages(t) {
		var own []string
		versioned := false
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				lines, v := membersIn(path, d)
				own, versioned = append(own, lines...), versioned || v
			}
		}
		if versioned {
			list = append(list, own...)
		}
	}
	if len(list) < 500 {
		t.Fatalf("only %d members: the test sees too little", len(list))
	}
	slices.Sort(list)
	golden(t, "api/promises/json.txt", strings.Join(slices.Compact(list), "\n")+"\n")
}

// membersIn lists the members of the objects that a declaration has as structs, and reports
// whether one of them is a version.
func membersIn(path string, d ast.Decl) (list []string, versioned bool) {
	within := "" // the name of the type or function
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			within = n.Name.Name
		case *ast.TypeSpec:
			within = n.Name.Name
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if f.Tag == nil {
					continue
				}
				tag, _ := strconv.Unquote(f.Tag.Value)
				name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if name == "" || name == "-" {
					continue
				}
				versioned = versioned || name == "v"
				list = append(list, strings.TrimSpace(strings.Join([]string{path, within, name, typeText(f.Type), options}, " ")))
			}
		}
		return true
	})
	return list, versioned
}

// typeText is a type as it is written; of a struct, that it is one: its members have lines of
// their own.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.StarExpr:
		return typeText(e.X) // a pointer is written as what it points to, or as null
	}
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), e) // to memory
	return strings.ReplaceAll(b.String(), " ", "")
}
