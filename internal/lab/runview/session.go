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
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxSources is how many exchanges and runs of a session a page has, maxTurns how
	// many turns of one run.
	maxSources = 50
	maxTurns   = 50
	// maxAgents bounds the runs of called agents on a page, and maxDepth how deep they
	// are nested.
	maxAgents = 40
	maxDepth  = 5
	// maxSaid bounds the beginning of what was asked or answered.
	maxSaid = 2 << 10
)

// A SessionQuery names a session: an identifier, or a run.
type SessionQuery struct {
	ID  string `json:"id,omitempty"`
	Run string `json:"run,omitempty"`
	// Before is the cursor: only what began before this event.
	Before uint64 `json:"before,omitempty"`
}

// ParseSession reads a query of a URL.
func ParseSession(q url.Values) (s SessionQuery, err error) {
	s.ID, s.Run = q.Get("id"), q.Get("run")
	for name, v := range map[string]string{"id": s.ID, "run": s.Run} {
		if len(v) > maxID {
			return s, fmt.Errorf("%s: longer than %d bytes", name, maxID)
		}
	}
	if s.ID != "" && s.Run != "" {
		return s, errors.New("id and run: want one of them")
	}
	if text := q.Get("before"); text != "" {
		if s.Before, err = strconv.ParseUint(text, 10, 64); err != nil || s.Before == 0 {
			return s, fmt.Errorf("before: %s: want the number of an event", shorttext.Quote(text))
		}
	}
	return s, nil
}

// A Session is a conversation: the exchanges and the turns of runs that share an
// identifier, in order.
type Session struct {
	V     int          `json:"v"`
	Query SessionQuery `json:"query"`
	// Names are the names under which the identifier was found.
	Names []string `json:"names,omitempty"`
	Turns []Turn   `json:"turns"`
	// Older is the cursor of earlier turns. Stopped says that the search for them
	// ended early, at event Older.
	Older      uint64 `json:"older,omitempty"`
	Stopped    bool   `json:"stopped,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Head       uint64 `json:"head"`
}

// A Turn is what was asked, and what came of it.
type Turn struct {
	Event    uint64    `json:"event"`
	Time     time.Time `json:"time"`
	Exchange bool      `json:"exchange,omitempty"` // it is an exchange of the gateway
	Run      string    `json:"run,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Model    string    `json:"model,omitempty"`
	Cycle    int       `json:"cycle,omitempty"`
	Status   string    `json:"status,omitempty"`
	Millis   int64     `json:"ms"`
	Thought  int       `json:"thought_bytes"`
	Asked    Text      `json:"asked"`
	Answered Text      `json:"answered"`
	Agents   []Called  `json:"agents,omitempty"`
}

// Called is the run of an agent that was called in a turn, with those below it.
type Called struct {
	Run    string      `json:"run"`
	Agent  string      `json:"agent,omitempty"`
	Status string      `json:"status,omitempty"`
	Millis int64       `json:"ms"`
	Goal   record.Text `json:"goal,omitempty"`
	Result Text        `json:"result"`
	Agents []Called    `json:"agents,omitempty"`
	// More says that it called further agents, which are not shown here.
	More bool `json:"more,omitempty"`
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

// Session returns the turns of a session. The page holds the newest, the oldest of
// them first.
func (s *Source) Session(ctx context.Context, q SessionQuery) (*Session, error) {
	v := &Session{V: 1, Query: q, Turns: []Turn{}}
	if head, err := s.reader.Head(); err == nil {
		v.Head = head.Seq
	}
	c := &caller{s: s, ctx: ctx, seen: map[string]bool{}, room: maxAgents}
	if q.Run != "" {
		first, _, _, err := s.one(ctx, q.Run)
		if err != nil {
			return nil, err
		}
		cut, err := s.turns(c, first, v)
		if cut {
			v.Stopped = true
		}
		return v, err
	}
	if q.ID == "" {
		return v, nil
	}
	runs, err := s.sources(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if _, err := s.turns(c, r, v); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(v.Turns, func(a, b Turn) int { return cmp.Compare(a.Event, b.Event) })
	return v, nil
}

// sources finds what belongs to a session, newest first: it adds the turns of exchanges
// to v and returns the runs.
func (s *Source) sources(ctx context.Context, v *Session) (runs []*Run, err error) {
	var read reading
	sources, last := 0, uint64(0)
	seen := map[string]bool{}
	types := []record.Type{record.TypeExchange, record.TypeRunStart}
	cut, err := s.back(ctx, record.Query{Types: types, Before: v.Query.Before}, &read, func(g *record.Glimpse) bool {
		if sources == maxSources {
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
		if g.Type == record.TypeExchange {
			sources++
			v.Turns = append(v.Turns, exchangeTurn(g))
		} else if r := runOf(g); r.Run != "" && !seen[r.Run] {
			sources++
			seen[r.Run] = true
			runs = append(runs, &r)
		}
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
	return runs, nil
}

// exchangeTurn is the turn of an exchange: the last message of its user, and the
// answer.
func exchangeTurn(g *record.Glimpse) Turn {
	row := view.RowOf(g)
	t := Turn{
		Event: row.Event, Time: row.Time, Exchange: true, Run: g.Run, Model: shorttext.Cut(row.Model, maxName), Status: row.Outcome, Millis: max(0, row.Millis),
		Thought: row.Reasoning, Answered: Text{Text: row.Answer, Bytes: max(row.Visible, len(row.Answer)), Cut: row.Visible > len(row.Answer)},
	}
	x, _ := g.Event.Payload.(record.Exchange)
	for _, m := range slices.Backward(x.Messages) {
		if m.Role == "user" {
			t.Asked = textOf(string(m.Text.Text), maxSaid)
			break
		}
	}
	return t
}

// turns adds the turns of a run: its cycles, with the agents that they called.
func (s *Source) turns(c *caller, r *Run, v *Session) (cut bool, err error) {
	var read reading
	cycles := map[int]*Turn{}
	var order []int
	var calls []record.Glimpse
	types := []record.Type{record.TypeCycleStart, record.TypeCycleEnd, record.TypeToolCall}
	q := record.Query{Run: r.Run, Types: types, After: max(r.Event, 1) - 1}
	cut, err = s.back(c.ctx, q, &read, func(g *record.Glimpse) bool {
		n := g.Event.Cycle
		t := cycles[n]
		if t == nil {
			if len(cycles) == maxTurns {
				return false
			}
			t = &Turn{Run: r.Run, Agent: r.Agent, Model: r.Model, Cycle: n, Event: g.Event.Seq, Time: g.Time, Status: Open}
			cycles[n], order = t, append(order, n)
		}
		t.Event, t.Time = g.Event.Seq, g.Time
		switch x := g.Event.Payload.(type) {
		case record.CycleStart:
			t.Asked = textOf(string(x.Goal.Text), maxSaid)
		case record.CycleEnd:
			t.Status, t.Millis, t.Answered = shorttext.Cut(x.Status, maxName), max(0, x.Millis), textOf(string(x.Summary.Text), maxSaid)
			if x.Metrics != nil {
				t.Thought = max(0, x.Metrics.ThoughtBytes)
			}
		case record.ToolCall:
			if x.Child != nil && x.Phase == "end" && len(calls) < maxAgents {
				calls = append(calls, record.Glimpse{Event: record.Event{Seq: g.Event.Seq, Cycle: n, Payload: record.ToolCall{Child: x.Child}}})
			}
		}
		return true
	})
	if err != nil {
		return false, err
	}
	v.Unreadable += read.unreadable
	c.seen[r.Run] = true
	for _, g := range slices.Backward(calls) {
		child, err := c.called(g.Event.Payload.(record.ToolCall).Child.Run, r.Event, 1)
		if err != nil {
			return false, err
		}
		if child != nil {
			cycles[g.Event.Cycle].Agents = append(cycles[g.Event.Cycle].Agents, *child)
		}
	}
	if len(order) == 0 && r.Event > 0 { // a run without cycles, such as that of a called agent
		v.Turns = append(v.Turns, Turn{Event: r.Event, Time: r.Time, Run: r.Run, Agent: r.Agent, Model: r.Model, Asked: textOf(string(r.Goal), maxSaid), Status: r.Status})
	}
	for _, n := range slices.Backward(order) {
		if t := cycles[n]; strings.TrimSpace(string(t.Asked.Text)) == "" && n <= 1 {
			t.Asked = textOf(string(r.Goal), maxSaid)
		}
		v.Turns = append(v.Turns, *cycles[n])
	}
	return cut || len(cycles) == maxTurns, nil
}

// A caller reads the runs of called agents, each once.
type caller struct {
	s    *Source
	ctx  context.Context
	seen map[string]bool
	room int
}

// called returns the run of an agent, and those that it called.
func (c *caller) called(name string, after uint64, depth int) (*Called, error) {
	if name == "" || len(name) > maxName || c.seen[name] || c.room == 0 {
		return nil, nil
	}
	c.seen[name] = true
	c.room--
	one := &Called{Run: name}
	var read reading
	var below []string
	q := record.Query{Run: name, Types: []record.Type{record.TypeRunStart, record.TypeRunEnd, record.TypeToolCall}, After: max(after, 1) - 1}
	_, err := c.s.back(c.ctx, q, &read, func(g *record.Glimpse) bool {
		switch x := g.Event.Payload.(type) {
		case record.RunStart:
			one.Agent, one.Goal = shorttext.Cut(x.Agent, maxName), glance(x.Goal)
		case record.RunEnd:
			one.Status, one.Millis, one.Result = shorttext.Cut(x.Status, maxName), max(0, x.Millis), textOf(string(x.Result.Text), maxSaid)
		case record.ToolCall:
			if x.Child != nil && x.Phase == "end" && len(below) < maxAgents {
				below = append(below, x.Child.Run)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, run := range slices.Backward(below) {
		if depth == maxDepth || c.room == 0 {
			one.More = true
			break
		}
		child, err := c.called(run, after, depth+1)
		if err != nil {
			return nil, err
		}
		if child != nil {
			one.Agents = append(one.Agents, *child)
		}
	}
	return one, nil
}
