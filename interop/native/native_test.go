// Package native builds libsotto, and runs the programs in C, Rust and Python that use it.
package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
)

const root = "../.."

var built sync.Once

// library builds libsotto, once for all tests, and returns its folder.
func library(t *testing.T) string {
	t.Helper()
	built.Do(func() { run(t, nil, nil, filepath.Join(root, "c", "build")) })
	dir, err := filepath.Abs(filepath.Join(root, "c", "dist"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, environ []string, input []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdin = bytes.NewReader(input)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, tail(out.String()), tail(complaint.String()))
	}
	return out.String()
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// compiled compiles a program in C, with every warning an error.
func compiled(t *testing.T, lib, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-o", program, source, "-I" + lib, "-L" + lib, "-lsotto", "-lpthread"}, flags...)
	run(t, nil, nil, "cc", args...)
	return program
}

func TestHeader(t *testing.T) {
	lib := library(t)
	run(t, nil, nil, "c++", "-x", "c++", "-fsyntax-only", "-Wall", "-Werror", filepath.Join(lib, "sotto.h"))
	text, err := os.ReadFile(filepath.Join(lib, "sotto.h"))
	if err != nil {
		t.Fatal(err)
	}
	names := run(t, nil, nil, "nm", "-D", "--defined-only", filepath.Join(lib, "libsotto.so"))
	count := 0
	for line := range strings.Lines(names) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " T "); ok && strings.HasPrefix(name, "sotto_") {
			count++
			if !strings.Contains(string(text), name+"(") {
				t.Errorf("sotto.h does not declare %s", name)
			}
		}
	}
	if count == 0 || count > 15 {
		t.Errorf("the library has %d functions, want 1 to 15", count)
	}
}

// TestPromises runs what sotto.h promises under the sanitizers of the compiler, and the kit
// cut at every byte against the Go library.
func TestPromises(t *testing.T) {
	lib := library(t)
	program := compiled(t, lib, "testdata/check.c", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	environ := []string{"LD_LIBRARY_PATH=" + lib}
	if out := run(t, environ, nil, program); out != "ok\n" {
		t.Errorf("the program printed %q", out)
	}
	input, want := kit(t)
	got := run(t, environ, input, program, "cases")
	if got != want {
		g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("line %d: %q, want %q", i+1, g[i], w[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}

// TestValgrind runs the same under valgrind. The threads of Go's runtime live as long as the
// process, so what they hold is no leak.
func TestValgrind(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("no valgrind: .ci/long native installs it")
	}
	lib := library(t)
	program := compiled(t, lib, "testdata/check.c")
	// Valgrind says that the processor has RDTSCP, and does not know it on every machine.
	run(t, []string{"LD_LIBRARY_PATH=" + lib, "GODEBUG=cpu.rdtscp=off"}, nil, "valgrind", "-q", "--suppressions=testdata/go.supp", "--error-exitcode=3", "--leak-check=full",
		"--show-leak-kinds=definite", "--errors-for-leak-kinds=definite", program)
}

// A testCase is a line of the kit.
type testCase struct {
	ID      string       `json:"id"`
	Raw     string       `json:"raw"`
	Deltas  []string     `json:"deltas"`
	Dialect string       `json:"dialect"`
	Start   string       `json:"start"`
	End     sotto.Ending `json:"end"`
}

// kit returns the kit as check.c reads it, and what check.c must print, by the Go library.
func kit(t *testing.T) (input []byte, want string) {
	t.Helper()
	ownFile, err := os.ReadFile(filepath.Join(root, "testdata", "conformance.dialects.json"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := dialectfile.Parse(ownFile)
	if err != nil {
		t.Fatal(err)
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(ownFile, &texts); err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile(filepath.Join(root, "testdata", "conformance.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var in, out bytes.Buffer
	for line := range bytes.Lines(cases) {
		var c testCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		name, _ := json.Marshal(c.Dialect)
		grammar, err := sotto.Named(c.Dialect)
		for i, d := range list {
			if d.Name == c.Dialect {
				name = texts[i]
				grammar, err = sotto.Compile(d)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		raw := c.Raw + strings.Join(c.Deltas, "")
		options := fmt.Sprintf(`{"dialect":%s,"start":%q}`, name, c.Start)
		for _, s := range []string{options, raw, fmt.Sprint(int(c.End))} {
			fmt.Fprintf(&in, "%d\n%s", len(s), s)
		}
		read(t, &out, grammar, raw, &c)
	}
	return in.Bytes(), out.String()
}

func read(t *testing.T, out *bytes.Buffer, grammar *sotto.Grammar, raw string, c *testCase) {
	t.Helper()
	o := sotto.Options{Start: sotto.Beginning(c.Start)}
	reply, err := grammar.ParseWith(raw, o, c.End)
	if err != nil {
		t.Fatal(err)
	}
	line := func(kind, text string) { fmt.Fprintf(out, "%s %d\n%s\n", kind, len(text), text) }
	line("whole", string(reply.AppendJSON(nil)))
	f, err := grammar.NewFilter(o)
	if err != nil {
		t.Fatal(err)
	}
	f.OnText = func(text string) { line("0 text", text) }
	f.OnReasoning = func(block int, text string) { line(fmt.Sprint(block, " reasoning"), text) }
	f.OnReasoningEnd = func(block int, closed bool) {
		kind := " break"
		if closed {
			kind = " end"
		}
		line(fmt.Sprint(block)+kind, "")
	}
	f.OnNarration = func(block int, text string) { line(fmt.Sprint(block, " narration"), text) }
	f.OnTool = func(block int, text string) { line(fmt.Sprint(block, " tool"), text) }
	for i := range len(raw) {
		f.Feed(raw[i : i+1])
	}
	f.Close(c.End)
	for _, d := range f.Diagnostics() {
		line(fmt.Sprintf("%d %s", d.Offset, d.Code), string(d.Reason))
	}
	out.WriteString(".\n")
}

func TestExamples(t *testing.T) {
	lib := library(t)
	environ := []string{"LD_LIBRARY_PATH=" + lib}
	examples := filepath.Join(root, "c", "examples")
	split := compiled(t, lib, filepath.Join(examples, "split.c"))
	if out := run(t, environ, []byte("<think>6 × 7</think>Forty-two.\n"), split, `{"model":"qwen3:8b"}`); out != "Forty-two.\n" {
		t.Errorf("split printed %q", out)
	}
	out := run(t, environ, nil, compiled(t, lib, filepath.Join(examples, "server.c")))
	one := `data: {"choices":[{"index":0,"delta":{"reasoning_content":"6 ×"}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_content":" 7"}}]}

data: {"choices":[{"index":0,"delta":{"content":"Forty"}}]}

data: {"choices":[{"index":0,"delta":{"content":"-\"two\"."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

`
	if out != one+one {
		t.Errorf("server printed %s", out)
	}
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Log("no rustc: .ci/long native installs it")
		return
	}
	program := filepath.Join(t.TempDir(), "strip")
	run(t, nil, nil, "rustc", "-L", lib, "-o", program, filepath.Join(examples, "strip.rs"))
	if out := run(t, environ, []byte("<think>6 × 7</think>42"), program); out != "42" {
		t.Errorf("strip printed %q", out)
	}
}

// TestPython runs the tests of the Python package, with the library and with the program.
func TestPython(t *testing.T) {
	lib := library(t)
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		python = "python3"
	}
	program := filepath.Join(t.TempDir(), "sotto")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/sotto")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder, err := filepath.Abs(filepath.Join(root, "python"))
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"PYTHONPATH=" + filepath.Join(folder, "src"), "PYTHONDONTWRITEBYTECODE=1", "SOTTO_LIBRARY=" + filepath.Join(lib, "libsotto.so"), "SOTTO_PROGRAM=" + program}
	run(t, environ, nil, python, "-m", "unittest", "discover", "-s", filepath.Join(folder, "tests"))
}

// TestRival reads the kit, and the replies by which the speed is measured, with a careful reader in
// pure Python. It logs how fast both are.
func TestRival(t *testing.T) {
	lib := library(t)
	environ := []string{"PYTHONPATH=" + filepath.Join(root, "python", "src"), "PYTHONDONTWRITEBYTECODE=1", "SOTTO_LIBRARY=" + filepath.Join(lib, "libsotto.so"), "SOTTO_ROUNDS=1"}
	t.Log(run(t, environ, nil, "python3", "testdata/speed.py"))
}
