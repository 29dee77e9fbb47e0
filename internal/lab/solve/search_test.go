package solve_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// searcher proposes, chooses and merges; it thinks aloud in each reply.
const searcher = `
- when: {user: "Work so far:[^#]*second.*\\n[^#]*Propose 4"}
  text: "<think>secret</think>Here they are:\n- third a\n* third b"
- when: {user: "Propose 4"}
  text: "<think>secret</think>- first\n- second\n- second\n3. other\nno item"
- when: {user: "This is way 2"}
  text: "<think>secret</think>way two"
- when: {user: "This is way"}
  text: "<think>secret</think>another way"
- when: {user: "Which 2 of these"}
  text: "<think>1 and 3?</think>The best are 2 and 3, and not 99."
- when: {user: "Take what is right in both"}
  text: "<think>secret</think>merged way"
- when: {user: "1 4 7 9\\. Use", contains: "Work on it so far"}
  text: "<think>secret</think><answer>(9-1)*(7-4)</answer>"
- text: "<answer>1</answer>"
`

var oneGame = []solve.Problem{{ID: "1", Problem: answer.Problem{Input: "1 4 7 9"}}}

// TestSearch solves a game by tot and got: the calls of a search are tries with a step, what
// they find is in the prompt of the answer, and what they think is in no prompt.
func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		mode  solve.Mode
		steps string
		plan  string
	}{
		{solve.ToT, "propose choose propose propose choose propose propose choose ", "second\n"},
		{solve.GoT, "propose propose propose choose merge ", "merged way"},
	} {
		m := script(t, searcher)
		r, err := stream(solver(t, solve.Options{Task: game24, Mode: tt.mode, Model: m, Temperatures: []float64{0}}), oneGame, nil, solve.Budget{})
		if err != nil || !r[0].Solved || r[0].Candidate != "(9-1)*(7-4)" {
			t.Fatalf("%s: %+v, %v", tt.mode, r, err)
		}
		steps, tokens := "", int64(0)
		for _, try := range r[0].Attempts {
			steps += try.Step + " "
			tokens += try.Input + try.Output
			if (try.Candidate == "") != (try.Step != "") {
				t.Errorf("%s: a try of step %q has the candidate %q", tt.mode, try.Step, try.Candidate)
			}
		}
		if steps != tt.steps+" " || tokens != r[0].Input+r[0].Output || tokens == 0 {
			t.Errorf("%s: steps %q, %d tokens of %d", tt.mode, steps, tokens, r[0].Input+r[0].Output)
		}
		last := m.asked[len(m.asked)-1].Messages
		if text := last[len(last)-1].Text; !strings.Contains(text, "Work on it so far, which may be wrong:\n\n"+tt.plan) {
			t.Errorf("%s: the prompt of the answer:\n%s", tt.mode, text)
		}
		if text := prompts(m); strings.Contains(text, "secret") || strings.Contains(text, "no item") {
			t.Errorf("%s: a prompt has what was thought:\n%s", tt.mode, text)
		}
	}
}

// TestSearchBudget ends a search at the call that crosses the budget.
func TestSearchBudget(t *testing.T) {
	m := script(t, searcher)
	s := solver(t, solve.Options{Task: game24, Mode: solve.ToT, Model: m, Temperatures: []float64{0}})
	_, err := stream(s, oneGame, nil, solve.Budget{Tokens: 1})
	if _, spent := errors.AsType[*solve.BudgetError](err); !spent || len(m.asked) != 1 {
		t.Errorf("%d calls, %v", len(m.asked), err)
	}
}

// TestSearchRetries tells the second attempt why the answer of the first was wrong, and
// searches again.
func TestSearchRetries(t *testing.T) {
	m := script(t, strings.Replace(searcher, "(9-1)*(7-4)", "(9-1)*(7-4)+1", 1))
	r, err := stream(solver(t, solve.Options{Task: game24, Mode: solve.GoT, Model: m, Temperatures: []float64{0, 0.5}}), oneGame, nil, solve.Budget{})
	if err != nil || r[0].Solved || len(r[0].Attempts) != 12 || r[0].Reason != string(answer.WrongNumbers) {
		t.Fatalf("%+v, %v", r, err)
	}
	last := m.asked[len(m.asked)-1].Messages
	if n := len(last); n != 4 || !strings.Contains(last[2].Text, "(9-1)*(7-4)+1") || !strings.Contains(last[3].Text, "is wrong") {
		t.Errorf("the last prompt: %+v", last)
	}
}

// TestMemoryOfModes gives a memory to modes that have none by themselves, and takes it from
// bot.
func TestMemoryOfModes(t *testing.T) {
	g := memory(t)
	like := []solve.Problem{{ID: "2", Problem: answer.Problem{Input: "1 4 7 10"}}}
	for _, mode := range []solve.Mode{solve.CoT, solve.ToT} {
		m := script(t, strings.Replace(searcher, `, contains: "Work on it so far"`, "", 1))
		r, err := stream(solver(t, solve.Options{Task: game24, Mode: mode, Model: m, Memory: g, Temperatures: []float64{0}, Run: string(mode)}), oneGame, nil, solve.Budget{})
		if err != nil || r[0].Memory == nil || r[0].Memory.Size.Traces != 1 {
			t.Fatalf("%s with a memory: %+v, %v", mode, r, err)
		}
	}
	for _, with := range []bool{true, false} {
		m := script(t, searcher)
		o := solve.Options{Task: game24, Mode: solve.BoT, Model: m, Temperatures: []float64{0}}
		if with {
			o.Memory = g
		}
		r, err := stream(solver(t, o), like, nil, solve.Budget{})
		if err != nil || (r[0].Hit == solve.HitPaths) != with || (r[0].Memory != nil) != with || strings.Contains(prompts(m), "(9-1)*(7-4)") != with {
			t.Errorf("bot, memory %t: %+v, %v\n%s", with, r, err, prompts(m))
		}
		if !strings.Contains(prompts(m), "what kind of problem this is") {
			t.Errorf("the prompt of bot:\n%s", prompts(m))
		}
	}
}
