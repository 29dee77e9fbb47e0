package memoryfigures

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// A Log holds the figures for a memory filled from a log of real replies: the Tree
// of Thoughts project's chain-of-thought samples of the Game of 24, 100 for each of
// 100 games.
type Log struct {
	Replies int `json:"replies"`
	Right   int `json:"right"`
	Traces  int `json:"traces"` // games in memory
	Wrong   int `json:"wrong"`  // nodes of memory that are not right
	// Unchecked counts the replies that would have entered, although wrong, if the
	// validator did not check the numbers used.
	Unchecked int `json:"unchecked"`
}

// ComputeLog runs every reply of an arm of a log through the loop, one attempt
// each. The log has lines of JSON with id, gold (the numbers), raw and arm.
func ComputeLog(ctx context.Context, r io.Reader, arm string) (Log, error) {
	var problems []solve.Problem
	replies := solve.NewRecorded("log", answer.Game24)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var line struct{ ID, Gold, Raw, Arm string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return Log{}, fmt.Errorf("line %d: %w", n, err)
		}
		if line.Arm == arm {
			p := solve.Problem{ID: line.ID, Problem: answer.Problem{Input: line.Gold}}
			problems = append(problems, p)
			replies.Add(p, line.Raw, sotto.EndStopped)
		}
	}
	if err := lines.Err(); err != nil {
		return Log{}, err
	}
	var l Log
	nodes, err := run(ctx, problems, solve.TaskOf(answer.Game24), replies, func(x solve.Result) {
		l.Replies++
		if x.Solved {
			l.Right++
		}
	})
	if err != nil {
		return Log{}, err
	}
	for _, n := range nodes {
		if n.Kind == metagraph.Trace {
			l.Traces++
		}
		if !answer.Game24.Validate(n.Candidate, n.Problem).OK {
			l.Wrong++
		}
	}
	_, err = run(ctx, problems, unchecked{answer.Game24}, replies, func(x solve.Result) {
		if x.Wrong {
			l.Unchecked++
		}
	})
	return l, err
}

// run puts problems through the loop with a new memory, which it returns.
func run(ctx context.Context, problems []solve.Problem, t solve.Task, m *solve.Recorded, seen func(solve.Result)) ([]metagraph.Node, error) {
	dir, err := os.MkdirTemp("", "sotto-figures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	memory, err := metagraph.Open(filepath.Join(dir, "memory.db"), metagraph.Options{})
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	s, err := solve.New(solve.Options{Task: t, Mode: solve.Graph, Model: m, Memory: memory, Audit: answer.Game24, Temperatures: []float64{0}})
	if err != nil {
		return nil, err
	}
	each := func(yield func(solve.Problem, error) bool) {
		for _, p := range problems {
			if !yield(p, nil) {
				return
			}
		}
	}
	if err := s.Stream(ctx, each, nil, solve.Budget{}, func(r solve.Result) error { seen(r); return nil }); err != nil {
		return nil, err
	}
	return memory.Nodes(ctx, "")
}

// unchecked is the Game of 24 with a validator that does not check the numbers.
type unchecked struct{ answer.Task }

func (t unchecked) Ask(p answer.Problem) string { return solve.TaskOf(t.Task).Ask(p) }

var number = regexp.MustCompile(`\d+`)

// Validate checks only the value.
func (t unchecked) Validate(candidate string, _ answer.Problem) answer.Verdict {
	return t.Task.Validate(candidate, answer.Problem{Input: strings.Join(number.FindAllString(candidate, -1), " ")})
}

// Print writes the figures for people.
func (l Log) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\nlogged replies, each through the loop once\n"+
		"  replies                                     %d\n"+
		"  right                                       %d\n"+
		"  games in memory                             %d\n"+
		"  wrong nodes in memory                       %d\n"+
		"  wrong ones, if the numbers went unchecked   %d\n", l.Replies, l.Right, l.Traces, l.Wrong, l.Unchecked)
	return err
}
