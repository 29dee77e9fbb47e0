package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/record"
)

// write makes files in a new folder, and returns the folder.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func experimentOf(t testing.TB, file string, d Dependencies) Experiment {
	t.Helper()
	c, err := ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.Experiment(d)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const (
	agentKeys = `
description: Counts.
version: "2"
skills: [{name: Count, examples: [How many?]}]
system: You count.
model: {provider: scripted, script: script.yaml}
calls: both
thoughts: {policy: keep}
memory: [read]
agents: [{name: helper, system: You help.}]
limits: {invocations: 5, calls: 7}
`
	goalKeys  = "goal: Count to ten.\ncycles: 1\n"
	oneScript = "- when: {system: You help}\n  text: <think>h</think>Help.\n- when: {step: 1}\n  calls: [{name: helper, arguments: {task: Help.}}]\n- text: <think>one</think>Ten.\n"
)

// An experiment that names the file of its agent makes the same run as one that
// holds the agent's keys: the record of the one resumes as that of the other. The
// limits of the experiment take precedence, key by key. Paths are relative to the
// file that has them.
func TestAgentFile(t *testing.T) {
	dir := write(t, map[string]string{
		"script.yaml":        oneScript,
		"whole.yaml":         "v: 1\nname: count\n" + strings.Replace(agentKeys, "calls: 7}", "calls: 8}", 1) + goalKeys,
		"agents/agent.yaml":  "v: 1\nname: counter\n" + agentKeys,
		"agents/script.yaml": oneScript,
		"apart.yaml":         "v: 1\nname: count\nagent: agents/agent.yaml\nlimits: {calls: 8}\n" + goalKeys,
	})
	whole, apart := experimentOf(t, filepath.Join(dir, "whole.yaml"), Dependencies{}), experimentOf(t, filepath.Join(dir, "apart.yaml"), Dependencies{})
	settings := func(x Experiment) string {
		text, _ := json.Marshal(x.Settings)
		return strings.ReplaceAll(string(text), "agents/", "")
	}
	if diff := cmp.Diff(settings(whole), settings(apart)); diff != "" {
		t.Error(diff)
	}
	if apart.Limits.Calls != 8 || apart.Limits.Invocations != 5 {
		t.Errorf("%+v", apart.Limits)
	}
	at := t.TempDir()
	run1(t, whole, at)
	before := plain(t, at)
	if s := run1(t, apart, at); s.Passed != len(before) || s.Last != "Ten." {
		t.Errorf("%+v, want the %d events of the run", s, len(before))
	}
	if diff := cmp.Diff(before, plain(t, at)); diff != "" {
		t.Error(diff)
	}
}

// All faults of both files are reported at once, each at its place.
func TestAgentFileFaults(t *testing.T) {
	dir := write(t, map[string]string{
		"x.yaml":     "v: 1\ngoal: g\nagent: agent.yaml\nsystem: mine\ncycle: 3\n",
		"agent.yaml": "v: 1\nname: a\ngoal: g\nmodle: {}\nmodel: {provider: scripted, script: s.yaml}\n",
		"y.yaml":     "v: 1\ngoal: g\nagent: parts.yaml\nlimits: {calls: -1}\n",
		"parts.yaml": "v: 1\nname: a\nmodel: {provider: scripted, script: s.yaml}\nlimits: {tokens: -1}\nagents:\n" +
			"  - {name: a, agents: [b]}\n  - {name: b, agents: [c]}\n  - {name: c, agents: [a, d, helper]}\n  - {name: d, agents: [e]}\n  - {name: e, agents: [d2]}\n",
		"s.yaml":    "- text: t\n",
		"lost.yaml": "v: 1\nagent: nowhere.yaml\n",
	})
	faults := func(name string) string {
		c, err := ReadConfig(filepath.Join(dir, name))
		if err == nil {
			_, err = c.Experiment(Dependencies{})
		}
		return strings.ReplaceAll(fmt.Sprint(err), dir+string(filepath.Separator), "")
	}
	for name, want := range map[string][]string{
		"x.yaml": {
			`x.yaml:4:9: system: is a key of the agent: put it into agent.yaml`, `x.yaml:5:1: cycle: unknown key: did you mean "cycles"?`,
			`agent.yaml:3:7: goal: is a key of an experiment: put it into x.yaml`, `agent.yaml:4:1: modle: unknown key: did you mean "model"?`,
		},
		"y.yaml": {
			`y.yaml:4:17: limits.calls: is negative`, `parts.yaml:4:18: limits.tokens: is negative`,
			`parts.yaml:8:24: agents[2].agents[0]: "a": agents that call each other in a circle never end: a calls b calls c calls a`,
			`parts.yaml:8:27: agents[2].agents[1]: "d": agents nest deeper than 3 levels`,
			`parts.yaml:8:30: agents[2].agents[2]: "helper": there is no such agent: want some of a, b, c, d, e`,
			`parts.yaml:9:24: agents[3].agents[0]: "e": agents nest deeper than 3 levels`,
			`parts.yaml:10:24: agents[4].agents[0]: "d2": there is no such agent: did you mean "d"?`,
		},
		"lost.yaml": {`lost.yaml:2:8: agent: `, `no such file`},
	} {
		got := faults(name)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s:\n%s\nwant %s", name, got, w)
			}
		}
		if n := strings.Count(got, "\n") + 1; name != "lost.yaml" && n != len(want) {
			t.Errorf("%s: %d faults, want %d:\n%s", name, n, len(want), got)
		}
	}
}

// An agent that agents name can be called by them, and its run is named in the
// record: by the call, with the reply that the answer comes from.
func TestAgentsOfAgents(t *testing.T) {
	dir := write(t, map[string]string{
		"script.yaml": `
- when: {system: "^You are b", step: 1}
  text: "<think>CANARY b</think>Bee."
- when: {system: "^You are a", step: 1}
  calls: [{name: b, arguments: {task: Buzz.}}]
- when: {system: "^You are a"}
  text: "<think>CANARY a</think>A says Bee."
- when: {step: 1}
  calls: [{name: a, arguments: {task: Ask b.}}]
- text: "All: A says Bee."
`,
		"x.yaml": "v: 1\nname: nest\ncycles: 1\nmodel: {provider: scripted, script: script.yaml}\nagents: [{name: a, system: You are a., agents: [b]}, {name: b, system: You are b.}]\n",
	})
	at := t.TempDir()
	if s := run1(t, experimentOf(t, filepath.Join(dir, "x.yaml"), Dependencies{}), at); s.Last != "All: A says Bee." {
		t.Errorf("%+v", s)
	}
	replies := map[uint64]record.Event{}
	var children []string
	for _, e := range events(t, at, record.Query{}) {
		replies[e.Seq] = e
		if x, ok := e.Payload.(record.ToolCall); ok && x.Phase == "end" {
			of := replies[x.Child.Of.Seq]
			children = append(children, e.Run+" "+x.Child.Run+" "+of.Run+" "+string(x.Result.Text))
			if r := of.Payload.(record.Invocation).Replies[0]; r.Digest != x.Child.Of.Digest || !strings.Contains(string(r.Raw.Text), "CANARY") {
				t.Errorf("%+v", r)
			}
		}
	}
	want := []string{"nest+a.1 nest+a.1+b.1 nest+a.1+b.1 Bee.", "nest nest+a.1 nest+a.1 A says Bee."}
	if diff := cmp.Diff(want, children); diff != "" {
		t.Error(diff)
	}
}

// The keys of models and the headers of tools are in no event of the record, even
// if a model writes them.
func TestSecretsOfFile(t *testing.T) {
	dir := write(t, map[string]string{
		"script.yaml": `
- when: {step: 1}
  calls: [{name: helper, arguments: {task: "key-of-file key-of-env Bearer token-of-tool"}}]
- text: "key-of-file and key-of-env and token-of-tool"
`,
		"key": "key-of-file\n",
		"x.yaml": `v: 1
name: keys
cycles: 1
model: {provider: scripted, script: script.yaml, key-file: key}
tools: [{name: t, url: "http://127.0.0.1:1/", headers-env: {Authorization: TOOL}}]
agents: [{name: helper, model: {provider: scripted, script: script.yaml, key-env: KEY}}]
`,
	})
	env := map[string]string{"KEY": "key-of-env", "TOOL": "Bearer token-of-tool"}
	x := experimentOf(t, filepath.Join(dir, "x.yaml"), Dependencies{Getenv: func(name string) string { return env[name] }})
	at := t.TempDir()
	run1(t, x, at)
	text := strings.Join(plain(t, at), "\n")
	for _, secret := range []string{"key-of-file", "key-of-env", "token-of-tool"} {
		if strings.Contains(text, secret) {
			t.Errorf("the record holds %s", secret)
		}
	}
	if !strings.Contains(text, "[secret] and [secret] and [secret]") {
		t.Error(text)
	}
}
