package apps_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// converse gives an application two prompts, the second in the conversation of the
// first, and judges its output, its tool and its requests.
func converse(t *testing.T, a *application, model string) {
	s := newStage(t, scripted.New(scripted.Options{Calls: calls}))
	u := &user{a, t.TempDir(), s.base}
	turn(t, u, model, u.first())
	if a.again == nil {
		judgeRequests(t, s, a, find(t, model))
		return
	}
	turn(t, u, model, u.further())
	m := find(t, model)
	judgeRequests(t, s, a, m)
	sent := s.before.Of("key")
	if last := string(sent[len(sent)-1].Body); strings.Count(last, m.Result.Visible) != 1 {
		t.Errorf("the second prompt did not resume the conversation: %s", last)
	}
}

// turn gives an application one prompt.
func turn(t *testing.T, u *user, model string, args []string) {
	t.Helper()
	m := find(t, model)
	out, stderr, err := u.run(t, model, args)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr)
	}
	if !strings.Contains(out, m.Result.Visible) {
		t.Errorf("no answer in %s", out)
	}
	if strings.Contains(out, "think>") {
		t.Errorf("a marker in %s", out)
	}
	thought := cmp.Or(strings.Join(m.Result.Reasoning, ""), "-")
	if shown := strings.Contains(out, thought); shown != u.shows {
		t.Errorf("reasoning is shown: %t, in %s", shown, out)
	}
	if err := os.Remove(filepath.Join(u.home, "work", "ran.txt")); err != nil {
		t.Errorf("the tool did not run: %v\n%s\n%s", err, out, stderr)
	}
}

func find(t *testing.T, model string) *scripted.Model {
	t.Helper()
	m, ok := scripted.Find(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	return m
}
