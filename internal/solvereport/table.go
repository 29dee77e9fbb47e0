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
	"strings"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/visible"
	"github.com/sotto-llm/sotto/solve"
)

// A Stream is a summary and the stream that it summarises.
type Stream struct {
	solve.Summary
	Results []solve.Result
}

// last returns the row for the whole stream.
func (s *Stream) last() solve.Row { return s.Rows[len(s.Rows)-1] }

// Print writes the amortisation tables.
func Print(w io.Writer, list []Stream) {
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

// printRows writes a row per mark: its results and its costs.
func printRows(w io.Writer, s solve.Summary) {
	fmt.Fprintf(w, "%8s %7s %8s %9s %7s %6s %9s %10s %s\n", "problems", "solved", "attempts", "template", "paths", "wrong", "memory", "tokens per", costHead(s.Priced))
	fmt.Fprintf(w, "%8s %7s %8s %9s %7s %6s %9s %10s %s\n", "", "%", "each", "hits %", "given %", "%", "nodes", "solved", costUnit(s.Priced))
	for _, r := range s.Rows {
		n := float64(r.Problems)
		fmt.Fprintf(w, "%8d %7.1f %8.2f %9.1f %7.1f %6.1f %9d %10s %s\n", r.Problems, 100*float64(r.Solved)/n, float64(r.Attempts)/n,
			100*float64(r.ByTemplate)/n, 100*float64(r.WithPaths)/n, 100*share1(r.Wrong, r.Solved), r.Traces+r.Templates, perSolved("%.0f", r.TokensPerSolved, r.Solved), cost(s.Priced, r))
	}
	r := s.Rows[len(s.Rows)-1]
	fmt.Fprintf(w, "%-34s %12s %12s\n", "of a problem", "p50", "p95")
	for _, q := range []struct {
		name string
		solve.Quantiles
	}{
		{"tokens, total", r.TokensTotal}, {"tokens, examples of memory", r.TokensPipeline},
		{"milliseconds, total", r.MillisTotal}, {"milliseconds, without the model", r.MillisPipeline},
	} {
		fmt.Fprintf(w, "  %-32s %12.6g %12.6g\n", q.name, q.P50, q.P95)
	}
}

func share1(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func costHead(priced bool) string {
	if !priced {
		return ""
	}
	return fmt.Sprintf("%10s", "cost per")
}

func costUnit(priced bool) string {
	if !priced {
		return ""
	}
	return fmt.Sprintf("%10s", "solved")
}

func cost(priced bool, r solve.Row) string {
	if !priced {
		return ""
	}
	return fmt.Sprintf("%10s", perSolved("%.4g", r.CostPerSolved, r.Solved))
}

// perSolved prints the cost of a solved problem. A stream that solved nothing is
// not the cheapest.
func perSolved(format string, x float64, solved int) string {
	if solved == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// ReadResults reads an output. The head is nil if the output is empty.
func ReadResults(r io.Reader) (head *Head, results []solve.Result, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(lines)
		if errors.Is(err, io.EOF) {
			return head, results, nil
		}
		if err != nil {
			return nil, nil, err
		}
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
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", number, err)
		}
		results = append(results, result)
	}
}
