package sotto_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The reply at the beginning of README.md leaks nothing through README.md's own
// program, whole or cut anywhere.
func TestReadme(t *testing.T) {
	doc, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	reply := indented(t, string(doc), "reply is this:\n\n")
	thought, answer, ok := strings.Cut(reply, "</think>")
	if !ok {
		t.Fatalf("the first reply is %q", reply)
	}
	want := "(" + strings.TrimSpace(thought) + ")\n" + strings.TrimSpace(answer)

	programs := strings.Split(string(doc), "```go\n")[1:]
	if len(programs) == 0 {
		t.Fatal("no program")
	}
	for i, program := range programs {
		program, after, _ := strings.Cut(program, "```\n")
		if got := string(runProgram(t, buildProgram(t, program))); got != want {
			t.Errorf("program %d prints %q, want %q", i+1, got, want)
		}
		for _, line := range strings.SplitAfter(want, "\n") {
			if !strings.Contains(after, "`"+strings.TrimSpace(line)+"`") {
				t.Errorf("the text after program %d does not say that it prints %q", i+1, line)
			}
		}
		// This is the same program; its deltas are those of the command line.
		from := strings.Index(program, "[]string{")
		if from < 0 {
			t.Fatalf("program %d has no deltas", i+1)
		}
		to := from + strings.Index(program[from:], "} {") + 1
		binary := buildProgram(t, strings.Replace(program[:from]+"os.Args[1:]"+program[to:], `"fmt"`, "\"fmt\"\n\t\"os\"", 1))
		cuts, chosen := [][]string{{reply}, strings.Split(reply, "")}, effort.OneIn(7, "cuts")
		for at := 1; at < len(reply); at++ {
			if !chosen() {
				continue
			}
			cuts = append(cuts, []string{reply[:at], reply[at:]})
		}
		for _, deltas := range cuts {
			if got := string(runProgram(t, binary, deltas...)); got != want {
				t.Errorf("program %d prints %q of %q, want %q", i+1, got, deltas, want)
			}
		}
	}
}

// The program in the quick start prints what its comments say.
func TestQuickStart(t *testing.T) {
	text, err := os.ReadFile("docs/zh/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\n")
	body, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed || strings.Contains(rest[len(body)+4:], "```go\n") {
		t.Fatal("want one program")
	}
	var want string
	for line := range strings.Lines(body) {
		if _, says, ok := strings.Cut(line, ") // "); ok {
			want += says
		}
	}
	program := "package main\n\nimport (\n\"fmt\"\n\n\"github.com/sotto-llm/sotto\"\n)\n\nfunc main() {\n" + body + "}\n"
	if got := string(runProgram(t, buildProgram(t, program))); got != want || want == "" {
		t.Errorf("prints %q, want %q", got, want)
	}
}

// The figures of README.md on other readers are those of docs/alternatives.md.
func TestReadmeCounts(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/alternatives.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Sotto |\n| --- |")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	var wrong [7]int
	for _, row := range rows {
		for i, cell := range strings.Split(row, " | ") {
			if strings.Contains(cell, "**") {
				wrong[i]++
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("| a regular expression | for whole replies with both tags | %d of %d everyday replies go wrong |", wrong[1], len(rows)),
		fmt.Sprintf("| %d of %d everyday replies go wrong; with `startWithReasoning`, %d |", wrong[3], len(rows), wrong[4]),
	} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
	if wrong[5] != 1 || !strings.Contains(string(readme), "Sotto gets one of them wrong") {
		t.Errorf("Sotto gets %d wrong", wrong[5])
	}
}

// indented returns the indented block that follows a text.
func indented(t *testing.T, doc, before string) string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, before)
	if !ok {
		t.Fatalf("no %q", before)
	}
	var lines []string
	for line := range strings.Lines(rest) {
		if text, ok := strings.CutPrefix(line, "    "); ok {
			lines = append(lines, text)
		} else if strings.TrimSpace(line) != "" {
			break
		} else {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

func buildProgram(t *testing.T, program string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "program.exe") // the name that every system runs
	if out, err := exec.Command("go", "build", "-o", binary, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, program)
	}
	return binary
}

func runProgram(t *testing.T, binary string, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
