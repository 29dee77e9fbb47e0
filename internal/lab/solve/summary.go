package solve

import (
	"math"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/lab/report"
)

// A Summary reports the totals of a stream, and what memory saved.
type Summary struct {
	V     int    `json:"v"`
	Name  string `json:"name,omitempty"` // the caller's name for it
	Task  string `json:"task"`
	Mode  Mode   `json:"mode"`
	Model string `json:"model"`
	// Estimated says that the server did not count all tokens. Priced says that the
	// costs of all problems are known.
	Estimated bool `json:"estimated,omitempty"`
	Priced    bool `json:"priced,omitempty"`
	// ByTemplateOf counts the problems that a known template solved alone, by the
	// model that earned the template. The name "" means that it is not known.
	ByTemplateOf map[string]int `json:"by_template_of,omitempty"`
	// Rows are the totals after 10, 25, 50, 100, … problems. The last row is the
	// total at the end.
	Rows []Row `json:"rows"`
}

// A Row is the totals of a stream after some problems. All figures cover all of
// these problems, except figures per solved problem.
type Row struct {
	Problems int `json:"problems"`
	Solved   int `json:"solved"`
	// Attempts are calls of the model.
	Attempts int `json:"attempts"`
	// ByTemplate counts problems solved by a known template alone. WithPaths counts
	// problems that got examples.
	ByTemplate int `json:"by_template"`
	WithPaths  int `json:"with_paths"`
	// Entered counts the solutions that went into memory. Wrong counts those, of
	// all that passed, that are not right: memory's contamination.
	Entered int `json:"entered"`
	Wrong   int `json:"wrong"`

	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost"`
	// TokensPerSolved and CostPerSolved are 0 if nothing is solved.
	TokensPerSolved float64 `json:"tokens_per_solved"`
	CostPerSolved   float64 `json:"cost_per_solved"`

	// Quantiles over the single problems. The pipeline's part of the tokens is the
	// examples that memory put into prompts. Its part of the time is everything
	// except the model's calls.
	TokensTotal    Quantiles `json:"tokens_total"`
	TokensPipeline Quantiles `json:"tokens_pipeline"`
	MillisTotal    Quantiles `json:"ms_total"`
	MillisPipeline Quantiles `json:"ms_pipeline"`

	Traces    int `json:"traces"`
	Templates int `json:"templates"`
}

// Quantiles are the median and the 95th percentile.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// marks are the numbers of problems after which there is a row.
func marks(n int) []int {
	var list []int
	for ten := 10; ; ten *= 10 {
		for _, m := range []int{ten, ten * 5 / 2, ten * 5} {
			if m >= n {
				return append(list, n)
			}
			list = append(list, m)
		}
	}
}

// Summarise sums up the results of one stream. It sorts them.
func Summarise(results []Result) Summary {
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(a, b Result) int { return a.N - b.N })
	s := Summary{V: 1, Priced: len(results) > 0}
	if len(results) == 0 {
		return s
	}
	s.Task, s.Mode, s.Model = results[0].Task, results[0].Mode, results[0].Model
	for _, r := range results {
		s.Estimated, s.Priced = s.Estimated || r.Estimated, s.Priced && r.Priced
		if r.Hit == HitTemplate {
			if s.ByTemplateOf == nil {
				s.ByTemplateOf = map[string]int{}
			}
			s.ByTemplateOf[r.TemplateBy]++
		}
	}
	for _, n := range marks(len(results)) {
		s.Rows = append(s.Rows, rowOf(results[:n]))
	}
	return s
}

func rowOf(results []Result) Row {
	row := Row{Problems: len(results)}
	var tokens, memory, whole, own []float64
	for _, r := range results {
		if r.Solved {
			row.Solved++
		}
		if r.Wrong {
			row.Wrong++
		}
		switch r.Hit {
		case HitTemplate:
			row.ByTemplate++
		case HitPaths:
			row.WithPaths++
		}
		row.Attempts += len(r.Attempts)
		row.Tokens += r.Input + r.Output
		row.Cost += r.Cost
		if m := r.Memory; m != nil {
			if m.Trace != nil {
				row.Entered++
			}
			row.Traces, row.Templates = m.Size.Traces, m.Size.Templates
		}
		tokens, memory = append(tokens, float64(r.Input+r.Output)), append(memory, float64(r.MemoryTokens))
		whole, own = append(whole, r.Millis), append(own, max(0, r.Millis-r.ModelMillis))
	}
	if row.Solved > 0 {
		row.TokensPerSolved, row.CostPerSolved = float64(row.Tokens)/float64(row.Solved), row.Cost/float64(row.Solved)
	}
	row.TokensTotal, row.TokensPipeline = quantiles(tokens), quantiles(memory)
	row.MillisTotal, row.MillisPipeline = quantiles(whole), quantiles(own)
	return row
}

// quantiles uses the nearest rank.
func quantiles(x []float64) Quantiles {
	slices.Sort(x)
	at := func(q float64) float64 { return x[max(0, int(math.Ceil(q*float64(len(x))))-1)] }
	return Quantiles{at(0.5), at(0.95)}
}

var columns = []string{
	"name", "task", "mode", "model", "problems", "solved", "attempts", "by_template", "with_paths", "entered", "wrong",
	"tokens", "cost", "tokens_per_solved", "cost_per_solved",
	"tokens_total_p50", "tokens_total_p95", "tokens_pipeline_p50", "tokens_pipeline_p95",
	"ms_total_p50", "ms_total_p95", "ms_pipeline_p50", "ms_pipeline_p95", "traces", "templates",
}

// Table returns the rows of summaries. A value that is not known is empty.
func Table(list []Summary) report.Table {
	t := report.Table{Name: "summary", Columns: columns}
	for _, s := range list {
		for _, r := range s.Rows {
			line := []string{report.Harmless(s.Name), report.Harmless(s.Task), string(s.Mode), report.Harmless(s.Model)}
			for _, n := range []int{r.Problems, r.Solved, r.Attempts, r.ByTemplate, r.WithPaths, r.Entered, r.Wrong} {
				line = append(line, strconv.Itoa(n))
			}
			line = append(line, strconv.FormatInt(r.Tokens, 10), known(r.Cost, s.Priced), known(r.TokensPerSolved, r.Solved > 0), known(r.CostPerSolved, s.Priced && r.Solved > 0))
			for _, q := range []Quantiles{r.TokensTotal, r.TokensPipeline, r.MillisTotal, r.MillisPipeline} {
				line = append(line, known(q.P50, true), known(q.P95, true))
			}
			t.Rows = append(t.Rows, append(line, strconv.Itoa(r.Traces), strconv.Itoa(r.Templates)))
		}
	}
	return t
}

func known(x float64, ok bool) string {
	if !ok {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 8, 64)
}
