package interop_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/interop/gguf"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// numbersLast is the Game of 24, with a prompt that ends with the numbers.
type numbersLast struct{ answer.Task }

func (numbersLast) Ask(p answer.Problem) string { return "Make 24 of these, each once: " + p.Input }

// gamer is a model that first answers wrong, and then right.
func gamer() engine.Model {
	var c gguf.Cutter
	return engine.Model{
		Name:     "sotto-gamer",
		Template: "{{ range .Messages }}<|{{ .Role }}|>\n{{ .Content }}<|end|>\n{{ end }}",
		Script: gguf.Script{Name: "sotto gamer", Replies: []gguf.Reply{
			{Cue: "3 5 8 11<|end|>\n", Pieces: c.Cut("<think>\nThree eights!\n</think>\n\n<answer>3*8</answer>")},
			{Cue: "as before.<|end|>\n", Pieces: c.Cut("<thinking>Hm: all of them?</thinking>So, then:\n<answer>\n(8-5)*(11-3) = 24\n</answer> ")},
			{Cue: "2 4 8 12<|end|>\n", Pieces: c.Cut("<think>This is like that one.</think>\n**Answer:** 12*8/(2*4)+12")},
			{Pieces: c.Cut("?")},
		}},
	}
}

// A stream through a real server: a wrong answer and its retry, a game that the
// template of the first solves without the model, and one that fails.
func TestSolve(t *testing.T) {
	s := engine.Run(t, gamer())
	m, err := model.Open(model.Config{Provider: "ollama", Model: "sotto-gamer", URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	memory, err := metagraph.Open(filepath.Join(dir, "memory.db"), metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	w, err := record.Open(filepath.Join(dir, "audit"), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	solver, err := solve.New(solve.Options{Task: numbersLast{answer.Game24}, Mode: solve.Template, Model: m, Memory: memory, Record: w, Run: "r", Temperatures: []float64{0, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	var got []solve.Result
	for i, input := range []string{"3 5 8 11", "1 4 7 9", "2 4 8 12"} {
		r, err := solver.Solve(t.Context(), i+1, solve.Problem{ID: input, Problem: answer.Problem{Input: input}})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	first, second, third := got[0], got[1], got[2]
	if !first.Solved || first.Candidate != "(8-5)*(11-3)" || len(first.Attempts) != 2 || first.Attempts[0].Reason != "wrong_numbers" || first.Estimated || first.Input == 0 || first.Output == 0 {
		t.Errorf("first: %+v", first)
	}
	if !second.Solved || second.Hit != solve.HitTemplate || second.Candidate != "(9-1)*(7-4)" || len(second.Attempts) != 0 {
		t.Errorf("second: %+v", second)
	}
	if third.Solved || third.Hit != solve.HitPaths || third.Attempts[0].Method != "marker:answer" || third.Attempts[0].Reason != "wrong_numbers" {
		t.Errorf("third: %+v", third)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	prompts, thoughts := recorded(t, filepath.Join(dir, "audit"))
	if strings.Contains(prompts, "Three eights") || strings.Contains(prompts, "all of them") || !strings.Contains(thoughts, "Three eights!") {
		t.Errorf("prompts:\n%s\nreplies:\n%s", prompts, thoughts)
	}
	var text strings.Builder
	if err := memory.Export(context.Background(), &text); err != nil || strings.Contains(text.String(), "Three eights") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// recorded returns the prompts and the replies of a record.
func recorded(t *testing.T, dir string) (prompts, replies string) {
	t.Helper()
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeInvocation}}) {
		if err != nil {
			t.Fatal(err)
		}
		x := e.Payload.(record.Invocation)
		for _, m := range x.Messages {
			prompts += string(m.Text.Text) + "\n"
		}
		for _, reply := range x.Replies {
			replies += string(reply.Raw.Text) + "\n"
		}
	}
	return prompts, replies
}
