package runview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// sortKeys are the facts that runs can be sorted by, in the order in which a page offers them.
var sortKeys = []struct {
	name string
	of   func(*Run) int64
}{
	{"cycles", func(r *Run) int64 { return int64(r.Cycles) }},
	{"thought", func(r *Run) int64 { return metric(r, func(m *record.Metrics) int64 { return int64(m.ThoughtBytes) }) }},
	{"took", func(r *Run) int64 { return r.Millis }},
	{"calls", func(r *Run) int64 { return metric(r, func(m *record.Metrics) int64 { return int64(m.ToolCalls) }) }},
	{"invocations", func(r *Run) int64 {
		return metric(r, func(m *record.Metrics) int64 { return int64(m.Invocations) })
	}},
	{"input", func(r *Run) int64 { return metric(r, func(m *record.Metrics) int64 { return m.InputTokens }) }},
	{"output", func(r *Run) int64 { return metric(r, func(m *record.Metrics) int64 { return m.OutputTokens }) }},
	{"saved", func(r *Run) int64 { return metric(r, func(m *record.Metrics) int64 { return int64(m.SavedBytes) }) }},
}

func metric(r *Run, of func(*record.Metrics) int64) int64 {
	if r.Metrics == nil {
		return 0
	}
	return of(r.Metrics)
}

// SortKeys are the names of the facts that runs can be sorted by.
func SortKeys() []string {
	names := make([]string, len(sortKeys))
	for i, k := range sortKeys {
		names[i] = k.name
	}
	return names
}

// Fact is what a run has of a fact.
func (r *Run) Fact(key string) int64 {
	if i := slices.Index(SortKeys(), key); i >= 0 {
		return sortKeys[i].of(r)
	}
	return 0
}

// MaxSorted is how many runs are sorted: the newest ones.
const MaxSorted = 2000

// parseOrder reads how the runs are sorted.
func (f *Filter) parseOrder(q url.Values) (err error) {
	if name, least := strings.CutPrefix(q.Get("sort"), "-"); name != "" && name != "time" {
		if f.Sort, f.Least = name, least; !slices.Contains(SortKeys(), name) {
			return fmt.Errorf("sort: %s: want time or one of %s, with a minus for the least first", shorttext.Quote(name), strings.Join(SortKeys(), ", "))
		}
	}
	if text := q.Get("at"); text != "" && f.Sort != "" {
		if f.At, err = strconv.Atoi(text); err != nil || f.At < 0 || f.At > MaxSorted {
			return fmt.Errorf("at: %s: want a number of rows up to %d", shorttext.Quote(text), MaxSorted)
		}
	}
	if f.Sort != "" && f.Before > 0 {
		return errors.New("before: a sorted list has pages by at")
	}
	return nil
}

// Totals are the sums of the runs of a sorted list.
type Totals struct {
	Runs    int   `json:"runs"`
	Failed  int   `json:"failed"`
	Cycles  int   `json:"cycles"`
	Calls   int64 `json:"tool_calls"`
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Thought int64 `json:"thought_bytes"`
	Millis  int64 `json:"ms"`
}

// Stands reports whether a run of one record stands before a run of another one in the list.
func (f Filter) Stands(a, b *Run) bool {
	if f.Sort == "" {
		return a.Time.After(b.Time)
	}
	x, y := a.Fact(f.Sort), b.Fact(f.Sort)
	return x != y && (x > y) != f.Least
}

// Join adds what a page of another record says of itself.
func (l *List) Join(o *List) {
	l.Stopped = l.Stopped || o.Stopped
	l.More = l.More || o.More
	l.Unreadable += o.Unreadable
	if o.Totals == nil {
		return
	}
	if l.Totals == nil {
		l.Totals = &Totals{}
	}
	t := l.Totals
	t.Runs += o.Totals.Runs
	t.Failed += o.Totals.Failed
	t.Cycles += o.Totals.Cycles
	t.Calls += o.Totals.Calls
	t.Input += o.Totals.Input
	t.Output += o.Totals.Output
	t.Thought += o.Totals.Thought
	t.Millis += o.Totals.Millis
}

func (t *Totals) add(r *Run) {
	t.Runs++
	if trace.Failing(r.Status) {
		t.Failed++
	}
	t.Cycles += r.Cycles
	t.Calls += r.Fact("calls")
	t.Input += r.Fact("input")
	t.Output += r.Fact("output")
	t.Thought += r.Fact("thought")
	t.Millis += r.Millis
}

// sorted returns a page of the newest runs, sorted by a fact. Runs that do not have it are
// left out, but counted in the totals.
func (s *Source) sorted(ctx context.Context, f Filter) (*List, error) {
	plain := f
	plain.Sort, plain.At = "", 0
	l, err := s.newest(ctx, plain, MaxSorted)
	if err != nil || l.Sealed {
		return l, err
	}
	l.Filter, l.Totals = f, &Totals{}
	l.Stopped = l.Stopped || l.Older > 0
	l.Older = 0
	for i := range l.Rows {
		l.Totals.add(&l.Rows[i])
	}
	rows := slices.DeleteFunc(l.Rows, func(r Run) bool { return r.Fact(f.Sort) == 0 })
	slices.SortStableFunc(rows, func(a, b Run) int {
		by := cmp.Compare(b.Fact(f.Sort), a.Fact(f.Sort))
		if f.Least {
			by = -by
		}
		return by
	})
	l.More = len(rows) > f.At+Rows
	l.Rows = rows[min(f.At, len(rows)):min(f.At+Rows, len(rows))]
	return l, nil
}
