package sealing

import (
	"bytes"
	"testing"
)

func TestBox(t *testing.T) {
	secret := []byte("0123456789abcdef")
	box := func(secret []byte, purpose string) *Box {
		t.Helper()
		b, err := New(secret, purpose)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := box(secret, "a")
	name, value := []byte("name"), []byte("a value")
	sealed := a.Seal(name, value)
	if bytes.Contains(sealed, value) || bytes.Equal(sealed, a.Seal(name, value)) {
		t.Error("the value shows, or two values look alike")
	}
	for what, b := range map[string]*Box{"same": box(secret, "a"), "purpose": box(secret, "b"), "secret": box([]byte("fedcba9876543210"), "a")} {
		got, ok := b.Open(name, sealed)
		if ok != (what == "same") || ok && !bytes.Equal(got, value) {
			t.Errorf("%s: %q, %v", what, got, ok)
		}
		if (b.Name(name) == a.Name(name)) != (what == "same") {
			t.Errorf("%s: the names are wrong", what)
		}
	}
	if _, ok := a.Open([]byte("another name"), sealed); ok {
		t.Error("a value opens under another name")
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, ok := a.Open(name, changed); ok {
			t.Errorf("changed at byte %d, it opens", i)
		}
	}
	if _, err := New(secret[:MinSecret-1], "a"); err == nil {
		t.Error("a short secret is accepted")
	}
}
