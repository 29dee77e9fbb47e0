package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// sourcesOf returns the sources of settings that a text makes, in a file of the folder.
func sourcesOf(t *testing.T, folder, text string, env map[string]string) Sources {
	t.Helper()
	name := filepath.Join(folder, "sotto.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Sources{File: name, Getenv: func(v string) string { return env[v] }, Given: func(string) bool { return false }}
}

func mustRead(t *testing.T, from Sources) *Setup {
	t.Helper()
	s, err := Read(from, new(dialectset.Set))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines are changes in one line each, without the folder.
func lines(list []Change, folder string) (all []string) {
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, c := range list {
		line := fmt.Sprintf("%s: %s > %s, %s, %s", c.Key, text(c.Old), text(c.New), filepath.Base(c.Was.String()), filepath.Base(c.At.String()))
		if c.Restart {
			line += ", restart"
		}
		all = append(all, strings.ReplaceAll(line, folder+string(filepath.Separator), ""))
	}
	return all
}

// TestChanges: a change has both values, both places, and whether it needs a restart. What a
// route has from the top is a change at the top only, and a route that is added or removed
// does not make changes of those after it.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name, old, next string
		want            []string
	}{
		{"nothing", "display: hide\n", "display:   hide # the same\n", nil},
		{"default", "display: hide\n", "v: 1\ndisplay: field\n", []string{"display: hide > field, old.yaml:1:10, sotto.yaml:2:10"}},
		{"taken away", "silence: 5m\n", "v: 1\n", []string{"silence: 5m > 10m, old.yaml:1:10, ."}},
		{"the same as the default", "v: 1\n", "silence: 10m\n", nil},
		{"restart", "listen: 127.0.0.1:1\n", "listen: 127.0.0.1:2\n", []string{"listen: 127.0.0.1:1 > 127.0.0.1:2, old.yaml:1:9, sotto.yaml:1:9, restart"}},
		{"a list", "allow-hosts: [a, b]\n", "allow-hosts: [a, c]\n", []string{"allow-hosts: a, b > a, c, old.yaml:1:14, sotto.yaml:1:14"}},
		{"limits", "v: 1\n", "limits: {body: 1MiB, header: 8KiB}\n", []string{"limits.body: 64MiB > 1MiB, ., sotto.yaml:1:16", "limits.header: 64KiB > 8KiB, ., sotto.yaml:1:30, restart"}},
		{"upstream", "upstream: http://localhost:1\n", "upstream: http://localhost:2\n", []string{"upstream: http://localhost:1 > http://localhost:2, old.yaml:1:11, sotto.yaml:1:11"}},
		{"no upstream", "upstream: http://localhost:1\n", "v: 1\n", []string{"upstream: http://localhost:1 > -, old.yaml:1:11, ., restart"}},
		{"tokens", "tokens: {a: {token-file: t}}\n", "tokens: {a: {token-file: t, scopes: [console]}, b: {token-file: u}}\n", []string{"tokens.a.scopes: - > console, ., sotto.yaml:1:37", "tokens.b.token-file: - > u, ., sotto.yaml:1:65"}},
		{
			"the top", "display: hide\nroutes:\n  - models: [a]\n  - models: [b]\n    display: tags\n", "display: keep\nroutes:\n  - models: [a]\n  - models: [b]\n    display: tags\n",
			[]string{"display: hide > keep, old.yaml:1:10, sotto.yaml:1:10"},
		},
		{
			"a route in between", "routes:\n  - models: [a]\n  - models: [c]\n    display: tags\n", "routes:\n  - models: [a]\n  - models: [b]\n    display: hide\n  - models: [c]\n    display: tags\n",
			[]string{"routes[1].models: - > b, ., sotto.yaml:3:13", "routes[1].display: - > hide, ., sotto.yaml:4:14"},
		},
		{
			"a route less", "routes:\n  - models: [a]\n  - models: [b]\n  - models: [c]\n", "routes:\n  - models: [a]\n  - models: [c]\n",
			[]string{"routes[1].models: b > -, old.yaml:3:13, ."},
		},
		{
			"a route changed", "routes:\n  - models: [a]\n    display: tags\n", "routes:\n  - models: [a]\n    display: hide\n  - models: [b]\n",
			[]string{"routes[0].display: tags > hide, old.yaml:3:14, sotto.yaml:3:14", "routes[1].models: - > b, ., sotto.yaml:4:13"},
		},
		{
			"a value of its own less", "routes:\n  - models: [a]\n    display: tags\n", "routes:\n  - models: [a]\n",
			[]string{"routes[0].display: tags > field, old.yaml:3:14, ."},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			from := sourcesOf(t, folder, tt.next, nil)
			next := mustRead(t, from)
			name := filepath.Join(folder, "old.yaml")
			if err := os.WriteFile(name, []byte(tt.old), 0o600); err != nil {
				t.Fatal(err)
			}
			old, err := ReadOld(from, name)
			if err != nil || len(old.Faults) > 0 {
				t.Fatal(err, old.Faults)
			}
			if got := lines(Changes(old, next), folder); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestChangesNeedWhatReloadsNeed: a change is said to need a restart if and only if a reload
// leaves it waiting.
func TestChangesNeedWhatReloadsNeed(t *testing.T) {
	running := readWhile(t, nil, "upstream: http://localhost:1\n")
	reloaded := readWhile(t, running, wholeConfig+"record-ship: s3://records/b\n")
	var waiting []string
	for _, f := range reloaded.Waiting {
		waiting = append(waiting, f.Key())
	}
	var restarts []string
	for _, c := range Changes(running, readWhile(t, nil, wholeConfig+"record-ship: s3://records/b\n")) {
		if c.Restart {
			restarts = append(restarts, c.Key)
		}
	}
	slices.Sort(waiting)
	slices.Sort(restarts)
	if !slices.Equal(waiting, restarts) || len(restarts) < 20 {
		t.Errorf("a reload leaves waiting\n%v\nand these are said to need a restart\n%v", waiting, restarts)
	}
	for _, c := range Changes(running, reloaded) {
		if c.Restart || slices.Contains(waiting, c.Key) {
			t.Errorf("%s waits, and the reload changes it", c.Key)
		}
	}
}

// TestChangesHideSecrets: of a secret that changed, there is the key and no value.
func TestChangesHideSecrets(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) *Setup {
		for _, name := range []string{"t", "u", "k", "g"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text+name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:1\nupstream-key-file: k\ntoken-file: t\ntokens: {a: {token-file: u}}\nroutes:\n  - models: [x]\n    guard: http://localhost:9\n    guard-token-file: g\n", nil))
	}
	old, next := write("the-first-of-the-secrets-"), write("the-second-of-the-secrets-")
	want := []string{"upstream-key-file", "token-file", "tokens.a.token-file", "routes[0].guard-token-file"}
	var got []string
	for _, c := range Changes(old, next) {
		if !c.Secret || c.Old != nil || c.New != nil {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again := Changes(next, next); len(again) > 0 {
		t.Errorf("%v", again)
	}
}

// TestReadRunning: what a process prints of its settings has no difference from them, and
// differs from others where these differ.
func TestReadRunning(t *testing.T) {
	folder := t.TempDir()
	env := map[string]string{"SOTTO_UPSTREAM_KEY": "key-of-the-upstream", "SOTTO_GUARD_TOKEN": "token-of-the-guard", "HOME": folder}
	const text = "upstream: http://localhost:1\nguard: http://localhost:9\ndisplay: hide\nroutes:\n  - models: [a]\n  - models: [b]\n    display: keep\n    guard: off\n"
	from := sourcesOf(t, folder, text, env)
	s := mustRead(t, from)
	if len(s.Faults) > 0 {
		t.Fatal(s.Faults[0])
	}
	running := ReadRunning("http://localhost:6060", s.YAML())
	if len(running.Faults) > 0 {
		t.Fatal(running.Faults[0])
	}
	if list := Changes(running, s); len(list) > 0 {
		t.Errorf("%v", lines(list, folder))
	}
	from.Getenv = func(name string) string { return map[string]string{"HOME": folder}[name] }
	next := mustRead(t, from)
	if next.Gateway.Routes[0].Display = "tags"; next.guard.token.Text != "" {
		t.Fatal("the guard has a token")
	}
	next.places["routes[0].display"] = Place{name: "here"}
	var keys []string
	for _, c := range Changes(running, next) {
		keys = append(keys, c.Key)
	}
	if want := []string{"routes[0].display", "upstream-key", "guard-token"}; !reflect.DeepEqual(slices.Sorted(slices.Values(keys)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%v, want %v", keys, want)
	}
	if wrong := ReadRunning("here", []byte("listen: [\n")); len(wrong.Faults) != 1 {
		t.Errorf("%v", wrong.Faults)
	}
}
