package interop_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/interop/gguf"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A lone is a model for an agent. The end of the last message chooses the reply.
// Its server does not support tools, so calls are text.
func lone() engine.Model {
	var c gguf.Cutter
	var replies []gguf.Reply
	for _, r := range [][2]string{
		// The cue is the end of the prompt.
		{"cycle 1 of 10.", "<think>\nWhat do I have?\n</think>\n\n<list/>"},
		{"the memory is empty", "<think>\nEmpty, so begin.\n</think>\n\n<write key=\"rule\">Every fourth year.</write>"},
		{"wrote \"rule\", 18 bytes", "The plain rule is noted, exceptions come next."},
		{"cycle 2 of 10.", "<think>Read it.</think>{\"name\": \"read\", \"arguments\": {\"key\": \"rule\"}}"},
		{"Every fourth year.", "I read my note: too simple, since centuries differ."},
		{"cycle 3 of 10.", "<think>Search. CANARY</think>\n<pattern_search pattern=\"fo.r\"/>"},
		{"rule:1: Every fourth year.", "One line of mine has a four in it."},
		{"cycle 4 of 10.", "<think>I say nothing aloud, only this."},
		{"where it can be seen.", "<think>Aloud then.</think>Silence was a mistake, which I mended."},
		{"cycle 5 of 10.", "<think>Forget the value.</think>\n<write key=\"test\"/>"},
		{"fit its schema", "That call was refused for lack of a value."},
		{"cycle 6 of 10.", "<think>A tool I dream of.</think>\n{\"tool\": \"fly\", \"args\": {\"to\": \"moon\"}}"},
		{"librarian", "Flying is no tool of these."},
		{"cycle 7 of 10.", "<think>Tidy.</think>\n<delete key=\"rule\"/>"},
		{"deleted \"rule\"", "My notes are gone, on purpose."},
		{"cycle 8 of 10.", "<think>Tell the person. CANARY</think>\n<send_message_to_operator>Done with the years.</send_message_to_operator>"},
		{"not waiting for an answer", "Somebody knows it now."},
		{"cycle 9 of 10.", "<think>Ask below.</think>\n<librarian>Was 2000 a leap year?</librarian>"},
		{"Was 2000 a leap year?", "<think>400 divides it. CANARY</think>Indeed, 2000 was."},
		{"Indeed, 2000 was.", "So says the one below me, and I agree."},
		{"cycle 10 of 10.", "<think>End.</think>Ten cycles are over."},
	} {
		replies = append(replies, gguf.Reply{Cue: r[0], Pieces: c.Cut(r[1])})
	}
	return engine.Model{
		Name:       "lone",
		Template:   "{{ range .Messages }}\n<|{{ .Role }}|>\n{{ .Content }}{{ end }}",
		Script:     gguf.Script{Name: "lone", Replies: replies},
		Parameters: map[string]any{"num_ctx": 4096, "num_predict": 200},
	}
}

// told is an operator who gets messages and does not answer.
type told struct{ texts []string }

func (o *told) Tell(_ context.Context, m agent.OperatorMessage) error {
	o.texts = append(o.texts, m.Text)
	return nil
}

func (o *told) Ask(ctx context.Context, m agent.OperatorMessage) (string, error) {
	return "", o.Tell(ctx, m)
}

// An agent works ten cycles on a real server, with every tool, a reply that shows
// nothing, a call that does not fit and a call of an unknown tool. Its thoughts
// stay in the record, and the replay finds no difference.
func TestAgentOnOllama(t *testing.T) {
	s := engine.Run(t, lone())
	m, err := model.Open(model.Config{Provider: "ollama", Model: "lone", URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	person := &told{}
	x := agent.Experiment{
		Name: "ollama", System: "You work in cycles.", Model: m, API: "ollama.chat", Calls: agent.TextCalls,
		Memory: agent.AllMemory(), Operator: person, ReflectionBudget: 600,
		Agents: []agent.Subagent{{Name: "librarian", Description: "Knows."}},
	}
	o := agent.Options{Record: filepath.Join(dir, "record"), Memory: filepath.Join(dir, "memory")}
	var said []string
	o.Observer.OnCycle = func(c agent.CycleReport) {
		t.Log(c.Cycle, c.Status, c.Bound, c.Reflection)
		said = append(said, c.Reflection)
	}
	r, err := agent.Run(t.Context(), x, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != agent.Done || len(said) != 10 || r.Last != "Ten cycles are over." {
		t.Fatalf("%+v", r)
	}
	for i, want := range []string{"plain rule", "too simple", "One line", "Silence", "refused", "Flying", "on purpose", "Somebody", "below me", "Ten cycles"} {
		if !strings.Contains(said[i], want) {
			t.Errorf("cycle %d: %q, want %q in it", i+1, said[i], want)
		}
	}
	if n := r.Metrics; n.ToolCalls != 9 || n.ToolErrors != 2 || n.Retries != 1 || n.TextCalls != 9 {
		t.Errorf("%+v", n)
	}
	if len(person.texts) != 1 || person.texts[0] != "Done with the years." {
		t.Errorf("the operator heard %q", person.texts)
	}
	thoughts(t, o.Record)
	p, err := agent.Replay(t.Context(), x, o.Record, agent.Options{})
	if err != nil || p.Difference != nil || p.Unfinished {
		t.Errorf("the replay: %v, %v", p.Difference, err)
	}
}

// thoughts checks that the record has the canaries in replies, and not in any
// prompt.
func thoughts(t *testing.T, dir string) {
	t.Helper()
	reader, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for e, err := range reader.Events(record.Query{Types: []record.Type{record.TypeInvocation}}) {
		if err != nil {
			t.Fatal(err)
		}
		x := e.Payload.(record.Invocation)
		for _, m := range x.Messages {
			if strings.Contains(string(m.Text.Text), "CANARY") {
				t.Errorf("event %d: a thought is in the prompt", e.Seq)
			}
		}
		kept += strings.Count(string(x.Replies[0].Raw.Text), "CANARY")
	}
	if kept != 3 {
		t.Errorf("%d thoughts are in the record, want 3", kept)
	}
}
