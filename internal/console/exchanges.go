package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

func exchangesScreen() Screen {
	return Screen{
		Path: "exchanges", Key: "e", Icon: "M3 6h11m-3-3 3 3-3 3M17 14H6m3-3-3 3 3 3",
		Routes: map[string]Handler{
			"": list, "find": find, "{event}": one, "{event}/bytes": byteSlice, "{event}/raw": rawLine, "{event}/export": export, "{event}/compare": compareExchanges,
		},
	}
}

// listData is what the list shows.
type listData struct {
	*view.Page
	filter   url.Values // without its cursor, for links
	Chips    []Chip
	Codes    []sotto.Code
	Outcomes []string
	Leaks    []string
	Models   []string // of the rows, to choose from
	Callers  bool     // some row has a caller
	Now      time.Time
	Older    string // the link to the next page
	Newer    string // the link to the page before
	First    bool   // the newest exchanges are on this page
	Orders   []choice
	Sum      string // the link to the list with its totals; "" if it has them
	// Several is what a list of several gateways has of them; nil if it has one record.
	Several *Gathered
	Names   map[string]string // of the gateways, by their records
	// Column is the name of the fact that the list is sorted by, and Own says that it has a
	// column in every list.
	Column string
	Own    bool
}

// Order is the link that sorts the list by a fact; by the least first, if the most are.
func (d listData) Order(key string) choice {
	f := d.Filter.Bare()
	current := string(f.Sort) == key || key == "time" && f.Sort == ""
	f.Least = current && f.Sort != "" && !f.Least
	if f.Sort = view.SortKey(key); key == "time" {
		f.Sort = ""
	}
	c := choice{Name: Word(orderName(key)), Link: withQuery("exchanges", f.Values()), Current: current, Key: key}
	if current && key != "time" {
		c.Arrow = d.Arrow()
	}
	return c
}

// orderName is the name of the text that names a fact.
func orderName(key string) string {
	if key == "leaked" || key == "cached" {
		key += ".fact"
	}
	return "order." + key
}

// Arrow shows which way the list is sorted.
func (d listData) Arrow() string {
	if d.Filter.Least {
		return "↑"
	}
	return "↓"
}

// Fact prints what the list is sorted by.
func (d listData) Fact(n int64) string { return FactText(d.Filter.Sort.Unit(), n) }

// TotalsSay says what the totals of a list are, in words.
func (d listData) TotalsSay() []string {
	t := d.Totals
	list := []string{}
	add := func(n int64, words ...string) {
		if n > 0 {
			list = append(list, strings.Join(words, " "))
		}
	}
	add(int64(t.Failed), number(t.Failed), Word("order.failed"))
	add(int64(t.Leaked), number(t.Leaked), Word("order.leaked"))
	add(t.Thought, size(int(t.Thought)), Word("thought"))
	add(t.Answer, size(int(t.Answer)), strings.ToLower(Word("answer")))
	if t.Input > 0 || t.Output > 0 {
		add(1, number(t.Input)+" → "+counted(t.Output, "run.tokens"))
	}
	add(t.Cached, number(t.Cached), Word("order.cached"))
	add(t.Millis, strings.ToLower(Word("col.took")), millis(t.Millis))
	return list
}

// Link is the address of an exchange of the list, or of the list's first page. It is made
// whole, because html/template takes a query that is put into an address for one value.
func (d listData) Link(event uint64) string {
	if event == 0 {
		return withQuery("exchanges", d.filter)
	}
	return withQuery("exchanges/"+strconv.FormatUint(event, 10), d.filter)
}

// LinkTo is the address of the exchange of a row, and Gateway whose record has it.
func (d listData) LinkTo(row view.Row) string {
	if row.Record == "" {
		return d.Link(row.Event)
	}
	return AtGateway(row.Record) + d.Link(row.Event)
}

// ID tells a row from the others of the page.
func (d listData) ID(row view.Row) string {
	id := "e" + strconv.FormatUint(row.Event, 10)
	if row.Record != "" {
		id += "-" + row.Record
	}
	return id
}

// A Chip is a filter in force, with the link that removes it.
type Chip struct{ Name, Value, Without string }

func list(c *Console, r *http.Request) (Answer, error) {
	f, err := view.ParseFilter(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	var p *view.Page
	var all *allExchanges
	if c.Several(r) {
		if all, err = c.exchangesOfAll(r, f); err == nil {
			p = all.Page
		}
	} else {
		p, err = c.listed(r, f)
	}
	if err != nil {
		return Answer{}, err
	}
	d := listData{Page: p, Codes: codes(), Outcomes: view.Outcomes(), Leaks: view.Leaks(), Now: c.config.Now(), First: p.Filter.Before == 0 && p.Filter.After == 0 && p.Filter.At == 0}
	bare := f.Bare()
	d.filter = bare.Values()
	d.chips(bare)
	d.order(bare)
	d.pages(bare)
	var data any = p
	if all != nil {
		data = all
		d.several(all, bare)
	}
	d.named()
	return Answer{
		Template: "exchanges", Title: Word("screen.exchanges"), Crumbs: []Crumb{{Name: Word("screen.exchanges")}},
		Data: d, JSON: data, Live: d.First && f.Sort == "" && !f.Sum,
	}, nil
}

// listed is a page of this record. What may read all of it waits for its turn, which a console
// that asks others does not hold meanwhile: they may be asking this one.
func (c *Console) listed(r *http.Request, f view.Filter) (*view.Page, error) {
	if f.Sort != "" || f.Sum {
		return searched(c, r, func() (*view.Page, error) { return c.source.List(r.Context(), f) })
	}
	return c.source.List(r.Context(), f)
}

// chips adds the filters in force, and how the list is sorted.
func (d *listData) chips(bare view.Filter) {
	for _, name := range []string{"text", "model", "route", "caller", "outcome", "diagnostic", "leaked", "from", "to", "id"} {
		if q := bare.Values(); q.Has(name) {
			value := q.Get(name)
			q.Del(name)
			d.Chips = append(d.Chips, Chip{name, value, withQuery("exchanges", q)})
		}
	}
	if q := bare.Values(); bare.Sort != "" {
		q.Del("sort")
		d.Chips = append(d.Chips, Chip{strings.ToLower(Word("order.by")), Word(orderName(string(bare.Sort))) + " " + d.Arrow(), withQuery("exchanges", q)})
	}
}

// pages adds the links to the pages beside this one.
func (d *listData) pages(bare view.Filter) {
	if older := d.Page.Older; older > 0 {
		q := bare
		q.Before = older
		d.Older = "exchanges?" + q.Values().Encode()
	}
	if newer := d.Page.Newer; newer > 0 {
		q := bare
		q.After = newer
		d.Newer = "exchanges?" + q.Values().Encode()
	}
}

// several makes the list that of several gateways: they have one cursor, and no page before.
func (d *listData) several(all *allExchanges, bare view.Filter) {
	d.Several, d.Names, d.First = all.gathered, all.gathered.Names(), all.gathered.Cursor == nil
	d.Newer, d.Older = "", ""
	if all.Next != "" {
		q := bare.Values()
		q.Set("cursor", all.Next)
		d.Older = "exchanges?" + q.Encode()
	}
}

// named lists the models of the rows, and says whether a row has a caller.
func (d *listData) named() {
	for _, row := range d.Rows {
		d.Callers = d.Callers || row.Caller != ""
		if row.Model != "" && !slices.Contains(d.Models, row.Model) {
			d.Models = append(d.Models, row.Model)
		}
	}
}

// shownFacts are the facts that have a column of their own.
var shownFacts = []view.SortKey{"thought", "took"}

// order adds the links that sort the list, and those to its other pages if it is sorted.
func (d *listData) order(bare view.Filter) {
	d.Orders = append(d.Orders, d.Order("time"))
	for _, k := range view.SortKeys() {
		d.Orders = append(d.Orders, d.Order(string(k)))
	}
	if bare.Sort == "" {
		if q := bare; !q.Sum {
			q.Sum = true
			d.Sum = "exchanges?" + q.Values().Encode()
		}
		return
	}
	d.Column, d.Own = Word(orderName(string(bare.Sort))), slices.Contains(shownFacts, bare.Sort)
	at := func(n int) string {
		q := bare
		q.At = n
		return "exchanges?" + q.Values().Encode()
	}
	now := d.Page.Filter.At
	if d.More && now+2*view.Rows <= view.MaxSorted {
		d.Older = at(now + view.Rows)
	}
	if now > 0 {
		d.Newer = at(max(0, now-view.Rows))
	}
}

// find opens the newest exchange with an identifier that an application knows.
func find(c *Console, r *http.Request) (Answer, error) {
	id := r.URL.Query().Get("id")
	if id == "" || len(id) > MaxAsked {
		return Answer{}, BadRequest{errors.New("id: want the id of a response, or one that the client sent")}
	}
	row, err := c.source.Find(r.Context(), id)
	cycles := ""
	if run, turn, ok := turnOf(id); ok && errors.Is(err, view.ErrElsewhere) {
		if found, inRun := c.source.Find(r.Context(), run); inRun == nil && found.Run == run {
			row, err, cycles = found, nil, "?from="+turn+"&to="+turn
		}
	}
	at := ""
	switch {
	case errors.Is(err, view.ErrElsewhere):
		at, err = c.elsewhere(r, id, err)
	case err == nil && c.Several(r):
		at = c.config.Peers.Record()
	}
	if err != nil {
		return Answer{}, err
	}
	if at != "" { // there, whichever console is asked
		return Answer{Redirect: "../" + AtGateway(at) + "exchanges/find?" + r.URL.RawQuery}, nil
	}
	n := strconv.FormatUint(row.Event, 10)
	if row.Type == record.TypeExchange && strings.HasPrefix(row.Model, agentPrefix) && c.hasSteps() && !WantsJSON(r) {
		if _, err := c.config.Extension.Steps(r.Context(), id); err == nil { // what the agent did says more than what the gateway passed on
			if run, turn, ok := turnOf(id); ok {
				return Answer{Redirect: "../runs/" + RunToken(run) + "?from=" + turn + "&to=" + turn}, nil
			}
			return Answer{Redirect: "../runs/" + RunToken(id)}, nil
		}
	}
	switch {
	case row.Type != record.TypeInvocation || WantsJSON(r) || !c.has("runs"):
		return Answer{Redirect: besides(r, n)}, nil
	case cycles == "":
		cycles = "?at=" + n + "#e" + n
	}
	return Answer{Redirect: "../runs/" + RunToken(row.Run) + cycles}, nil // the answer of an agent is a run
}

// turnOf divides the identifier of an agent's answer into the run of the conversation and
// the turn.
func turnOf(id string) (run, turn string, ok bool) {
	at := strings.LastIndexByte(id, '.')
	if at <= 0 {
		return "", "", false
	}
	n, err := strconv.Atoi(id[at+1:])
	return id[:at], strconv.Itoa(n), err == nil && n > 0
}
