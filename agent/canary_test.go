package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// A parrot gives replies in turn, and keeps what it was asked. Its replies can be
// cut anywhere.
type parrot struct {
	replies []model.Reply
	asked   []model.Request
}

func (*parrot) Name() string { return "parrot" }

func (p *parrot) Invoke(_ context.Context, q model.Request, on func(model.Delta) error) (model.Reply, error) {
	q.Messages = append([]model.Message(nil), q.Messages...)
	p.asked = append(p.asked, q)
	if len(p.replies) == 0 {
		return model.Reply{Raw: "Nothing more.", End: sotto.EndStopped}, nil
	}
	r := p.replies[0]
	p.replies = p.replies[1:]
	for _, x := range r.Thoughts {
		if err := on(model.Delta{Thought: x.Text}); err != nil {
			return r, err
		}
	}
	for i := range len(r.Raw) {
		if err := on(model.Delta{Text: r.Raw[i : i+1]}); err != nil {
			return r, err
		}
	}
	return r, nil
}

const canary = "CANARY"

// canaries are replies with a canary in each thought, in all places that a thought
// can have: content, native, arguments, the agent below, reflections of parts.
func canaries() []model.Reply {
	write, _ := json.Marshal(map[string]string{"key": "k", "value": "note <think>CANARY</think>kept"})
	say, _ := json.Marshal(map[string]string{"message": "<think>CANARY</think>hello"})
	task, _ := json.Marshal(map[string]string{"task": "<thinking>CANARY</thinking>look it up"})
	return []model.Reply{
		{Raw: "<think>CANARY one</think>I look.", Calls: []model.Call{{ID: "a", Name: "write", Arguments: string(write)}}},
		{Raw: "Then <thinking>CANARY two</thinking> this.", Thoughts: []model.Thought{{Field: "thinking", Text: "CANARY native"}}, Calls: []model.Call{{ID: "b", Name: operatorName, Arguments: string(say)}}},
		{Raw: "", Thoughts: []model.Thought{{Field: "thinking", Text: "CANARY alone"}}, Calls: []model.Call{{ID: "c", Name: "helper", Arguments: string(task)}}},
		{Raw: "<scratch_pad>CANARY below</scratch_pad><output>The helper says so.</output>"},
		{Raw: "<think>CANARY", Calls: []model.Call{{ID: "d", Name: "write", Arguments: `{"key":"x","value":"<think>CANARY`}}},
		{Raw: "<think>CANARY three</think>\n\n<list/>"},
		{Raw: "<think>CANARY four"},
		{Raw: "<think>CANARY five</think>The first reflection.<think>CANARY six</think>"},
		{Raw: "<think>CANARY <output>seven</output></think>The second reflection."},
	}
}

// cutReply is what had come of a reply when n bytes of its content had.
func cutReply(r model.Reply, n int) model.Reply {
	if n < len(r.Raw) {
		r.Raw, r.End = r.Raw[:n], sotto.EndCut
	} else {
		r.End = sotto.EndStopped
	}
	return r
}

// Under strip no thought gets into a later prompt, a reflection, the memory, a
// message to the operator, or the result of an agent, wherever a reply is cut.
func TestCanary(t *testing.T) {
	whole, chosen := canaries(), effort.OneIn(5, "cuts")
	for i := range whole {
		for n := 0; n <= len(whole[i].Raw); n++ {
			if !chosen() {
				continue
			}
			replies := canaries()
			for j := range replies {
				replies[j] = cutReply(replies[j], len(replies[j].Raw))
			}
			replies[i] = cutReply(replies[i], n)
			if at := where(t, replies, false); at != "" {
				t.Fatalf("reply %d cut at byte %d of %q: the canary is in %s", i, n, whole[i].Raw, at)
			}
		}
	}
}

// The same with reflections of three parts, whose first is a thought.
func TestCanaryTemplate(t *testing.T) {
	text := `{"thought": "CANARY, I think", "reflection_on_progress": "Some.", "plan_for_next_cycle": "More."}`
	for n := 0; n <= len(text); n++ {
		replies := []model.Reply{cutReply(model.Reply{Raw: text}, n), {Raw: "Again.", End: sotto.EndStopped}}
		if at := where(t, replies, true); at != "" {
			t.Fatalf("cut at byte %d: the canary is in %s", n, at)
		}
	}
}

// where runs two cycles of replies, and says where the canary got to.
func where(t *testing.T, replies []model.Reply, template bool) string {
	t.Helper()
	p := &parrot{replies: replies}
	person := &deaf{}
	memory := NewMemory()
	var reflections []string
	x := Experiment{
		Name: "canary", Model: p, Cycles: 2, Memory: AllMemory(), Operator: person, Template: template,
		Agents: []Subagent{{Name: "helper", Description: "Helps."}},
	}
	var shown strings.Builder
	o := Options{Observer: Observer{
		OnText:  func(s string) { shown.WriteString(s) },
		OnCycle: func(c CycleReport) { reflections = append(reflections, c.Reflection) },
		OnToolEnd: func(u Use, result string, _ bool) {
			shown.WriteString(result + string(u.Arguments))
		},
	}}
	r, err := newRun(x, memory, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&machine{run: r}).from(t.Context(), load, ended); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown.String(), canary) {
		return "what the observer saw: " + shown.String()
	}
	for i, q := range p.asked {
		if text := fmt.Sprintf("%+v", q.Messages); strings.Contains(text, canary) {
			return fmt.Sprintf("prompt %d: %s", i, text)
		}
	}
	for _, s := range reflections {
		if strings.Contains(s, canary) {
			return "a reflection: " + s
		}
	}
	for _, key := range memory.Keys() {
		if v, _ := memory.Read(key); strings.Contains(key+v, canary) {
			return "the memory: " + v
		}
	}
	if strings.Contains(strings.Join(person.told, " "), canary) {
		return "a message to the operator"
	}
	return ""
}
