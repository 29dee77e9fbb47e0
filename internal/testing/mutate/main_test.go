package main

import (
	"bytes"
	"fmt"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

func Fixed() int {
	const n = 2
	return n
}

func Never(n int) int { return n + 1 }
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

func TestFixed(t *testing.T) {
	if Fixed() != 2 {
		t.Error("fixed")
	}
}

// What fails with nothing broken is left out: it would find every mutant.
func TestFails(t *testing.T) { t.Error(Never(1)) }
`

// loadSource loads a small package, in which each kind of change is made once at each place.
func loadSource(t *testing.T) *program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": source, "p_test.go": sourceTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := load(dir, target{dir: "."})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTry: what the tests make of each mutant. Choices at run time and changes that
// are compiled alone give the same results.
func TestTry(t *testing.T) {
	if effort.Brief() {
		t.Skip("it builds and runs 15 programs: SOTTO_EFFORT=1 runs it")
	}
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
		"UNREACHED p.go Later: 1 >= zero() => >",
		"SURVIVED p.go Later: 1 => 2",
		"SURVIVED p.go zero: 0 => 1",
		"found p.go Fixed: 2 => 3",
		"UNREACHED p.go Never: n + 1 => -",
		"UNREACHED p.go Never: 1 => 2",
	}
	mutants := choice{keys: all(p), most: len(p.mutants)}.pick(p.mutants, 1) // without a + b of strings
	b := &bench{p: p, mutants: mutants, dir: t.TempDir(), limit: time.Minute, spare: time.Second, parallel: 2}
	if err := b.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := b.measure(); err != nil {
		t.Fatal(err)
	}
	if len(b.parts) != 2 {
		t.Errorf("%d tests, want TestSum and TestFixed: %v", len(b.parts), b.parts)
	}
	for i, m := range b.mutants {
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
	if len(b.mutants) != len(want) {
		t.Errorf("%d mutants, want %d", len(b.mutants), len(want))
	}
}

func all(p *program) map[string]bool {
	keys := map[string]bool{}
	for _, m := range p.mutants {
		keys[m.key] = true
	}
	return keys
}

// TestReaching: the tests of a mutant are joined into few runs, the quick ones first,
// and none that does not reach it is among them.
func TestReaching(t *testing.T) {
	var b bench
	reached := 0
	for i := range 100 {
		seen := map[int]bool{1: i%2 == 0}
		reached += 1 - i%2
		b.parts = append(b.parts, part{test: fmt.Sprintf("T%d", i), wall: time.Duration(i) * 100 * time.Millisecond, seen: seen})
	}
	list := b.reaching(mutant{n: 1})
	if len(list) > 6 || list[0].wall > 3*time.Second {
		t.Errorf("%d runs, the first of %s", len(list), list[0].wall)
	}
	next := 0
	for _, p := range list {
		for _, name := range strings.Split(p.test, "|") {
			if want := fmt.Sprintf("T%d", 2*next); name != want {
				t.Errorf("%s is run, want %s", name, want)
			}
			next++
		}
		if !slices.Equal(p.args, runOnly(p.test)) && strings.Contains(p.test, "|") {
			t.Errorf("%v runs %s", p.args, p.test)
		}
	}
	if next != reached {
		t.Errorf("%d tests run, want %d", next, reached)
	}
}

// TestChoose: a sample has equally many mutants of each package, all of a package that
// has fewer, and is another one with another seed.
func TestChoose(t *testing.T) {
	lists := make([][]string, len(targets))
	for i, target := range targets {
		for n := range []int{3, 400, 500, 600}[min(i, 3)] {
			lists[i] = append(lists[i], fmt.Sprintf("%s f: %d", path.Join(target.dir, "a.go"), n))
		}
	}
	total, each := 0, (200-3)/(len(targets)-1)
	for i, c := range (options{sample: 200, seed: 1}).choose(lists) {
		if total += c.most; c.most != min(3, len(c.keys)) && (c.most < each || c.most > each+1) {
			t.Errorf("choice %d: %d of %s", i, c.most, c.target.dir)
		}
	}
	if total != 200 {
		t.Errorf("the sample is of %d", total)
	}
	dirs := map[string]bool{}
	for seed := range uint64(20) {
		for _, c := range (options{sample: 1, seed: seed}).choose(lists) {
			dirs[c.target.dir] = true
		}
	}
	if len(dirs) < 3 {
		t.Errorf("samples of one are of %v", dirs)
	}
	if got := (options{only: "gateway"}).choose(lists); len(got) != 1 || got[0].target.dir != "gateway" || got[0].most != 600 {
		t.Errorf("-only gateway: %v", got)
	}
	if got := (options{only: "gateway/a.go", match: "f: 59"}).choose(lists); len(got) != 1 || got[0].most != 11 {
		t.Errorf("-match: %v", got)
	}
}

// TestAgain: the survivors of an earlier run are tried again, and no others.
func TestAgain(t *testing.T) {
	lists := make([][]string, len(targets))
	lists[0] = []string{"a.go f: x => removed", "a.go f: y => removed", "a.go f: z => removed"}
	earlier := readResults("found     a.go f: x => removed\nSURVIVED  a.go f: y => removed\nlisted    a.go f: z => removed — z\n")
	if got := (options{earlier: earlier}).choose(lists); len(got) != 1 || len(got[0].keys) != 1 || !got[0].keys["a.go f: y => removed"] {
		t.Errorf("again: %v", got)
	}
}

// TestFinish: one survivor of the root fails the command, and more than 15 % of those of the others.
func TestFinish(t *testing.T) {
	for _, c := range []struct {
		root, survived, found int
		reason, ok            bool
	}{{0, 3, 17, false, true}, {0, 4, 16, false, false}, {1, 0, 20, false, false}, {1, 20, 0, true, true}} {
		r := report{known: map[string]string{}}
		add := func(t target, n int, got result) {
			counts := r.begin(t)
			for i := range n {
				key := fmt.Sprintf("%s %d %s", t.dir, i, got)
				if c.reason {
					r.known[key] = "of no effect"
				}
				r.count(counts, mutant{key: key}, got, nil)
			}
		}
		add(target{dir: ".", strict: true}, c.root, survived)
		add(target{dir: "a"}, c.survived, unreached)
		add(target{dir: "b"}, c.found, found)
		if c.reason {
			r.stale = nil
		}
		if err := r.finish(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	r := report{known: map[string]string{"x": "of no effect"}}
	r.count(r.begin(target{}), mutant{key: "x"}, found, nil)
	if r.finish() == nil {
		t.Error("a listed mutant that a test finds is no error")
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
// two mutants have one name.
func TestSurvivors(t *testing.T) {
	known, err := readSurvivors(survivors)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := listAll("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkListed(known, lists); err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for i, keys := range lists {
		if len(keys) < 100 {
			t.Errorf("%s has %d mutants", targets[i].dir, len(keys))
		}
		for _, key := range keys {
			if names[key] {
				t.Errorf("two mutants are %s", key)
			}
			names[key] = true
		}
	}
	if err := checkListed(map[string]string{"a.go f: x => removed": "gone"}, lists); err == nil {
		t.Error("a line that names no mutant is read")
	}
	if _, err := readSurvivors("a.go f: x => removed"); err == nil {
		t.Error("a survivor without a reason is read")
	}
}

// TestLoad: with types the mutants are the same, and nearly all are choices at run time.
func TestLoad(t *testing.T) {
	root := targets[0]
	p, err := load("../../..", root)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := list("../../..", root)
	if err != nil {
		t.Fatal(err)
	}
	alone := 0
	for i, m := range p.mutants {
		if m.choice == nil && !m.invalid {
			alone++
		}
		if u := untyped.mutants[i]; u.key != m.key || u.n != m.n || u.choice != nil {
			t.Fatalf("%s without types, %s with them", u.key, m.key)
		}
	}
	if len(untyped.mutants) != len(p.mutants) || alone > len(p.mutants)/10 {
		t.Errorf("%d mutants, %d without types; %d must be compiled alone", len(p.mutants), len(untyped.mutants), alone)
	}
	for _, file := range root.files {
		if text := p.together(file, p.mutants); bytes.Count(text, []byte("mutant")) < 5 {
			t.Errorf("%s has few choices", file)
		}
	}
}
