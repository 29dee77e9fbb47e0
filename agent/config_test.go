package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// The experiment of the guide, and those of testdata, have no fault.
func TestConfigs(t *testing.T) {
	guide, err := os.ReadFile("../docs/reference/agent-file.md")
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
		if _, err := c.Experiment(Dependencies{Operator: func(OperatorConfig) Operator { return new(Inbox) }}); err != nil {
			t.Error(err)
		}
	}
}

// Every key of the file is in the guides.
func TestKeysInGuide(t *testing.T) {
	var guide []byte
	for _, name := range []string{"reference/agent-file.md", "reference/agent-tools.md", "howto/schedule-an-agent.md"} {
		page, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		guide = append(guide, page...)
	}
	var source []byte
	for _, name := range []string{"config.go", "configtools.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, data...)
	}
	for _, m := range regexp.MustCompile("yaml:\"([a-z-]+)\"").FindAllSubmatch(source, -1) {
		if !regexp.MustCompile("`[a-z.\\[\\]]*" + string(m[1]) + "[`.\\[*]").Match(guide) {
			t.Errorf("%s is neither in docs/reference/agent-file.md nor in the pages of its tools and schedules", m[1])
		}
	}
}

// A file's experiment runs: thoughts of decisions are kept, the thought in a
// reflection of three parts is not one of them.
func TestSelectiveFile(t *testing.T) {
	c, err := ReadConfig("testdata/selective.yaml")
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.Experiment(Dependencies{})
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

// A file that is nested without end, or full of mistakes, is refused in few words.
func TestHostileConfig(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{strings.Repeat("[", 200_000), "f.yaml:1:101: lists and mappings nest deeper than 100 levels"},
		{"v: 1\ntools:\n  - schema: " + strings.Repeat("{a: ", 200), "f.yaml:3:413: lists and mappings nest deeper than 100 levels"},
		{strings.Repeat("k: 1\n", 40_000), "f.yaml:101:1: too many faults: the rest is not listed"},
		{"tools:\n  - schema: {a: 1, a: 2}\n", `f.yaml:2:20: tools[0].schema: the key "a" appears twice`},
		{"tools:\n  - schema: {a: &x 1, b: *x}\n", "f.yaml:2:17: tools[0].schema: an anchor, which is not supported"},
		{strings.Repeat("#", 1<<20+1), "f.yaml: larger than 1 MiB"},
	} {
		_, err := ParseConfig("f.yaml", []byte(tt.text))
		if got := fmt.Sprint(err); !strings.Contains(got, tt.want) || len(got) > 100_000 {
			t.Errorf("%.30q: %.400s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestFaultsInOrder: the keys that stand in the wrong file are reported in the order in which
// they stand there.
func TestFaultsInOrder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "agent.yaml"), []byte("v: 1\nname: a\nsystem: Hi.\nreflection: true\ngoal: no\ncycles: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 8 { // the keys come from a map
		_, err := ParseConfig(filepath.Join(folder, "x.yaml"), []byte("v: 1\nagent: agent.yaml\ngoal: Sums.\nsystem: no\nmodel: no\nattempts: 2\n"))
		if err == nil {
			t.Fatal("keys of the agent are read in an experiment")
		}
		last := -1
		for _, key := range []string{"system", "model", "reflection", "goal", "cycles"} {
			at := strings.Index(err.Error(), key+" is a key of")
			if at < 0 {
				at = strings.Index(err.Error(), key+": is a key of")
			}
			if at <= last {
				t.Fatalf("%s is reported at %d, the one before it at %d:\n%v", key, at, last, err)
			}
			last = at
		}
	}
}
