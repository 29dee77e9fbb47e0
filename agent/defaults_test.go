package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What an experiment leaves out has the values that its documentation names.
func TestDefaults(t *testing.T) {
	x := Experiment{}.filled()
	limits := Limits{
		Invocations: 16, Calls: 32, Retries: 1, Attempts: 2, RetryWait: time.Second, ReplyTime: 10 * time.Minute, ToolTime: time.Minute,
		Reply: 1 << 20, Arguments: 256 << 10, Result: 64 << 10, FailedCycles: 3,
	}
	if diff := cmp.Diff(limits, x.Limits); diff != "" {
		t.Error(diff)
	}
	if x.Cycles != 10 || x.Planned() != 10 || x.Policy != Strip || x.ThoughtBudget != 4<<10 || x.ReflectionBudget != 16<<10 || x.CarryBudget != 8<<10 || x.Recall.Budget != 4<<10 || x.System == "" || x.ReflectionHeading == "" || x.ReflectionLabel == "" {
		t.Errorf("%+v", x)
	}
	own := Experiment{
		Cycles: 3, Policy: Keep, System: "s", ThoughtBudget: 1, ReflectionBudget: 2, CarryBudget: 3, Recall: Recall{Budget: 4}, ReflectionHeading: "h", ReflectionLabel: "l {cycle}",
		Limits: Limits{1, 2, -1, 4, 5, 6, 7, 8, 9, 10, -1, 12, 13, 0.5, 14},
	}
	if got := own.filled(); got.Cycles != 3 || got.Planned() != 3 || got.Policy != Keep || got.System != "s" || got.ThoughtBudget != 1 || got.ReflectionBudget != 2 || got.CarryBudget != 3 || got.Recall.Budget != 4 || got.Limits != own.Limits {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct{ attempts, want int }{{-1, 1}, {1, 1}, {2, 2}} {
		l := Limits{Attempts: c.attempts, RetryWait: time.Second, ReplyTime: time.Hour}
		if p := l.attempts(); p.Attempts != c.want || p.First != time.Second || p.Longest != 64*time.Second || p.Patience != time.Hour {
			t.Errorf("%+v", p)
		}
	}
	if about(0) != 0 || about(1) != 1 || about(4) != 1 || about(5) != 2 {
		t.Error("tokens are not estimated as four bytes each")
	}
}

// An outage is waited for as long as its limit says, or what is left of the run's time.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		outage, time, spent time.Duration
		least, most         time.Duration
	}{
		{0, 0, 0, 24 * time.Hour, 24 * time.Hour}, {time.Hour, 0, 0, time.Hour, time.Hour}, {-1, 0, 0, 0, 0}, {time.Hour, 3 * time.Hour, time.Hour, time.Hour, time.Hour},
		{time.Hour, 2 * time.Hour, 90 * time.Minute, 29 * time.Minute, 30 * time.Minute}, {-1, time.Hour, 0, 59 * time.Minute, time.Hour}, {time.Hour, 1, 5, 1, time.Millisecond},
	} {
		tn := &turn{left: &budget{limits: Limits{Time: c.time}, took: Usage{Time: c.spent}}}
		tn.Limits.Outage = c.outage
		o := outage{turn: tn, began: time.Now()}
		if got := o.patience(); got < c.least || got > c.most {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// An experiment, its agents and its tools are checked before it begins, and all that is wrong
// is said.
func TestChecks(t *testing.T) {
	good := func() Experiment { return Experiment{Name: "x", Model: &parrot{}} }
	deep := Subagent{Name: "a", Agents: []Subagent{{Name: "b", Agents: []Subagent{{Name: "c"}}}}}
	for want, change := range map[string]func(x *Experiment){
		"":                  func(x *Experiment) { x.Agents, x.Name = []Subagent{deep}, strings.Repeat("n", 48) },
		"name \"\"":         func(x *Experiment) { x.Name = "" },
		"want 1 to 48":      func(x *Experiment) { x.Name = strings.Repeat("n", 49) },
		"name \"a+b\"":      func(x *Experiment) { x.Name = "a+b" },
		"no model":          func(x *Experiment) { x.Model = nil },
		"negative number":   func(x *Experiment) { x.Cycles = -1 },
		"CarryCalls":        func(x *Experiment) { x.CarryCalls = "some" },
		"ReflectionHeading": func(x *Experiment) { x.ReflectionHeading = "a\nb" },
		"ReflectionLabel":   func(x *Experiment) { x.ReflectionLabel = "no number" },
		`agent "a b"`:       func(x *Experiment) { x.Agents = []Subagent{{Name: "a b"}} },
		"1 to 16 letters":   func(x *Experiment) { x.Agents = []Subagent{{Name: strings.Repeat("a", 17)}} },
		`agent "d": agents nest deeper than 3 levels`: func(x *Experiment) {
			deep := deep
			deep.Agents = []Subagent{{Name: "b", Agents: []Subagent{{Name: "c", Agents: []Subagent{{Name: "d"}}}}}}
			x.Agents = []Subagent{deep}
		},
	} {
		x := good()
		change(&x)
		if err := x.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	x := Experiment{Cycles: -1, Name: "+"}
	if err := x.check(); strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not all faults are said: %v", err)
	}
	a := Subagent{Name: "a", Tools: []string{"look", "see"}, Agents: []Subagent{{Name: "b", Tools: []string{"hear"}}}}
	err := a.checkTools([]Tool{&Func{Name: "look"}})
	if got := fmt.Sprint(err); got != "agent a: there is no tool \"see\" to give to it\nagent b: there is no tool \"hear\" to give to it" {
		t.Error(got)
	}
	schema := `{"type":"object"}`
	for want, list := range map[string][]Tool{
		"":                                {&Func{Name: "a"}, &Func{Name: strings.Repeat("b", 64), Schema: schema}},
		`tool "a b": want a name`:         {&Func{Name: "a b"}},
		"of 1 to 64 letters":              {&Func{Name: strings.Repeat("b", 65)}},
		`tool "a": two tools`:             {&Func{Name: "a"}, &Func{Name: "b"}, &Func{Name: "a"}},
		`tool "a": its schema: want`:      {&Func{Name: "a", Schema: `{"type":"array"}`}},
		`"a": its schema: want a JSON Sc`: {&Func{Name: "a", Schema: `{`}},
	} {
		b, err := newToolbox(list)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil && (b.named("a") != list[0] || b.named("c") != nil || b.String() != "a, "+strings.Repeat("b", 64)) {
			t.Errorf("the box has %s", b)
		}
	}
	if none, err := newToolbox(nil); err != nil || none.String() != "none" {
		t.Errorf("%s, %v", none, err)
	}
}

// Every value of a file that is out of its range, or names what is not there, is a fault at
// its key.
func TestFileFaults(t *testing.T) {
	dir := write(t, map[string]string{"s.yaml": "- text: t\n", "empty": " \n", "key": "k-of-file\n", "spaced": "a b\x00c\n"})
	parse := func(text string) (*Agent, error) {
		if !strings.Contains(text, "model:") {
			text += "\nmodel: {provider: scripted, script: s.yaml}"
		}
		if !strings.Contains(text, "name:") || strings.HasPrefix(text, "agents") || strings.HasPrefix(text, "tools") || strings.HasPrefix(text, "model") {
			text = "name: a\n" + text
		}
		c, err := ParseConfig(filepath.Join(dir, "a.yaml"), []byte("v: 1\n"+text))
		if err != nil {
			return nil, err
		}
		return c.Agent(Dependencies{Getenv: func(name string) string { return strings.TrimPrefix(name, "UNSET") }})
	}
	many := "agents:" + strings.Repeat("\n- {name: x}", 33)
	for text, want := range map[string]string{
		"":                                        "",
		"name: a b":                               "name: \"a b\": want 1 to 48",
		"cycles: 0":                               "",
		"cycles: -1":                              "cycles: want a number from 1",
		"cycles: 100000":                          "",
		"cycles: 100001":                          "cycles: want 100000 at most",
		"reflection-budget: -1":                   "reflection-budget: want a number",
		"carry-budget: -1":                        "carry-budget: want a number",
		"thoughts: {budget: -1}":                  "thoughts.budget: want a number",
		"thoughts: {policy: x}":                   `thoughts.policy: "x": want strip, keep, selective, summary, retrieve`,
		"reflection: x":                           `reflection: "x": want text, template`,
		"carry-calls: x":                          `carry-calls: "x": want none, last, all`,
		"calls: x":                                `calls: "x": want native, text, both`,
		"advisory: {method: x}":                   `advisory.method: "x": want auto, lexical, embedding, off`,
		"advisory: {threshold: -0.1}":             "advisory.threshold: want a number between 0 and 1",
		"advisory: {threshold: 1.1}":              "advisory.threshold: want a number between 0 and 1",
		"advisory: {threshold: 1}":                "",
		"operator: {by: x}":                       `operator.by: "x": want none, terminal, inbox`,
		"operator: {by: inbox, wait: -1s}":        "operator.wait: want a time",
		"operator: {listen: 10.0.0.1:80}":         "operator.listen: \"10.0.0.1:80\": want a loopback",
		"operator: {listen: localhost}":           "operator.listen: \"localhost\": want a loopback",
		"operator: {listen: localhost:80}":        "",
		"operator: {listen: '[::1]:80'}":          "",
		"limits: {failed-cycles: -1}":             "",
		"limits: {calls: -1}":                     "limits.calls: is negative",
		"limits: {time: -1s}":                     "limits.time: is negative",
		"memory: [look]":                          `memory[0]: "look": want some of write, read, list, delete, pattern_search`,
		"memory: [read]\nmemory-confirm: [write]": `memory-confirm[0]: "write": want some of read`,
		"dialect: nosuch":                         "dialect: unknown dialect",
		"start: middle":                           "start: start \"middle\"",
		"skills: [{name: ' '}]":                   "skills[0].name: want the name",
		"model: {}":                               "model: want a provider",
		"model: {provider: x}":                    `model.provider: "x": want scripted`,
		"model: {provider: ollama, name: m, think: much}":                                  `model.think: "much": want true`,
		"model: {provider: openai, name: m, key-env: UNSET}":                               "model.key-env: the environment",
		"model: {provider: openai, name: m, key-env: K, key-file: key}":                    "model.key-file: key-env is set too",
		"model: {provider: openai, name: m, key-file: empty}":                              "model.key-file: the file is empty",
		"model: {provider: openai, name: m, key-file: none}":                               "model.key-file: ",
		"model: {provider: openai, name: m, key-file: key}":                                "",
		"model: {provider: scripted, script: none.yaml}":                                   "model: ",
		"advisory: {method: embedding}\nmodel: {provider: anthropic, name: m, key-env: K}": "advisory.method: this model's API has no embeddings",
		many: "agents[32]: want 32 agents at most",
		strings.TrimSuffix(many, "\n- {name: x}") + "\n- {name: y}":                         "agents[32]: want 32 agents at most",
		"agents: [{name: 'b b'}]":                                                           `agents[0].name: agent "b b"`,
		"agents: [{name: b, calls: x}]":                                                     "agents[0].calls: \"x\"",
		"agents: [{name: b, limits: {calls: -1}}]":                                          "agents[0].limits.calls: is negative",
		"agents: [{name: b, dialect: nosuch}]":                                              "agents[0].dialect: unknown",
		"agents: [{name: b, start: middle}]":                                                "agents[0].start: start",
		"agents: [{name: b, tools: [look]}]\nmemory: []":                                    `agents[0].tools[0]: "look": there is no such tool, because there is none at all`,
		"agents: [{name: b, tools: [raed]}]":                                                `agents[0].tools[0]: "raed": there is no such tool: did you mean "read"`,
		"agents: [{name: b, agents: [c, c]}, {name: c}]":                                    `agents[0].agents[1]: "c" appears twice`,
		"agents: [{name: read}]":                                                            `agents[0].name: "read": another tool has this name`,
		"agents: [{name: b, model: {provider: x}}]":                                         "agents[0].model.provider: \"x\"",
		"tools: [{name: t, url: 'http://h', timeout: -1s}]":                                 "tools[0].timeout: want a time",
		"tools: [{name: t, url: 'http://h', limit: -1}]":                                    "tools[0].limit: ",
		"tools: [{name: t, url: 'ftp://h'}]":                                                "tools[0].url: want an http",
		"tools: [{name: t, url: 'http://'}]":                                                "tools[0].url: want an http",
		"tools: [{name: t, url: 'http://h', token-file: none}]":                             "tools[0].token-file: ",
		"tools: [{name: t, url: 'http://h', token-file: empty}]":                            "tools[0].token-file: the file is empty",
		"tools: [{name: t, url: 'http://h', token-file: spaced}]":                           "tools[0].token-file: ",
		"tools: [{name: t, url: 'http://h', headers-env: {X: UNSET}}]":                      "tools[0].headers-env.X: the environment has no UNSET",
		"tools: [{name: t, url: 'http://h', schema: {type: array}}]":                        `tools[0]: tool "t": its schema`,
		"tools: [{mcp: m, command: [c], allow: [t]}]":                                       "tools[0].mcp: MCP servers cannot be used here",
		"tools: [{a2a: 'http://h', name: t}]":                                               "tools[0].a2a: agents cannot be reached by A2A here",
		"tools: [{name: send_message_to_operator, url: 'http://h'}]\noperator: {by: inbox}": `tools[0].name: "send_message_to_operator": another tool`,
		"thoughts: {recall: true}\nagents: [{name: b, tools: [recall_thoughts]}]":           `agents[0].tools[0]: "recall_thoughts": an agent that is called`,
	} {
		_, err := parse(text)
		got := strings.ReplaceAll(fmt.Sprint(err), dir+string(filepath.Separator), "")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(got, want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// Files lists what an experiment is read from, without keys and without repetition.
func TestFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"a/s.yaml": "- text: t\n", "a/t.yaml": "- text: t\n", "x.yaml": "v: 1\nname: x\ngoal: g\nagent: a/a.yaml\n",
		"a/a.yaml": "v: 1\nname: a\nmodel: {provider: scripted, script: s.yaml}\nagents: [{name: b, model: {provider: scripted, script: t.yaml}}, {name: c, model: {provider: scripted, script: s.yaml}}, {name: d}]\n",
	})
	c, err := ReadConfig(filepath.Join(dir, "x.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	settings, scripts := c.Files()
	got := strings.ReplaceAll(fmt.Sprint(settings, scripts), dir+string(filepath.Separator), "")
	if got != "[x.yaml a/a.yaml] [a/s.yaml a/t.yaml]" || c.File() != settings[0] {
		t.Error(got)
	}
}
