package screens

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
)

// evaluationData is what the page of a scored file shows.
type evaluationData struct {
	*scoreview.Page
	Names  []string // of the files
	Chips  []console.Chip
	Facets []facetLinks
	Older  string // the next page
	First  string
	Suffix string // of the links of rows
}

// facetLinks is a facet whose values are links.
type facetLinks struct {
	Name   string
	Values []facetValue
}

type facetValue struct {
	scoreview.Value
	Link   string
	Chosen bool
}

// shownValues is how many values of a facet are listed.
const shownValues = 12

// scoresOf are the scored files of a console. The verdicts of its record are the last.
func scoresOf(c *Config) *scoreview.Files {
	var all scoreview.Files
	if c.Scores != nil {
		all = *c.Scores
	}
	if c.Record != nil {
		all.Scores = append(slices.Clip(all.Scores), scoreview.OfRecord(c.Name, c.Record))
	}
	return &all
}

func (of *lab) evaluation(c *console.Console, r *http.Request) (console.Answer, error) {
	empty := console.Answer{Template: "evaluation", Title: console.Word("screen.evaluation"), Crumbs: []console.Crumb{{Name: console.Word("screen.evaluation")}}, Data: evaluationData{}, JSON: map[string]any{"v": 1, "files": []string{}}}
	if len(of.scores.Scores) == 0 {
		return empty, nil
	}
	q, err := scoreview.ParseQuery(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	p, err := of.scores.List(r.Context(), q)
	if err != nil {
		return console.Answer{}, err
	}
	if p.Lines == 0 && of.Scores == nil { // a record without verdicts
		return empty, nil
	}
	d := evaluationData{Page: p, Names: p.Files}
	link := func(change func(url.Values)) string {
		bare := q
		bare.At = 0
		v := bare.Values()
		change(v)
		return "evaluation?" + v.Encode()
	}
	for _, name := range []string{"verdict", "method", "reason", "model", "task", "change"} {
		if value := q.Values().Get(name); value != "" {
			d.Chips = append(d.Chips, console.Chip{Name: name, Value: value, Without: link(func(v url.Values) { v.Del(name) })})
		}
	}
	for _, f := range p.Facets {
		links := facetLinks{Name: f.Name}
		for _, v := range f.Values[:min(len(f.Values), shownValues)] {
			links.Values = append(links.Values, facetValue{v, link(func(u url.Values) { u.Set(f.Name, v.Value) }), q.Values().Get(f.Name) == v.Value})
		}
		d.Facets = append(d.Facets, links)
	}
	d.First = link(func(url.Values) {})
	if p.Next > 0 {
		d.Older = link(func(v url.Values) { v.Set("at", strconv.Itoa(p.Next)) })
	}
	bare := q
	bare.At = 0
	if d.Suffix = bare.Values().Encode(); d.Suffix != "" {
		d.Suffix = "?" + d.Suffix
	}
	return console.Answer{
		Template: "evaluation", Title: console.Word("screen.evaluation"), Crumbs: []console.Crumb{{Name: console.Word("screen.evaluation")}, {Name: filepath.Base(p.Files[q.File])}},
		Data: d, JSON: p, Seen: p.Thoughts(),
	}, nil
}

// Link is the address with one member of the query set.
func (d evaluationData) Link(name, value string) string {
	q := d.Query
	q.At = 0
	v := q.Values()
	v.Set(name, value)
	return "evaluation?" + v.Encode()
}

// Beside is where the reply and the other one part, as the page shows it.
func (d lineData) Beside() *console.Parting {
	return console.PartingOf(d.Line.Parting, console.Word("eval.this"), d.ComparedTo, console.Trace{Plain: true}, nil)
}

// lineData is what the page of a scored line shows.
type lineData struct {
	*scoreview.Line
	List       string
	PrevLink   string
	NextLink   string
	ComparedTo string
}

func (of *lab) scoredLine(c *console.Console, r *http.Request) (console.Answer, error) {
	n, err := strconv.Atoi(r.PathValue("line"))
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: fmt.Errorf("%s: want the number of a line", shorttext.Quote(r.PathValue("line")))}
	}
	q, err := scoreview.ParseQuery(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	named := of.Named
	if named == nil {
		named = sotto.Named
	}
	l, err := of.scores.Line(r.Context(), q, n, named)
	if err != nil {
		return console.Answer{}, err
	}
	suffix := ""
	if v := q.Values().Encode(); v != "" {
		suffix = "?" + v
	}
	d := lineData{Line: l, List: "../evaluation" + suffix}
	if l.Prev >= 0 {
		d.PrevLink = strconv.Itoa(l.Prev) + suffix
	}
	if l.Next >= 0 {
		d.NextLink = strconv.Itoa(l.Next) + suffix
	}
	if q.With >= 0 {
		d.ComparedTo = filepath.Base(of.scores.Scores[q.With].Name)
	}
	var seen []uint64
	if l.Event > 0 {
		seen = []uint64{l.Event}
	}
	return console.Answer{
		Seen:     seen,
		Template: "scored", Title: console.Word("screen.evaluation") + " " + l.ID, Data: d, JSON: l,
		Crumbs: []console.Crumb{{Name: console.Word("screen.evaluation"), Link: d.List}, {Name: l.ID}},
	}, nil
}

// paired prints a paired difference in percentage points, with its interval.
func paired(d stats.Paired) string {
	return fmt.Sprintf(console.Word("eval.difference"), 100*d.Value, 100*d.Low, 100*d.High, d.P, d.N)
}
