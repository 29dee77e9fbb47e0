package starts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func openStarts(t *testing.T, dir string) *Table {
	t.Helper()
	l, err := Open(dir, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func learnInside(t *testing.T, l *Table, model string) {
	t.Helper()
	for range 2 {
		if err := l.Learn(Key{Upstream: "u", Model: model}, Lesson{Start: Inside}); err != nil {
			t.Error(err)
		}
	}
}

// Gateways with one data folder, as processes on several ports, lose no lesson of each
// other, however their writes interleave.
func TestLearnedTogether(t *testing.T) {
	const gateways, models = 4, 12
	dir := t.TempDir()
	var all sync.WaitGroup
	for g := range gateways {
		l := openStarts(t, dir)
		all.Go(func() {
			for m := range models {
				learnInside(t, l, fmt.Sprintf("g%d-m%d", g, m))
			}
		})
	}
	all.Wait()
	starts := openStarts(t, dir).Starts()
	if len(starts) != gateways*models {
		t.Errorf("%d starts are kept, want %d", len(starts), gateways*models)
	}
	for _, s := range starts {
		if s.Start() != "inside" {
			t.Errorf("%+v", s)
		}
	}
}

// A Lesson is added to what another process has learned of the same model: what it knows
// of a thought stays.
func TestLearnedOfOneModel(t *testing.T) {
	dir := t.TempDir()
	a, b := openStarts(t, dir), openStarts(t, dir)
	key := Key{Upstream: "u", Model: "m"}
	for _, step := range []struct {
		l    *Table
		what Lesson
	}{{a, Lesson{Suspect: true}}, {b, Lesson{Start: Inside}}, {a, Lesson{Start: Inside}}, {b, Lesson{API: "openai.chat", Native: "reasoning"}}} {
		if err := step.l.Learn(key, step.what); err != nil {
			t.Fatal(err)
		}
	}
	for who, l := range map[string]*Table{"b": b, "the next": openStarts(t, dir)} {
		s := l.Starts()
		if len(s) != 1 || !s[0].Suspect || s[0].Start() != "inside" || s[0].Native != "reasoning" {
			t.Errorf("%s knows %+v", who, s)
		}
	}
}

// What one process forgets, the others do not write again.
func TestLearnedForgottenElsewhere(t *testing.T) {
	dir := t.TempDir()
	a := openStarts(t, dir)
	learnInside(t, a, "old")
	b := openStarts(t, dir)
	if n, err := b.Forget("old"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	learnInside(t, a, "new")
	for who, l := range map[string]*Table{"a": a, "the next": openStarts(t, dir)} {
		if s := l.Starts(); len(s) != 1 || s[0].Model != "new" {
			t.Errorf("%s knows %+v", who, s)
		}
	}
}

// A file that cannot be read any more is not replaced, and lessons count in memory. When it
// can be read again, they are saved beside what it has.
func TestLearnedFileDamaged(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, learnedFile)
	a := openStarts(t, dir)
	learnInside(t, a, "first")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(whole), `"v": 1`, `"v": 99`, 1)
	if err := os.WriteFile(name, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Learn(Key{Upstream: "u", Model: "second"}, Lesson{Start: Inside}); err == nil {
		t.Error("no error")
	}
	if now, _ := os.ReadFile(name); string(now) != newer || len(a.Starts()) != 2 {
		t.Errorf("%s, %v", now, a.Starts())
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if s := openStarts(t, dir).Starts(); len(s) != 2 {
		t.Errorf("%+v", s)
	}
}
