package thoughtscmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
)

// A printer prints the figures until a write fails.
type printer struct {
	out  *typeset.Writer
	only []string
	one  bool // there is one group, which is all
}

func printReport(to *shell.Printer, r *thoughts.Report, only []string) error {
	p := &printer{out: to.Typesetter(), only: only, one: len(r.Size.Rows) == 2}
	p.source(r)
	figure(p, "size", "How much is thought", r.Size, sizeHeader, sizeRow)
	figure(p, "cycles", "Over cycles", r.Cycles, []string{"GROUP", "CYCLES", "RUNS", "REPLIES", "SHARE %", "95 %", "BYTES", "95 %"}, cycleRow)
	figure(p, "repetition", "Repetition", r.Repetition, []string{"GROUP", "MEASURE", "SPACE", "N", "VALUE", "95 %", "UNITS"}, repetitionRow)
	figure(p, "announced", "Named and not called", r.Announced, []string{"GROUP", "TOOL", "TURNS", "NAMED", "NOT CALLED", "%", "95 %", "CALLED, NOT NAMED"}, announcedRow)
	figure(p, "verdicts", "Right by size of the thought", r.Verdicts, []string{"GROUP", "PART", "BYTES", "REPLIES", "RIGHT", "%", "95 %", "UNITS"}, quantileRow)
	figure(p, "longer", "Do right replies have the longer thought?", r.Longer, []string{"GROUP", "RIGHT", "WRONG", "SHARE OF PAIRS", "95 %", "UNITS"}, longerRow)
	figure(p, "reading", "Cut, left open, rescued", r.Reading, []string{"GROUP", "CODE", "REPLIES", "%", "95 %", "RIGHT %", "OTHERS RIGHT %"}, readingRow)
	figure(p, "phrases", "Phrases that part two groups", r.Phrases, []string{"CONTRAST", "MORE", "PHRASE", "A", "B", "LOG-ODDS", "95 %", "P", ""}, phraseRow)
	figure(p, "clusters", "Clusters", r.Clusters, []string{"NO", "THOUGHTS", "%", "COHESION", "RIGHT %", "WORDS"}, clusterRow)
	p.exemplars(r.Clusters.Rows)
	p.judgement(r.Judge)
	return p.out.Flush()
}

// source prints what the figures rest on.
func (p *printer) source(r *thoughts.Report) {
	s := r.Source
	fmt.Fprintf(p.out, "%d replies, %d with a thought, by %s\n", s.Replies, s.Thinking, visible.Word(r.By))
	line := func(n int64, format string) {
		if n > 0 {
			fmt.Fprintf(p.out, format+"\n", n)
		}
	}
	line(s.Withheld, "%d bytes of thoughts were withheld by a level of the record: they count in the sizes, and are in no text")
	line(s.Sealed, "%d bytes of thoughts are encrypted by the provider: they count in the sizes, and are in no text")
	line(int64(s.Verdicts), "%d verdicts")
	line(int64(s.Reopened), "%d times, too many runs were open at once, and a thought counts as the first of its run")
	line(int64(s.Unread), "%d events could not be interpreted")
	if s.Sample != "" {
		fmt.Fprintf(p.out, "sample: %s\n", visible.Line(s.Sample))
	}
}

// figure prints one figure with its method.
func figure[Row any](p *printer, name, title string, f thoughts.Figure[Row], header []string, cells func(Row) []string) {
	if len(p.only) > 0 && !slices.Contains(p.only, name) {
		return
	}
	p.out.WriteString("\n")
	p.out.Set(typeset.Bold, title)
	p.out.WriteString("\n")
	p.out.Set(typeset.Dim, shorttext.Wrap("method: "+f.Method, 100, ""))
	if f.Note != "" {
		p.out.WriteString(visible.Line(f.Note) + "\n")
	}
	if len(f.Rows) == 0 {
		return
	}
	rows := [][]string{header}
	for _, row := range f.Rows {
		if r, ok := any(row).(interface{ Total() bool }); ok && p.one && r.Total() {
			continue
		}
		rows = append(rows, cells(row))
	}
	p.out.WriteString("\n")
	_ = texttable.Print(p.out, rows) // Flush returns its error
}

func name(s string) string { return shorttext.Columns(visible.Word(s), 40) }

func line(s string, width int) string { return shorttext.Columns(visible.Line(s), width) }

func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) }

func decimals(f float64, n int) string { return strconv.FormatFloat(f, 'f', n, 64) }

func rateCells(r thoughts.Rate) []string {
	if r.Of == 0 {
		return []string{"-", "-"}
	}
	return []string{percent(r.Rate.Rate), percent(r.Low) + " … " + percent(r.High)}
}

func interval(i *stats.Interval, format func(float64) string) string {
	if i == nil {
		return "-"
	}
	return format(i.Low) + " … " + format(i.High)
}

func estimateCells(e thoughts.Estimate, format func(float64) string) []string {
	if e.N == 0 {
		return []string{"-", "-"}
	}
	return []string{format(e.Value), interval(e.Interval, format)}
}

func whole(f float64) string { return decimals(f, 0) }
func two(f float64) string   { return decimals(f, 2) }
func three(f float64) string { return decimals(f, 3) }

var sizeHeader = []string{"GROUP", "REPLIES", "THINKING", "SHARE %", "95 %", "BYTES", "95 %", "MEDIAN", "MAX", "TOKENS", "UNITS"}

func sizeRow(s thoughts.Size) []string {
	row := []string{name(s.Group), strconv.Itoa(s.Replies), strconv.Itoa(s.Thinking.Count)}
	row = append(row, estimateCells(s.Share, percent)...)
	row = append(row, estimateCells(s.Bytes, whole)...)
	return append(row, strconv.Itoa(s.Quartiles[1]), strconv.Itoa(s.Quartiles[3]), estimateCells(s.Tokens, whole)[0], shorttext.Count(s.Share.Units, s.Share.Unit))
}

func cycleRow(c thoughts.Cycle) []string {
	row := []string{name(c.Group), c.String(), strconv.Itoa(c.Runs), strconv.Itoa(c.Share.N)}
	return append(append(row, estimateCells(c.Share, percent)...), estimateCells(c.Bytes, whole)...)
}

func repetitionRow(r thoughts.Repetition) []string {
	row := []string{name(r.Group), r.Measure, name(r.Space), strconv.Itoa(r.N)}
	return append(append(row, estimateCells(r.Estimate, three)...), shorttext.Count(r.Units, r.Unit))
}

func announcedRow(a thoughts.Announced) []string {
	row := []string{name(a.Group), name(a.Tool), strconv.Itoa(a.Turns), strconv.Itoa(a.Named), strconv.Itoa(a.NotCalled.Count)}
	return append(append(row, rateCells(a.NotCalled)...), strconv.Itoa(a.Unnamed))
}

func quantileRow(q thoughts.Quantile) []string {
	part := fmt.Sprintf("%d of %d", q.Part, q.Of)
	if q.Part == 0 {
		part = "no thought"
	}
	row := []string{name(q.Group), part, fmt.Sprintf("%d … %d", q.From, q.To), strconv.Itoa(q.Right.Of), strconv.Itoa(q.Right.Count)}
	return append(append(row, rateCells(q.Right)...), shorttext.Count(q.Right.Units, q.Right.Unit))
}

func longerRow(l thoughts.Longer) []string {
	row := []string{name(l.Group), strconv.Itoa(l.Right), strconv.Itoa(l.Wrong)}
	return append(append(row, estimateCells(l.Estimate, three)...), shorttext.Count(l.Units, l.Unit))
}

func readingRow(r thoughts.Reading) []string {
	row := append([]string{name(r.Group), name(r.Code), strconv.Itoa(r.Replies.Count)}, rateCells(r.Replies)...)
	return append(row, rateCells(r.Right)[0], rateCells(r.Others)[0])
}

func phraseRow(p thoughts.Phrase) []string {
	clear := ""
	if p.Clear {
		clear = "clear"
	}
	return []string{
		line(p.Contrast, 40), name(p.More), line(p.Phrase, 40), fmt.Sprintf("%d of %d", p.A, p.OfA), fmt.Sprintf("%d of %d", p.B, p.OfB),
		two(p.LogOdds), two(p.Low) + " … " + two(p.High), fmt.Sprintf("%.2g", p.P), clear,
	}
}

func clusterRow(c thoughts.Cluster) []string {
	return []string{
		strconv.Itoa(c.Number), strconv.Itoa(c.Thoughts), percent(float64(c.Thoughts) / float64(c.Of)), two(c.Cohesion),
		rateCells(c.Right)[0], line(strings.Join(c.Words, ", "), 60),
	}
}

// judgement prints what the judge said.
func (p *printer) judgement(j *thoughts.Judgement) {
	if j == nil {
		return
	}
	title := fmt.Sprintf("Scores of %s by the rubric %s", name(j.Model), j.Rubric)
	figure(p, "scores", title, j.Scores, []string{"GROUP", "CRITERION", "SCALE", "THOUGHTS", "SCORE", "95 %", "RIGHT", "WRONG", "SAME %", "DEVIATION", "UNITS"}, judgedRow)
	fmt.Fprintf(p.out, "\n%d thoughts, each %s; %d calls now, %d scores from the record %s, %d failed, %d left; %d tokens in all\n",
		j.Thoughts, shorttext.Plural(j.Repeat, "once", "%d times"), j.Asked, j.Recalled, visible.Word(j.Record), j.Failed, j.Left, j.Tokens)
}

func judgedRow(j thoughts.Judged) []string {
	row := []string{name(j.Group), j.Criterion, fmt.Sprintf("%g … %g", j.From, j.To), strconv.Itoa(j.N)}
	row = append(row, estimateCells(j.Estimate, two)...)
	row = append(row, estimateCells(j.Right, two)[0], estimateCells(j.Wrong, two)[0], rateCells(j.Same)[0])
	deviation := "-"
	if j.Repeated > 0 {
		deviation = two(j.Deviation)
	}
	return append(row, deviation, shorttext.Count(j.Units, j.Unit))
}

// exemplars prints the thoughts that stand for the clusters.
func (p *printer) exemplars(rows []thoughts.Cluster) {
	if len(p.only) > 0 && !slices.Contains(p.only, "clusters") {
		return
	}
	for _, c := range rows {
		for _, e := range c.Exemplars[:1] {
			text := shorttext.OneLine(e.Text)
			fmt.Fprintf(p.out, "\n%d: run %s, cycle %d, event %d\n   ", c.Number, name(e.Run), e.Cycle, e.Seq)
			p.out.Set(typeset.Dim, shorttext.Columns(visible.Line(text), 90))
		}
	}
	if len(rows) > 0 {
		p.out.WriteString("\n")
	}
}
