package historycmd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/historyreplay"
)

// A report is what the command prints as JSON.
type report struct {
	Exchanges int            `json:"exchanges"`
	Replayed  int            `json:"replayed"`
	More      bool           `json:"more,omitempty"` // --limit left some out
	Skipped   map[string]int `json:"skipped"`
	Requests  int            `json:"requests,omitempty"` // of a dry run
	*historyreplay.Report
}

// print prints what was found, or would be sent.
func (r *replay) print() error {
	if r.JSON {
		out := report{Exchanges: r.collector.Exchanges, Replayed: r.plans.cases, More: r.plans.more, Skipped: r.collector.Skipped, Requests: r.plans.requests}
		if !r.DryRun {
			out.Report = r.tally.Report()
		}
		return shell.PrintJSON(r.sh.Out, out)
	}
	out := r.sh.Text.Typesetter()
	fmt.Fprintf(out, "%d recorded exchanges, of which %d are replayed\n", r.collector.Exchanges, r.plans.cases)
	for _, why := range slices.Sorted(maps.Keys(r.collector.Skipped)) {
		fmt.Fprintf(out, "  left out: %d (%s)\n", r.collector.Skipped[why], why)
	}
	if n := r.collector.Lost(); n > 0 {
		fmt.Fprintf(out, "  %d replies were too much to keep, and are not put back into later requests\n", n)
	}
	if r.plans.more {
		fmt.Fprintf(out, "  there are more: raise --limit\n")
	}
	switch {
	case r.DryRun:
		r.printPlan(out)
	case r.plans.cases > 0:
		printReport(out, r.tally.Report())
	}
	return out.Flush()
}

func (r *replay) printPlan(out *typeset.Writer) {
	fmt.Fprintf(out, "%d requests would be sent\n\n", r.plans.requests)
	rows := [][]string{{"POLICY", "BYTES", "SAME REQUEST AS"}}
	for _, p := range r.runner.Policies {
		one := r.plans.policies[p]
		if one == nil {
			continue
		}
		same := ""
		if one.same > 0 {
			same = fmt.Sprintf("%s: %d", names(one.as), one.same)
		}
		rows = append(rows, []string{string(p), strconv.Itoa(one.bytes), same})
	}
	texttable.Print(out, rows)
}

func printReport(out *typeset.Writer, r *historyreplay.Report) {
	fmt.Fprintf(out, "%d requests of %d conversations have a reply under each policy\n\n", r.Requests, r.Conversations)
	rows := [][]string{{"POLICY", "REPLIES", "REFUSED %", "95 %", "PROMPT", "CACHED %", "REPLY", "REASONING", "MS", "AS RECORDED %", "AS " + string(r.Baseline) + " %", "AS BEFORE %"}}
	for _, p := range r.Policies {
		rows = append(rows, []string{
			string(p.Policy), strconv.Itoa(p.Rows), percent(p.Refused), fmt.Sprintf("%.1f to %.1f", 100*p.Refused.Low, 100*p.Refused.High),
			number(p.Input), fmt.Sprintf("%.1f", 100*p.CachedShare), number(p.Output), number(p.Reasoning), number(p.Millis),
			percent(p.Recorded), percent(p.Baseline), percent(p.Again),
		})
	}
	texttable.Print(out, rows)
	fmt.Fprintln(out, "\nPROMPT, REPLY and REASONING are mean tokens. AS BEFORE says how many replies of a further round are those of the first.")
	for _, p := range r.Policies {
		for _, e := range p.Errors {
			fmt.Fprintf(out, "%s was refused %d times: %s\n", p.Policy, e.N, shorttext.Columns(visible.Line(e.What), 160))
		}
		if p.Shared > 0 {
			fmt.Fprintf(out, "%s: %d of %d requests were the same as under an earlier policy, and were sent once\n", p.Policy, p.Shared, p.Rows)
		}
	}
	fmt.Fprintf(out, "\nDifferences to %s, each conversation once:\n\n", r.Baseline)
	rows = [][]string{{"POLICY", "MEASURE", "UNIT", "N", "MEAN", "95 %", "P", "CORRECTED"}}
	for _, d := range r.Differences {
		interval := "-"
		if d.Interval != nil {
			interval = fmt.Sprintf("%s to %s", number(d.Interval.Low), number(d.Interval.High))
		}
		rows = append(rows, []string{
			string(d.Policy), d.Measure, d.Unit, strconv.Itoa(d.N), number(d.Mean), interval, fmt.Sprintf("%.3f", d.P), fmt.Sprintf("%.3f", d.Corrected),
		})
	}
	texttable.Print(out, rows)
	fmt.Fprintln(out, "\nIntervals are Student's below 10 conversations, otherwise by bootstrap (BCa); p is by flips of signs, corrected by Holm for all differences of this report.")
}

func percent(r stats.Rate) string {
	if r.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*r.Rate)
}

// number prints three significant digits, or a whole number.
func number(v float64) string {
	if v >= 100 || v <= -100 || v == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
