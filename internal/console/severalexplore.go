package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/console/peers"
)

// allExplored is an answer about the records of several gateways.
type allExplored struct {
	*explore.Answer
	Gateways []Gateway `json:"gateways"`
}

// toldSpan is the time that a question to one record is about.
type toldSpan struct {
	V      int          `json:"v"`
	Span   explore.Span `json:"span"`
	Sealed bool         `json:"sealed,omitempty"`
}

// exploreSpan says which time a question to this record is about, and exploreCounts what the
// record has for it. Consoles ask each other for both, since the medians of records do not make
// the median of all.
func exploreSpan(c *Console, r *http.Request) (Answer, error) {
	q, err := explore.Parse(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	told := toldSpan{V: 1}
	told.Span, told.Sealed, err = explore.SpanOf(r.Context(), c.config.Record, q)
	return jsonOnly(told), err
}

func exploreCounts(c *Console, r *http.Request) (Answer, error) {
	q, err := explore.Parse(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	span, err := askedSpan(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	counts, err := c.counts(r, q, span)
	return jsonOnly(counts), err
}

func (c *Console) counts(r *http.Request, q explore.Query, span explore.Span) (*explore.Counts, error) {
	return searched(c, r, func() (*explore.Counts, error) { return explore.Count(r.Context(), c.config.Record, q, span) })
}

// jsonOnly is an answer that has no page.
func jsonOnly(v any) Answer {
	text, err := json.Marshal(v)
	if err != nil { // of types of our own
		panic("console: " + err.Error())
	}
	return Answer{Raw: text, Header: map[string]string{"Content-Type": "application/json"}}
}

// spanNames are the values of a query that say in which span events are counted.
var spanNames = [2]string{"begin", "end"}

func askedSpan(q url.Values) (s explore.Span, err error) {
	for i, into := range []*time.Time{&s.From, &s.To} {
		if *into, err = time.Parse(time.RFC3339Nano, q.Get(spanNames[i])); err != nil {
			return s, fmt.Errorf("%s: want a time such as 2026-11-21T10:00:00Z", spanNames[i])
		}
	}
	return s, nil
}

// exploreAll answers a question about the records of all gateways: it asks each which time the
// question is about, and then for what it counts in the parts of the whole time. What did not
// say the one is not asked for the other.
func (c *Console) exploreAll(r *http.Request, q explore.Query) (*explore.Answer, *Gathered, error) {
	same := q.Absolute()
	g, err := c.Gather(r, func(peers.Place) string { return withQuery("explore/span", same.Values()) })
	if err != nil {
		return nil, nil, err
	}
	var whole explore.Span
	sealed := 0
	cursor := peers.Cursor{} // of those that are asked for their counts
	add := func(record string, told toldSpan) {
		if told.Sealed {
			sealed++
			g.Failed(record, peers.Sealed)
			return
		}
		if !told.Span.Empty() {
			whole = whole.Join(told.Span)
		}
		cursor[record] = peers.Place{}
	}
	for _, p := range g.Parts {
		var told toldSpan
		switch {
		case p.Own:
			told.Span, told.Sealed, err = explore.SpanOf(r.Context(), c.config.Record, same)
			if err != nil {
				return nil, nil, err
			}
			add(p.Record, told)
		case p.JSON == nil:
		case json.Unmarshal(p.JSON, &told) != nil || told.V != 1:
			g.Failed(p.Record, peers.Failed)
		default:
			add(p.Record, told)
		}
	}
	all, err := c.countsOfAll(r, g, cursor, same, whole)
	if err != nil {
		return nil, nil, err
	}
	a := explore.Join(q, whole, all)
	a.Sealed = sealed == len(g.Gateways)
	return a, g, nil
}

// countsOfAll returns what the gateways of a cursor count.
func (c *Console) countsOfAll(r *http.Request, g *Gathered, of peers.Cursor, q explore.Query, span explore.Span) (all []*explore.Counts, err error) {
	values := q.Values()
	values.Set(spanNames[0], span.From.Format(time.RFC3339Nano))
	values.Set(spanNames[1], span.To.Format(time.RFC3339Nano))
	page := withQuery("explore/counts", values)
	replies, err := c.config.Peers.Ask(r.Context(), ticketFor(r), func(x peers.Peer) string {
		if _, ok := of.In(x.Record); ok {
			return "/" + page
		}
		return ""
	})
	if err != nil {
		return nil, err
	}
	for _, reply := range replies {
		if reply.State != peers.Listed {
			g.Failed(reply.Record, reply.State)
			continue
		}
		counts, err := explore.ReadCounts(reply.Body, q, span)
		if err != nil {
			g.Failed(reply.Record, peers.Failed)
			continue
		}
		all = append(all, counts)
	}
	if _, ok := of.In(c.config.Peers.Record()); ok {
		counts, err := c.counts(r, q, span)
		if err != nil {
			return nil, err
		}
		all = append(all, counts)
	}
	return all, nil
}
