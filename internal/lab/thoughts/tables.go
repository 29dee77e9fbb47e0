package thoughts

import (
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

// Tables returns every figure as a table. A cell is empty if its number is not known.
func (r *Report) Tables() []report.Table {
	list := []report.Table{
		tableOf("size", r.Size.Rows, sizeColumns, Size.cells),
		tableOf("cycles", r.Cycles.Rows, cycleColumns, Cycle.cells),
		tableOf("repetition", r.Repetition.Rows, repetitionColumns, Repetition.cells),
		tableOf("announced", r.Announced.Rows, announcedColumns, Announced.cells),
		tableOf("verdicts", r.Verdicts.Rows, quantileColumns, Quantile.cells),
		tableOf("longer", r.Longer.Rows, longerColumns, Longer.cells),
		tableOf("reading", r.Reading.Rows, readingColumns, Reading.cells),
		tableOf("phrases", r.Phrases.Rows, phraseColumns, Phrase.cells),
		tableOf("clusters", r.Clusters.Rows, clusterColumns, Cluster.cells),
		exemplarTable(r.Clusters.Rows),
	}
	if j := r.Judge; j != nil {
		list = append(list, tableOf("scores", j.Scores.Rows, judgedColumns, Judged.cells), scoreTable(j))
	}
	return list
}

func tableOf[Row any](name string, rows []Row, columns string, cells func(Row) []string) report.Table {
	t := report.Table{Name: name, Columns: strings.Fields(columns)}
	for _, row := range rows {
		t.Rows = append(t.Rows, cells(row))
	}
	return t
}

const (
	sizeColumns = "group replies thinking thinking_rate thinking_low thinking_high thinking_units thinking_unit " +
		"share_n share share_low share_high share_units share_unit bytes_n bytes bytes_low bytes_high bytes_units bytes_unit " +
		"bytes_q1 bytes_median bytes_q3 bytes_max tokens_n tokens tokens_low tokens_high tokens_units tokens_unit withheld_bytes sealed_bytes"
	cycleColumns = "group from to runs share_n share share_low share_high share_units share_unit " +
		"bytes_n bytes bytes_low bytes_high bytes_units bytes_unit"
	repetitionColumns = "group measure space n value low high units unit"
	announcedColumns  = "group tool turns named not_called not_called_rate not_called_low not_called_high units unit called_unnamed"
	quantileColumns   = "group part of from_bytes to_bytes replies right right_rate right_low right_high units unit"
	longerColumns     = "group right wrong n value low high units unit"
	readingColumns    = "group code replies of rate low high units unit judged right right_rate right_low right_high " +
		"others_judged others_right others_right_rate others_right_low others_right_high"
	phraseColumns   = "contrast more phrase a of_a b of_b log_odds low high z clear p"
	clusterColumns  = "number thoughts of cohesion words judged right right_rate right_low right_high groups"
	exemplarColumns = "cluster run cycle seq choice similarity text"
	judgedColumns   = "group criterion from to n score low high units unit right_n right right_low right_high right_units right_unit " +
		"wrong_n wrong wrong_low wrong_high wrong_units wrong_unit repeated same same_low same_high deviation"
	scoreColumns = "group run cycle seq choice verdict repeat criterion score"
)

func number[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// estimateCells are n, the value, its interval, the units and their name.
func estimateCells(e Estimate) []string {
	if e.N == 0 {
		return []string{"0", "", "", "", "0", e.Unit}
	}
	low, high := intervalCells(e.Interval)
	return []string{number(e.N), decimal(e.Value), low, high, number(e.Units), e.Unit}
}

func intervalCells(i *stats.Interval) (low, high string) {
	if i == nil {
		return "", ""
	}
	return decimal(i.Low), decimal(i.High)
}

// shareCells are the share of a rate and its interval.
func shareCells(r Rate) []string {
	if r.Of == 0 {
		return []string{"", "", ""}
	}
	return []string{decimal(r.Rate.Rate), decimal(r.Low), decimal(r.High)}
}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func (s Size) cells() []string {
	return join([]string{s.Group, number(s.Replies), number(s.Thinking.Count)}, shareCells(s.Thinking),
		[]string{number(s.Thinking.Units), s.Thinking.Unit}, estimateCells(s.Share), estimateCells(s.Bytes),
		[]string{number(s.Quartiles[0]), number(s.Quartiles[1]), number(s.Quartiles[2]), number(s.Quartiles[3])},
		estimateCells(s.Tokens), []string{number(s.Withheld), number(s.Sealed)})
}

func (c Cycle) cells() []string {
	return join([]string{c.Group, number(c.From), number(c.To), number(c.Runs)}, estimateCells(c.Share), estimateCells(c.Bytes))
}

func (r Repetition) cells() []string {
	return join([]string{r.Group, r.Measure, r.Space}, estimateCells(r.Estimate))
}

func (a Announced) cells() []string {
	return join([]string{a.Group, a.Tool, number(a.Turns), number(a.Named), number(a.NotCalled.Count)}, shareCells(a.NotCalled),
		[]string{number(a.NotCalled.Units), a.NotCalled.Unit, number(a.Unnamed)})
}

func (q Quantile) cells() []string {
	return join([]string{q.Group, number(q.Part), number(q.Of), number(q.From), number(q.To), number(q.Right.Of), number(q.Right.Count)},
		shareCells(q.Right), []string{number(q.Right.Units), q.Right.Unit})
}

func (l Longer) cells() []string {
	return join([]string{l.Group, number(l.Right), number(l.Wrong)}, estimateCells(l.Estimate))
}

func (r Reading) cells() []string {
	return join([]string{r.Group, r.Code, number(r.Replies.Count), number(r.Replies.Of)}, shareCells(r.Replies),
		[]string{number(r.Replies.Units), r.Replies.Unit, number(r.Right.Of), number(r.Right.Count)}, shareCells(r.Right),
		[]string{number(r.Others.Of), number(r.Others.Count)}, shareCells(r.Others))
}

func (p Phrase) cells() []string {
	return []string{
		p.Contrast, p.More, p.Phrase, number(p.A), number(p.OfA), number(p.B), number(p.OfB),
		decimal(p.LogOdds), decimal(p.Low), decimal(p.High), decimal(p.Z), strconv.FormatBool(p.Clear), decimal(p.P),
	}
}

func (c Cluster) cells() []string {
	var groups []string
	for _, g := range c.Groups {
		groups = append(groups, g.Group+": "+number(g.Thoughts))
	}
	return join([]string{number(c.Number), number(c.Thoughts), number(c.Of), decimal(c.Cohesion), strings.Join(c.Words, " "), number(c.Right.Of), number(c.Right.Count)},
		shareCells(c.Right), []string{strings.Join(groups, "; ")})
}

func exemplarTable(rows []Cluster) report.Table {
	t := report.Table{Name: "exemplars", Columns: strings.Fields(exemplarColumns)}
	for _, c := range rows {
		for _, e := range c.Exemplars {
			t.Rows = append(t.Rows, []string{
				number(c.Number), e.Run, number(e.Cycle), strconv.FormatUint(e.Seq, 10), number(e.Choice), decimal(e.Similarity), e.Text,
			})
		}
	}
	return t
}

func (j Judged) cells() []string {
	return join([]string{j.Group, j.Criterion, decimal(j.From), decimal(j.To)}, estimateCells(j.Estimate), estimateCells(j.Right), estimateCells(j.Wrong),
		[]string{number(j.Repeated)}, shareCells(j.Same), []string{decimal(j.Deviation)})
}

// scoreTable has a row for each score.
func scoreTable(j *Judgement) report.Table {
	t := report.Table{Name: "each_score", Columns: strings.Fields(scoreColumns)}
	for _, s := range j.Each {
		for repeat, scores := range s.Scores {
			for i, score := range scores {
				t.Rows = append(t.Rows, []string{
					s.Group, s.Run, number(s.Cycle), strconv.FormatUint(s.Seq, 10), number(s.Choice), s.Verdict,
					number(repeat + 1), j.Criteria[i], decimal(score),
				})
			}
		}
	}
	return t
}

// Total reports whether the row is about all groups.
func (s Size) Total() bool       { return s.Group == allGroup }
func (c Cycle) Total() bool      { return c.Group == allGroup }
func (r Repetition) Total() bool { return r.Group == allGroup }
func (a Announced) Total() bool  { return a.Group == allGroup }
func (q Quantile) Total() bool   { return q.Group == allGroup }
func (l Longer) Total() bool     { return l.Group == allGroup }
func (j Judged) Total() bool     { return j.Group == allGroup }
func (r Reading) Total() bool    { return r.Group == allGroup }
