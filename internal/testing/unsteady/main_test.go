package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The tests that these tests run. TestOnce fails in its first run of all, TestTwice in its
// first two, and so on: they count their runs in a file.
const sources = `package p

import (
	"os"
	"testing"
	"time"
)

func fails(t *testing.T, times int) {
	f, err := os.OpenFile(t.Name()+".runs", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < int64(times) {
		t.Error("not yet")
	}
	_, _ = f.WriteString("x")
	wait()
}

func wait() { time.Sleep(time.Millisecond) }

func TestOnce(t *testing.T) { fails(t, 1) }

func TestTwice(t *testing.T) { fails(t, 2) }

func TestSub(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		if _, err := os.Stat("inner"); err != nil {
			_ = os.WriteFile("inner", nil, 0o600)
			t.Error("not yet")
		}
	})
}

func TestPanics(t *testing.T) { panic("on purpose") }

func TestSteady(t *testing.T) {}

func TestAsleep(t *testing.T) { wait() }
`

func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n", "p/p_test.go": sources,
		"broken/b_test.go": "package b\n\nvar x int = \"\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRule: which runs pass, by what fails and what the list names.
func TestRule(t *testing.T) {
	listed := map[testName]reason{}
	for _, name := range []string{"TestOnce", "TestTwice", "TestSub", "TestPanics"} {
		listed[testName{"p", name}] = reason{"2026-01-31", "it counts"}
	}
	for _, c := range []struct {
		run, pkg string
		known    map[testName]reason
		fault    string // part of the error; empty for a pass
		printed  string
	}{
		{"TestSteady|TestAsleep", "./p", nil, "", "2 tests passed, 0 were skipped, 0 failed"},
		{"TestOnce", "./p", nil, "p TestOnce failed", "not yet"},
		{"TestOnce|TestSteady", "./p", listed, "", "unsteady since 2026-01-31: p TestOnce: it counts"},
		{"TestTwice", "./p", listed, "fails again: TestTwice", ""},
		{"TestSub", "./p", nil, "p TestSub failed", "inner"},
		{"TestSub", "./p", listed, "", "unsteady since"},
		{"TestOnce|TestTwice", "./p", map[testName]reason{{"p", "TestOnce"}: {}}, "p TestTwice failed", ""},
		{"TestPanics", "./p", listed, "p: a data race or a panic", "on purpose"},
		{"Test", "./broken", nil, "broken: it does not build", "cannot use"},
		{"Test", "./absent", nil, "absent: it does not build", "not found"},
	} {
		if effort.Brief() && c.known != nil {
			continue // tests that run again
		}
		var out bytes.Buffer
		err := rule{known: c.known, dir: tree(t), out: &out}.test([]string{"-count=1", "-run=^(" + c.run + ")$", c.pkg})
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v, want %q", c.run, err, c.fault)
		}
		if !strings.Contains(out.String(), c.printed) {
			t.Errorf("%s: printed %s", c.run, out.String())
		}
	}
}

// TestSlowest: the tests that take the longest are listed, the slowest first.
func TestSlowest(t *testing.T) {
	events := `{"Action":"pass","Package":"p","Test":"TestQuick","Elapsed":0.1}
{"Action":"fail","Package":"p","Test":"TestSlow","Elapsed":12.5}
{"Action":"pass","Package":"p","Test":"TestMiddle/inner","Elapsed":99}
{"Action":"pass","Package":"p","Test":"TestMiddle","Elapsed":3}
{"Action":"skip","Package":"p","Test":"TestSkipped","Elapsed":7}
`
	res, err := readEvents(strings.NewReader(events), "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res.printSlowest(&out)
	if got, want := out.String(), "    12.5 s  p TestSlow\n     3.0 s  p TestMiddle\n     0.1 s  p TestQuick\n"; got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

// TestFind: unsteady tests are counted, and those that touch nothing outside do not run.
func TestFind(t *testing.T) {
	if effort.Brief() {
		t.Skip("it runs tests for seconds: SOTTO_EFFORT=1 runs it")
	}
	var out bytes.Buffer
	s := search{dir: tree(t), out: &out, times: 4, copies: 1, touch: "outside", only: "^Test[^P]", limit: time.Minute}
	err := s.find([]string{"./p"})
	if err == nil || !strings.Contains(err.Error(), "p TestOnce is unsteady and not on the list") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "TestSteady") {
		t.Errorf("a test that touches nothing ran: %s", out.String())
	}
	for _, want := range []string{"p: 3 tests, 4 times", "p TestOnce failed in 1 of 4 runs", "p TestTwice failed in 2 of 4 runs", "not yet"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed: %s", want, out.String())
		}
	}
	s.known, s.only, s.dir = map[testName]reason{{"p", "TestOnce"}: {"2026-01-31", "it counts"}}, "Once", tree(t)
	if err := s.find([]string{"./p"}); err != nil {
		t.Error(err)
	}
	s.only, s.touch = "TestPanics", "all"
	if err := s.find([]string{"./p"}); err == nil || !strings.Contains(err.Error(), "a panic") {
		t.Error(err)
	}
}

// TestList: the list is read, names tests that exist, and has its bounds.
func TestList(t *testing.T) {
	known, err := readList(listText)
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		files, err := filepath.Glob(filepath.Join("../../..", name.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && bytes.Contains(text, []byte("\nfunc "+name.test+"(t "))
		}) {
			t.Errorf("%s is not in the tree", name)
		}
	}
	var long strings.Builder
	for i := range most + 1 {
		long.WriteString("p Test" + strings.Repeat("x", i) + " 2026-01-31 because\n")
	}
	for text, want := range map[string]string{
		"p TestX 2026-01-31\n":                             "list.txt:1: write",
		"# a\np TestX soon why\n":                          "list.txt:2: \"soon\" is not a date",
		"p TestX 2026-01-31 why\np TestX 2026-01-31 why\n": "twice",
		long.String():                                      "more than 20",
	} {
		if _, err := readList(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
