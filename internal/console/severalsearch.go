package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// allFound is a page of a search in the records of several gateways. Each record is searched
// for as long as a page may take, from where its last page ended; so a page has the newest hits
// of each record, and not the newest of all.
type allFound struct {
	*view.Found
	// Next is the cursor of the next page, the value of cursor; "" if there is none.
	Next     string    `json:"next,omitempty"`
	Gateways []Gateway `json:"gateways"`
	gathered *Gathered
	own      []view.Hit // of the console's own record
}

// searchTime is about how long each record is searched for a page of all: a console that waits
// for the others does not wait longer than twice as much.
const searchTime = time.Second

// maxFound bounds the hits of a page of one record: those of its last event may be more than
// the others leave room for.
const maxFound = 2 * view.MaxHits

// searchAll searches a part of the records of all gateways. Its progress counts the bytes of
// all, with those of earlier pages.
func (c *Console) searchAll(r *http.Request, q view.SearchQuery) (*allFound, error) {
	q.Before = 0
	all := &allFound{Found: &view.Found{Progress: view.Progress{V: 1, Query: q, Searched: q.Done}, List: []view.Hit{}}}
	if q.Text == "" {
		all.gathered = &Gathered{}
		return all, nil
	}
	if of, err := strconv.ParseInt(r.URL.Query().Get("of"), 10, 64); err == nil && of > 0 {
		all.Total = of
	}
	placed := func(from peers.Place) view.SearchQuery {
		q := q
		q.Before, q.Done = from.At, 0
		return q
	}
	g, err := c.Gather(r, func(from peers.Place) string {
		v := placed(from).Values()
		v.Set("format", "json")
		return withQuery("search", v)
	})
	if err != nil {
		return nil, err
	}
	first := g.Cursor == nil
	sealed := 0
	part := func(f *view.Found, record string) Part[view.Hit] {
		all.Searched += f.Searched
		all.Events += f.Events
		all.Hits += f.Hits
		all.Unreadable += f.Unreadable
		all.Sealed = all.Sealed || f.Sealed
		if first {
			all.Total += f.Total
		}
		if f.Sealed && f.Events == 0 {
			sealed++
			g.Failed(record, peers.Sealed)
		}
		for i := range f.List {
			f.List[i].Record = record
		}
		return Part[view.Hit]{Rows: f.List, Next: peers.Place{At: f.Older, End: f.Older == 0}}
	}
	rows, next, err := MergeParts(g, math.MaxInt, func(a, b *view.Hit) bool { return a.Time.After(b.Time) },
		func(record string, from peers.Place) (Part[view.Hit], error) {
			f, err := searched(c, r, func() (*view.Found, error) { return c.source.SearchPage(r.Context(), placed(from), searchTime) })
			if err != nil {
				return Part[view.Hit]{}, err
			}
			all.own = f.List
			return part(f, record), nil
		},
		func(data []byte, record string, _ peers.Place) (Part[view.Hit], error) {
			f, err := readFound(data)
			if err != nil {
				return Part[view.Hit]{}, err
			}
			return part(f, record), nil
		})
	if err != nil {
		return nil, err
	}
	all.List = append(all.List, rows...)
	all.Searched = min(all.Searched, all.Total)
	all.Next, all.Gateways, all.gathered = next, g.Gateways, g
	return all, nil
}

// link is the address of the next page; "" if there is none.
func (a *allFound) link() string {
	if a.Next == "" {
		return ""
	}
	v := a.Query.Values()
	v.Set("cursor", a.Next)
	v.Set("done", strconv.FormatInt(a.Searched, 10))
	v.Set("of", strconv.FormatInt(a.Total, 10))
	return withQuery("search", v)
}

// readFound reads what another console found.
func readFound(data []byte) (*view.Found, error) {
	var f view.Found
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("it is not a page of a search: %w", err)
	}
	if f.V != 1 || len(f.List) > maxFound || f.Searched < 0 || f.Total < 0 || f.Events < 0 || f.Hits < 0 || f.Unreadable < 0 ||
		slices.ContainsFunc(f.List, func(h view.Hit) bool { return !slices.Contains(view.Kinds(), h.Kind) || h.Start < 0 || h.End < h.Start }) {
		return nil, errors.New("it is not a page of a search")
	}
	return &f, nil
}
