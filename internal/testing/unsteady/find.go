package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A search looks for unsteady tests.
type search struct {
	known         map[testName]reason
	dir           string // where go list and go test run
	out           io.Writer
	times, copies int
	touch, only   string
	limit         time.Duration
}

// A testPackage is a package with tests, as "go list" prints it.
type testPackage struct {
	Dir, ImportPath           string
	TestGoFiles, XTestGoFiles []string
}

// find runs the tests of packages many times, and counts failures.
func (s search) find(patterns []string) error {
	if s.touch != "outside" && s.touch != "all" {
		return fmt.Errorf("-touch %s: say outside or all", s.touch)
	}
	only, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	packages, err := s.packages(patterns)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "unsteady")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	counts := map[testName]int{}
	var faults []error
	for i, p := range packages {
		tests, err := touching(p, s.touch == "all")
		if err != nil {
			return err
		}
		tests = slices.DeleteFunc(tests, func(name string) bool { return !only.MatchString(name) })
		if len(tests) == 0 {
			continue
		}
		program := filepath.Join(dir, strconv.Itoa(i))
		build := exec.Command("go", "test", "-c", "-vet=off", "-o", program, p.ImportPath)
		build.Dir = s.dir
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.ImportPath, err, out)
		}
		from := time.Now()
		if err := s.repeat(p, program, tests, counts); err != nil {
			faults = append(faults, err)
		}
		fmt.Fprintf(s.out, "%s: %d tests, %d times, %.0f s\n", short(p.ImportPath), len(tests), s.times, time.Since(from).Seconds())
	}
	for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b testName) int { return strings.Compare(a.String(), b.String()) }) {
		why, is := s.known[name]
		fmt.Fprintf(s.out, "%s failed in %d of %d runs\n", name, counts[name], s.times)
		if !is {
			faults = append(faults, fmt.Errorf("%s is unsteady and not on the list", name))
			continue
		}
		fmt.Fprintf(s.out, "  it is on the list since %s: %s\n", why.since, why.why)
	}
	return errors.Join(faults...)
}

// repeat runs a program of tests, some copies at a time.
func (s search) repeat(p testPackage, program string, tests []string, counts map[testName]int) error {
	var mu sync.Mutex
	var all sync.WaitGroup
	var faults []error
	room := make(chan struct{}, s.copies)
	for range s.times {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			var printed bytes.Buffer
			res, err := s.once(p, program, tests, &printed)
			mu.Lock()
			defer mu.Unlock()
			for name := range res.failed {
				counts[name]++
			}
			for _, why := range res.broken {
				err = errors.Join(err, errors.New(why))
			}
			if err != nil || len(res.failed) > 0 {
				_, _ = printed.WriteTo(s.out)
			}
			if err != nil {
				faults = append(faults, err)
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

func (s search) once(p testPackage, program string, tests []string, out io.Writer) (result, error) {
	args := []string{"tool", "test2json", "-p", p.ImportPath, program, "-test.v=test2json", "-test.timeout", s.limit.String(),
		"-test.run", "^(" + strings.Join(tests, "|") + ")$", "-test.paniconexit0"}
	cmd := exec.Command("go", args...)
	cmd.Dir = p.Dir
	cmd.Stderr = out
	text, err := cmd.Output()
	res, readErr := readEvents(bytes.NewReader(text), p.ImportPath, out)
	if err != nil && len(res.failed)+len(res.broken) == 0 {
		return res, fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	return res, readErr
}

func (s search) packages(patterns []string) ([]testPackage, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles"}, patterns...)...)
	cmd.Dir, cmd.Stderr = s.dir, s.out
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []testPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p testPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// outside are the functions by which a test depends on more than its own code: on the
// clock, the network, other programs. An empty list stands for all of a package.
var outside = map[string][]string{
	"time":                         {"Sleep", "After", "AfterFunc", "Now", "Since", "Until", "NewTimer", "NewTicker", "Tick"},
	"context":                      {"WithTimeout", "WithDeadline"},
	"net":                          nil,
	"net/http/httptest":            {"NewServer", "NewTLSServer", "NewUnstartedServer"},
	"os/exec":                      nil,
	"os/signal":                    nil,
	"runtime":                      {"GC", "NumGoroutine", "ReadMemStats"},
	"github.com/chromedp/chromedp": nil,
	"github.com/coder/websocket":   nil,
}

// touching returns the tests of a package that use one of outside, themselves or through
// functions of the package's test files, or that use another package of tests: all that
// could.
func touching(p testPackage, all bool) ([]string, error) {
	direct := map[string]bool{}   // functions and methods that touch
	uses := map[string][]string{} // the names that each mentions
	var tests []string
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		watched := watchedImports(f)
		for _, d := range f.Decls {
			d, is := d.(*ast.FuncDecl)
			if !is || d.Body == nil {
				continue
			}
			name := d.Name.Name
			if d.Recv == nil && isTest(d) {
				tests = append(tests, name)
			}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					uses[name] = append(uses[name], n.Sel.Name)
					if x, is := n.X.(*ast.Ident); is {
						names, watches := watched[x.Name]
						direct[name] = direct[name] || watches && (names == nil || slices.Contains(names, n.Sel.Name))
					}
				case *ast.Ident:
					uses[name] = append(uses[name], n.Name)
				}
				return true
			})
		}
	}
	for grown := true; grown; {
		grown = false
		for name, list := range uses {
			if !direct[name] && slices.ContainsFunc(list, func(used string) bool { return direct[used] }) {
				direct[name], grown = true, true
			}
		}
	}
	slices.Sort(tests)
	return slices.DeleteFunc(tests, func(name string) bool { return !all && !direct[name] }), nil
}

// watchedImports returns what a file calls the packages of outside, and packages of tests.
func watchedImports(f *ast.File) map[string][]string {
	watched := map[string][]string{}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if names, is := outside[path]; is {
			watched[name] = names
		}
		if strings.HasPrefix(path, module) && strings.HasSuffix(path, "test") {
			watched[name] = nil
		}
	}
	return watched
}

// isTest reports whether a function is a test and not TestMain.
func isTest(d *ast.FuncDecl) bool {
	if !strings.HasPrefix(d.Name.Name, "Test") || len(d.Type.Params.List) != 1 {
		return false
	}
	star, is := d.Type.Params.List[0].Type.(*ast.StarExpr)
	if !is {
		return false
	}
	sel, is := star.X.(*ast.SelectorExpr)
	return is && sel.Sel.Name == "T"
}
