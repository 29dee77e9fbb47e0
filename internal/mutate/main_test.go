package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const source = `package p

func Sum(list []int, stop bool) (n int) {
	for i := 0; i < len(list); i++ {
		if list[i] < 0 && stop {
			break
		}
		n += list[i]
		touch(&n)
	}
	return n
}

func touch(*int) {}

func Join(a, b string) string { return a + b }

func Later() bool { return 1 >= zero() }

func zero() int { return 0 }
`

const sourceTest = `package p

import "testing"

func TestSum(t *testing.T) {
	for _, c := range []struct {
		list []int
		stop bool
		want int
	}{{[]int{1, 2}, true, 3}, {[]int{1, 0, 4, -2, 8}, true, 5}, {[]int{1, -2}, false, -1}} {
		if got := Sum(c.list, c.stop); got != c.want {
			t.Errorf("%v: %d, want %d", c, got, c.want)
		}
	}
	if !Later() {
		t.Error("later")
	}
}
`

// load of a small package, in which each kind of change is made once at each place.
func loadSource(t *testing.T) *program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": source, "p_test.go": sourceTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := load(dir, []string{"p.go"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTry: what the tests make of each mutant. Choices at run time and changes that
// are compiled alone give the same results.
func TestTry(t *testing.T) {
	p := loadSource(t)
	want := []string{
		"found p.go Sum: 0 => 1",
		"found p.go Sum: i < len(list) => <=",
		"late p.go Sum: i++ => removed",
		"found p.go Sum: list[i] < 0 && stop => negated",
		"found p.go Sum: list[i] < 0 && stop => ||",
		"found p.go Sum: list[i] < 0 => <=",
		"found p.go Sum: 0 => 1 #2",
		"found p.go Sum: n += list[i] => removed",
		"SURVIVED p.go Sum: touch(&n) => removed",
		"broken p.go Join: a + b => -",
		"SURVIVED p.go Later: 1 >= zero() => >",
		"SURVIVED p.go Later: 1 => 2",
		"SURVIVED p.go zero: 0 => 1",
	}
	b, err := newBench(p, []suite{{pkg: "."}}, t.TempDir(), time.Minute, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.measure(); err != nil {
		t.Fatal(err)
	}
	for i, m := range p.mutants {
		check := func(m mutant) {
			t.Helper()
			got, err := b.try(m)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(got) + " " + m.key; got != want[i] {
				t.Errorf("got  %s\nwant %s", got, want[i])
			}
		}
		check(m)
		if m.choice != nil && i%5 == 0 {
			m.choice = nil
			check(m)
		}
	}
	if len(p.mutants) != len(want) {
		t.Errorf("%d mutants, want %d", len(p.mutants), len(want))
	}
}

// TestAlone: each mutant compiled alone changes one place.
func TestAlone(t *testing.T) {
	p := loadSource(t)
	texts := map[string]bool{source: true}
	for _, m := range p.mutants {
		text := string(p.alone(m))
		if texts[text] {
			t.Errorf("%s: the same text as another mutant, or as no mutant", m.key)
		}
		texts[text] = true
	}
}

// TestSurvivors: the list gives a reason for each, and names mutants that exist. No
// two mutants have one name, and nearly all are choices at run time.
func TestSurvivors(t *testing.T) {
	known, err := readSurvivors(survivors)
	if err != nil {
		t.Fatal(err)
	}
	p, err := load("../..", slices.Concat(files, moreFiles))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkListed(known, p.mutants); err != nil {
		t.Error(err)
	}
	names, alone := map[string]bool{}, 0
	for _, m := range p.mutants {
		if names[m.key] {
			t.Errorf("two mutants are %s", m.key)
		}
		names[m.key] = true
		if m.choice == nil {
			alone++
		}
	}
	if alone > len(p.mutants)/10 {
		t.Errorf("%d of %d mutants must be compiled alone", alone, len(p.mutants))
	}
	for _, file := range files {
		if text := p.together(file); bytes.Count(text, []byte("mutant")) < 10 {
			t.Errorf("%s has few choices", file)
		}
	}
	if err := checkListed(map[string]string{"a.go f: x => removed": "gone"}, p.mutants); err == nil {
		t.Error("a line that names no mutant is read")
	}
	if _, err := readSurvivors("a.go f: x => removed"); err == nil {
		t.Error("a survivor without a reason is read")
	}
}
