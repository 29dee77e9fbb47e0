package solve

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

// A Budget bounds a stream, including the part of it that an earlier run did. A
// zero field means no bound.
type Budget struct {
	Problems int
	Tokens   int64
	Money    float64 // needs Options.Price
	Time     time.Duration
}

// A BudgetError is the error of a stream that ended because its budget was spent.
type BudgetError struct {
	What  string // tokens, money or time
	Spent string
	Limit string
	// Finished is the number of finished problems.
	Finished int
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %s is spent: %s of %s, after %d problems", e.What, e.Spent, e.Limit, e.Finished)
}

// spending is how much of its budget a stream has spent.
type spending struct {
	budget   Budget
	finished int
	tokens   int64
	money    float64
	millis   float64
	began    time.Time // when the current problem began
}

func (s *spending) spend(r Result) {
	s.finished++
	s.tokens += r.Input + r.Output
	s.money += r.Cost
	s.millis += r.Millis
}

// check returns an error if a bound is reached, including the cost so far of the
// current problem.
func (s *spending) check(r *Result) error {
	tokens, money, took := s.tokens, s.money, time.Duration(s.millis*float64(time.Millisecond))
	if r != nil {
		for _, t := range r.Attempts {
			tokens, money = tokens+t.Input+t.Output, money+t.Cost
		}
		took += time.Since(s.began)
	}
	b := s.budget
	over := func(what, spent, limit string) error { return &BudgetError{what, spent, limit, s.finished} }
	switch {
	case b.Tokens > 0 && tokens >= b.Tokens:
		return over("tokens", strconv.FormatInt(tokens, 10), strconv.FormatInt(b.Tokens, 10))
	case b.Money > 0 && money >= b.Money:
		return over("money", fmt.Sprintf("%.4g", money), fmt.Sprintf("%.4g", b.Money))
	case b.Time > 0 && took >= b.Time:
		return over("time", took.Round(time.Millisecond).String(), b.Time.String())
	}
	return nil
}

// afford is check for the current problem.
func (s *Solver) afford(r *Result) error {
	if s.spent == nil {
		return nil
	}
	return s.spent.check(r)
}

// Stream solves problems in order, and emits each result as soon as the problem is
// finished. done holds the results of an earlier run of the same name, in any
// order; those problems are skipped. If an error ends the stream, the current
// problem is not finished, and the next run starts it again.
func (s *Solver) Stream(ctx context.Context, problems iter.Seq2[Problem, error], done []Result, b Budget, emit func(Result) error) error {
	if b.Money > 0 && s.o.Price == nil {
		return fmt.Errorf("a budget of money needs the price of model %s", s.o.Model.Name())
	}
	s.spent = &spending{budget: b}
	before := make(map[string]int, len(done)) // attempts
	for _, r := range done {
		before[r.ID] = len(r.Attempts)
		s.spent.spend(r)
	}
	began := time.Now()
	if _, err := s.append(ctx, 0, record.RunStart{Agent: "solve", Model: s.o.Model.Name(), Config: map[string]string{"task": s.o.Task.Name(), "mode": string(s.o.Mode)}}); err != nil {
		return err
	}
	err := s.stream(ctx, problems, before, emit)
	status := "done"
	if err != nil {
		status = "stopped"
	}
	_, recErr := s.append(ctx, 0, record.RunEnd{Status: status, Cycles: s.spent.finished, Millis: time.Since(began).Milliseconds()})
	return cmp.Or(err, recErr)
}

func (s *Solver) stream(ctx context.Context, problems iter.Seq2[Problem, error], before map[string]int, emit func(Result) error) error {
	replier, _ := s.o.Model.(Replier)
	seen := map[string]bool{}
	n := 0
	for p, err := range problems {
		if err != nil {
			return err
		}
		if n++; s.spent.budget.Problems > 0 && n > s.spent.budget.Problems {
			return nil
		}
		if seen[p.ID] {
			return fmt.Errorf("two problems have the id %q", shorttext.Ellipsis(p.ID, 100))
		}
		seen[p.ID] = true
		if attempts, ok := before[p.ID]; ok {
			if replier != nil {
				replier.Skip(p, attempts)
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := s.spent.check(nil); err != nil {
			return err
		}
		s.spent.began = time.Now()
		r, err := s.Solve(ctx, n, p)
		if err != nil {
			return err
		}
		s.spent.spend(r)
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}
