package settings

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// TestGuardTokens: the token at the top goes to the server at the top, on whichever
// route that is asked, and to no other. Routes that ask one server share a guard.
func TestGuardTokens(t *testing.T) {
	var got []string
	serve := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = append(got, name+r.URL.Path+" "+r.Header.Get("Authorization"))
			fmt.Fprint(w, `{"action":"pass"}`)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	first, second := serve("first"), serve("second")
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "own"), []byte("own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`guard: %s/a
guard-sees: answer
guard-every: whole
routes:
  - models: [inherits]
    guard-on-failure: open
  - models: [path]
    guard: %[1]s/b
  - models: [other]
    guard: %[2]s
  - models: [own]
    guard: %[2]s
    guard-token-file: own
  - models: [none]
    guard: off
`, first, second)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SOTTO_GUARD_TOKEN": "top", "HOME": t.TempDir()}
	s, err := Read(Sources{File: file, Getenv: func(name string) string { return env[name] }, Given: func(string) bool { return false }}, new(dialectset.Set))
	if err != nil || len(s.Faults) > 0 {
		t.Fatal(err, s.Faults)
	}
	rules := []guard.Rule{s.Gateway.Default.Guard}
	for _, r := range s.Gateway.Routes {
		rules = append(rules, r.Guard)
	}
	for _, r := range rules[:5] {
		if v, err := r.Guard.Judge(t.Context(), guard.Piece{}); err != nil || v.Action != guard.Pass {
			t.Error(v, err)
		}
	}
	want := []string{"first/a Bearer top", "first/a Bearer top", "first/b Bearer top", "second/ ", "second/ Bearer own"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r := rules[1]; r.Guard != rules[0].Guard || r.OnFailure != guard.Open || r.Every != -1 || !slices.Equal(r.Sees, []guard.Channel{guard.Answer}) {
		t.Errorf("what a route inherits: %+v", r)
	}
	if r := rules[5]; r.Guard != nil || !r.Off {
		t.Errorf("a route without a guard: %+v", r)
	}
	if got := s.GuardTokens(); !slices.Equal(got, []string{"top", "own"}) {
		t.Errorf("tokens %q", got)
	}
	if strings.Contains(string(s.YAML()), "token: top") {
		t.Error("the token is printed")
	}
}
