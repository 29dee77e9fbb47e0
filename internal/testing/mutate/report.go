package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// mostSurvivors is the share of the mutants outside strict packages that may survive.
const mostSurvivors = 0.15

// A report counts the results.
type report struct {
	mu       sync.Mutex
	known    map[string]string // the reasons of survivors.txt
	packages []*counts
	lines    []string // the survivors
	stale    []string // listed, but found by a test
	errs     []error
}

// counts are the results of one package.
type counts struct {
	dir                 string
	strict              bool
	found, late, broken int
	listed, survived    int
}

func (c *counts) tried() int { return c.found + c.late + c.listed + c.survived }

func (r *report) begin(t target) *counts {
	c := &counts{dir: t.dir, strict: t.strict}
	r.packages = append(r.packages, c)
	return c
}

func (r *report) count(c *counts, m mutant, got result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", m.key, err))
		return
	}
	reason, isListed := r.known[m.key]
	lives := got == survived || got == unreached
	switch {
	case isListed && lives:
		c.listed++
		r.lines = append(r.lines, "listed    "+m.key+" — "+reason)
		fmt.Printf("%-9s %s\n", "listed", m.key)
		return
	case isListed:
		r.stale = append(r.stale, m.key)
	case lives:
		c.survived++
		r.lines = append(r.lines, fmt.Sprintf("%-9s %s", got, m.key))
	}
	switch got {
	case found:
		c.found++
	case late:
		c.late++
	case broken:
		c.broken++
	}
	fmt.Printf("%-9s %s\n", got, m.key)
}

// finish prints the survivors and the counts. It returns an error if too many survive, or
// if the list names what a test finds.
func (r *report) finish() error {
	if len(r.lines) > 0 {
		fmt.Printf("\nSurvivors:\n%s\n", strings.Join(r.lines, "\n"))
	}
	fmt.Printf("\n%-18s %8s %6s %9s %7s %6s\n", "package", "mutants", "found", "survived", "listed", "share")
	err := errors.Join(r.errs...)
	tried, lived := 0, 0
	for _, c := range r.packages {
		fmt.Printf("%-18s %8d %6d %9d %7d %5.1f%%\n", c.dir, c.tried(), c.found+c.late, c.survived, c.listed, percent(c.survived, c.tried()))
		switch {
		case !c.strict:
			tried, lived = tried+c.tried(), lived+c.survived
		case c.survived > 0:
			err = errors.Join(err, fmt.Errorf("%s: %d survivors are not listed: write a test that finds them, or list them with a reason in internal/testing/mutate/survivors.txt", c.dir, c.survived))
		}
	}
	if lived > 1 && float64(lived) > mostSurvivors*float64(tried) {
		err = errors.Join(err, fmt.Errorf("outside the root, %.1f %% of the mutants survive, more than %.0f %%", percent(lived, tried), 100*mostSurvivors))
	}
	for _, key := range r.stale {
		err = errors.Join(err, fmt.Errorf("survivors.txt lists %q, which a test finds: remove the line", key))
	}
	return err
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
