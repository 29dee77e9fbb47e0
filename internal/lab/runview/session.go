package runview

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// maxSources is how many exchanges and runs of a session a page has.
const maxSources = 50

// A SessionQuery names a session by an identifier.
type SessionQuery struct {
	ID string `json:"id,omitempty"`
	// Before is the cursor: only what began before this event.
	Before uint64 `json:"before,omitempty"`
}

// ParseSession reads a query of a URL.
func ParseSession(q url.Values) (s SessionQuery, err error) {
	if s.ID = q.Get("id"); len(s.ID) > maxID {
		return s, fmt.Errorf("id: longer than %d bytes", maxID)
	}
	if text := q.Get("before"); text != "" {
		if s.Before, err = strconv.ParseUint(text, 10, 64); err != nil || s.Before == 0 {
			return s, fmt.Errorf("before: %s: want the number of an event", shorttext.Quote(text))
		}
	}
	return s, nil
}

// A Session is a conversation: the exchanges and the runs that share an identifier, in
// order.
type Session struct {
	V     int          `json:"v"`
	Query SessionQuery `json:"query"`
	// Names are the names under which the identifier was found.
	Names []string     `json:"names,omitempty"`
	Steps []trace.Step `json:"steps"`
	// Older is the cursor of what came before. Stopped says that the search for it ended
	// early, at event Older.
	Older      uint64 `json:"older,omitempty"`
	Stopped    bool   `json:"stopped,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Head       uint64 `json:"head"`
}

// linkers return the identifiers that link an event with others, by their names. An
// identifier that the record gets in future has its line here.
var linkers = []func(*record.Event) map[string]string{
	func(e *record.Event) map[string]string {
		if x, ok := e.Payload.(record.Exchange); ok {
			return x.IDs
		}
		return nil
	},
	func(e *record.Event) map[string]string {
		if x, ok := e.Payload.(record.RunStart); ok {
			return x.IDs
		}
		return nil
	},
}

// linked returns the names under which an event has an identifier.
func linked(e *record.Event, id string) (names []string) {
	for _, ids := range linkers {
		for name, value := range ids(e) {
			if value == id {
				names = append(names, shorttext.Cut(name, maxName))
			}
		}
	}
	return names
}

// Session returns what belongs to a session: the newest of it, in order.
func (s *Source) Session(ctx context.Context, q SessionQuery) (*Session, error) {
	v := &Session{V: 2, Query: q, Steps: []trace.Step{}}
	if last, err := s.store.Last(); err == nil {
		v.Head = last
	}
	if q.ID == "" {
		return v, nil
	}
	list, err := s.sources(ctx, v)
	if err != nil {
		return nil, err
	}
	t := &tracing{s: s, ctx: ctx, seen: map[string]bool{}, room: maxAgents}
	b := trace.NewBuilder()
	for _, g := range slices.Backward(list) {
		if g.Type == record.TypeExchange {
			b.Event(&g.Event, g.Partial)
			continue
		}
		b.Run(&g.Event)
		t.seen[g.Run] = true
		events, _, err := s.eventsOf(ctx, record.Query{Run: g.Run, After: g.Event.Seq - 1}, nil)
		if err != nil {
			return nil, err
		}
		for i := range events {
			b.Event(&events[i].Event, events[i].Partial)
		}
	}
	v.Steps = b.Steps
	return v, t.below(b, v.Steps, 1)
}

// sources finds what belongs to a session, the newest first: exchanges, and the first
// starts of runs.
func (s *Source) sources(ctx context.Context, v *Session) (list []record.Glimpse, err error) {
	var read reading
	last := uint64(0)
	at := map[string]int{}
	types := []record.Type{record.TypeExchange, record.TypeRunStart}
	cut, err := s.back(ctx, record.Query{Types: types, Before: v.Query.Before}, &read, func(g *record.Glimpse) bool {
		if len(list) == maxSources {
			v.Older = last
			return false
		}
		last = g.Event.Seq
		names := linked(&g.Event, v.Query.ID)
		if len(names) == 0 {
			return true
		}
		for _, name := range names {
			if len(v.Names) < maxIDs && !slices.Contains(v.Names, name) {
				v.Names = append(v.Names, name)
			}
		}
		if i, known := at[g.Run]; known && g.Type == record.TypeRunStart {
			list[i] = *g // an earlier start of the run
			return true
		}
		if g.Type == record.TypeRunStart {
			at[g.Run] = len(list)
		}
		list = append(list, *g)
		return true
	})
	if err != nil {
		return nil, err
	}
	if cut {
		v.Older, v.Stopped = last, true
	}
	v.Unreadable = read.unreadable
	slices.Sort(v.Names)
	slices.SortStableFunc(list, func(a, b record.Glimpse) int { return cmp.Compare(b.Event.Seq, a.Event.Seq) })
	return list, nil
}
