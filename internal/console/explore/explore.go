package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// The bounds of an answer.
const (
	// MostUnindexed is how many bytes of lines are read for a question that no sidecar answers.
	// mostQuick is how many for one that is asked beside other work.
	MostUnindexed = 64 << 20
	mostQuick     = 8 << 20
	// maxNames is how many names have a series. Events of further ones are counted together.
	maxNames = 200
	// maxRuns is how many runs have their model remembered.
	maxRuns = 100_000
	// maxName bounds a name, in bytes.
	maxName = 200
	// askEvery is after how many events it is looked whether somebody still waits.
	askEvery = 4096
)

// An Answer is what a question found.
type Answer struct {
	V     int   `json:"v"`
	Query Query `json:"query"`
	// From, To and Width divide the time: the first bucket begins at From, and the last ends
	// at To.
	From  time.Time     `json:"from"`
	To    time.Time     `json:"to"`
	Width time.Duration `json:"width_ns"`
	// Series are the values of the key, what is worst or most frequent first.
	Series []Series `json:"series"`
	// Events were counted.
	Events int `json:"events"`
	// After is the event before the first one that was looked at, and Left how many bytes of
	// older events were not, because they have no sidecars.
	After uint64 `json:"after,omitempty"`
	Left  int64  `json:"left_bytes,omitempty"`
	// Unindexed is how many segments had to be read line by line.
	Unindexed  int  `json:"unindexed_segments,omitempty"`
	Unreadable int  `json:"unreadable,omitempty"`
	Sealed     bool `json:"sealed,omitempty"`
	// Merged says that events of further names are counted together, under an empty name.
	Merged bool `json:"merged,omitempty"`

	lines map[string]*counted // until the series are made of them
}

// A Series is one model, tool, caller, upstream or API over time.
type Series struct {
	Name   string  `json:"name"`
	Others bool    `json:"others,omitempty"` // it is all further names
	Total  Value   `json:"total"`
	Points []Value `json:"points"` // of the buckets
	// Stretches divide the time where the value changes; there is one if it does not.
	Stretches []Stretch `json:"stretches"`
}

// A Value is a share, or the median of a quantity, with its 95 % interval.
type Value struct {
	N     int     `json:"n"`
	Count int     `json:"count,omitempty"` // of a share
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A Stretch is a time in which a value does not change.
type Stretch struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Value
}

// Now is the newest stretch.
func (s *Series) Now() *Stretch { return &s.Stretches[len(s.Stretches)-1] }

// Before is the stretch before the newest one; nil if the value did not change.
func (s *Series) Before() *Stretch {
	if len(s.Stretches) < 2 {
		return nil
	}
	return &s.Stretches[len(s.Stretches)-2]
}

// ErrUnindexed is the error of a question that takes too long to be asked beside other work,
// because the newest events have no sidecar.
var ErrUnindexed = errors.New("the newest events have no sidecar")

// Ask answers a question about a record.
func Ask(ctx context.Context, r *sidecar.Store, q Query) (*Answer, error) {
	return ask(ctx, r, q, MostUnindexed)
}

// AskQuickly answers a question only if few lines have to be read. Otherwise the error is
// [ErrUnindexed].
func AskQuickly(ctx context.Context, r *sidecar.Store, q Query) (*Answer, error) {
	return ask(ctx, r, q, mostQuick)
}

func ask(ctx context.Context, r *sidecar.Store, q Query, most int64) (*Answer, error) {
	a, err := count(ctx, r, q, most, Span{})
	if err != nil {
		return nil, err
	}
	a.conclude()
	return a, nil
}

// count counts the events that a question is about, in the parts of a span: if it is zero, of
// the time that the question is about.
func count(ctx context.Context, r *sidecar.Store, q Query, most int64, span Span) (*Answer, error) {
	events, err := q.events()
	if err != nil {
		return nil, err
	}
	a := &Answer{V: 1, Query: q, Series: []Series{}}
	store := r.For(ctx)
	read := int64(0)
	if a.After, a.Left, read, err = store.Reach(most); err != nil {
		return nil, err
	}
	if most == mostQuick && read > most {
		return nil, ErrUnindexed
	}
	events.After = a.After
	if span.zero() {
		if span, a.Sealed, err = spanOf(store, events); err != nil {
			return nil, err
		}
	}
	a.divide(span)
	c := newCounting(a)
	if a.Sealed {
		return a, nil
	}
	n := 0
	for f, err := range store.Facts(events, q.want()) {
		if n++; n%askEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var line *record.LineError
		switch {
		case errors.Is(err, record.ErrSealed):
			a.Sealed = true
		case errors.As(err, &line):
			a.Unreadable++
		case err != nil:
			return nil, err
		default:
			c.take(f)
		}
	}
	report := store.Report()
	a.Unindexed = report.Without + report.Stale + report.NoKey
	return a, nil
}

// conclude computes the series of what was counted.
func (a *Answer) conclude() {
	for _, l := range a.lines {
		a.Series = append(a.Series, l.series(a))
	}
	a.lines = nil
	a.sort()
}

// sort puts the worst share first. Of a quantity, it puts first what changed, and then what is
// most frequent.
func (a *Answer) sort() {
	slices.SortFunc(a.Series, func(x, y Series) int {
		by := cmp.Compare(y.Total.N, x.Total.N)
		if a.Query.Of.Share() {
			by = cmp.Or(cmp.Compare(y.Now().Low, x.Now().Low), cmp.Compare(y.Total.Low, x.Total.Low), by)
		} else {
			by = cmp.Or(boolean(x.Before() == nil)-boolean(y.Before() == nil), by)
		}
		return cmp.Or(boolean(x.Others)-boolean(y.Others), by, strings.Compare(x.Name, y.Name))
	})
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// counting counts events.
type counting struct {
	query    *Query
	answer   *Answer
	share    bool
	buckets  buckets
	last     *counted // the line that was used last, of the name lastName
	lastName string
	models   map[string]string // of runs
}

func newCounting(a *Answer) *counting {
	a.lines = map[string]*counted{}
	return &counting{query: &a.Query, answer: a, share: a.Query.Of.Share(), buckets: a.buckets(), models: map[string]string{}}
}

// take counts an event.
func (c *counting) take(f *sidecar.Facts) {
	q := c.query
	if q.Of == Tools && f.Word[sidecar.Type] == string(record.TypeInvocation) {
		if model := f.Word[sidecar.Model]; model != "" && (c.models[f.Word[sidecar.Run]] != "" || len(c.models) < maxRuns) {
			c.models[f.Word[sidecar.Run]] = model
		}
		return
	}
	if q.Of == Tools {
		f.Word[sidecar.Model] = c.models[f.Word[sidecar.Run]]
		if q.Model != "" && f.Word[sidecar.Model] != q.Model || q.Tool != "" && f.Word[sidecar.Tools] != q.Tool {
			return
		}
	} else if q.Caller != "" && f.Word[sidecar.Caller] != q.Caller {
		return
	}
	amount, ok := q.amount(f)
	if !ok {
		return
	}
	c.answer.Events++
	l := c.line(f.Word[q.By.word()])
	l.cells[c.buckets.of(f.Number[sidecar.Time])].add(amount, c.share)
}

// amount is what an event counts; ok is false if the question is not about it. A share
// counts 1 or 0.
func (q *Query) amount(f *sidecar.Facts) (n int64, ok bool) {
	replied := f.Number[sidecar.Replies] > 0
	switch q.Of {
	case Leaks:
		return min(1, f.Number[sidecar.Leaks]), replied
	case Reached:
		if f.Word[sidecar.Thought] == record.ThoughtInText || f.Word[sidecar.Leak] == leakPassed || f.Word[sidecar.Leak] == record.ThoughtInText {
			n = 1
		}
		return n, replied
	case Failed:
		if view.FailedOutcome(f.Word[sidecar.Outcome]) {
			n = 1
		}
		return n, true
	case Tools: // a use is recorded twice: before it, it has no outcome
		return f.Number[sidecar.ToolFailures], f.Word[sidecar.Outcome] != ""
	case Took:
		return f.Number[sidecar.Millis], replied
	case First:
		return f.Number[sidecar.FirstAnswer], f.Number[sidecar.FirstAnswer] > 0
	}
	return f.Number[sidecar.ThoughtBytes], f.Number[sidecar.ThoughtBytes] > 0
}

// leakPassed is what older records say of a thought that passed in the text.
const leakPassed = "passed"

// line returns what is counted of a name.
func (c *counting) line(name string) *counted {
	if c.last != nil && c.lastName == name {
		return c.last
	}
	c.last, c.lastName = c.answer.line(name, c.buckets.n), name
	return c.last
}

// furtherNames are counted together under a key that no name has.
const furtherNames = "\x00"

// line returns what is counted of a name, in so many parts of the time.
func (a *Answer) line(name string, parts int) *counted {
	if l := a.lines[name]; l != nil {
		return l
	}
	l := &counted{name: shorttext.Cut(name, maxName)}
	if len(a.lines) >= maxNames || name == furtherNames {
		a.Merged, name = true, furtherNames
		if known := a.lines[name]; known != nil {
			return known
		}
		l.name, l.others = "", true
	}
	l.cells = make([]cell, parts)
	a.lines[name] = l
	return l
}
