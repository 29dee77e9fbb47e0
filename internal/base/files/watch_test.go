package files

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWatch: a change counts when the file was the same at enough looks, each file by
// itself; a file that is never the same counts after a few looks, and a file that is gone
// or cannot be read has changed.
func TestWatch(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	n := 0
	write := func(name string) {
		t.Helper()
		n++
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one)
	write(two)
	w := NewWatch(2, one, two)
	looks := func(what string, want int, before func()) {
		t.Helper()
		got := 0
		for got < 20 {
			before()
			got++
			if w.Changed() {
				break
			}
		}
		if got != want {
			t.Errorf("%s: seen at look %d, want %d", what, got, want)
		}
		w.Read()
	}
	nothing := func() {}
	looks("nothing", 20, nothing)
	write(one)
	looks("a change", 3, nothing) // one look sees it, and two see that it stays
	looks("after it was read", 20, nothing)
	looks("a file that is written again and again", maxUnsteady, func() { write(one) })
	looks("another one beside it", 20, nothing)
	write(two)
	looks("a change beside a file that is written again and again", 3, func() { write(one) })
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	looks("a file that is gone", 3, nothing)
	write(two)
	looks("one that is back", 3, nothing)
	if os.Geteuid() != 0 {
		if err := os.Chmod(two, 0); err != nil {
			t.Fatal(err)
		}
		looks("one that cannot be read", 3, nothing)
	}
	w.Follow(one)
	write(two)
	looks("a file that is not followed", 20, nothing)
	write(one)
	w.Follow(one, two)
	looks("a file that stays keeps its state", 3, nothing)
}
