package sidecar

import (
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// sections are those that a query narrows by, which are soon needed.
func (q *Query) sections() (names []string) {
	var w Want
	for word := range q.Words {
		w.Words = append(w.Words, word)
	}
	names = w.columns(&q.Query)
	if len(q.IDs) > 0 {
		names = append(names, "id_pages")
	}
	if q.Pattern != nil || q.Text != "" {
		names = append(names, "chunks", "unlisted", "blocks")
	}
	return names
}

// selected returns the rows that a query may select; nil means all, and none may be an empty list.
func (g *giver) selected(f *file) ([]bool, error) {
	sel, err := f.matching(&g.q.Query)
	if err != nil || none(sel) {
		return sel, err
	}
	if sel, err = f.having(g.q.Words, sel); err != nil || none(sel) {
		return sel, err
	}
	if len(g.q.IDs) > 0 {
		if sel, err = g.identified(f, sel); err != nil || none(sel) {
			return sel, err
		}
	}
	for _, n := range []need{needOf(g.q.Pattern), needOfText(g.q.Text)} {
		in, err := f.find(n)
		if err != nil {
			return nil, err
		}
		if in == nil {
			continue
		}
		ends, err := f.blocks()
		if err != nil {
			return nil, err
		}
		keep := newSelection(sel, f.h.Rows)
		from := 0
		for i, end := range ends {
			if !in[i] {
				clear(keep[from:end.rows])
			}
			from = end.rows
		}
		sel = keep
	}
	return sel, nil
}

// none reports whether a selection has no row.
func none(sel []bool) bool { return sel != nil && !slices.Contains(sel, true) }

// newSelection returns a selection to be changed.
func newSelection(sel []bool, rows int) []bool {
	if sel != nil {
		return sel
	}
	sel = make([]bool, rows)
	for i := range sel {
		sel[i] = true
	}
	return sel
}

// matching returns the rows that a query may select by their facts. Of an odd row only the
// line shows it.
func (f *file) matching(q *record.Query) (sel []bool, err error) {
	var odd []int64
	if f.h.Odd > 0 {
		if odd, err = f.number(Odd, nil); err != nil {
			return nil, err
		}
	}
	narrow := func(keep func(row int) bool) {
		sel = newSelection(sel, f.h.Rows)
		for i := range sel {
			sel[i] = sel[i] && (odd != nil && odd[i] != 0 || keep(i))
		}
	}
	if first, next := f.h.First, f.h.Next; q.After >= first || q.Before > 0 && q.Before < next {
		sel = newSelection(sel, f.h.Rows)
		for i := range sel {
			seq := first + uint64(i)
			sel[i] = seq > q.After && (q.Before == 0 || seq < q.Before)
		}
	}
	if q.Skip != nil {
		sel = newSelection(sel, f.h.Rows)
		for i := range sel {
			seq := f.h.First + uint64(i)
			sel[i] = sel[i] && !q.Skip(seq, seq)
		}
	}
	if !q.From.IsZero() || !q.To.IsZero() {
		if err := f.inTime(q, narrow); err != nil {
			return nil, err
		}
	}
	var types func(string) bool
	if len(q.Types) > 0 || q.NoCheckpoints {
		types = func(t string) bool {
			return (len(q.Types) == 0 || slices.Contains(q.Types, record.Type(t))) && (!q.NoCheckpoints || record.Type(t) != record.TypeCheckpoint)
		}
	}
	for _, c := range []struct {
		word Word
		keep func(string) bool
	}{
		{Run, equal(q.Run)}, {Model, equal(q.Model)}, {Codes, hasWord(q.Diagnostic)}, {Type, types},
	} {
		if c.keep == nil || none(sel) {
			continue
		}
		if err := f.words(c.word, c.keep, narrow); err != nil {
			return nil, err
		}
	}
	if q.Cycle != nil && !none(sel) {
		cycles, err := f.number(Cycle, nil)
		if err != nil {
			return nil, err
		}
		narrow(func(i int) bool { return cycles[i] == int64(*q.Cycle) })
	}
	return sel, nil
}

// having narrows a selection to rows with certain words.
func (f *file) having(want map[Word]string, sel []bool) ([]bool, error) {
	for w, text := range want {
		rows, list, err := f.word(w, nil)
		if err != nil {
			return nil, err
		}
		odd, err := f.number(Odd, nil)
		if err != nil {
			return nil, err
		}
		n := int64(slices.Index(list, text))
		sel = newSelection(sel, f.h.Rows)
		for i := range sel {
			sel[i] = sel[i] && (rows[i] == n || odd[i] != 0)
		}
	}
	return sel, nil
}

func equal(want string) func(string) bool {
	if want == "" {
		return nil
	}
	return func(s string) bool { return s == want }
}

// hasWord accepts lists that have a word.
func hasWord(want string) func(string) bool {
	if want == "" {
		return nil
	}
	return func(s string) bool { return strings.Contains(listMark+s+listMark, listMark+want+listMark) }
}

// inTime narrows to a time, by the header if that suffices.
func (f *file) inTime(q *record.Query, narrow func(func(int) bool)) error {
	in := func(ns int64) bool {
		at := time.Unix(0, ns)
		return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To))
	}
	first, last := time.Unix(0, f.h.From), time.Unix(0, f.h.To)
	switch {
	case f.h.Odd < f.h.Rows && in(f.h.From) && in(f.h.To):
		return nil
	case !q.From.IsZero() && last.Before(q.From), !q.To.IsZero() && !first.Before(q.To):
		narrow(func(int) bool { return false })
		return nil
	}
	times, err := f.number(Time, f.scratch)
	if f.scratch = times; err == nil {
		narrow(func(i int) bool { return in(times[i]) })
	}
	return err
}

// words narrows to rows with certain words.
func (f *file) words(w Word, keep func(string) bool, narrow func(func(int) bool)) error {
	list, err := f.list(w)
	if err != nil {
		return err
	}
	fine := make([]bool, len(list))
	for i, s := range list {
		fine[i] = keep(s)
	}
	switch {
	case !slices.Contains(fine, true):
		narrow(func(int) bool { return false })
		return nil
	case !slices.Contains(fine, false):
		return nil
	}
	rows, _, err := f.word(w, f.scratch)
	if f.scratch = rows; err == nil {
		narrow(func(i int) bool { return fine[rows[i]] })
	}
	return err
}

// identified narrows a selection to the events of the identifiers and of their runs.
func (g *giver) identified(f *file, sel []bool) ([]bool, error) {
	wanted := map[int]bool{}
	note := func(id string) error {
		rows, err := f.marked(mark(id))
		for _, row := range rows {
			wanted[row] = true
		}
		return err
	}
	for _, id := range g.q.IDs {
		if err := note(id); err != nil {
			return nil, err
		}
	}
	for run := range g.runs {
		if err := note(run); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 && f.h.Odd == 0 {
		return []bool{}, nil
	}
	keep := make([]bool, f.h.Rows)
	if len(wanted) > 0 {
		rows, runs, err := f.word(Run, nil)
		if err != nil {
			return nil, err
		}
		in := make([]bool, len(runs)) // runs of which a wanted row is
		for row := range wanted {
			keep[row] = true
			in[rows[row]] = runs[rows[row]] != ""
		}
		base := map[string]bool{}
		for i, name := range runs {
			if in[i] {
				base[name] = true
			}
		}
		for _, id := range g.q.IDs {
			base[id] = true
		}
		for i, name := range runs {
			in[i] = name != "" && (base[name] || base[baseRun(name)] || g.runs[name] || g.runs[baseRun(name)])
		}
		for i, n := range rows {
			keep[i] = keep[i] || in[n]
		}
	}
	if f.h.Odd > 0 {
		odd, err := f.number(Odd, nil)
		if err != nil {
			return nil, err
		}
		for i, n := range odd {
			keep[i] = keep[i] || n != 0
		}
	}
	if sel != nil {
		for i := range keep {
			keep[i] = keep[i] && sel[i]
		}
	}
	return keep, nil
}
