package screens

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

// allRuns is a page of the runs of several gateways.
type allRuns struct {
	*runview.List
	// Next is the cursor of the next page, the value of cursor; "" if there is none.
	Next     string            `json:"next,omitempty"`
	Gateways []console.Gateway `json:"gateways"`
	gathered *console.Gathered
}

// runsOfAll makes a page of the runs of all gateways, in the order of the filter.
func (of *lab) runsOfAll(c *console.Console, r *http.Request, f runview.Filter) (*allRuns, error) {
	f.Before, f.At = 0, 0
	g, err := c.Gather(r, func(from peers.Place) string {
		q := placed(f, from).Values()
		q.Set("format", "json")
		return "runs?" + q.Encode()
	})
	if err != nil {
		return nil, err
	}
	whole := &runview.List{V: 1, Rows: []runview.Run{}, Filter: f}
	sealed := 0
	part := func(l *runview.List, record string, from peers.Place) console.Part[runview.Run] {
		whole.Join(l)
		if l.Sealed {
			sealed++
			g.Failed(record, peers.Sealed)
		}
		for i := range l.Rows {
			l.Rows[i].Record = record
		}
		return runPart(l, f, from)
	}
	rows, next, err := console.MergeParts(g, runview.Rows, f.Stands,
		func(record string, from peers.Place) (console.Part[runview.Run], error) {
			l, err := of.runs.List(r.Context(), placed(f, from))
			if err != nil {
				return console.Part[runview.Run]{}, err
			}
			whole.Head = l.Head
			return part(l, record, from), nil
		},
		func(data []byte, record string, from peers.Place) (console.Part[runview.Run], error) {
			var l runview.List
			if err := json.Unmarshal(data, &l); err != nil || l.V != 1 || len(l.Rows) > runview.Rows {
				return console.Part[runview.Run]{}, fmt.Errorf("it is not a list of runs: %w", err)
			}
			return part(&l, record, from), nil
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
	return &allRuns{List: whole, Next: next, Gateways: g.Gateways, gathered: g}, nil
}

// placed is a filter whose list begins at a place.
func placed(f runview.Filter, from peers.Place) runview.Filter {
	if f.Sort != "" {
		f.At = int(min(from.At, runview.MaxSorted))
	} else {
		f.Before = from.At
	}
	return f
}

// runPart is what a page of one record adds to that of all.
func runPart(l *runview.List, f runview.Filter, from peers.Place) console.Part[runview.Run] {
	if f.Sort == "" {
		return console.Part[runview.Run]{
			Rows: l.Rows, Next: peers.Place{At: l.Older, End: l.Older == 0},
			After: func(taken int) peers.Place { return peers.Place{At: l.Rows[taken-1].Event} },
		}
	}
	after := func(taken int) peers.Place {
		at := from.At + uint64(taken)
		return peers.Place{At: at, End: at > runview.MaxSorted}
	}
	next := after(len(l.Rows))
	next.End = next.End || !l.More
	return console.Part[runview.Run]{Rows: l.Rows, Next: next, After: after}
}
