package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// The experiment of the guide, and those of testdata, have no fault.
func TestConfigs(t *testing.T) {
	guide, err := os.ReadFile("../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(guide)
	file := filepath.Join(t.TempDir(), "guide.yaml")
	if err := os.WriteFile(file, block[1], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "testdata/selective.yaml"} {
		c, err := ReadConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Experiment(Surroundings{Operator: func(OperatorConfig) Operator { return new(Inbox) }}); err != nil {
			t.Error(err)
		}
	}
}

// Every key of the file is in the guide.
func TestKeysInGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("yaml:\"([a-z-]+)\"").FindAllSubmatch(source, -1) {
		if !regexp.MustCompile("`[a-z.\\[\\]]*" + string(m[1]) + "[`.\\[*]").Match(guide) {
			t.Errorf("%s is not in docs/agent.md", m[1])
		}
	}
}

// A file's experiment runs: thoughts of decisions are kept, the thought in a
// reflection of three parts is none of them.
func TestSelectiveFile(t *testing.T) {
	c, err := ReadConfig("testdata/selective.yaml")
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.Experiment(Surroundings{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if s := run1(t, x, dir); s.Last != "Progress: Oslo was looked at." {
		t.Errorf("%+v", s)
	}
	cycle := 2
	for _, e := range events(t, dir, record.Query{Cycle: &cycle, Types: []record.Type{record.TypeInvocation}}) {
		system := string(e.Payload.(record.Invocation).Messages[0].Text.Text)
		if !strings.Contains(system, "**Cycle 1**: Progress: Oslo is chosen.\nPlan: Look at it.\nThoughts: Oslo is near the sea.") || strings.Contains(system, "went well") {
			t.Errorf("the prompt:\n%s", system)
		}
	}
}
