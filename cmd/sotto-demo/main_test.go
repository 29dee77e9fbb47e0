package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackages: the first command that a newcomer runs compiles in seconds. It has the
// standard library and packages of Sotto, and at most 130 in all.
func TestPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		path, standard, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n++; standard != "true" && !strings.HasPrefix(path, "github.com/sotto-llm/sotto/") && path != "github.com/sotto-llm/sotto" {
			t.Errorf("it has %s", path)
		}
	}
	if n < 50 || n > 130 {
		t.Errorf("it has %d packages", n)
	}
}

// TestRun: the replies are separated, and the last lines say what to try next.
func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(nil, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Errorf("status %d, %q", status, &errs)
	}
	for _, want := range []string{"1. DeepSeek R1", "\nsay  │ Ottawa.\n", "streamed and whole readings equal: 13 of 13\n", "\nWhat to try next:\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q", want)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a pipe gets a control sequence")
	}
	if status := run([]string{"x"}, &out, &errs); status != 2 || !strings.Contains(errs.String(), "takes none") {
		t.Errorf("an argument: status %d, %q", status, &errs)
	}
}

// TestWriteFails: a full disk is an error.
func TestWriteFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the system has no /dev/full")
	}
	defer full.Close()
	var errs bytes.Buffer
	if status := run(nil, full, &errs); status != 1 || !strings.Contains(errs.String(), "write") {
		t.Errorf("status %d, %q", status, &errs)
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stream := range []any{null, file, &bytes.Buffer{}} {
		if isTerminal(stream) {
			t.Errorf("%v is a terminal", stream)
		}
	}
}
