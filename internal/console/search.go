package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/sotto-llm/sotto/internal/console/view"
)

func searchScreen() Screen {
	return Screen{
		Path: "search", Key: "s", Icon: "M8.500 3.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM12.500 12.500l4 4",
		Routes: map[string]Handler{"": search, "stream": searchStream},
	}
}

// maxSearches bounds the searches that run at once.
const maxSearches = 4

// searchData is what the page of a search shows.
type searchData struct {
	*view.Found
	Groups []hitGroup
	Kinds  []view.Kind
	Next   string // the link to the rest
	Now    time.Time
	Ended  bool // the whole record was searched
	// Several is what the page of several gateways has of them; nil if it has one record. Names
	// are what they are called, by their records.
	Several *Gathered
	Names   map[string]string
}

// A hitGroup is the hits of one kind, in the order of the search.
type hitGroup struct {
	Kind view.Kind
	Name string
	Hits []view.Hit
}

// kindName names a kind of hits.
func kindName(k view.Kind) string {
	return map[view.Kind]string{
		view.InThought: Word("kind.thought"), view.InAnswer: Word("kind.answer"), view.InPrompt: Word("kind.prompt"), view.InTool: Word("kind.tool"), view.InOther: Word("kind.other"),
	}[k]
}

func search(c *Console, r *http.Request) (Answer, error) {
	q, err := view.ParseSearch(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	d := searchData{Kinds: view.Kinds(), Now: c.config.Now()}
	var data any
	var own []view.Hit
	if c.Several(r) {
		all, err := c.searchAll(r, q)
		if err != nil {
			return Answer{}, err
		}
		data, own = all, all.own
		d.Found, d.Several, d.Names, d.Ended, d.Next = all.Found, all.gathered, all.gathered.Names(), all.Next == "", all.link()
	} else {
		within := time.Duration(0)
		if c.ticketed(r) {
			within = searchTime
		}
		f, err := searched(c, r, func() (*view.Found, error) { return c.source.SearchPage(r.Context(), q, within) })
		if err != nil {
			return Answer{}, err
		}
		data, own = f, f.List
		d.Found, d.Ended = f, f.Older == 0
		if f.Older > 0 {
			q.Before, q.Done = f.Older, f.Searched
			d.Next = "search?" + q.Values().Encode()
		}
	}
	for _, k := range view.Kinds() {
		g := hitGroup{Kind: k, Name: kindName(k)}
		for _, h := range d.List {
			if h.Kind == k {
				g.Hits = append(g.Hits, h)
			}
		}
		d.Groups = append(d.Groups, g)
	}
	return Answer{
		Template: "search", Title: Word("screen.search"), Crumbs: []Crumb{{Name: Word("screen.search")}}, Data: d, JSON: data, Script: "search.js", Seen: thoughtsIn(own), Action: "search",
	}, nil
}

// searching takes one of the places for searches, when one is free.
func (c *Console) searching(r *http.Request) bool {
	select {
	case c.searches <- struct{}{}:
		return true
	case <-r.Context().Done():
	case <-time.After(5 * time.Second):
	}
	return false
}

func (c *Console) searched() { <-c.searches }

// searched does what may read all of the record, when it is its turn.
func searched[T any](c *Console, r *http.Request, do func() (T, error)) (T, error) {
	if !c.searching(r) {
		var none T
		return none, errBusy
	}
	defer c.searched()
	return do()
}

// searchStream gives the hits as they are found: a line of JSON for the hits of each
// event, and lines that say how far the search is. The last line has "done".
func searchStream(c *Console, r *http.Request) (Answer, error) {
	q, err := view.ParseSearch(r.URL.Query())
	if err == nil && q.Text == "" {
		err = errors.New("q: want the text to be found")
	}
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	return Answer{Header: map[string]string{"Content-Type": "application/x-ndjson", "X-Accel-Buffering": "no"}, Stream: func(w http.ResponseWriter) {
		if !c.searching(r) {
			return
		}
		defer c.searched()
		control := http.NewResponseController(w)
		send := func(v map[string]any) bool {
			line, err := json.Marshal(v)
			_ = control.SetWriteDeadline(time.Now().Add(liveWrite))
			_, failed := w.Write(append(line, '\n'))
			return err == nil && failed == nil && control.Flush() == nil
		}
		p, err := c.source.Search(r.Context(), q, 0,
			func(hits []view.Hit, p view.Progress) bool {
				if err := c.saw(r, "search", thoughtsIn(hits)...); err != nil {
					send(map[string]any{"error": map[string]string{"message": err.Error()}})
					return false
				}
				return send(map[string]any{"hits": hits, "progress": p})
			},
			func(p view.Progress) bool { return send(map[string]any{"progress": p}) })
		if err != nil {
			send(map[string]any{"error": map[string]string{"message": err.Error()}})
			return
		}
		send(map[string]any{"progress": p, "done": true})
	}}, nil
}

// First is the link to the beginning of the search, and Most how many hits a page
// has.
func (d searchData) First() string {
	q := d.Query
	q.Before, q.Done = 0, 0
	return "search?" + q.Values().Encode()
}
func (d searchData) Most() int { return view.MaxHits }

// Later reports whether the page goes on from another one.
func (d searchData) Later() bool {
	return d.Query.Before > 0 || d.Several != nil && d.Several.Cursor != nil
}

// hitLink is the address of a hit: its byte, in the text that it stands in.
func hitLink(h view.Hit) string {
	link := textLink(h.Event, h.Path, h.Start, max(h.End, h.Start+1))
	if h.Record != "" {
		link = AtGateway(h.Record) + link
	}
	return link
}

// thoughtsIn returns the events of the hits that show a thought. A prompt may hold
// earlier ones.
func thoughtsIn(hits []view.Hit) (events []uint64) {
	for _, h := range hits {
		if h.Kind == view.InThought || h.Kind == view.InPrompt {
			events = append(events, h.Event)
		}
	}
	return events
}
