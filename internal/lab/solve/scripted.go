package solve

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
	"github.com/sotto-llm/sotto/model"
)

// Scripted stands in for a model. It finds the right answer by exact search or by
// sorting, or takes the problem's gold. It then writes that answer, or a wrong one,
// in the ways that models do: with thoughts in tags, without an opening tag, after
// a marker, cut off. Its reply depends only on the problem and the attempt, not on
// the prompt: about every second reply is right, whatever memory returned. It
// demonstrates the loop, not a model's skill, so give it a memory of its own: what
// it "solves" would count as solved for a real model.
type Scripted struct{ Task Task }

// Name returns "scripted".
func (Scripted) Name() string { return "scripted" }

// Invoke returns an error, because the stand-in must know the problem.
func (Scripted) Invoke(context.Context, model.Request, func(model.Delta) error) (model.Reply, error) {
	return model.Reply{End: sotto.EndAborted}, errors.New("the scripted model answers problems, not requests")
}

// Skip does nothing, because no reply depends on another.
func (Scripted) Skip(Problem, int) {}

// Reply writes a reply.
func (m Scripted) Reply(ctx context.Context, p Problem, attempt int, _ model.Request) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{End: sotto.EndAborted}, err
	}
	query := metagraph.Query(m.Task, p.Problem)
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%d", query, attempt)
	dice := hash.Sum64() >> 3
	right := m.answer(p)
	if right == "" {
		return model.Reply{Model: m.Name(), Raw: "<think>\nI do not know how.\n</think>\n\nI cannot solve this.", End: sotto.EndStopped}, nil
	}
	r := model.Reply{Model: m.Name(), End: sotto.EndStopped}
	switch dice % 10 {
	case 0, 1:
		r.Raw = "<think>\nLet me try " + right + ".\n</think>\n\nThat works.\n\n<answer>\n" + right + "\n</answer>"
	case 2:
		r.Raw = "I try one thing after the other.\n</think>\n\nAnswer: " + right
	case 3:
		r.Raw = "**Answer:** " + right
	case 4:
		r.Raw = "<think>First a guess: 1 + 1.</think><answer>" + right + "</answer>"
	case 5:
		r.Raw = "<think>\nLet me see. What if I try " + right
		r.End = sotto.EndCut
	case 6:
		r.Raw = "<think>\nIt must be this.\n</think>\n\n<answer>\n" + right + " + 1\n</answer>"
	case 7:
		r.Raw = "<answer>\n" + m.partOf(right) + "\n</answer>"
	case 8:
		r.Raw = "<think>I am sure that it is " + right + "</think>\n\nI have found it, as you can see."
	default:
		r.Raw = "There is no way to do it."
	}
	return r, nil
}

// answer returns the right answer, or "".
func (m Scripted) answer(p Problem) string {
	if numbers, target, ok := metagraph.Numbers(m.Task, p.Problem); ok {
		solution, _ := symbolic.Solve(numbers, target)
		return solution
	}
	if words, ok := strings.CutPrefix(metagraph.Query(m.Task, p.Problem), "Sort "); ok && m.Task.Name() == answer.WordSort.Name() {
		return words // the query has them in order
	}
	return p.Gold
}

// partOf leaves part of an answer out.
func (Scripted) partOf(right string) string { return right[:(len(right)+1)/2] }
