package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// readWhile reads a configuration while other settings are in use, if there are any.
func readWhile(t *testing.T, running *Setup, text string) *Setup {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(Sources{
		File: name, Getenv: func(string) string { return "" }, Given: func(string) bool { return false }, Running: running,
	}, new(dialectset.Set))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReloadKeys: of every key, a reload either takes the new value, or keeps the one in
// use and says where the new one stands.
func TestReloadKeys(t *testing.T) {
	text := strings.NewReplacer("acme-accept-terms: false", "acme-accept-terms: true", certificates.LetsEncrypt, "https://ca.example/").Replace(wholeConfig)
	for _, k := range new(Settings).keys() {
		if !strings.Contains("\n"+text, "\n"+k.name+": ") && !strings.Contains("\n"+text, "\n"+k.name+":\n") {
			text += k.inFile() + "\n"
		}
	}
	for _, k := range new(Settings).limitKeys() {
		if !strings.Contains(text, "\n  "+k.name+": ") {
			text = strings.Replace(text, "\nlimits:\n", "\nlimits:\n  "+k.inFile()+"\n", 1)
		}
	}
	running := readWhile(t, nil, "upstream: http://localhost:1\n")
	want, got := readWhile(t, nil, text).byPath(), readWhile(t, running, text)
	waiting := map[string]string{}
	for _, f := range got.Waiting {
		waiting[f.Key()] = f.Place.String()
	}
	now := got.byPath()
	for path, k := range running.byPath() {
		was, becomes, is := k.get(), want[path].get(), now[path].get()
		switch at := waiting[path]; {
		case reflect.DeepEqual(was, becomes):
			t.Errorf("%s: the test has only one value: %v", path, was)
		case k.restart:
			if !reflect.DeepEqual(is, was) || !strings.Contains(at, "sotto.yaml:") {
				t.Errorf("%s: %v, not %v; it stands at %q", path, is, was, at)
			}
		case !reflect.DeepEqual(is, becomes) || at != "":
			t.Errorf("%s: %v, not %v; waiting at %q", path, is, becomes, at)
		}
	}
	if got.running != nil {
		t.Error("the settings keep those before them")
	}
}

// TestReloadWholeOrNothing: a file that is right by itself is refused if it would be wrong
// with the values that need a restart.
func TestReloadWholeOrNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	open := readWhile(t, nil, "listen: 0.0.0.0:8383\ninsecure-public: true\nupstream: http://localhost:1\n")
	if len(open.Faults) > 0 {
		t.Fatal(open.Faults[0])
	}
	closed := "listen: 127.0.0.1:8383\nupstream: http://localhost:1\n"
	if s := readWhile(t, open, closed); len(s.Faults) != 1 || !strings.Contains(s.Faults[0].Error(), "there is no token") {
		t.Errorf("%v", s.Faults)
	}
	if s := readWhile(t, nil, closed); len(s.Faults) > 0 {
		t.Errorf("%v", s.Faults)
	}
}

// TestReloadWithoutAgents: in a program without agents, a reload with settings of agents is
// refused at their place. It does not wait for a restart, which would fail.
func TestReloadWithoutAgents(t *testing.T) {
	const text = "upstream: http://localhost:1\n"
	running := readWhile(t, nil, text)
	if s := readWhile(t, running, text+"agents: [a.yaml]\n"); len(s.Faults) > 0 || len(s.Waiting) != 1 {
		t.Errorf("a program with agents: faults %v, waiting %v", s.Faults, s.Waiting)
	}
	for key, value := range map[string]string{"agents": "[a.yaml]", "a2a": "true", "a2a-name": "x"} {
		name := filepath.Join(t.TempDir(), "sotto.yaml")
		if err := os.WriteFile(name, []byte(text+key+": "+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Read(Sources{
			File: name, Getenv: func(string) string { return "" }, Given: func(string) bool { return false }, Running: running, NoAgents: true,
		}, new(dialectset.Set))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) != 1 || s.Faults[0].Key() != key || !strings.HasPrefix(s.Faults[0].Error(), name+":2:") {
			t.Errorf("%s: %v", key, s.Faults)
		}
	}
}

// TestReloadGuards: a guard with the same server and token stays, with its connections;
// another is a new one.
func TestReloadGuards(t *testing.T) {
	const text = "upstream: http://localhost:1\nguard: http://localhost:9000\n"
	first := readWhile(t, nil, text)
	same := readWhile(t, first, text+"guard-every: 100\n")
	other := readWhile(t, same, strings.Replace(text, "9000", "9001", 1))
	a, b, c := first.Gateway.Default.Guard.Guard, same.Gateway.Default.Guard.Guard, other.Gateway.Default.Guard.Guard
	if a == nil || a != b || c == nil || b == c {
		t.Errorf("%p %p %p", a, b, c)
	}
}

// TestReloadUpstream: the scripted upstream is a server of its own, and A2A servers have
// a client for theirs, so such a change waits. Any other is taken.
func TestReloadUpstream(t *testing.T) {
	for _, tt := range []struct {
		was, is string
		waits   bool
	}{
		{"v: 1\n", "upstream: http://localhost:1\n", true},
		{"upstream: http://localhost:1\n", "v: 1\n", true},
		{"v: 1\n", "v: 1\n", false},
		{"upstream: http://localhost:1\n", "upstream: http://localhost:2\n", false},
		{"upstream: http://localhost:1\na2a: true\na2a-model: m\n", "upstream: http://localhost:2\na2a: true\na2a-model: m\n", true},
		{"a2a: true\n", "a2a: true\n", false},
	} {
		running := readWhile(t, nil, tt.was)
		s := readWhile(t, running, tt.is)
		if waits := len(s.Waiting) > 0; waits != tt.waits || waits && !reflect.DeepEqual(s.Upstream, running.Upstream) {
			t.Errorf("%q, then %q: %v %v", tt.was, tt.is, s.Upstream, s.Waiting)
		}
	}
}
