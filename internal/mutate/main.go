// Command mutate breaks the code for holds, rewinds and the view, one statement or
// operator at a time. It reports the changes that no test notices.
//
//	go run ./internal/mutate                      every mutant of the files below
//	go run ./internal/mutate -sample 40 -seed 3   40 of them
//	go run ./internal/mutate -only holds.go       those of one file
//	go run ./internal/mutate -list                what would be broken
//
// The tree does not change: each mutant is built from an overlay. A survivor that
// survivors.txt does not list with a reason is a failure. A line of survivors.txt
// that no longer names a mutant is a failure too.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// files are the files to mutate: holds, rewinds, the pads of G7a, and the view.
var files = []string{"state.go", "pads.go", "holds.go", "view.go"}

// suites are the tests that a mutant must fail, the quick ones first.
var suites = [][]string{
	{"./dialecttest", "-short", "-failfast", "-run", "^(TestShortLiterals|TestSeveralMarkersOfARole)$"},
	{"./dialecttest", "-short", "-failfast", "-run", "^TestDefault$"},
	{".", "-short", "-failfast"}, // also builds the command line
}

//go:embed survivors.txt
var survivors string

func main() {
	only := flag.String("only", "", "break this file alone")
	sample := flag.Int("sample", 0, "break this many places; 0 for all")
	seed := flag.Uint64("seed", 1, "of the sample")
	list := flag.Bool("list", false, "print the mutants and stop")
	limit := flag.Duration("timeout", 10*time.Minute, "of the tests of one mutant")
	flag.Parse()
	if err := run(*only, *sample, *seed, *list, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(only string, sample int, seed uint64, list bool, limit time.Duration) error {
	known, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	var mutants []mutant
	for _, name := range files {
		m, err := mutantsOf(name)
		if err != nil {
			return err
		}
		mutants = append(mutants, m...)
	}
	names := map[string]bool{}
	for _, m := range mutants {
		names[m.key] = true
	}
	for key := range known {
		if !names[key] {
			return fmt.Errorf("survivors.txt lists %q, which is no longer a mutant: remove the line", key)
		}
	}
	if only != "" {
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return m.file != only })
	}
	if sample > 0 && sample < len(mutants) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:sample]
	}
	if list {
		for _, m := range mutants {
			fmt.Println(m.key)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if result, err := (mutant{file: files[0], text: nil}).try(dir, limit); err != nil {
		return err
	} else if result != survived {
		return fmt.Errorf("the tests fail on the unchanged code: %s; fix that first", result)
	}
	counts, unlisted := map[string]int{}, 0
	for _, m := range mutants {
		result, err := m.try(dir, limit)
		if err != nil {
			return err
		}
		if reason, ok := known[m.key]; ok && result == survived {
			result = "listed (" + reason + ")"
			counts["listed"]++
		} else {
			counts[result]++
		}
		if result == survived {
			unlisted++
		}
		fmt.Printf("%-9s %s\n", result, m.key)
	}
	fmt.Printf("%d mutants: %d found by a test, %d that took too long, %d that do not compile, %d listed, %d survived\n",
		len(mutants), counts[found], counts[late], counts[broken], counts["listed"], unlisted)
	if unlisted > 0 {
		return errors.New("some survivors are not listed: write a test that finds them, or list them with a reason in internal/mutate/survivors.txt")
	}
	return nil
}

// readSurvivors reads lines "KEY — REASON". A line that begins with # is a comment.
func readSurvivors(text string) (map[string]string, error) {
	known := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, reason, ok := strings.Cut(line, " — ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("survivors.txt: %q gives no reason: write KEY — REASON", line)
		}
		known[key] = reason
	}
	return known, nil
}

// A mutant is a file with one place changed.
type mutant struct {
	file string
	key  string // file, function, change, and a number if the same change is made twice
	text []byte
}

const (
	found    = "found"
	survived = "SURVIVED"
	broken   = "broken"
	late     = "late" // the tests took too long: the mutant loops, or the machine is slow
)

// try runs the suites on the mutant until one fails.
func (m mutant) try(dir string, limit time.Duration) (string, error) {
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	if m.text == nil { // the unchanged file
		if m.text, err = os.ReadFile(path); err != nil {
			return "", err
		}
	}
	if err := errors.Join(os.WriteFile(changed, m.text, 0o600), os.WriteFile(overlay, data, 0o600)); err != nil {
		return "", err
	}
	if exec.Command("go", "build", "-overlay", overlay, ".").Run() != nil {
		return broken, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, suite := range suites {
		args := append([]string{"test", "-count=1", "-overlay", overlay, "-timeout", limit.String(), "-vet=off"}, suite...)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.WaitDelay = time.Second
		switch err := cmd.Run(); {
		case ctx.Err() != nil:
			return late, nil
		case err != nil:
			return found, nil
		}
	}
	return survived, nil
}

// mutantsOf returns the mutants of a file in the current directory.
func mutantsOf(name string) ([]mutant, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	b := breaker{name: name, src: src, fset: fset, seen: map[string]int{}}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			b.function = f.Name.Name
			ast.Inspect(f.Body, b.visit)
		}
	}
	return b.mutants, nil
}

// A breaker makes the mutants of one file.
type breaker struct {
	name, function string
	src            []byte
	fset           *token.FileSet
	seen           map[string]int
	mutants        []mutant
}

var swaps = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

func (b *breaker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		b.replace(n.Cond, "!("+b.text(n.Cond)+")")
	case *ast.BinaryExpr:
		if to := swaps[n.Op]; to != "" {
			at := b.offset(n.OpPos)
			b.edit(at, at+len(n.Op.String()), b.text(n), to)
		}
	case *ast.ExprStmt:
		b.replace(n, "")
	case *ast.IncDecStmt:
		b.replace(n, "")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			b.replace(n, "")
		}
	case *ast.BasicLit:
		if i, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
			b.replace(n, strconv.Itoa(i+1))
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			b.replace(n, "false")
		case "false":
			b.replace(n, "true")
		}
	}
	return true
}

func (b *breaker) offset(p token.Pos) int { return b.fset.Position(p).Offset }

func (b *breaker) text(n ast.Node) string { return string(b.src[b.offset(n.Pos()):b.offset(n.End())]) }

func (b *breaker) replace(n ast.Node, with string) {
	b.edit(b.offset(n.Pos()), b.offset(n.End()), b.text(n), with)
}

// edit adds the mutant in which with replaces bytes from to to. what is the code to
// show to a reader.
func (b *breaker) edit(from, to int, what, with string) {
	if with == "" {
		with = "removed"
	}
	change := strings.Join(strings.Fields(what), " ")
	if len(change) > 60 {
		change = change[:60] + "…"
	}
	key := fmt.Sprintf("%s %s: %s => %s", b.name, b.function, change, short(with))
	b.seen[key]++
	if k := b.seen[key]; k > 1 {
		key += fmt.Sprintf(" #%d", k)
	}
	if with == "removed" {
		with = ""
	}
	text := slices.Concat(b.src[:from], []byte(with), b.src[to:])
	if !bytes.Equal(text, b.src) {
		b.mutants = append(b.mutants, mutant{b.name, key, text})
	}
}

func short(s string) string {
	if strings.HasPrefix(s, "!(") {
		return "negated"
	}
	return s
}
