package screens

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

// runsData is what the list of runs shows.
type runsData struct {
	*runview.List
	Now    time.Time
	Older  string // the link to the next page
	First  bool
	Agents []string // of the rows, to choose from
	Query  string   // of the filter, for links
	Below  string   // the link that shows or hides the runs of called agents
	Orders []runOrder
	Newer  string // the link to the page before, of a sorted list
	Column string // the fact that the list is sorted by
	// Several is what a list of several gateways has of them; nil if it has one record.
	Several *console.Gathered
	Names   map[string]string // of the gateways, by their records
}

// A runOrder is a link that sorts the list.
type runOrder struct {
	Key, Name, Link, Arrow string
	Current                bool
}

// Order is the link that sorts the list by a fact; by the least first, if the most are.
func (d runsData) Order(key string) runOrder {
	f := d.Filter
	f.Before, f.At = 0, 0
	o := runOrder{Key: key, Name: map[string]string{
		"time": console.Word("order.time"), "cycles": console.Word("run.cycles"), "thought": console.Word("order.thought"), "took": console.Word("order.took"), "calls": console.Word("order.calls"),
		"invocations": console.Word("run.steps"), "input": console.Word("order.input"), "output": console.Word("order.output"), "saved": console.Word("order.saved"),
	}[key], Current: f.Sort == key || key == "time" && f.Sort == ""}
	f.Least = o.Current && f.Sort != "" && !f.Least
	if o.Current && key != "time" {
		o.Arrow = map[bool]string{true: "↓", false: "↑"}[f.Least]
	}
	if f.Sort = key; key == "time" {
		f.Sort = ""
	}
	o.Link = "runs?" + f.Values().Encode()
	return o
}

// Own reports whether the fact that the list is sorted by has a column in every list.
func (d runsData) Own() bool {
	return slices.Contains([]string{"cycles", "thought", "took"}, d.Filter.Sort)
}

// Fact prints what a run has of that fact.
func (d runsData) Fact(r runview.Run) string {
	unit := view.Times
	switch d.Filter.Sort {
	case "thought", "saved":
		unit = view.Bytes
	case "took":
		unit = view.Millis
	}
	return console.FactText(unit, r.Fact(d.Filter.Sort))
}

// orders adds the links that sort the list, and those to its other pages if it is sorted.
func (d *runsData) orders() {
	for _, key := range append([]string{"time"}, runview.SortKeys()...) {
		d.Orders = append(d.Orders, d.Order(key))
	}
	f := d.Filter
	if f.Sort == "" {
		return
	}
	d.Column = d.Order(f.Sort).Name
	at := func(n int) string {
		to := f
		to.At = n
		return "runs?" + to.Values().Encode()
	}
	if d.More {
		d.Older = at(f.At + runview.Rows)
	}
	if f.At > 0 {
		d.Newer = at(max(0, f.At-runview.Rows))
	}
}

// Lead is the first line of the list: how many of its runs failed, which was the last of them,
// and how many are under way. A sorted list begins with its totals.
func (d runsData) Lead() (list []console.LeadPart) {
	failed, open := 0, 0
	var newest *runview.Run
	for i := range d.Rows {
		switch run := &d.Rows[i]; {
		case trace.Failing(run.Status):
			if failed++; newest == nil {
				newest = run
			}
		case run.Status == runview.Open:
			open++
		}
	}
	list = append(list, console.LeadPart{Text: console.FailedOf(failed, len(d.Rows), "runs.page")})
	if newest != nil {
		list = append(list, console.LeadPart{Text: console.Word("lead.newest"), Link: d.At(*newest) + "runs/" + console.RunToken(newest.Run), Name: newest.Run, Time: newest.Time})
	}
	if open > 0 {
		list = append(list, console.LeadPart{Text: fmt.Sprintf(console.Word("lead.open"), strconv.Itoa(open))})
	}
	return list
}

func (of *lab) listRuns(c *console.Console, r *http.Request) (console.Answer, error) {
	f, err := runview.ParseFilter(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	var l *runview.List
	var all *allRuns
	if c.Several(r) {
		if all, err = of.runsOfAll(c, r, f); err == nil {
			l = all.List
		}
	} else {
		l, err = of.runs.List(r.Context(), f)
	}
	if err != nil {
		return console.Answer{}, err
	}
	d := runsData{List: l, Now: c.Now(), First: f.Before == 0 && f.At == 0}
	bare := f
	bare.Before, bare.At = 0, 0
	d.Query = bare.Values().Encode()
	bare.Below = !bare.Below
	d.Below = "runs?" + bare.Values().Encode()
	if l.Older > 0 {
		f.Before = l.Older
		d.Older = "runs?" + f.Values().Encode()
	}
	d.orders()
	var data any = l
	if all != nil {
		data = all
		d.Several, d.Names, d.First, d.Older, d.Newer = all.gathered, all.gathered.Names(), all.gathered.Cursor == nil, "", ""
		if all.Next != "" {
			d.Older = "runs?" + withCursor(f, all.Next)
		}
	}
	for _, row := range l.Rows {
		if row.Agent != "" && !slices.Contains(d.Agents, row.Agent) {
			d.Agents = append(d.Agents, row.Agent)
		}
	}
	return console.Answer{Template: "runs", Title: console.Word("screen.runs"), Crumbs: []console.Crumb{{Name: console.Word("screen.runs")}}, Data: d, JSON: data, Live: d.First && f.Sort == ""}, nil
}

// withCursor is the query of the next page of the runs of several gateways.
func withCursor(f runview.Filter, cursor string) string {
	f.Before, f.At = 0, 0
	q := f.Values()
	q.Set("cursor", cursor)
	return q.Encode()
}

// At is the way to the pages of the record that has a run.
func (d runsData) At(r runview.Run) string {
	if r.Record == "" {
		return ""
	}
	return console.AtGateway(r.Record)
}
