package studyreport

import (
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// CSV returns the data of the report as files. Columns whose names begin with "key."
// hold the labels of the values of the grid. The files are data: see [report.Table.CSV].
func (r *Report) CSV() ([]report.File, error) {
	return report.Files([]report.Table{r.cellTable(), r.groupTable(), r.differenceTable(), r.curveTable()})
}

// keyColumns are the names of the columns of the grid's keys.
func (r *Report) keyColumns() []string {
	list := []string{}
	for _, key := range r.Keys {
		list = append(list, "key."+key)
	}
	return list
}

// raw are the labels of values in the order of keys, as they are.
func raw(keys []string, values []study.Value) []string {
	list := []string{}
	c := study.Cell{Values: values}
	for _, key := range keys {
		list = append(list, c.Value(key))
	}
	return list
}

// exact prints a number so that it is read back as the same.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func exactOr(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

func (r *Report) cellTable() report.Table {
	columns := append(append([]string{"cell"}, r.keyColumns()...), "repetition", "status", "counted", "worker", "cell_attempts", "reason")
	measures := study.Measures(r.Kind)
	for _, m := range measures {
		columns = append(columns, m.Name)
	}
	t := report.Table{Name: "cells", Columns: columns}
	for i := range r.study.Cells {
		c := &r.study.Cells[i]
		state := r.study.State(c)
		row := append(append([]string{c.ID}, raw(r.Keys, c.Values)...), strconv.Itoa(c.Repetition), string(state.Status), strconv.FormatBool(counts(state)), strconv.Itoa(state.Worker), strconv.Itoa(state.Attempts), state.Reason)
		for _, m := range measures {
			v, ok := state.Measures[m.Name]
			if !ok {
				row = append(row, "")
				continue
			}
			row = append(row, exact(v))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Report) groupTable() report.Table {
	t := report.Table{Name: "groups", Columns: append(r.keyColumns(), "measure", "unit", "cells", "n", "mean", "sd", "low", "high", "min", "max")}
	units := unitsOf(r.Kind)
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, f := range g.Measures {
			t.Rows = append(t.Rows, append(raw(r.Keys, g.Values), f.Name, units[f.Name], strconv.Itoa(g.Cells), strconv.Itoa(f.N), exact(f.Mean), exact(f.SD), exactOr(f.Low), exactOr(f.High), exact(f.Min), exact(f.Max)))
		}
		if s := g.Solved; s != nil {
			t.Rows = append(t.Rows, append(raw(r.Keys, g.Values), "solved_of_all", "share", strconv.Itoa(g.Cells), strconv.Itoa(s.Of), exact(s.Rate), "", exact(s.Low), exact(s.High), "", ""))
		}
	}
	return t
}

func unitsOf(k study.Kind) map[string]string {
	units := map[string]string{}
	for _, m := range study.Measures(k) {
		units[m.Name] = m.Unit
	}
	return units
}

func (r *Report) differenceTable() report.Table {
	var others, columns []string
	if r.Compare != nil {
		others = r.otherKeys()
		for _, key := range others {
			columns = append(columns, "key."+key)
		}
	}
	t := report.Table{Name: "differences", Columns: append(columns, "by", "value", "baseline", "measure", "pairs", "n", "unpaired", "mean", "low", "high", "more", "less", "p", "p_holm", "tests", "p_least", "method")}
	for i := range r.Differences {
		d := &r.Differences[i]
		t.Rows = append(t.Rows, append(raw(others, d.Others), r.Compare.By, d.Value, d.Baseline, d.Measure, d.Pairs, strconv.Itoa(d.N), strings.Join(d.Unpaired, "; "),
			exact(d.Mean), exactOr(d.Low), exactOr(d.High), strconv.Itoa(d.More), strconv.Itoa(d.Less), exactOr(d.P), exactOr(d.Holm), strconv.Itoa(d.Tests), exact(d.Least), d.Method))
	}
	return t
}

func (r *Report) curveTable() report.Table {
	t := report.Table{Name: "curves", Columns: append(append([]string{"curve", "unit", "x_unit", "window"}, r.keyColumns()...), "x", "n", "mean", "low", "high")}
	for _, c := range r.Curves {
		for _, l := range c.Lines {
			values := raw(r.Keys, l.Values)
			for _, p := range l.Points {
				t.Rows = append(t.Rows, append(append([]string{c.Name, c.Unit, c.X, strconv.Itoa(c.Window)}, values...), strconv.Itoa(p.X), strconv.Itoa(p.N), exact(p.Mean), exact(p.Low), exact(p.High)))
			}
		}
	}
	return t
}
