package view

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A SortKey is the fact that a list is sorted by.
type SortKey string

// A Unit is what a fact counts.
type Unit string

// The units.
const (
	Bytes  Unit = "bytes"
	Millis Unit = "ms"
	Tokens Unit = "tokens"
	Times  Unit = ""
)

// sortKeys are all of them, in the order in which a page offers them.
var sortKeys = []struct {
	name   SortKey
	number sidecar.Number
	unit   Unit
}{
	{"thought", sidecar.ThoughtBytes, Bytes}, {"answer", sidecar.AnswerBytes, Bytes}, {"leaked", sidecar.LeakedBytes, Bytes}, {"saved", sidecar.SavedBytes, Bytes},
	{"size", sidecar.Size, Bytes}, {"took", sidecar.Millis, Millis}, {"first_thought", sidecar.FirstThought, Millis}, {"first_answer", sidecar.FirstAnswer, Millis},
	{"input", sidecar.Input, Tokens}, {"output", sidecar.Output, Tokens}, {"reasoning", sidecar.Reasoning, Tokens}, {"cached", sidecar.CacheRead, Tokens},
	{"calls", sidecar.Calls, Times}, {"retries", sidecar.Retries, Times}, {"status", sidecar.Status, Times},
}

// SortKeys are the facts that a list can be sorted by.
func SortKeys() []SortKey {
	list := make([]SortKey, len(sortKeys))
	for i, f := range sortKeys {
		list[i] = f.name
	}
	return list
}

// Unit is what a fact counts.
func (f SortKey) Unit() Unit {
	if i := slices.Index(SortKeys(), f); i >= 0 {
		return sortKeys[i].unit
	}
	return Times
}

func (f SortKey) number() sidecar.Number { return sortKeys[slices.Index(SortKeys(), f)].number }

// MaxSorted is how many rows of a sorted list can be seen: those with the most.
const MaxSorted = 1000

// mostUnindexed is how many bytes of lines that no sidecar covers are read for a sorted list.
const mostUnindexed = 64 << 20

// parseOrder reads how a list is sorted.
func (f *Filter) parseOrder(q url.Values) (err error) {
	if name, least := strings.CutPrefix(q.Get("sort"), "-"); name != "" && name != "time" {
		if f.Sort, f.Least = SortKey(name), least; !slices.Contains(SortKeys(), f.Sort) {
			return fmt.Errorf("sort: %s: want time or one of %s, with a minus for the least first", shorttext.Quote(name), joined(SortKeys()))
		}
	}
	if text := q.Get("at"); text != "" && f.Sort != "" {
		if f.At, err = strconv.Atoi(text); err != nil || f.At < 0 || f.At > MaxSorted-Rows {
			return fmt.Errorf("at: %s: want a number of rows up to %d", shorttext.Quote(text), MaxSorted-Rows)
		}
	}
	f.Sum = q.Get("sum") == "1"
	if f.Sort != "" && (f.Before > 0 || f.After > 0) {
		return errors.New("before, after: a sorted list has pages by at")
	}
	return nil
}

func joined(list []SortKey) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = string(f)
	}
	return strings.Join(texts, ", ")
}

// setOrder adds how a list is sorted to a query.
func (f Filter) setOrder(q url.Values) {
	if f.Sort != "" {
		q.Set("sort", map[bool]string{true: "-"}[f.Least]+string(f.Sort))
	}
	if f.At > 0 {
		q.Set("at", strconv.Itoa(f.At))
	}
	if f.Sum {
		q.Set("sum", "1")
	}
}

// Totals are the sums of all rows that a filter selects.
type Totals struct {
	Rows    int   `json:"rows"`
	Failed  int   `json:"failed"` // or refused
	Leaked  int   `json:"leaked"` // with thoughts in the text
	Thought int64 `json:"thought_bytes"`
	Answer  int64 `json:"answer_bytes"`
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Cached  int64 `json:"cached_tokens"`
	Millis  int64 `json:"ms"`
	// After is the event before the first one that was looked at, and Left how many bytes of
	// older events were not, because they have no sidecars. Unindexed is how many segments
	// were read line by line.
	After     uint64 `json:"after,omitempty"`
	Left      int64  `json:"left_bytes,omitempty"`
	Unindexed int    `json:"unindexed_segments,omitempty"`
	// Searched is how many events were read, if a search of their texts stopped there.
	Searched int `json:"searched,omitempty"`
}

// Join adds the totals of another record, of which the numbers of events mean nothing here.
func (t *Totals) Join(o *Totals) {
	t.Rows += o.Rows
	t.Failed += o.Failed
	t.Leaked += o.Leaked
	t.Thought += o.Thought
	t.Answer += o.Answer
	t.Input += o.Input
	t.Output += o.Output
	t.Cached += o.Cached
	t.Millis += o.Millis
	t.Left += o.Left
	t.Unindexed += o.Unindexed
	t.Searched += o.Searched
	t.After = max(t.After, o.After)
}

func (t *Totals) add(f *sidecar.Facts) {
	t.Rows++
	if FailedOutcome(f.Word[sidecar.Outcome]) {
		t.Failed++
	}
	if f.Number[sidecar.LeakedBytes] > 0 {
		t.Leaked++
	}
	t.Thought += f.Number[sidecar.ThoughtBytes]
	t.Answer += f.Number[sidecar.AnswerBytes]
	t.Input += f.Number[sidecar.Input]
	t.Output += f.Number[sidecar.Output]
	t.Cached += f.Number[sidecar.CacheRead]
	t.Millis += f.Number[sidecar.Millis]
}

// A ranked event is one of those with the most of a fact.
type ranked struct {
	seq  uint64
	fact int64
	size int64 // of its line
}

// A ranking has the events with the most, or the least, of a fact, the first ones first.
type ranking struct {
	list  []ranked
	least bool
	more  bool // there are others
}

// before reports whether an event stands before another one. The newer is first, if both have
// as much.
func (r *ranking) before(a, b ranked) bool {
	if a.fact != b.fact {
		return (a.fact > b.fact) != r.least
	}
	return a.seq > b.seq
}

// add ranks an event among the first ones, of which so many are kept.
func (r *ranking) add(x ranked, most int) {
	if len(r.list) == most {
		r.more = true
		if !r.before(x, r.list[most-1]) {
			return
		}
		r.list = r.list[:most-1]
	}
	at := sort.Search(len(r.list), func(i int) bool { return r.before(x, r.list[i]) })
	r.list = slices.Insert(r.list, at, x)
}

// sorted reads a page of exchanges that is sorted by a fact. Those that do not have it are
// left out.
func (s *Source) sorted(ctx context.Context, f Filter, q record.Query) (*Page, error) {
	p := &Page{V: 1, Rows: []Row{}, Filter: f}
	if last, err := s.store.Last(); err == nil {
		p.Head = last
	}
	var top *ranking
	var err error
	if p.Totals, top, err = s.total(ctx, f, q); err != nil {
		if errors.Is(err, record.ErrSealed) {
			p.Sealed = true
			return p, nil
		}
		return nil, err
	}
	chosen := top.list[min(f.At, len(top.list)):]
	p.More = top.more
	p.Rows, err = s.rowsOf(ctx, chosen)
	return p, err
}

// total sums up what a filter selects, and finds the rows of a page if it sorts them.
func (s *Source) total(ctx context.Context, f Filter, q record.Query) (*Totals, *ranking, error) {
	t, top := &Totals{}, &ranking{least: f.Least}
	take := func(facts *sidecar.Facts) {
		t.add(facts)
		if f.Sort == "" {
			return
		}
		if n := facts.Number[f.Sort.number()]; n != 0 {
			top.add(ranked{uint64(facts.Number[sidecar.Seq]), n, facts.Number[sidecar.Size]}, f.At+Rows)
		}
	}
	q.Before = 0
	var err error
	if f.Text != "" || f.ID != "" {
		t.Searched, err = s.inTexts(ctx, f, q, take)
		return t, top, err
	}
	store := s.store.For(ctx)
	if t.After, t.Left, _, err = store.Reach(mostUnindexed); err != nil {
		return nil, nil, err
	}
	q.After = t.After
	want := sidecar.Want{
		Numbers: []sidecar.Number{sidecar.Size, sidecar.LeakedBytes, sidecar.ThoughtBytes, sidecar.AnswerBytes, sidecar.Input, sidecar.Output, sidecar.CacheRead, sidecar.Millis},
		Words:   []sidecar.Word{sidecar.Outcome},
	}
	if f.Sort != "" && !slices.Contains(want.Numbers, f.Sort.number()) {
		want.Numbers = append(want.Numbers, f.Sort.number())
	}
	if f.Route != "" {
		want.Words = append(want.Words, sidecar.Type, sidecar.API, sidecar.Path, sidecar.Upstream)
	}
	if f.Caller != "" {
		want.Words = append(want.Words, sidecar.Caller)
	}
	if f.Leak != "" {
		want.Words = append(want.Words, sidecar.Leak)
	}
	n := 0
	for facts, err := range store.Facts(q, want) {
		if n++; n%askEvery == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var line *record.LineError
		switch {
		case errors.As(err, &line):
		case err != nil:
			return nil, nil, err
		case f.fits(facts):
			take(facts)
		}
	}
	report := store.Report()
	t.Unindexed = report.Without + report.Stale + report.NoKey
	return t, top, nil
}

// askEvery is after how many events it is looked whether somebody still waits.
const askEvery = 4096

// fits reports whether the facts of an event are what the filter selects, except a text and
// an identifier.
func (f *Filter) fits(x *sidecar.Facts) bool {
	api := x.Word[sidecar.API]
	if x.Word[sidecar.Type] == string(record.TypeInvocation) {
		api = x.Word[sidecar.Upstream]
	}
	switch {
	case f.Route != "" && api != f.Route && !strings.Contains(x.Word[sidecar.Path], f.Route),
		f.Caller != "" && x.Word[sidecar.Caller] != f.Caller,
		f.Outcome != "" && x.Word[sidecar.Outcome] != f.Outcome,
		f.Leaked && x.Number[sidecar.LeakedBytes] == 0 || f.Leak != "" && x.Word[sidecar.Leak] != f.Leak:
		return false
	}
	return true
}

// inTexts gives the facts of the newest exchanges that a filter with a text or an identifier
// selects, within what a page may read. stopped is after how many events it stopped; 0 if
// these were all.
func (s *Source) inTexts(ctx context.Context, f Filter, q record.Query, take func(*sidecar.Facts)) (stopped int, err error) {
	p := &Page{Filter: f, most: maxSearched}
	err = s.eachRow(ctx, p, q, func(g *record.Glimpse, _ Row) {
		facts := sidecar.FactsOf(&g.Event)
		facts.Number[sidecar.Size] = int64(g.Size)
		take(&facts)
	})
	if p.Sealed {
		err = record.ErrSealed
	}
	if p.Stopped {
		stopped = p.Searched
	}
	return stopped, err
}

// rowsOf reads the rows of some events. Of long ones only the beginning is read.
func (s *Source) rowsOf(ctx context.Context, list []ranked) ([]Row, error) {
	store := s.store.For(ctx)
	rows := make([]Row, 0, len(list))
	found := map[uint64]Row{}
	var short []uint64
	for _, x := range list {
		if x.size <= longLine {
			short = append(short, x.seq)
			continue
		}
		for g, err := range store.Back(sidecar.Query{Query: record.Query{After: x.seq - 1, Before: x.seq + 1, Limit: 1}}, longLine) {
			if err != nil && !isLine(err) {
				return nil, err
			}
			if err == nil {
				found[x.seq] = RowOf(&g)
			}
		}
	}
	if slices.Sort(short); len(short) > 0 {
		q := sidecar.Query{Query: record.Query{After: short[0] - 1, Before: short[len(short)-1] + 1, Skip: func(first, last uint64) bool {
			i, _ := slices.BinarySearch(short, first)
			return i == len(short) || short[i] > last
		}}}
		sizes := map[uint64]int64{}
		for _, x := range list {
			sizes[x.seq] = x.size
		}
		for e, err := range store.Events(q) {
			var line *record.LineError
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil && !errors.As(err, &line) {
				return nil, err
			}
			if err == nil {
				g := record.GlimpseOf(&e, int(sizes[e.Seq]))
				found[e.Seq] = RowOf(&g)
			}
		}
	}
	for _, x := range list {
		if row, ok := found[x.seq]; ok {
			row.Fact = x.fact
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func isLine(err error) bool {
	var line *record.LineError
	return errors.As(err, &line)
}
