package screens

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/streamview"
)

// streamsData is what the page of two streams of problems shows.
type streamsData struct {
	*streamview.Comparison
	Sides  []streamSide
	First  *streamsFirst
	Groups []streamGroup
	Rows   []streamRow
	// Before and After lead to the other pages of the list.
	Before, After string
	// Linked says that the record has both, so that each pair leads to the comparison of the
	// two runs of its problem.
	Linked bool

	root string
}

// A streamSide is one of the two streams in the head of the page.
type streamSide struct{ Name, Label, Link string }

// A streamsFirst is the first problem that came out otherwise, and where the two runs of it
// part; Parting is nil without a record of both.
type streamsFirst struct {
	streamRow
	Parting *console.Parting
}

// A streamRow is a problem in the list.
type streamRow struct {
	streamview.Pair
	Link string
}

// A streamGroup leads to the pairs with one change.
type streamGroup struct {
	Change  streamview.Change
	Says    string
	Link    string
	Current bool
}

// aStream is a stream, as a page names it.
type aStream struct {
	*streamview.Stream
	name, label, link string
}

// compareStreams puts two streams of problems side by side. root is the relative way to the
// console, and self the query without what the reader chose in the list.
func (of *lab) compareStreams(r *http.Request, a, b aStream, root string, self url.Values, crumbs []console.Crumb) (console.Answer, error) {
	q, err := streamview.ParseQuery(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	c := streamview.Compare(a.name, a.Stream, b.name, b.Stream, q)
	d := streamsData{Comparison: c, Sides: []streamSide{{a.name, a.label, a.link}, {b.name, b.label, b.link}}, root: root}
	d.Linked = of.Record != nil && of.runs.Has(r.Context(), c.A.Run) && of.runs.Has(r.Context(), c.B.Run)
	link := func(show streamview.Change, at int) string {
		v := url.Values{}
		for name, values := range self {
			v[name] = values
		}
		if show != "" {
			v.Set("show", string(show))
		}
		if at > 0 {
			v.Set("at", strconv.Itoa(at))
		}
		return "?" + v.Encode()
	}
	for _, change := range streamview.Changes() {
		if n := c.Count[change]; n > 0 {
			d.Groups = append(d.Groups, streamGroup{change, strconv.Itoa(n) + " " + d.Says(change), link(change, 0), change == q.Show})
		}
	}
	if q.Show != "" {
		d.Groups = append(d.Groups, streamGroup{Says: console.Word("streams.differing"), Link: link("", 0)})
	}
	for _, p := range c.Pairs {
		d.Rows = append(d.Rows, d.row(p))
	}
	if c.Next > 0 {
		d.After = link(q.Show, c.Next)
	}
	if q.At > 0 {
		d.Before = link(q.Show, max(0, q.At-streamview.Rows))
	}
	if c.First != nil {
		if d.First, err = of.firstOf(r, &d); err != nil {
			return console.Answer{}, err
		}
	}
	return console.Answer{Template: "streams", Title: a.name + " " + console.Word("compare.and") + " " + b.name, Data: d, JSON: c, Crumbs: crumbs}, nil
}

// firstOf is the first problem that came out otherwise, with the place where its runs part.
func (of *lab) firstOf(r *http.Request, d *streamsData) (*streamsFirst, error) {
	f := &streamsFirst{streamRow: d.row(*d.Comparison.First)}
	if !d.Linked || !f.Both() {
		return f, nil
	}
	x, err := of.runs.Compare(r.Context(), d.A.Run, d.B.Run, runview.OnePair(f.A.N, f.B.N))
	if err != nil {
		return nil, err
	}
	f.Parting = partingOf(x, d.root)
	return f, nil
}

// row is a pair with the link to the comparison of its runs.
func (d *streamsData) row(p streamview.Pair) streamRow {
	x := streamRow{Pair: p}
	if d.Linked && p.Both() {
		q := url.Values{"with": {d.B.Run}, "cycle": {strconv.Itoa(p.A.N)}, "beside": {strconv.Itoa(p.B.N)}}
		x.Link = d.root + "runs/" + console.RunToken(d.A.Run) + "/compare?" + q.Encode()
	}
	return x
}

// Says says in what a problem came out otherwise.
func (d streamsData) Says(change streamview.Change) string {
	switch change {
	case streamview.Gained:
		return fmt.Sprintf(console.Word("streams.only.right"), d.A.Name)
	case streamview.Lost:
		return fmt.Sprintf(console.Word("streams.only.right"), d.B.Name)
	case streamview.Effort:
		return console.Word("streams.effort")
	case streamview.OnlyA:
		return fmt.Sprintf(console.Word("streams.only.in"), d.A.Name)
	case streamview.OnlyB:
		return fmt.Sprintf(console.Word("streams.only.in"), d.B.Name)
	}
	return console.Word("streams.same")
}

// Shown reports whether the interval of the difference excludes no difference.
func (d streamsData) Shown() bool { return d.Difference.Low > 0 || d.Difference.High < 0 }

// Effort says what a problem takes more or less in the first stream.
func (d streamsData) Effort(m *streamview.Mean, unit string) string {
	text := fmt.Sprintf("%+.1f %s", m.Value, unit)
	if m.Low != nil && m.High != nil {
		text += fmt.Sprintf(console.Word("streams.interval"), *m.Low, *m.High)
	}
	return text
}

// streamsOfRuns puts two runs side by side that are streams of problems.
func (of *lab) streamsOfRuns(r *http.Request, a, b *runview.Run, crumbs []console.Crumb) (console.Answer, error) {
	const root = "../../"
	read := func(x *runview.Run) (aStream, error) {
		s, err := of.runs.Stream(r.Context(), x)
		return aStream{s, x.Run, x.Model, root + "runs/" + console.RunToken(x.Run)}, err
	}
	one, err := read(a)
	if err != nil {
		return console.Answer{}, err
	}
	other, err := read(b)
	if err != nil {
		return console.Answer{}, err
	}
	return of.compareStreams(r, one, other, root, url.Values{"with": {b.Run}}, crumbs)
}

// A streamProblem is a problem in one of two streams; nil if it lacks it.
type streamProblem struct {
	Name    string // of the stream
	Problem *streamview.Problem
}

// sideOf puts the name of a stream beside a problem in it.
func sideOf(p *streamview.Problem, name string) streamProblem { return streamProblem{name, p} }

// memoryGave says what the memory gave for a problem.
func memoryGave(hit string) string {
	switch hit {
	case solve.HitTemplate:
		return console.Word("streams.hit.template")
	case solve.HitPaths:
		return console.Word("streams.hit.paths")
	}
	return hit
}
