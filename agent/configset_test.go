package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With replaces keys of the experiment's file and of its agent's, and names itself
// in the faults of what it sets.
func TestWith(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml": "v: 1\nname: a\nmodel: {provider: ollama, name: one}\ntools: [{name: look, url: 'http://127.0.0.1:1/'}]\n",
		"x.yaml":     "v: 1\nname: x\nagent: agent.yaml\ngoal: A goal.\ncycles: 10\nlimits: {calls: 3}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := ReadConfig(filepath.Join(dir, "x.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.With([]Setting{
		{"cycles", "3"}, {"goal", "Find bug #3: why?"}, {"model.name", "qwen3:8b"}, {"model.seed", "7"}, {"limits.calls", ""},
		{"thoughts", "{policy: keep, budget: 5}"}, {"tools[0].name", "see"}, {"model.extra", `{"stop": ["a", "b"]}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.Cycles != 3 || w.Goal != "Find bug #3: why?" || w.Model.Name != "qwen3:8b" || *w.Model.Seed != 7 || w.Limits.Calls != 0 ||
		w.Thoughts.Policy != "keep" || w.Thoughts.Budget != 5 || w.Tools[0].Name != "see" || len(w.Model.Extra) != 1 || w.Model.Provider != "ollama" {
		t.Errorf("%+v", w)
	}
	if c.Cycles != 10 || c.Model.Name != "one" || c.Limits.Calls != 3 {
		t.Errorf("the original has changed: %+v", c)
	}
	for _, f := range []struct {
		set  Setting
		want string
	}{
		{Setting{"model.nmae", "x"}, `--set model.nmae: unknown key: did you mean "name"`},
		{Setting{"cycles", "many"}, "--set cycles: want a whole number"},
		{Setting{"tools[4].name", "x"}, "--set tools[4].name: the list tools has no item 4"},
		{Setting{"goal.x", "y"}, "--set goal.x: x is in"},
		{Setting{"model", "{name: [1]}"}, "--set model: model.name: want text"},
		{Setting{"thoughts", "{policy: "}, "--set thoughts: "},
	} {
		_, err := c.With([]Setting{f.set})
		var faults *ConfigError
		if !errors.As(err, &faults) || len(faults.Faults) != 1 || !strings.HasPrefix(faults.Faults[0].Error(), f.want) {
			t.Errorf("%v: %v, want %s", f.set, err, f.want)
		}
	}
	w, err = c.With([]Setting{{"thoughts.policy", "kept"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Experiment(Dependencies{}); err == nil || !strings.Contains(err.Error(), `--set thoughts.policy: "kept": want strip`) {
		t.Errorf("a wrong value: %v", err)
	}
}
