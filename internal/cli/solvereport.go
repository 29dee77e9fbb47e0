package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/visible"
	"github.com/sotto-llm/sotto/solve"
	gamefigures "github.com/sotto-llm/sotto/solve/figures"
)

// solveReport sums up outputs.
type solveReport struct {
	CSV   string   `name:"csv" placeholder:"FILE" help:"Write the table as CSV."`
	HTML  string   `name:"html" placeholder:"FILE" help:"Write a page with the tables and plots."`
	JSON  bool     `name:"json" help:"Print the summaries as JSON, an object a line."`
	Files []string `arg:"" name:"file" placeholder:"FILE" help:"What sotto solve wrote; several stand beside each other."`
}

// Help shows examples.
func (solveReport) Help() string {
	return `Examples:

    sotto solve --mode cot -n 300 -o cot.jsonl
    sotto solve --mode template --memory fresh.db -n 300 -o template.jsonl
    sotto solve report cot.jsonl template.jsonl --html report.html`
}

// Run prints and writes the summaries.
func (x *solveReport) Run(sh *shell.Shell) error {
	var list []streamSummary
	for _, name := range x.Files {
		in, err := sh.Open(name)
		if err != nil {
			return err
		}
		head, results, err := readResults(in)
		in.Close()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case head == nil || len(results) == 0:
			return fmt.Errorf("%s: it holds no result", name)
		}
		s := streamSummary{solve.Summarise(results), results}
		s.Name = filepath.Base(name)
		list = append(list, s)
	}
	if x.JSON {
		for _, s := range list {
			text, err := json.Marshal(s.Summary)
			if err != nil {
				return fmt.Errorf("summary: %w", err)
			}
			fmt.Fprintf(sh.Out, "%s\n", text)
		}
	} else {
		printSummaries(sh.Text, list)
	}
	return writeReports(sh, list, x.CSV, x.HTML)
}

// A streamSummary is a summary and what it is of.
type streamSummary struct {
	solve.Summary
	results []solve.Result
}

// last is the row of the whole stream.
func (s *streamSummary) last() solve.Row { return s.Rows[len(s.Rows)-1] }

// writeReports writes the files that are named.
func writeReports(sh *shell.Shell, list []streamSummary, csv, html string) error {
	if csv != "" {
		var sums []solve.Summary
		for _, s := range list {
			sums = append(sums, s.Summary)
		}
		var b bytes.Buffer
		if err := solve.WriteCSV(&b, sums); err != nil {
			return err
		}
		if err := sh.WriteFile(csv, b.Bytes()); err != nil {
			return err
		}
	}
	if html == "" {
		return nil
	}
	if len(list[0].results) == 0 {
		return errors.New("--html: there is no result to show")
	}
	return writeSolvePage(sh, html, list)
}

// printSummaries writes the amortisation tables.
func printSummaries(w io.Writer, list []streamSummary) {
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		title := fmt.Sprintf("%s: task %s, mode %s, model %s", visible.Text(s.Name), visible.Text(s.Task), s.Mode, visible.Text(s.Model))
		if s.Estimated {
			title += " (tokens are estimated)"
		}
		fmt.Fprintln(w, title)
		printRows(w, s.Summary)
	}
}

// printRows writes a row per mark: what it came to, and what it took.
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

// perSolved prints what a solved problem took: nothing solved is not the cheapest.
func perSolved(format string, x float64, solved int) string {
	if solved == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// solveFigures works out the figures of docs/memory.md.
type solveFigures struct {
	Log  string `placeholder:"FILE" help:"Put the chain-of-thought replies of this log through the loop too ({\"id\",\"gold\",\"raw\",\"arm\"} a line)."`
	Arm  string `default:"CoT" placeholder:"NAME" help:"Which arm of the log (${default})."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the figures.
func (x *solveFigures) Run(sh *shell.Shell) error {
	f := gamefigures.Compute()
	var l *gamefigures.Log
	if x.Log != "" {
		in, err := sh.Open(x.Log)
		if err != nil {
			return err
		}
		defer in.Close()
		got, err := gamefigures.ComputeLog(context.Background(), in, x.Arm)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		l = &got
	}
	if x.JSON {
		text, err := json.Marshal(struct {
			gamefigures.Figures
			Log *gamefigures.Log `json:"log,omitempty"`
		}{f, l})
		if err != nil {
			return fmt.Errorf("figures: %w", err)
		}
		fmt.Fprintf(sh.Out, "%s\n", text)
		return nil
	}
	var b strings.Builder
	if err := f.Print(&b); err != nil {
		return err
	}
	if l != nil {
		if err := l.Print(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(sh.Text, b.String())
	return err
}
