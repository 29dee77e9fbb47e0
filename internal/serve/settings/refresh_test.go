package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A refreshing has a configuration with its files.
type refreshing struct {
	t   *testing.T
	dir string
}

func (f refreshing) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f refreshing) read(running *Setup) *Setup {
	f.t.Helper()
	s, err := Read(Sources{
		File: filepath.Join(f.dir, "sotto.yaml"), Getenv: func(string) string { return "" }, Given: func(string) bool { return false }, Running: running,
	}, new(dialectset.Set))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// rights lists the tokens of settings: the caller, the end of the secret, and the scopes.
func rights(s *Setup) string {
	var all []string
	for _, t := range s.Tokens() {
		one := t.Name + ":" + t.Secret[max(0, len(t.Secret)-2):]
		for _, scope := range t.Scopes {
			one += "," + string(scope)
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestRefresh: tokens and keys are those of the files, whatever is wrong with the
// configuration: a faulty one takes rights away, and gives none.
func TestRefresh(t *testing.T) {
	const first = "upstream: http://localhost:1\nupstream-key-file: key\ntoken-file: t\ntokens:\n  a: {token-file: a, scopes: [models, agent]}\n  b: {token-file: b}\n"
	everything := "," + strings.Join(access.Names(access.Implied()), ",")
	for name, tt := range map[string]struct {
		change func(f refreshing)
		config string // in place of the first one; "" if it is not read
		want   string
		key    string
		faults int
	}{
		"nothing":                {func(refreshing) {}, "", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 0},
		"a line removed":         {func(f refreshing) { f.write("a", "token-of-a2\n") }, "", "a:a2,models,agent b:b1 token:t1", "k1", 0},
		"a line added":           {func(f refreshing) { f.write("b", "token-of-b1\ntoken-of-b2\n") }, "", "a:a1,models,agent a:a2,models,agent b:b1 b:b2 token:t1", "k1", 0},
		"a broken line":          {func(f refreshing) { f.write("a", "token-of-a2\ntwo words\n") }, "", "a:a2,models,agent b:b1 token:t1", "k1", 1},
		"all emptied":            {func(f refreshing) { f.write("a", ""); f.write("b", ""); f.write("t", "# nobody") }, "", "", "k1", 0},
		"all gone":               {func(f refreshing) { os.RemoveAll(f.dir) }, "", "", "k1", 4},
		"the value of another":   {func(f refreshing) { f.write("b", "token-of-a1\n") }, "", "a:a2,models,agent token:t1", "k1", 2},
		"another key":            {func(f refreshing) { f.write("key", "key-2") }, "", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "-2", 0},
		"a faulty key":           {func(f refreshing) { f.write("key", "two words") }, "", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 1},
		"a faulty configuration": {func(refreshing) {}, "nonsense: 1\n" + first, "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 0},
		"a caller removed":       {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  b: {token-file: b}\n", "b:b1 token:t1", "k1", 0},
		"all callers removed":    {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n", "token:t1", "k1", 0},
		"the key removed":        {func(refreshing) {}, "nonsense: 1\n", "", "k1", 0},
		"tokens unreadable":      {func(refreshing) {}, "tokens: 5\n", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 0},
		"not YAML":               {func(refreshing) {}, "tokens: [", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 0},
		"a scope removed":        {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  a: {token-file: a, scopes: [agent]}\n  b: {token-file: b, scopes: [models]}\n", "a:a1,agent a:a2,agent b:b1,models token:t1", "k1", 0},
		"a scope added":          {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  a: {token-file: a}\n  b: {token-file: b, scopes: [models]}\n", "a:a1,models,agent a:a2,models,agent b:b1,models token:t1", "k1", 0},
		"consent added":          {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  a: {token-file: a, scopes: [agent, consent]}\n  b: {token-file: b, scopes: [models, consent]}\n", "a:a1,agent a:a2,agent b:b1,models token:t1", "k1", 0},
		"scopes misspelled":      {func(refreshing) {}, "token-file: t\ntokens:\n  a: {token-file: a, scopes: [modles]}\n  b: {token-file: b}\n", "b:b1 token:t1", "k1", 0},
		"a caller added":         {func(refreshing) {}, first + "  c: {token-file: c}\nnonsense: 1\n", "a:a1,models,agent a:a2,models,agent b:b1 token:t1", "k1", 0},
		"another file":           {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  a: {token-file: c}\n  b: {token-file: b}\n", "b:b1 token:t1", "k1", 0},
		"all scopes":             {func(refreshing) {}, "nonsense: 1\ntoken-file: t\ntokens:\n  a: {token-file: a, scopes: [models, agent]}\n  b: {token-file: b, scopes: [" + everything[1:] + "]}\n", "a:a1,models,agent a:a2,models,agent b:b1" + everything + " token:t1", "k1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := refreshing{t, t.TempDir()}
			f.write("sotto.yaml", first)
			f.write("key", "key-k1")
			f.write("t", "token-of-t1")
			f.write("a", "token-of-a1\ntoken-of-a2")
			f.write("b", "token-of-b1")
			f.write("c", "token-of-c1")
			running := f.read(nil)
			if len(running.Faults) > 0 {
				t.Fatal(running.Faults[0])
			}
			tt.change(f)
			var rejected *Setup
			if tt.config != "" {
				f.write("sotto.yaml", tt.config)
				if rejected = f.read(running); len(rejected.Faults) == 0 {
					t.Fatal("the configuration is right")
				}
			}
			next := running.Refresh(rejected)
			if got := rights(next); got != tt.want || !strings.HasSuffix(next.Gateway.UpstreamKey, tt.key) || len(next.Faults) != tt.faults || !next.Guarded() || next.Shut() != (tt.want == "") {
				t.Errorf("%q, key %q, faults %v, want %q, %q, %d", got, next.Gateway.UpstreamKey, next.Faults, tt.want, tt.key, tt.faults)
			}
			if again := next.Refresh(rejected); rights(again) != rights(next) {
				t.Errorf("a second time: %q", rights(again))
			}
			if next.running != nil || running.Gateway.UpstreamKey != "key-k1" || len(running.Tokens()) != 4 {
				t.Error("the settings before have changed, or are kept")
			}
		})
	}
}

// TestRefreshUpstreams: the keys of further upstreams and of guards are read again, too, and
// a guard with the same token keeps its connections.
func TestRefreshUpstreams(t *testing.T) {
	f := refreshing{t, t.TempDir()}
	f.write("sotto.yaml", "upstream: http://localhost:1\nupstreams:\n  two: {url: \"http://localhost:2\", key-file: key}\nguard: http://localhost:3\nguard-token-file: g\nroutes:\n  - {models: [x], upstream: two}\n  - {models: [y], guard: \"http://localhost:4\", guard-token-file: h}\n")
	f.write("key", "key-1")
	f.write("g", "guard-1")
	f.write("h", "guard-1")
	running := f.read(nil)
	if len(running.Faults) > 0 {
		t.Fatal(running.Faults[0])
	}
	f.write("key", "key-2")
	f.write("h", "guard-2")
	next := running.Refresh(nil)
	if got := next.Gateway.Upstreams["two"].Key; got != "key-2" || running.Gateway.Upstreams["two"].Key != "key-1" {
		t.Errorf("the key is %q, and was %q", got, running.Gateway.Upstreams["two"].Key)
	}
	if next.Gateway.Default.Guard.Guard != running.Gateway.Default.Guard.Guard {
		t.Error("a guard with the same token is another one")
	}
	if next.Gateway.Routes[1].Guard.Guard == running.Gateway.Routes[1].Guard.Guard || next.guards[1].token.Text != "guard-2" {
		t.Error("a guard with another token is the same")
	}
	if got := next.SecretFiles(); len(got) != 3 {
		t.Errorf("the files of secrets: %v", got)
	}
}
