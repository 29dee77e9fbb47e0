package sealedslot

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func keys(t testing.TB, secrets ...string) *Keys {
	t.Helper()
	var list [][]byte
	for _, s := range secrets {
		list = append(list, []byte(s))
	}
	k, err := New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	one = "the-first-secret"
	two = "the-second-secret"
)

var name = Name{Caller: "alice", Upstream: "api.example", Model: "m-1", API: "messages"}

// TestRoundTrip: what was sealed opens, is valid base64 as a whole, and shows nothing.
func TestRoundTrip(t *testing.T) {
	k := keys(t, one)
	for _, block := range []string{"", "{}", `{"thinking":"Hm."}`, strings.Repeat("é\x00", Most/3), strings.Repeat("x", Most)} {
		text := k.Seal(name, block)
		if got, ok := k.Open(name, text); !ok || got != block {
			t.Errorf("%d bytes: %v", len(block), ok)
		}
		if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || !Is(text) {
			t.Errorf("%d bytes: %v", len(block), err)
		}
		if k.Seal(name, block) == text || block != "" && strings.Contains(text, block) {
			t.Errorf("%d bytes: the copy shows the block", len(block))
		}
	}
	if got := k.Seal(name, strings.Repeat("x", Most+1)); got != "" {
		t.Errorf("a block that is too large has a copy of %d bytes", len(got))
	}
}

// TestDamaged: no copy opens that differs in a character, is cut, or is longer.
func TestDamaged(t *testing.T) {
	k := keys(t, one)
	text := k.Seal(name, "Hm.")
	for i := range text {
		for c := range 256 {
			if changed := text[:i] + string([]byte{byte(c)}) + text[i+1:]; changed != text {
				if _, ok := k.Open(name, changed); ok {
					t.Errorf("byte %d: %#x opens", i, c)
				}
			}
		}
		if _, ok := k.Open(name, text[:i]); ok {
			t.Errorf("%d bytes of it open", i)
		}
		if _, ok := k.Open(name, text[:i]+"\n"+text[i:]); ok {
			t.Errorf("a line break at %d opens", i)
		}
	}
	for _, more := range []string{"=", "A", "AAAA", text, strings.Repeat("A", 2*Most)} {
		if _, ok := k.Open(name, text+more); ok {
			t.Errorf("with %d more bytes, it opens", len(more))
		}
	}
}

// TestNames: a copy opens under its own name alone, whichever parts another name shares with it.
func TestNames(t *testing.T) {
	k := keys(t, one)
	parts := []string{"", "a", "b", "ab", "\x01", "\x01a"}
	var names []Name
	for _, caller := range parts {
		for _, upstream := range parts {
			for _, model := range parts {
				names = append(names, Name{caller, upstream, model, "x"}, Name{caller, upstream, "x", model})
			}
		}
	}
	for i, n := range names {
		text := k.Seal(n, "Hm.")
		for j, other := range names {
			if _, ok := k.Open(other, text); ok != (n == other) {
				t.Fatalf("%d %q opens as %d %q: %v", i, n, j, other, ok)
			}
		}
	}
}

// TestRotation: the first secret seals, and every secret opens. Without its secret, a copy stays closed.
func TestRotation(t *testing.T) {
	old, both, next := keys(t, one), keys(t, two, one), keys(t, two)
	was, is := old.Seal(name, "was"), both.Seal(name, "is")
	for _, c := range []struct {
		k     *Keys
		text  string
		opens bool
	}{{old, was, true}, {both, was, true}, {next, was, false}, {old, is, false}, {both, is, true}, {next, is, true}} {
		if _, ok := c.k.Open(name, c.text); ok != c.opens {
			t.Errorf("%d keys open %.20s: %v", len(c.k.all), c.text, ok)
		}
	}
	if _, err := New([]byte(one), []byte("short")); err == nil {
		t.Error("a short secret is accepted")
	}
}

// TestFile: processes that begin at once in one folder get one secret, which later ones get too, and
// nobody else may read. A file that somebody has edited begins with the secret that seals.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if got, err := Read(dir); err != nil || got != nil {
		t.Errorf("no folder: %q, %v", got, err)
	}
	made := make([]string, 8)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			secrets, err := Make(dir)
			if err != nil || len(secrets) != 1 {
				t.Errorf("%q, %v", secrets, err)
				return
			}
			made[i] = string(secrets[0])
		})
	}
	all.Wait()
	for _, secret := range made {
		if secret != made[0] || len(secret) < 40 {
			t.Errorf("secrets %q and %q", secret, made[0])
		}
	}
	file := filepath.Join(dir, File)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for text, want := range map[string]string{
		two + "\r\n\n" + made[0] + "\n": two + " " + made[0],
		"short\n":                       "the secret has 5 bytes",
		two + "\nwith a space in it\n":  "secret 2: the secret holds white space",
		"\n\n":                          "the secret is empty",
		strings.Repeat(two+"\n", 65):    "there are 65 secrets: want 64 or fewer",
		strings.Repeat("x", maxFile+1):  "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		secrets, err := Make(dir)
		var got []string
		for _, s := range secrets {
			got = append(got, string(s))
		}
		switch {
		case err == nil && (strings.Join(got, " ") != want || want == ""):
			t.Errorf("%.40q: %q", text, got)
		case err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), File)):
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// FuzzOpen: nothing opens but what was sealed, here or by another process of the fuzzer.
func FuzzOpen(f *testing.F) {
	k := keys(f, one, two)
	text := k.Seal(name, "Hm.")
	for _, s := range []string{"", Prefix, Prefix + "====", text, text[:20], strings.ToUpper(text)} {
		f.Add(s)
	}
	f.Add(Prefix + base64.StdEncoding.EncodeToString(k.all[0].id))
	r := rand.New(rand.NewPCG(1, 2))
	b := append([]byte{}, k.all[1].id...)
	for range 40 {
		b = append(b, byte(r.Uint32()))
		f.Add(Prefix + base64.StdEncoding.EncodeToString(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if block, ok := k.Open(name, s); ok && (block != "Hm." || len(s) != len(text)) {
			t.Errorf("%q opens: %q", s, block)
		}
	})
}
