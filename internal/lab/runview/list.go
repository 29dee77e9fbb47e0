// Package runview is what the console shows of runs, sessions and memories in a
// record, as plain values: lists by cursor, the timeline of a run, what it
// remembered, and two runs side by side. Whatever the record holds, a value and the
// memory that it costs are bounded. In JSON the values are version 1 of the
// console's API.
package runview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

const (
	// Rows is how many rows a page of a list has at most.
	Rows = 100
	// longLine is the size of a line of which only the beginning is read.
	longLine = 1 << 20
	// maxRead and maxReadBytes bound how many events one page reads, and how much of
	// them.
	maxRead      = 20_000
	maxReadBytes = 64 << 20
	// maxGlance bounds a text in a row, and maxName a name.
	maxGlance = 240
	maxName   = 200
	// maxIDs bounds the shown identifiers of a run, and maxID the length of one.
	maxIDs = 16
	maxID  = 512
)

// A Source reads the runs of a record. It is safe for concurrent use.
type Source struct{ store *sidecar.Store }

// NewSource returns a source of a record.
func NewSource(r *sidecar.Store) *Source { return &Source{r} }

// A Run is a run in a list.
type Run struct {
	Event  uint64            `json:"event"` // of its newest start
	Run    string            `json:"run"`
	Time   time.Time         `json:"time"` // of that start
	Agent  string            `json:"agent,omitempty"`
	Model  string            `json:"model,omitempty"`
	Parent string            `json:"parent,omitempty"`
	Caller string            `json:"caller,omitempty"`
	IDs    map[string]string `json:"ids,omitempty"`
	Goal   record.Text       `json:"goal,omitempty"` // its beginning
	// Resumed says that the start resumes or extends the run.
	Resumed bool `json:"resumed,omitempty"`
	// Status is that of the end of the run. It is "open" if the record has no end after
	// the newest start, and empty if that is not known, because too many runs came
	// after it.
	Status  string          `json:"status,omitempty"`
	Bound   string          `json:"bound,omitempty"`
	Cycles  int             `json:"cycles,omitempty"`
	Millis  int64           `json:"ms"`
	Metrics *record.Metrics `json:"metrics,omitempty"`
	// Record is the identity of the record that has it, in a list of several records.
	Record string `json:"record,omitempty"`
}

// Open is the status of a run that has not ended, as far as the record says.
const Open = "open"

// A Filter selects runs.
type Filter struct {
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
	// Below includes the runs that other runs called as tools.
	Below bool `json:"below,omitempty"`
	// Before is the cursor: only runs that began before this event.
	Before uint64 `json:"before,omitempty"`
	// Sort is the fact by which the runs are sorted, the largest first or, if Least, the
	// least; "" is the time. At is how many rows of such a list come before the page.
	Sort  string `json:"sort,omitempty"`
	Least bool   `json:"least,omitempty"`
	At    int    `json:"at,omitempty"`
}

// ParseFilter reads a filter from the query of a URL.
func ParseFilter(q url.Values) (f Filter, err error) {
	f.Agent, f.Model = strings.TrimSpace(q.Get("agent")), strings.TrimSpace(q.Get("model"))
	for name, v := range map[string]string{"agent": f.Agent, "model": f.Model} {
		if len(v) > 512 {
			return f, fmt.Errorf("%s: longer than 512 bytes", name)
		}
	}
	switch text := q.Get("below"); text {
	case "", "0":
	case "1":
		f.Below = true
	default:
		return f, fmt.Errorf("below: %s: want 1, or leave it out", shorttext.Quote(text))
	}
	if text := q.Get("before"); text != "" {
		if f.Before, err = strconv.ParseUint(text, 10, 64); err != nil || f.Before == 0 {
			return f, fmt.Errorf("before: %s: want the number of an event", shorttext.Quote(text))
		}
	}
	return f, f.parseOrder(q)
}

// Values returns the filter as the query of a URL.
func (f Filter) Values() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("agent", f.Agent)
	set("model", f.Model)
	if f.Below {
		q.Set("below", "1")
	}
	if f.Before > 0 {
		q.Set("before", strconv.FormatUint(f.Before, 10))
	}
	if f.Sort != "" {
		q.Set("sort", map[bool]string{true: "-"}[f.Least]+f.Sort)
	}
	if f.At > 0 {
		q.Set("at", strconv.Itoa(f.At))
	}
	return q
}

func (f *Filter) selects(r *Run) bool {
	return r.Run != "" && (f.Below || r.Parent == "") && (f.Agent == "" || r.Agent == f.Agent) && (f.Model == "" || r.Model == f.Model)
}

// A List is a page of runs.
type List struct {
	V      int    `json:"v"`
	Rows   []Run  `json:"rows"`
	Filter Filter `json:"filter"`
	// Older is the cursor of the next page, 0 if there is none. Stopped says that the
	// page ended early, because it had read enough.
	Older   uint64 `json:"older,omitempty"`
	Stopped bool   `json:"stopped,omitempty"`
	// Unreadable counts lines of the record that cannot be read.
	Unreadable int `json:"unreadable,omitempty"`
	// Sealed says that the record is encrypted and the console has no identity.
	Sealed bool `json:"sealed,omitempty"`
	// Head is the newest event of the record.
	Head uint64 `json:"head"`
	// Totals are those of a sorted list, and More says that it goes on.
	Totals *Totals `json:"totals,omitempty"`
	More   bool    `json:"more,omitempty"`
}

// reading counts what a page reads, and says when it is enough.
type reading struct{ events, bytes, unreadable int }

func (r *reading) enough() bool { return r.events >= maxRead || r.bytes >= maxReadBytes }

// back visits events, the newest first, until visit returns false or enough is read.
// cut says that there may be more.
func (s *Source) back(ctx context.Context, q record.Query, r *reading, visit func(*record.Glimpse) bool) (cut bool, err error) {
	for g, err := range s.store.For(ctx).Back(sidecar.Query{Query: q}, longLine) {
		var line *record.LineError
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, record.ErrSealed):
			return false, record.ErrSealed
		case errors.As(err, &line):
			r.unreadable++
			continue
		case err != nil:
			return false, err
		}
		if r.enough() {
			return true, nil
		}
		r.events++
		r.bytes += min(g.Size, longLine)
		if !visit(&g) {
			return false, nil
		}
	}
	return false, nil
}

// List returns a page of runs, the newest start first. A run that was started several
// times is on a page once.
func (s *Source) List(ctx context.Context, f Filter) (*List, error) {
	if f.Sort != "" {
		return s.sorted(ctx, f)
	}
	return s.newest(ctx, f, Rows)
}

// newest returns the newest runs that a filter selects, at most so many.
func (s *Source) newest(ctx context.Context, f Filter, most int) (*List, error) {
	l := &List{V: 1, Rows: []Run{}, Filter: f}
	if last, err := s.store.Last(); err == nil {
		l.Head = last
	}
	var read reading
	seen := map[string]bool{}
	q := record.Query{Types: []record.Type{record.TypeRunStart}, Model: f.Model, Before: f.Before}
	last := uint64(0)
	cut, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if len(l.Rows) == most {
			l.Older = last
			return false
		}
		last = g.Event.Seq
		if r := runOf(g); f.selects(&r) && !seen[r.Run] {
			seen[r.Run] = true
			l.Rows = append(l.Rows, r)
		}
		return true
	})
	if cut {
		l.Older, l.Stopped = last, true
	}
	l.Unreadable = read.unreadable
	if errors.Is(err, record.ErrSealed) {
		l.Sealed = true
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	return l, s.ends(ctx, l.Rows)
}

// runOf returns the run that a start begins.
func runOf(g *record.Glimpse) Run {
	r := Run{Event: g.Event.Seq, Run: g.Run, Time: g.Time, Model: shorttext.Cut(g.Model, maxName)}
	if x, ok := g.Event.Payload.(record.RunStart); ok {
		r.Agent, r.Parent, r.Caller = shorttext.Cut(x.Agent, maxName), shorttext.Cut(x.Parent, maxName), shorttext.Cut(x.Caller, maxName)
		r.IDs, r.Goal, r.Resumed = fewIDs(x.IDs), glance(x.Goal), x.Resumed || x.Extended
	}
	return r
}

// fewIDs keeps as many identifiers as are shown. A record of Sotto has no longer ones.
func fewIDs(ids map[string]string) map[string]string {
	few := map[string]string{}
	for _, name := range sortedNames(ids) {
		if len(few) < maxIDs && len(name) <= maxID && len(ids[name]) <= maxID {
			few[name] = ids[name]
		}
	}
	return few
}

func glance(c record.Content) record.Text {
	return record.Text(strings.Clone(shorttext.Cut(string(c.Text), maxGlance)))
}

// ends finds how the runs of a page ended: by their newest start or end.
func (s *Source) ends(ctx context.Context, rows []Run) error {
	if len(rows) == 0 {
		return nil
	}
	open := map[string]*Run{}
	oldest := rows[0].Event
	for i := range rows {
		open[rows[i].Run], oldest = &rows[i], min(oldest, rows[i].Event)
	}
	var read reading
	q := record.Query{Types: []record.Type{record.TypeRunStart, record.TypeRunEnd}, After: oldest - 1}
	_, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if r := open[g.Run]; r != nil {
			r.endAs(g)
			delete(open, g.Run)
		}
		return len(open) > 0
	})
	return err
}

// endAs takes the status from the newest start or end of the run.
func (r *Run) endAs(g *record.Glimpse) {
	x, ended := g.Event.Payload.(record.RunEnd)
	if !ended {
		r.Status = Open
		return
	}
	r.Status, r.Bound, r.Cycles, r.Millis, r.Metrics = shorttext.Cut(x.Status, maxName), shorttext.Cut(x.Bound, maxName), x.Cycles, max(0, x.Millis), x.Metrics
}

// one returns the run of a name: its first start and its newest end.
func (s *Source) one(ctx context.Context, name string) (first, newest *Run, config map[string]string, err error) {
	missing := fmt.Errorf("the record has no run %s: %w", shorttext.Quote(name), view.ErrNotFound)
	if name == "" {
		return nil, nil, nil, missing
	}
	var read reading
	var end *record.Glimpse
	q := record.Query{Run: name, Types: []record.Type{record.TypeRunStart, record.TypeRunEnd}}
	_, err = s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if end == nil {
			kept := *g
			end = &kept
		}
		if g.Type == record.TypeRunStart {
			r := runOf(g)
			if newest == nil {
				newest = &r
				if x, ok := g.Event.Payload.(record.RunStart); ok {
					config = x.Config
				}
			}
			first = &r
		}
		return true
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if newest == nil { // its start was pruned, or it is something else with a run's name
		if end == nil && !s.any(ctx, name) {
			return nil, nil, nil, missing
		}
		first, newest = &Run{Run: name}, &Run{Run: name}
	}
	if end != nil {
		newest.endAs(end)
	}
	return first, newest, config, nil
}

// any reports whether an event is of a run.
func (s *Source) any(ctx context.Context, name string) (found bool) {
	_, _ = s.back(ctx, record.Query{Run: name, Limit: 1}, &reading{}, func(*record.Glimpse) bool {
		found = true
		return false
	})
	return found
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
