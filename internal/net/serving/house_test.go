package serving

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryServer: every HTTP server of this module is made by [NewServer], not by
// a literal or by the functions of net/http that have no timeouts, and keeps its handler, and every address is
// opened by [Listen], whose errors say what to do. Examples are programs
// of others, which cannot use this package.
func TestEveryServer(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	files, own, listens := 0, 0, 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") || base == "testdata" || base == "interop" || base == "examples" || base == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		here := filepath.Dir(name) == filepath.Join(root, "internal", "net", "serving")
		forTests := strings.HasSuffix(filepath.Dir(name), "test") || strings.HasPrefix(name, filepath.Join(root, "internal", "testing")+string(filepath.Separator))
		ast.Inspect(file, func(n ast.Node) bool {
			switch {
			case !listensTCP(n) || forTests:
			case here:
				listens++
			default:
				t.Errorf("%s: net.Listen: use serving.Listen", fset.Position(n.Pos()))
			}
			made := serverMade(n)
			switch {
			case made == "":
			case here:
				own++
			default:
				t.Errorf("%s: %s: use serving.NewServer, on a listener of serving.Bound", fset.Position(n.Pos()), made)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 50 || own != 2 || listens != 1 {
		t.Errorf("%v; %d files, %d servers and %d listeners here", err, files, own, listens)
	}
}

// serverMade returns how a node makes an HTTP server, or "" if it does not.
func serverMade(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if isHTTP(n.Type, "Server") {
			return "http.Server{…}"
		}
	case *ast.CallExpr:
		for _, f := range []string{"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"} {
			if isHTTP(n.Fun, f) {
				return "http." + f
			}
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if s, ok := to.(*ast.SelectorExpr); ok && s.Sel.Name == "Handler" {
				return "a server with another Handler, without serving.Wrap"
			}
		}
	case *ast.ValueSpec:
		if isHTTP(n.Type, "Server") {
			return "var of http.Server"
		}
	}
	return ""
}

// listensTCP reports whether a node opens an address of TCP.
func listensTCP(n ast.Node) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	network, _ := c.Args[0].(*ast.BasicLit)
	unix := network != nil && strings.HasPrefix(network.Value, `"unix`)
	return isOf("net", c.Fun, "Listen") && !unix || isOf("net", c.Fun, "ListenTCP")
}

func isHTTP(e ast.Expr, name string) bool { return isOf("http", e, name) }

func isOf(pkg string, e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && p.Name == pkg
}
