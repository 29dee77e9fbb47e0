// Package solvereport reads the output of sotto solve and reports on streams of
// problems, in tables and on a page.
package solvereport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// A Stream is a summary and the stream that it summarises.
type Stream struct {
	solve.Summary
	Results []solve.Result
}

// last returns the row for the whole stream.
func (s *Stream) last() solve.Row { return s.Rows[len(s.Rows)-1] }

// Compared compares streams on the problems that they share.
func Compared(list []Stream) (*compare.Result, error) {
	set := new(compare.Set)
	for i, s := range list {
		arm := s.Name
		if slices.ContainsFunc(list[:i], func(o Stream) bool { return o.Name == arm }) {
			arm = fmt.Sprintf("%s (%d)", arm, i+1)
		}
		for _, x := range s.Results {
			v := compare.Verdict{Arm: arm, Task: x.Task, Problem: x.ID}
			if x.Solved {
				v.Score = 1
			}
			if err := set.Add(v); err != nil {
				return nil, err
			}
		}
	}
	return set.Result(compare.Options{})
}

// Print writes the amortisation tables and, of several streams, their comparison.
func Print(w io.Writer, list []Stream) error {
	printStreams(w, list)
	if len(list) < 2 {
		return nil
	}
	r, err := Compared(list)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	return r.Print(w)
}

func printStreams(w io.Writer, list []Stream) {
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		title := fmt.Sprintf("%s: task %s, mode %s, model %s", visible.Text(s.Name), visible.Text(s.Task), s.Mode, visible.Text(s.Model))
		if s.Estimated {
			title += " (tokens are estimated)"
		}
		fmt.Fprintln(w, title)
		if by := templatesBy(s.ByTemplateOf); by != "" {
			fmt.Fprintln(w, by)
		}
		printRows(w, s.Summary)
	}
}

// templatesBy says whose templates solved how many problems. It is "" if none did.
func templatesBy(count map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		who := visible.Text(name)
		if name == "" {
			who = "an unknown model"
		}
		parts = append(parts, fmt.Sprintf("%d by those of %s", count[name], who))
	}
	if len(parts) == 0 {
		return ""
	}
	return "solved by templates alone, without a call: " + strings.Join(parts, ", ")
}

var (
	rowLayout      = texttable.Layout{Widths: []int{8, 7, 8, 9, 7, 6, 9, 10, 10}, Gap: 1}
	quantileLayout = texttable.Layout{Widths: []int{-34, 12, 12}, Gap: 1}
)

// printRows writes a row per mark: its results and its costs.
func printRows(w io.Writer, s solve.Summary) {
	row := func(cost string, cells ...string) {
		if s.Priced {
			cells = append(cells, cost)
		}
		_ = rowLayout.Print(w, cells...)
	}
	row("cost per", "problems", "solved", "attempts", "template", "paths", "wrong", "memory", "tokens per")
	row("solved", "", "%", "each", "hits %", "given %", "%", "nodes", "solved")
	for _, r := range s.Rows {
		n := float64(r.Problems)
		row(cost(s.Priced, r), strconv.Itoa(r.Problems), fixed(1, 100*float64(r.Solved)/n), fixed(2, float64(r.Attempts)/n),
			fixed(1, 100*float64(r.ByTemplate)/n), fixed(1, 100*float64(r.WithPaths)/n), fixed(1, 100*share1(r.Wrong, r.Solved)),
			strconv.Itoa(r.Traces+r.Templates), perSolved("%.0f", r.TokensPerSolved, r.Solved))
	}
	r := s.Rows[len(s.Rows)-1]
	_ = quantileLayout.Print(w, "of a problem", "p50", "p95")
	for _, q := range []struct {
		name string
		solve.Quantiles
	}{
		{"tokens, total", r.TokensTotal}, {"tokens, examples of memory", r.TokensPipeline},
		{"milliseconds, total", r.MillisTotal}, {"milliseconds, without the model", r.MillisPipeline},
	} {
		_ = quantileLayout.Print(w, "  "+q.name, fmt.Sprintf("%.6g", q.P50), fmt.Sprintf("%.6g", q.P95))
	}
}

func fixed(digits int, x float64) string { return strconv.FormatFloat(x, 'f', digits, 64) }

func share1(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func cost(priced bool, r solve.Row) string {
	if !priced {
		return ""
	}
	return perSolved("%.4g", r.CostPerSolved, r.Solved)
}

// perSolved prints the cost of a solved problem. A stream that solved nothing is
// not the cheapest.
func perSolved(format string, x float64, solved int) string {
	if solved == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// ReadResults reads an output, without the replies that results carry. The head is nil
// if the output is empty. A last line that is still being written is left out.
func ReadResults(r io.Reader) (head *Head, results []solve.Result, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines, batch.OwnLine)
		if errors.Is(err, io.EOF) {
			return head, results, nil
		}
		if err != nil {
			return nil, nil, err
		}
		torn := !bytes.HasSuffix(line, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if head == nil {
			head = new(Head)
			if err := json.Unmarshal(line, head); err != nil || head.V != 1 || head.Type != "run" {
				return nil, nil, fmt.Errorf("line %d is not a run of sotto solve", number)
			}
			continue
		}
		result, err := solve.ReadResult(line)
		if err != nil && torn {
			return head, results, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", number, err)
		}
		results = append(results, result.Bare())
	}
}
