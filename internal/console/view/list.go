// Package view is what the console shows of a record, as plain values: pages of
// rows by cursor, one exchange, and slices of the bytes of a reply. Whatever the
// record holds, a page and the memory that it costs are bounded. In JSON the values
// are version 1 of the console's API.
package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

const (
	// Rows is how many rows a page has at most.
	Rows = 100
	// longLine is the size of a line of which a list reads only the beginning.
	longLine = 1 << 20
	// maxSearched and maxSearchedBytes bound how much one page may read for a filter
	// that the index does not answer.
	maxSearched      = 20_000
	maxSearchedBytes = 64 << 20
	// maxGlance bounds the beginning of an answer in a row, in bytes.
	maxGlance = 240
	// maxCallNames bounds the names of called tools in a row, and maxCallName each of them.
	maxCallNames = 8
	maxCallName  = 64
)

// A Row is an exchange in a list, or an agent's invocation of a model.
type Row struct {
	Event       uint64        `json:"event"`
	Time        time.Time     `json:"time"`
	Type        record.Type   `json:"type"`
	Run         string        `json:"run,omitempty"`
	Model       string        `json:"model"`
	API         string        `json:"api,omitempty"`
	Path        string        `json:"path,omitempty"`
	Caller      string        `json:"caller,omitempty"`
	Outcome     string        `json:"outcome,omitempty"`
	Status      int           `json:"status,omitempty"`
	Streamed    bool          `json:"streamed,omitempty"`
	Millis      int64         `json:"ms"`
	Usage       *record.Usage `json:"usage,omitempty"`
	Reasoning   int           `json:"reasoning_bytes"` // of thoughts, in the text or beside it
	Visible     int           `json:"visible_bytes"`   // of text for the user
	Leaked      int           `json:"leaked_bytes"`    // of thoughts in the text
	Leak        string        `json:"leak,omitempty"`  // what became of these
	Diagnostics []string      `json:"diagnostics,omitempty"`
	Calls       []string      `json:"calls,omitempty"`  // the tools that it calls
	Answer      record.Text   `json:"answer,omitempty"` // its beginning, or the error's
	Failed      bool          `json:"failed,omitempty"` // Answer is an error
	Size        int           `json:"size"`             // of the event's line, in bytes
	// Partial says that the line is too long to be read for a list.
	Partial bool `json:"partial,omitempty"`
	// Fact is what a list is sorted by.
	Fact int64 `json:"fact,omitempty"`
	// Record is the identity of the record that has it, in a list of several records.
	Record string `json:"record,omitempty"`
}

// A Page is a part of a list.
type Page struct {
	V      int    `json:"v"`
	Rows   []Row  `json:"rows"`
	Filter Filter `json:"filter"`
	// Older is the cursor of the next page, which begins with older events: the
	// value of before. It is 0 if there is none.
	Older uint64 `json:"older,omitempty"`
	// Newer is the cursor of the page before, with newer events: the value of after. It
	// is 0 on the first page.
	Newer uint64 `json:"newer,omitempty"`
	// Stopped says that the search for rows stopped early, at event Older, because a
	// page reads only so much.
	Stopped  bool `json:"stopped,omitempty"`
	Searched int  `json:"searched"` // events that were read
	// Unread counts long events that the filter could not look into, and Unreadable
	// lines of the record that cannot be read.
	Unread     int `json:"unread,omitempty"`
	Unreadable int `json:"unreadable,omitempty"`
	// Sealed says that the record is encrypted and the console has no identity.
	Sealed bool `json:"sealed,omitempty"`
	// Head is the newest event of the record.
	Head uint64 `json:"head"`
	// Totals are those of all rows of a sorted list, or of one whose sum is wanted.
	Totals *Totals `json:"totals,omitempty"`
	// More says that a sorted list goes on.
	More bool `json:"more,omitempty"`

	most  int // rows that it may have; if 0, Rows
	bytes int // that were read for it
}

// list reads a page of exchanges, the newest first.
func (s *Source) list(ctx context.Context, f Filter) (*Page, error) {
	s.reads.Add(1)
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	if f.Sort != "" {
		return s.sorted(ctx, f, q)
	}
	if f.After > 0 {
		if p, err := s.newer(ctx, f); p != nil || err != nil {
			return p, err
		}
		f.After = 0 // there is less than a page: it is the first one
	}
	p := &Page{V: 1, Rows: []Row{}, Filter: f}
	if err := s.rows(ctx, p, q); err != nil {
		return nil, err
	}
	if f.Before > 0 && len(p.Rows) > 0 {
		p.Newer = p.Rows[0].Event
	}
	if f.Sum {
		p.Totals, _, err = s.total(ctx, f, q)
	}
	return p, err
}

// newer returns the page of the oldest exchanges after a cursor, or nil if they do not
// fill a page, or not within what a page may read.
func (s *Source) newer(ctx context.Context, f Filter) (*Page, error) {
	whole := &Page{V: 1, Rows: []Row{}, Filter: f}
	for after := f.After; ; {
		last, err := s.forward(ctx, whole, after)
		if last == 0 || err != nil || whole.Stopped {
			return nil, err
		}
		if n := len(whole.Rows); n >= Rows {
			whole.Rows = whole.Rows[n-Rows:]
			whole.Newer, whole.Older = whole.Rows[0].Event, whole.Rows[Rows-1].Event
			return whole, nil
		}
		after = last
	}
}

// forward adds the exchanges of the next events to a page, before its rows. It returns
// the last of the events, or 0 if there are none, or if the index does not know them:
// that of an encrypted record has only batches.
func (s *Source) forward(ctx context.Context, whole *Page, after uint64) (last uint64, err error) {
	q, err := whole.Filter.query()
	q.After, q.Before, q.Limit = after, 0, Rows
	for e, err := range s.store.For(ctx).Entries(q) {
		if err != nil {
			return 0, nil
		}
		last = e.Seq
	}
	if last == 0 || err != nil {
		return 0, err
	}
	p := &Page{Filter: whole.Filter, Searched: whole.Searched, bytes: whole.bytes}
	q.Before, q.Limit = last+1, 0
	if err := s.rows(ctx, p, q); err != nil {
		return 0, err
	}
	whole.Rows = append(p.Rows, whole.Rows...)
	whole.Head, whole.Searched, whole.Stopped, whole.bytes = p.Head, p.Searched, p.Stopped, p.bytes
	return last, nil
}

// rows fills a page with the exchanges that a query and the filter select, the newest
// first.
func (s *Source) rows(ctx context.Context, p *Page, q record.Query) error {
	return s.eachRow(ctx, p, q, func(_ *record.Glimpse, row Row) { p.Rows = append(p.Rows, row) })
}

// eachRow visits the exchanges that a query and the filter of a page select, the newest first,
// until the page is full.
func (s *Source) eachRow(ctx context.Context, p *Page, q record.Query, visit func(*record.Glimpse, Row)) error {
	f := p.Filter
	if last, err := s.store.Last(); err == nil {
		p.Head = last
	}
	for g, err := range s.store.For(ctx).Back(f.looksFor(q), longLine) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var line *record.LineError
		switch {
		case errors.Is(err, record.ErrSealed):
			p.Sealed = true
			return nil
		case errors.As(err, &line):
			p.Unreadable++
			continue
		case err != nil:
			return err
		}
		if p.full(g.Seq, f.inContent()) {
			break
		}
		p.Searched++
		p.bytes += min(g.Size, longLine)
		row := RowOf(&g)
		switch {
		case g.Partial && (f.Text != "" || f.Leaked):
			p.Unread++
		case f.selects(&row, &g.Event):
			visit(&g, row)
		}
	}
	return nil
}

// full reports whether the event seq is for the next page.
func (p *Page) full(seq uint64, searching bool) bool {
	most := cmp.Or(p.most, Rows)
	p.Stopped = searching && len(p.Rows) < most && (p.Searched >= maxSearched || p.bytes >= maxSearchedBytes)
	if len(p.Rows) < most && !p.Stopped {
		return false
	}
	p.Older = seq + 1
	return true
}

// RowOf returns the row of an exchange or an invocation.
func RowOf(g *record.Glimpse) Row {
	row := Row{
		Event: g.Event.Seq, Time: g.Time, Type: g.Type, Run: g.Run, Model: g.Model, Diagnostics: distinct(g.Diagnostics),
		Size: g.Size, Partial: g.Partial,
	}
	p := partsOf(&g.Event)
	row.Outcome, row.Millis, row.Usage = p.outcome, p.millis, p.usage
	if x, ok := g.Event.Payload.(record.Exchange); ok {
		row.API, row.Path, row.Caller, row.Status, row.Streamed = x.API, x.Path, x.Caller, x.Status, x.Streamed
		row.Leak = x.Leak
	} else if x, ok := g.Event.Payload.(record.Invocation); ok {
		row.API = x.Provider
	}
	for i := range p.replies {
		row.count(&p.replies[i])
	}
	if p.err != "" && (len(row.Answer) == 0 || row.Outcome != "answered") {
		row.Answer, row.Failed = record.Text(shorttext.Cut(p.err, maxGlance)), true
	}
	return row
}

// count adds a reply to a row.
func (r *Row) count(reply *record.Reply) {
	t := eventtext.Text{Content: reply.Raw, Reply: withSegments(reply)}
	for _, part := range t.Stretches() {
		switch n := part.End - part.Start; part.Channel {
		case sotto.ChannelReasoning:
			r.Reasoning += n
			r.Leaked += n
		case sotto.ChannelText:
			r.Visible += n
			if room := maxGlance - len(r.Answer); room > 0 {
				r.Answer += record.Text(shorttext.Cut(part.Text, room))
			}
		}
	}
	for _, thought := range reply.Reasoning {
		r.Reasoning += thought.Text.Len()
	}
	for _, call := range reply.ToolCalls {
		if name := shorttext.Cut(call.Name, maxCallName); len(r.Calls) < maxCallNames && !slices.Contains(r.Calls, name) {
			r.Calls = append(r.Calls, name)
		}
	}
}

// withSegments returns a reply that has its segments.
func withSegments(r *record.Reply) *record.Reply {
	read := *r
	read.Segments = eventtext.SegmentsOf(r)
	return &read
}

// distinct returns each code once, in order.
func distinct(codes []string) []string {
	var list []string
	seen := map[string]bool{}
	for _, c := range codes {
		if !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	return list
}

// parts are what exchanges and invocations share.
type parts struct {
	outcome, err string
	millis       int64
	usage        *record.Usage
	replies      []record.Reply
	messages     []record.Message
}

func partsOf(e *record.Event) parts {
	switch x := e.Payload.(type) {
	case record.Exchange:
		return parts{x.Outcome, x.Error, x.Millis, x.Usage, x.Replies, x.Messages}
	case record.Invocation:
		outcome := "answered"
		if x.Error != "" {
			outcome = "failed"
		}
		return parts{outcome, x.Error, x.Millis, x.Usage, x.Replies, x.Messages}
	}
	return parts{}
}
