package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestMutants: each kind of change is made once at each place, and has the same
// name in every run.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const src = `package p

func f(a, b int) (n int) {
	if a < b && true {
		n = a + 0
		n++
		g()
	}
	n++
	return n
}

func g() {}
`
	if err := os.WriteFile("p.go", []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	mutants, err := mutantsOf("p.go")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	texts := map[string]bool{}
	for _, m := range mutants {
		keys = append(keys, m.key)
		texts[string(m.text)] = true
		if bytes.Equal(m.text, []byte(src)) {
			t.Errorf("%s changes nothing", m.key)
		}
	}
	want := []string{
		"p.go f: a < b && true => negated", "p.go f: a < b && true => ||", "p.go f: a < b => <=", "p.go f: true => false",
		"p.go f: n = a + 0 => removed", "p.go f: a + 0 => -", "p.go f: 0 => 1", "p.go f: n++ => removed",
		"p.go f: g() => removed", "p.go f: n++ => removed #2",
	}
	if strings.Join(keys, "\n") != strings.Join(want, "\n") || len(texts) != len(want) {
		t.Errorf("mutants\n%s\nwant\n%s", strings.Join(keys, "\n"), strings.Join(want, "\n"))
	}
}

// TestSurvivors: the list gives a reason for each, and names mutants that exist.
func TestSurvivors(t *testing.T) {
	known, err := readSurvivors(survivors)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	names := map[string]bool{}
	for _, file := range files {
		mutants, err := mutantsOf(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			if names[m.key] {
				t.Errorf("two mutants are %s", m.key)
			}
			names[m.key] = true
		}
	}
	for key := range known {
		if !names[key] {
			t.Errorf("survivors.txt lists %q, which is no mutant", key)
		}
	}
	if _, err := readSurvivors("a.go f: x => removed"); err == nil {
		t.Error("a survivor without a reason is read")
	}
}
