package main

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

//go:embed performance.md.tmpl
var prose string

// generate makes the document. A function of the template that finds no row is an error. So
// the prose speaks only of what was measured.
func generate(r results.Run) (string, error) {
	d := doc{r}
	t, err := template.New("performance.md").Option("missingkey=error").Funcs(template.FuncMap{
		"table": d.table, "worst": d.worst, "head": func() string { return results.Head }, "missed": d.missed, "score": d.score,
	}).Parse(prose)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, r)
	return b.String(), err
}

type doc struct{ results.Run }

// rows are those whose name matches a pattern.
func (d doc) rows(patterns ...string) (found []results.Row, err error) {
	for _, p := range patterns {
		for _, r := range d.Rows {
			if ok, err := path.Match(p, r.ID); err != nil {
				return nil, err
			} else if ok {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

// table is a table of rows. It is a sentence if a program that they need was not installed.
func (d doc) table(patterns ...string) (string, error) {
	rows, err := d.rows(patterns...)
	if err != nil || len(rows) == 0 {
		return "This was not measured in this run.\n", err
	}
	b := results.Head
	for _, r := range rows {
		b += r.String()
	}
	return b, nil
}

// worst is one line of a table for many rows: the least ratio of those that match, and how
// many meet their target.
func (d doc) worst(pattern, what, against string) (string, error) {
	rows, err := d.rows(pattern)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("no row matches %s", pattern)
	}
	if err != nil {
		return "", err
	}
	slices.SortFunc(rows, func(a, b results.Row) int {
		if a.Ratio < b.Ratio {
			return -1
		}
		return 1
	})
	good := 0
	var target results.Target
	for _, r := range rows {
		t, met, _ := r.Target()
		if target = t; met {
			good++
		}
	}
	verdict := "met"
	if good < len(rows) {
		verdict = fmt.Sprintf("**missed** by %d of %d", len(rows)-good, len(rows))
	}
	least, most := rows[0], rows[len(rows)-1]
	return fmt.Sprintf("| %s | %s | | | %s … %s | | %s | %s |\n", what, against, results.Number(least.Ratio), results.Number(most.Ratio), target, verdict), nil
}

// score says how many targets are met.
func (d doc) score() string {
	all, good := 0, 0
	for _, r := range d.Rows {
		if _, met, ok := r.Target(); ok {
			if all++; met {
				good++
			}
		}
	}
	return fmt.Sprintf("%d of %d", good, all)
}

// missed lists the rows that miss their target, without those that a line of worst covers.
func (d doc) missed() string {
	var b strings.Builder
	for _, r := range d.Rows {
		t, met, ok := r.Target()
		if !ok || met || strings.HasPrefix(r.ID, "hostile") || strings.HasPrefix(r.ID, "growth") {
			continue
		}
		v := r.Ratio
		if r.Absolute {
			v = r.Value
		}
		fmt.Fprintf(&b, "- %s%s: %s, target %s\n", r.What, beside(r.Against), results.Number(v), t)
	}
	return b.String()
}

func beside(what string) string {
	if what == "" {
		return ""
	}
	return ", against " + what
}
