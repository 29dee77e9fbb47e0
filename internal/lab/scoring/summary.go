package scoring

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A Summary is the result of a run.
type Summary struct {
	V         int        `json:"v,omitempty"`
	Task      string     `json:"task,omitempty"`
	Name      string     `json:"name,omitempty"` // the value of --by-field
	Lines     int        `json:"lines"`          // lines that were judged
	Failed    int        `json:"failed"`         // lines that could not be judged
	Ambiguous int        `json:"ambiguous"`      // replies with several answers that differ
	Solved    stats.Rate `json:"solved"`
	// Dialects says how the replies were read; nil in a part of a summary.
	Dialects *dialectset.Tally `json:"dialects,omitempty"`
	Methods  []stats.Rate      `json:"methods"` // share right, of those found by each method
	Reasons  []stats.Rate      `json:"reasons"` // of all lines
	Lengths  []stats.Rate      `json:"lengths"` // share right, of those in each range of lengths
	BestOf   []stats.Average   `json:"best_of,omitempty"`
	Majority *stats.Average    `json:"majority,omitempty"`
	Logged   *Logged           `json:"logged,omitempty"`
	Compared map[string]int    `json:"compared,omitempty"`
	Paired   *Paired           `json:"paired,omitempty"`
	By       []*Summary        `json:"by,omitempty"`
}

// Paired says how the verdicts on the same lines changed.
type Paired struct {
	Lines   int      `json:"lines"` // judged by both runs
	Gained  int      `json:"gained"`
	Lost    int      `json:"lost"`
	Missing int      `json:"missing"` // right in the earlier run, and not in this one at all
	P       *float64 `json:"p"`       // of the difference; nil if it is not known
	// Difference is the share of right lines less that of the earlier run, as sotto compare
	// computes it: problems with several replies count with the mean of these. It is nil if
	// no line was judged by both, or if shards have replies to the same problem.
	Difference *compare.Difference `json:"difference"`
}

// Logged says how well verdicts agree with logged ones.
type Logged struct {
	agreement
	Agree stats.Rate `json:"agree"`
}

// Summary returns the summary of the scores.
func (s *Scores) Summary() *Summary {
	sum := &Summary{Lines: s.n, Failed: s.lost, Ambiguous: s.unsure, Solved: stats.NewRate("", s.right, s.n)}
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		sum.Methods = append(sum.Methods, stats.NewRate(name, s.methods[name].right, s.methods[name].n))
	}
	slices.SortStableFunc(sum.Methods, func(a, b stats.Rate) int { return cmp.Compare(b.Of, a.Of) })
	for _, reason := range slices.Sorted(maps.Keys(s.reasons)) {
		sum.Reasons = append(sum.Reasons, stats.NewRate(string(reason), s.reasons[reason], s.n))
	}
	slices.SortStableFunc(sum.Reasons, func(a, b stats.Rate) int { return cmp.Compare(b.Count, a.Count) })
	for class, n := range s.lengths {
		if n.n > 0 {
			sum.Lengths = append(sum.Lengths, stats.NewRate(lengthName(class), n.right, n.n))
		}
	}
	s.problemsTo(sum)
	if a := s.logged; a != (agreement{}) {
		sum.Logged = &Logged{a, stats.NewRate("", a.Both+a.Neither, a.Both+a.Neither+a.OnlyOurs+a.OnlyLogged)}
	}
	for _, name := range slices.Sorted(maps.Keys(s.by)) {
		arm := s.by[name].Summary()
		arm.Name = name
		sum.By = append(sum.By, arm)
	}
	return sum
}

// lengthName names the replies whose length has n bits.
func lengthName(bits int) string {
	if bits == 0 {
		return "0 bytes"
	}
	low := int64(1) << (bits - 1)
	return fmt.Sprintf("%s … %s", bytesName(low), bytesName(2*low-1))
}

func bytesName(n int64) string {
	switch {
	case n >= 1<<20-1:
		return fmt.Sprintf("%d MiB", (n+1)>>20)
	case n >= 1<<10-1:
		return fmt.Sprintf("%d KiB", (n+1)>>10)
	}
	return fmt.Sprint(n)
}

// problemsTo adds the results by problem, if replies share problems.
func (s *Scores) problemsTo(sum *Summary) {
	if len(s.problems) == 0 {
		return
	}
	for _, k := range stats.Ks {
		var each []float64
		for _, g := range s.problems {
			if g.n >= k {
				each = append(each, stats.PassAtK(g.n, g.right, k))
			}
		}
		if len(each) > 0 {
			sum.BestOf = append(sum.BestOf, stats.NewAverage(k, each))
		}
	}
	var each []float64
	var clusters []stats.Cluster
	for _, g := range s.problems {
		each = append(each, g.majority())
		clusters = append(clusters, stats.Cluster{N: g.n, Right: g.right})
	}
	sum.Solved = stats.Clustered(sum.Solved, clusters)
	majority := stats.NewAverage(0, each)
	sum.Majority = &majority
}

// majority returns the score of the answer with most votes. In a tie, it is the
// share of the tied answers that are right.
func (g *samples) majority() float64 {
	most, tied, right := 0, 0, 0
	for _, votes := range g.votes {
		if votes.n > most {
			most, tied, right = votes.n, 0, 0
		}
		if votes.n == most {
			tied++
			if votes.right > 0 {
				right++
			}
		}
	}
	if tied == 0 {
		return 0
	}
	return float64(right) / float64(tied)
}

// Print writes the summary as tables.
func (sum *Summary) Print(w io.Writer) {
	for _, arm := range sum.By {
		fmt.Fprintf(w, "%s\n", strings.ToValidUTF8(arm.Name, "\ufffd"))
		arm.Print(w)
		fmt.Fprintln(w)
	}
	if sum.Failed > 0 {
		fmt.Fprintf(w, "%d lines could not be judged\n", sum.Failed)
	}
	if sum.Ambiguous > 0 {
		fmt.Fprintf(w, "%d replies state several answers; the last one counts\n", sum.Ambiguous)
	}
	sum.printDialects(w)
	table(w, "", "right", "of", []stats.Rate{stats.Named("solved", sum.Solved)})
	table(w, "method", "right", "of", sum.Methods)
	table(w, "reason", "lines", "of", sum.Reasons)
	if len(sum.BestOf) > 0 {
		sum.printProblems(w)
	}
	if l := sum.Logged; l != nil {
		table(w, "logged verdict", "lines", "of", []stats.Rate{
			stats.Named("agrees", l.Agree),
			stats.NewRate("right only here", l.OnlyOurs, l.Agree.Of),
			stats.NewRate("right only there", l.OnlyLogged, l.Agree.Of),
		})
		if l.Unreadable > 0 {
			fmt.Fprintf(w, "%d logged verdicts are not true or false\n", l.Unreadable)
		}
	}
	if len(sum.Compared) > 0 {
		fmt.Fprintln(w, "compared:")
		for _, change := range slices.Sorted(maps.Keys(sum.Compared)) {
			_ = layout.Print(w, "  "+change, strconv.Itoa(sum.Compared[change]))
		}
	}
	if p := sum.Paired; p != nil {
		p.print(w)
	}
}

// print writes the line about the pairs.
func (p *Paired) print(w io.Writer) {
	fmt.Fprintf(w, "%d gained and %d lost of %d lines that both runs judged", p.Gained, p.Lost, p.Lines)
	if d := p.Difference; d != nil {
		fmt.Fprintf(w, ": %+.2f points", 100*d.Mean)
		if d.Interval != nil {
			fmt.Fprintf(w, " (%+.2f … %+.2f)", 100*d.Interval.Low, 100*d.Interval.High)
		}
		if d.P != nil {
			fmt.Fprintf(w, ", p = %.4g (%s)", *d.P, d.Method)
		}
	}
	fmt.Fprintln(w)
}

// printDialects says how replies were read, unless all were in the default dialect.
func (sum *Summary) printDialects(w io.Writer) {
	if sum.Dialects == nil {
		return
	}
	if text := sum.Dialects.String(); text != "" {
		fmt.Fprintf(w, "read in: %s\n", text)
	}
	if n := sum.Dialects.Missed(); n > 0 {
		fmt.Fprintf(w, "%d of %d replies have markers that were not read: their thoughts count as answers\n", n, sum.Dialects.Replies)
	}
}

// layout has the counts and rates of all tables below one another.
var layout = texttable.Layout{Widths: []int{-30, 9, 9, 8, 0}, Gap: 1}

func table(w io.Writer, title, count, of string, rows []stats.Rate) {
	_ = layout.Print(w, title, count, of, "%", "  95 %")
	for _, r := range rows {
		printRate(w, r.Name, strconv.Itoa(r.Count), r.Of, r.Rate, r.Low, r.High)
	}
}

func printRate(w io.Writer, name, count string, of int, rate, low, high float64) {
	_ = layout.Print(w, "  "+name, count, strconv.Itoa(of), percent(rate), "  "+percent(low)+" … "+percent(high))
}

func (sum *Summary) printProblems(w io.Writer) {
	_ = layout.Print(w, "replies to a problem", "solved", "problems", "%", "  95 %")
	line := func(name string, a stats.Average) {
		printRate(w, name, strconv.FormatFloat(a.Solved, 'f', 2, 64), a.Problems, a.Rate, a.Low, a.High)
	}
	for _, a := range sum.BestOf {
		line(fmt.Sprintf("best of %d", a.K), a)
	}
	line("majority", *sum.Majority)
}
