package console

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// allExchanges is a page of the exchanges of several gateways.
type allExchanges struct {
	*view.Page
	// Next is the cursor of the next page, the value of cursor; "" if there is none.
	Next     string    `json:"next,omitempty"`
	Gateways []Gateway `json:"gateways"`
	gathered *Gathered
}

// exchangesOfAll makes a page of the exchanges of all gateways, in the order of the filter.
func (c *Console) exchangesOfAll(r *http.Request, f view.Filter) (*allExchanges, error) {
	f = f.Bare()
	g, err := c.Gather(r, func(from peers.Place) string {
		q := placed(f, from).Values()
		q.Set("format", "json")
		return withQuery("exchanges", q)
	})
	if err != nil {
		return nil, err
	}
	whole := &view.Page{V: 1, Rows: []view.Row{}, Filter: f}
	sealed := 0
	part := func(p *view.Page, record string, from peers.Place) Part[view.Row] {
		join(whole, p)
		if p.Sealed {
			sealed++
			g.Failed(record, peers.Sealed)
		}
		for i := range p.Rows {
			p.Rows[i].Record = record
		}
		return exchangePart(p, f, from)
	}
	rows, next, err := MergeParts(g, view.Rows, func(a, b *view.Row) bool { return stands(f, a, b) },
		func(record string, from peers.Place) (Part[view.Row], error) {
			p, err := c.listed(r, placed(f, from))
			if err != nil {
				return Part[view.Row]{}, err
			}
			whole.Head = p.Head
			return part(p, record, from), nil
		},
		func(data []byte, record string, from peers.Place) (Part[view.Row], error) {
			var p view.Page
			if err := json.Unmarshal(data, &p); err != nil || p.V != 1 || len(p.Rows) > view.Rows {
				return Part[view.Row]{}, fmt.Errorf("it is not a list of exchanges: %w", err)
			}
			return part(&p, record, from), nil
		})
	if err != nil {
		return nil, err
	}
	if rows != nil {
		whole.Rows = rows
	}
	if g.Cursor != nil {
		whole.Totals = nil // of those alone that have something on this page
	}
	whole.Sealed = sealed == len(g.Gateways)
	return &allExchanges{Page: whole, Next: next, Gateways: g.Gateways, gathered: g}, nil
}

// placed is a filter whose list begins at a place.
func placed(f view.Filter, from peers.Place) view.Filter {
	if f.Sort != "" {
		f.At = int(min(from.At, view.MaxSorted-view.Rows))
	} else {
		f.Before = from.At
	}
	return f
}

// exchangePart is what a page of one record adds to that of all.
func exchangePart(p *view.Page, f view.Filter, from peers.Place) Part[view.Row] {
	if f.Sort == "" {
		return Part[view.Row]{
			Rows: p.Rows, Next: peers.Place{At: p.Older, End: p.Older == 0},
			After: func(taken int) peers.Place { return peers.Place{At: p.Rows[taken-1].Event} },
		}
	}
	after := func(taken int) peers.Place {
		at := from.At + uint64(taken)
		return peers.Place{At: at, End: at > view.MaxSorted-view.Rows}
	}
	next := after(len(p.Rows))
	next.End = next.End || !p.More
	return Part[view.Row]{Rows: p.Rows, Next: next, After: after}
}

// stands reports whether a row of one record stands before a row of another one.
func stands(f view.Filter, a, b *view.Row) bool {
	if f.Sort != "" {
		return a.Fact != b.Fact && (a.Fact > b.Fact) != f.Least
	}
	return a.Time.After(b.Time)
}

// join adds what a page of one record says of itself.
func join(whole, p *view.Page) {
	whole.Stopped = whole.Stopped || p.Stopped
	whole.More = whole.More || p.More
	whole.Searched += p.Searched
	whole.Unread += p.Unread
	whole.Unreadable += p.Unreadable
	if p.Totals != nil {
		if whole.Totals == nil {
			whole.Totals = &view.Totals{}
		}
		whole.Totals.Join(p.Totals)
	}
}
