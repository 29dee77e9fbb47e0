package solve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
)

// Steps of an attempt. Only the reply to the last one is judged.
const (
	answers = ""
	propose = "propose"
	choose  = "choose"
	merge   = "merge"
)

// The sizes of a search. They bound the calls of an attempt: 9 of tot, 6 of got.
const (
	treeDepth   = 3 // steps of tot
	treeBreadth = 2 // thoughts that are kept after each
	proposals   = 4 // thoughts that a reply may propose
	graphWays   = 3 // solutions of got
	maxThought  = 1 << 10
)

// prepare makes the calls of an attempt before its answer.
func (a *attempt) prepare(ctx context.Context, i int) (err error) {
	a.plan = ""
	switch a.s.o.Mode {
	case ToT:
		a.plan, err = a.tree(ctx, i)
	case GoT:
		a.plan, err = a.graph(ctx, i)
	}
	return err
}

// searching is the instruction of the calls of a search.
const searching = "You work on a problem in steps. Do what is asked for, and nothing else. Do not give the final answer yet."

// step makes a call of a search, and returns the visible text of its reply.
func (a *attempt) step(ctx context.Context, i int, step, text string) (string, error) {
	c, err := a.call(ctx, i, step, []model.Message{
		{Role: model.System, Text: searching},
		{Role: model.User, Text: a.examples() + a.s.o.Task.Ask(a.problem.Problem) + "\n\n" + text},
	})
	if err != nil {
		return "", err
	}
	return c.reading.Visible(), nil
}

// tree searches a tree of thoughts, breadth first: each thought that was kept is continued in
// several ways, and the model chooses which of them are kept (Yao and others 2023).
func (a *attempt) tree(ctx context.Context, i int) (string, error) {
	kept := []string{""}
	for range treeDepth {
		var next []string
		for _, work := range kept {
			said, err := a.step(ctx, i, propose, fmt.Sprintf("%sPropose %d different next steps, one a line, each a short line that begins with a hyphen.", soFar(work), proposals))
			if err != nil {
				return "", err
			}
			for _, line := range listed(said) {
				next = append(next, strings.TrimPrefix(work+"\n"+line, "\n"))
			}
		}
		if len(next) == 0 {
			break
		}
		var err error
		if kept, err = a.chosen(ctx, i, next, treeBreadth); err != nil {
			return "", err
		}
	}
	return kept[0], nil
}

// graph makes several solutions, lets the model choose the best two, and merges them into one
// (Besta and others 2024).
func (a *attempt) graph(ctx context.Context, i int) (string, error) {
	var ways []string
	for n := range graphWays {
		said, err := a.step(ctx, i, propose, fmt.Sprintf("Work out one way to solve it, in short lines. This is way %d of %d: choose another one than the obvious if it is not the first.", n+1, graphWays))
		if err != nil {
			return "", err
		}
		if said = shorttext.Ellipsis(strings.TrimSpace(said), maxThought); said != "" {
			ways = append(ways, said)
		}
	}
	if len(ways) < 2 {
		return strings.Join(ways, ""), nil
	}
	best, err := a.chosen(ctx, i, ways, 2)
	if err != nil || len(best) < 2 {
		return strings.Join(best, ""), err
	}
	said, err := a.step(ctx, i, merge, "Two ways to solve it:\n\nA:\n"+best[0]+"\n\nB:\n"+best[1]+"\n\nTake what is right in both, correct what is wrong, and write one way to solve it.")
	return shorttext.Ellipsis(strings.TrimSpace(said), maxThought), err
}

func soFar(work string) string {
	if work == "" {
		return ""
	}
	return "Work so far:\n\n" + work + "\n\n"
}

var bullet = lazyregexp.New(`^(?:[-*•]|\d{1,2}[.)])\s+(.*\S)`)

// listed returns the items of a list, each once.
func listed(said string) (items []string) {
	for line := range strings.Lines(said) {
		m := bullet.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || len(items) == proposals {
			continue
		}
		if item := shorttext.Ellipsis(m[1], maxThought); !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

var place = lazyregexp.New(`\d{1,3}`)

// chosen asks which of several thoughts are the most promising. Those that the reply does
// not name follow in their order: a reply that names none keeps the first.
func (a *attempt) chosen(ctx context.Context, i int, thoughts []string, keep int) ([]string, error) {
	if len(thoughts) <= keep {
		return thoughts, nil
	}
	var b strings.Builder
	for n, thought := range thoughts {
		fmt.Fprintf(&b, "%d:\n%s\n\n", n+1, thought)
	}
	said, err := a.step(ctx, i, choose, b.String()+fmt.Sprintf("Which %d of these most likely lead to a solution? Reply with their numbers and nothing else, the best first.", keep))
	if err != nil {
		return nil, err
	}
	var order []int
	for _, digits := range place.FindAllString(said, -1) {
		if n, _ := strconv.Atoi(digits); n >= 1 && n <= len(thoughts) && !slices.Contains(order, n-1) {
			order = append(order, n-1)
		}
	}
	for n := range thoughts {
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	var kept []string
	for _, n := range order[:keep] {
		kept = append(kept, thoughts[n])
	}
	return kept, nil
}
