package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is one change of one place in a file.
type mutant struct {
	n        int // its number in its package, from 1
	file     string
	key      string // file, function, change, and a number if the same change is made twice
	from, to int    // the bytes that it replaces
	with     string
	body     int         // where the body of its function begins
	invalid  bool        // it cannot compile: the types forbid it
	choice   []insertion // the same as a choice at run time; nil if it cannot be written so
}

// An insertion is text that a choice at run time puts into a file.
type insertion struct {
	at, skip int // skip is how many bytes it replaces
	text     string
	end      bool // it ends what begins further left
}

// A program is a package and its mutants.
type program struct {
	dir     string
	name    string // of the package
	sources map[string][]byte
	mutants []mutant
}

// list makes the mutants of a package without its types: none of them is a choice yet.
func list(root string, t target) (*program, error) {
	dir := filepath.Join(root, t.dir)
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir, name: pkg.Name, sources: map[string][]byte{}}
	fset := token.NewFileSet()
	for _, name := range t.names(pkg.GoFiles) {
		tree, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if err := p.add(t, name, &packages.Package{Fset: fset}, tree); err != nil {
			return nil, err
		}
	}
	return p, p.number()
}

// load makes the mutants of a package. They are those of list, and most of them are choices.
func load(root string, t target) (*program, error) {
	dir := filepath.Join(root, t.dir)
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir}, ".")
	if err != nil {
		return nil, err
	}
	pkg := pkgs[0]
	if len(pkg.Errors) > 0 {
		return nil, pkg.Errors[0]
	}
	p := &program{dir: dir, name: pkg.Name, sources: map[string][]byte{}}
	trees := map[string]*ast.File{}
	var all []string
	for i, path := range pkg.CompiledGoFiles {
		all = append(all, filepath.Base(path))
		trees[filepath.Base(path)] = pkg.Syntax[i]
	}
	for _, name := range t.names(all) {
		if trees[name] == nil {
			return nil, fmt.Errorf("the package has no file %s", name)
		}
		if err := p.add(t, name, pkg, trees[name]); err != nil {
			return nil, err
		}
	}
	return p, p.number()
}

// add makes the mutants of one file.
func (p *program) add(t target, name string, pkg *packages.Package, tree *ast.File) error {
	src, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	p.sources[name] = src
	b := breaker{name: name, shown: path.Join(t.dir, name), src: src, pkg: pkg, seen: map[string]int{}, statements: map[ast.Stmt]bool{}}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			b.function, b.body = f.Name.Name, b.offset(f.Body.Lbrace)+1
			ast.Inspect(f.Body, b.visit)
		}
	}
	p.mutants = append(p.mutants, b.mutants...)
	return nil
}

func (p *program) number() error {
	for i := range p.mutants {
		p.mutants[i].n = i + 1
	}
	switch {
	case len(p.mutants) == 0:
		return errors.New("no mutants")
	case len(p.mutants) >= mostMutants:
		return fmt.Errorf("%d mutants in one package: choice.go.txt has room for %d", len(p.mutants), mostMutants)
	}
	return nil
}

// mostMutants is the room that the tables of choice.go.txt and screen.go.txt have.
const mostMutants = 1 << 14

// alone returns the mutant's file with its one change.
func (p *program) alone(m mutant) []byte {
	src := p.sources[m.file]
	return slices.Concat(src[:m.from], []byte(m.with), src[m.to:])
}

// together returns a file with the changes that are choices at run time. A mutant that
// is not one notes that its function was called.
func (p *program) together(file string, mutants []mutant) []byte {
	var list []insertion
	for _, m := range mutants {
		if m.file != file {
			continue
		}
		insertions := m.choice
		if m.choice == nil {
			insertions = []insertion{{at: m.body, text: " mutant($);"}}
		}
		for _, in := range insertions {
			in.text = strings.ReplaceAll(in.text, "$", strconv.Itoa(m.n))
			list = append(list, in)
		}
	}
	// The mutants are in the order of their nodes, the outer before the inner. Of the
	// insertions at one byte, ends come first, the inner before the outer.
	slices.SortStableFunc(list, func(a, b insertion) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1
		}
		return 1
	})
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && list[j].end && list[j].at == list[i].at {
			j++
		}
		slices.Reverse(list[i:j])
		i = max(i, j-1)
	}
	src := p.sources[file]
	var out []byte
	at := 0
	for _, in := range list {
		out = append(append(out, src[at:in.at]...), in.text...)
		at = in.at + in.skip
	}
	return append(out, src[at:]...)
}

// A breaker makes the mutants of one file.
type breaker struct {
	name, function string
	shown          string // the name in keys
	body           int    // where the function's body begins
	src            []byte
	pkg            *packages.Package // without types, no mutant is a choice
	seen           map[string]int
	statements     map[ast.Stmt]bool // those that stand in a list of statements
	mutants        []mutant
}

var swaps = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// choices are the functions of choice.go that stand for an operator or its swap.
var choices = map[token.Token]string{
	token.LSS: "mutantLess", token.LEQ: "mutantLessEqual", token.GTR: "mutantGreater", token.GEQ: "mutantGreaterEqual",
	token.LAND: "mutantAnd", token.LOR: "mutantOr", token.ADD: "mutantAdd", token.SUB: "mutantSub",
}

func (b *breaker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		b.note(n.List)
	case *ast.CaseClause:
		b.note(n.Body)
	case *ast.IfStmt:
		b.replace(n.Cond, "!("+b.text(n.Cond)+")", around("((", n.Cond, ") != mutant($))"))
	case *ast.BinaryExpr:
		b.operator(n)
	case *ast.UnaryExpr:
		if _, is := n.X.(*ast.BasicLit); is && n.Op == token.SUB {
			return false // -1 says that there is nothing, and so would -2
		}
	case *ast.ExprStmt:
		b.remove(n)
	case *ast.IncDecStmt:
		b.remove(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			b.remove(n)
		}
	case *ast.BasicLit:
		if i, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
			b.replace(n, strconv.Itoa(i+1), b.nextInt(n))
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			b.replace(n, "false", around("(", n, " != mutant($))"))
		case "false":
			b.replace(n, "true", around("(", n, " != mutant($))"))
		}
	}
	return true
}

func (b *breaker) note(list []ast.Stmt) {
	for _, s := range list {
		b.statements[s] = true
	}
}

// remove adds the mutant without a statement.
func (b *breaker) remove(n ast.Stmt) {
	var choice *wrapping
	if b.statements[n] && !strings.HasPrefix(b.text(n), "panic(") { // which may stand for a return
		choice = around("if !mutant($) { ", n, " }")
	}
	b.replace(n, "", choice)
}

// operator adds the mutant with another operator.
func (b *breaker) operator(n *ast.BinaryExpr) {
	to := swaps[n.Op]
	if to == "" {
		return
	}
	if b.pkg.TypesInfo == nil {
		b.edit(b.offset(n.OpPos), b.offset(n.OpPos)+len(n.Op.String()), b.text(n), to, nil)
		return
	}
	var choice *wrapping
	tv := b.pkg.TypesInfo.Types[n]
	basic, _ := tv.Type.Underlying().(*types.Basic)
	switch name := choices[n.Op]; {
	case tv.Value != nil, basic == nil, basic.Info()&types.IsString != 0:
	case name == "": // == and !=
		choice = around("((", n, ") != mutant($))")
	case n.Op == token.LAND || n.Op == token.LOR:
		choice = around(name+"($, ", n, ") })")
		choice.op = ", func() bool { return ("
	default:
		choice = around(name+"($, ", n, ")")
		choice.op = ", "
	}
	at := b.offset(n.OpPos)
	if choice != nil {
		choice.opAt, choice.opLen = at, len(n.Op.String())
	}
	b.edit(at, at+len(n.Op.String()), b.text(n), to, choice)
	b.mutants[len(b.mutants)-1].invalid = n.Op == token.ADD && basic != nil && basic.Info()&types.IsString != 0
}

// nextInt is the choice of a number or the next one, as a value of its type.
func (b *breaker) nextInt(n *ast.BasicLit) *wrapping {
	if b.pkg.TypesInfo == nil {
		return nil
	}
	named := types.TypeString(b.pkg.TypesInfo.Types[n].Type, types.RelativeTo(b.pkg.Types))
	if strings.ContainsAny(named, " .[") { // untyped, or of another package
		return nil
	}
	return around(named+"(", n, "+mutantBit($))")
}

// A wrapping puts text before and after a node, and in place of its operator.
type wrapping struct {
	before, after, op string
	node              ast.Node
	opAt, opLen       int
}

func around(before string, node ast.Node, after string) *wrapping {
	return &wrapping{before: before, node: node, after: after}
}

func (b *breaker) offset(p token.Pos) int { return b.pkg.Fset.Position(p).Offset }

func (b *breaker) text(n ast.Node) string { return string(b.src[b.offset(n.Pos()):b.offset(n.End())]) }

func (b *breaker) replace(n ast.Node, with string, choice *wrapping) {
	b.edit(b.offset(n.Pos()), b.offset(n.End()), b.text(n), with, choice)
}

// edit adds the mutant in which with replaces bytes from to to. what is the code to
// show to a reader.
func (b *breaker) edit(from, to int, what, with string, choice *wrapping) {
	change := strings.Join(strings.Fields(what), " ")
	if len(change) > 60 {
		change = change[:60] + "…"
	}
	key := fmt.Sprintf("%s %s: %s => %s", b.shown, b.function, change, short(with))
	b.seen[key]++
	if k := b.seen[key]; k > 1 {
		key += fmt.Sprintf(" #%d", k)
	}
	m := mutant{file: b.name, key: key, from: from, to: to, with: with, body: b.body}
	if choice != nil && b.pkg.TypesInfo != nil {
		m.choice = []insertion{
			{at: b.offset(choice.node.Pos()), text: choice.before},
			{at: b.offset(choice.node.End()), text: choice.after, end: true},
		}
		if choice.op != "" {
			m.choice = append(m.choice, insertion{at: choice.opAt, skip: choice.opLen, text: choice.op})
		}
	}
	b.mutants = append(b.mutants, m)
}

func short(s string) string {
	switch {
	case s == "":
		return "removed"
	case strings.HasPrefix(s, "!("):
		return "negated"
	}
	return s
}
