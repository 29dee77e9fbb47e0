package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// viewsOnPage is how many views a page lists, and viewsRead how many bytes of the record are
// read for it.
const (
	viewsOnPage = 100
	viewsRead   = 64 << 20
)

// A viewRow is a view, or a change, as the page lists it.
type viewRow struct {
	Event  uint64    `json:"event"`
	Time   time.Time `json:"time"`
	Action string    `json:"action"`
	Who    string    `json:"who,omitempty"`
	From   string    `json:"from,omitempty"`
	Page   string    `json:"page,omitempty"`
	Query  string    `json:"query,omitempty"`
	Record string    `json:"record,omitempty"`
	Events []uint64  `json:"events"`
	More   int       `json:"more_events,omitempty"`
}

type viewsData struct {
	V     int       `json:"v"`
	Rows  []viewRow `json:"views"`
	Older uint64    `json:"older,omitempty"`
	Apart bool      `json:"apart,omitempty"` // they are in another record
	Next  string    `json:"-"`
	Now   time.Time `json:"-"`
}

// Lead says who looked last.
func (d viewsData) Lead() []LeadPart {
	last := d.Rows[0]
	return []LeadPart{{Text: Word("lead.looked"), Link: "../events/" + strconv.FormatUint(last.Event, 10), Name: cmp.Or(last.Who, Word("views.nobody")), Time: last.Time}}
}

// fewEvents is how many events of a view stand in its row.
const fewEvents = 8

// whoLooked lists who looked at what, and who changed what, the newest first.
func whoLooked(c *Console, r *http.Request) (Answer, error) {
	if c.config.Record == nil {
		return Answer{}, errNoPage
	}
	d := viewsData{V: 1, Now: c.config.Now(), Apart: c.audit.other != "", Rows: []viewRow{}}
	q := record.Query{Types: []record.Type{record.TypeAudit}}
	q.Before, _ = strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	read := 0
	for g, err := range c.config.Record.For(r.Context()).Back(sidecar.Query{Query: q}, viewsRead) {
		if r.Context().Err() != nil {
			return Answer{}, r.Context().Err()
		}
		if _, line := errors.AsType[*record.LineError](err); line || errors.Is(err, record.ErrSealed) {
			continue // record verify says more
		}
		if err != nil {
			return Answer{}, err
		}
		if len(d.Rows) == viewsOnPage || read > viewsRead {
			d.Older = g.Event.Seq + 1
			break
		}
		read += g.Size
		x, ok := g.Event.Payload.(record.Audit)
		if !ok {
			continue
		}
		row := viewRow{Event: g.Event.Seq, Time: g.Event.Time, Action: x.Action, Who: x.Who, From: x.From, Page: shorttext.Cut(x.Page, MaxAsked), Query: shorttext.Cut(x.Query, MaxAsked), Record: x.Record, Events: x.Events}
		if row.More = len(x.Events) - fewEvents; row.More > 0 {
			row.Events = x.Events[:fewEvents]
		}
		row.More = max(0, row.More)
		d.Rows = append(d.Rows, row)
	}
	if d.Older > 0 {
		d.Next = "views?" + url.Values{"before": {strconv.FormatUint(d.Older, 10)}}.Encode()
	}
	return Answer{
		Template: "views", Title: Word("views"), Data: d,
		Crumbs: []Crumb{{Word("screen.health"), "../health"}, {Name: Word("views")}},
	}, nil
}
