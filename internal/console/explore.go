package console

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/console/view"
)

func exploreScreen() Screen {
	return Screen{
		Path: "explore", Key: "x", Icon: "M3 16.500h14M3 13l4-4 3.500 2.500L16 5M16 5h-3.500M16 5v3.500",
		Routes: map[string]Handler{"": exploring, "span": exploreSpan, "counts": exploreCounts},
	}
}

// exploreData is what the page shows.
type exploreData struct {
	*explore.Answer
	Measures, Keys []choice
	Chips          []Chip
	Says           []saying // the answer in words
	Lines          []exploreLine
	Plot           explorePlot
	Most           []choice // lists of the exchanges with the most of something
	// Several is what the page of several gateways has of them; nil if it has one record.
	Several *Gathered
	Inputs  []input // the values of the form that its other fields keep
	Now     time.Time
}

// A choice is a link to the same page with another value, or to a list.
type choice struct {
	Name, Link string
	Current    bool
	Key        string // its value
	Arrow      string // which way a list is sorted by it
}

// A saying is a sentence about a series. If it changed, it says since when, and what was Before.
type saying struct {
	Name    string // of the series; "" if the sentence is about all
	Text    string
	Changed bool
	Since   time.Time
	Before  string
}

type input struct{ Name, Value string }

// An exploreLine is a row of the table.
type exploreLine struct {
	Name     string
	Class    string // of its line in the plot; "" if it has none
	Narrow   string // the link to this one alone
	List     string // the link to its exchanges
	Now, All string
	Before   string
	Since    time.Time
	N        int
	Changed  bool
}

// maxLines is how many rows the table has, and maxPlotted how many of them are drawn.
const (
	maxSeries  = 50
	maxPlotted = 5
	maxSaid    = 3
)

// mostOf are the facts of which the page leads to those with the most.
var mostOf = []view.SortKey{"thought", "took", "output", "calls", "leaked"}

func exploring(c *Console, r *http.Request) (Answer, error) {
	q, err := explore.Parse(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	var a *explore.Answer
	var all *Gathered
	if c.Several(r) {
		a, all, err = c.exploreAll(r, q)
	} else {
		a, err = searched(c, r, func() (*explore.Answer, error) { return explore.Ask(r.Context(), c.config.Record, q) })
	}
	if err != nil {
		return Answer{}, err
	}
	d := exploreData{Answer: a, Now: c.config.Now(), Plot: plotOf(a), Several: all}
	d.choices(q)
	for i := range a.Series[:min(len(a.Series), maxSeries)] {
		d.Lines = append(d.Lines, c.exploreLine(a, &a.Series[i], i))
	}
	d.Says = sayings(a)
	var data any = a
	if all != nil {
		data = allExplored{a, all.Gateways}
	}
	return Answer{
		Template: "explore", Title: Word("screen.explore"), Crumbs: []Crumb{{Name: Word("screen.explore")}}, Data: d, JSON: data, Script: "explore.js",
	}, nil
}

// choices adds the links to other questions, and the filters in force.
func (d *exploreData) choices(q explore.Query) {
	for _, m := range explore.Measures() {
		to := q
		to.Of = m
		if !m.Has(to.By) {
			to.By = explore.ByModel
		}
		d.Measures = append(d.Measures, choice{Word("measure." + string(m)), exploreLink(to), m == q.Of, string(m), ""})
	}
	for _, k := range q.Of.Keys() {
		to := q
		to.By = k
		d.Keys = append(d.Keys, choice{Word("by." + string(k)), exploreLink(to), k == q.By, string(k), ""})
	}
	for _, name := range []string{"model", "tool", "caller", "from", "to"} {
		if v := q.Values(); v.Has(name) {
			value := v.Get(name)
			v.Del(name)
			d.Chips = append(d.Chips, Chip{name, value, withQuery("explore", v)})
		}
	}
	for _, name := range []string{"of", "by"} {
		if value := q.Values().Get(name); value != "" {
			d.Inputs = append(d.Inputs, input{name, value})
		}
	}
	f := view.Filter{Model: q.Model, Caller: q.Caller, From: q.From, To: q.To}
	for _, k := range mostOf {
		f.Sort = k
		d.Most = append(d.Most, choice{Name: Word("most." + string(k)), Link: withQuery("exchanges", f.Values())})
	}
}

func exploreLink(q explore.Query) string { return withQuery("explore", q.Values()) }

// More is how many rows the table leaves out.
func (d exploreData) More() int { return len(d.Series) - len(d.Lines) }

// Unit is what a measure counts.
func unitOf(m explore.Measure) view.Unit {
	switch m {
	case explore.Took, explore.First:
		return view.Millis
	case explore.Thought:
		return view.Bytes
	}
	return ""
}

// amount prints a share or a quantity.
func amount(m explore.Measure, v float64) string {
	if m.Share() {
		return sharePercent(v)
	}
	return FactText(unitOf(m), int64(math.Round(v)))
}

// sharePercent prints a share with two digits that say something.
func sharePercent(v float64) string {
	p := 100 * v
	switch {
	case p == 0 || p >= 99.995:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p >= 10 && p < 99:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	case p >= 0.1:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(p, 'g', 2, 64) + " %"
}

// FactText prints a quantity.
func FactText(u view.Unit, n int64) string {
	switch u {
	case view.Bytes:
		return size(int(n))
	case view.Millis:
		return millis(n)
	}
	return number(n)
}

// between prints a value with its interval.
func between(m explore.Measure, v explore.Value) string {
	return fmt.Sprintf("%s (%s – %s)", amount(m, v.Value), amount(m, v.Low), amount(m, v.High))
}

// seriesName is what a series is called on the page.
func seriesName(s *explore.Series) string {
	if s.Others {
		return Word("explore.others")
	}
	if s.Name != "" && !strings.ContainsFunc(s.Name, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) {
		return strconv.QuoteToASCII(s.Name) // nobody would see it
	}
	return cmp.Or(s.Name, Word("explore.unnamed"))
}

func (c *Console) exploreLine(a *explore.Answer, s *explore.Series, i int) exploreLine {
	q := a.Query
	now := s.Now()
	l := exploreLine{Name: seriesName(s), Now: between(q.Of, now.Value), All: between(q.Of, s.Total), Since: now.From, N: s.Total.N}
	if i < maxPlotted {
		l.Class = "line-" + strconv.Itoa(i)
	}
	if b := s.Before(); b != nil {
		l.Changed, l.Before = true, amount(q.Of, b.Value.Value)
	}
	if s.Others || s.Name == "" {
		return l
	}
	to, f := q, view.Filter{Model: q.Model, Caller: q.Caller, From: q.From, To: q.To}
	switch q.By {
	case explore.ByModel:
		to.Model, f.Model = s.Name, s.Name
	case explore.ByTool:
		to.Tool, to.By = s.Name, explore.ByModel
	case explore.ByCaller:
		to.Caller, f.Caller, to.By = s.Name, s.Name, explore.ByModel
	default:
		f = view.Filter{}
	}
	if to != q {
		l.Narrow = exploreLink(to)
	}
	l.List = listOf(q.Of, f)
	switch {
	case q.Of == explore.Tools && q.By == explore.ByTool:
		l.List = withQuery("search", url.Values{"q": {shorttext.Cut(s.Name, MaxAsked)}, "in": {string(view.InTool)}})
	case q.Of == explore.Tools && c.has("runs"):
		l.List = withQuery("runs", url.Values{"model": {s.Name}})
	case q.Of == explore.Tools, f == view.Filter{}:
		l.List = ""
	}
	return l
}

// listOf is the list of the exchanges that a measure counts, the worst first.
func listOf(m explore.Measure, f view.Filter) string {
	switch m {
	case explore.Leaks:
		f.Leaked = true
	case explore.Reached:
		f.Leaked, f.Leak = true, "text"
	case explore.Failed:
		f.Outcome = "failed"
	case explore.Took:
		f.Sort = "took"
	case explore.First:
		f.Sort = "first_answer"
	case explore.Thought:
		f.Sort = "thought"
	}
	return withQuery("exchanges", f.Values())
}

// sayings say in words what the plot shows: what is worst, and since when.
func sayings(a *explore.Answer) (list []saying) {
	m := a.Query.Of
	if a.Events == 0 {
		return nil
	}
	for i := range a.Series[:min(len(a.Series), maxSaid)] {
		s := &a.Series[i]
		if m.Share() && s.Total.Count == 0 {
			break // neither have the others
		}
		now := s.Now()
		one := saying{Name: seriesName(s), Text: ": " + fmt.Sprintf(Word("says."+string(m)), between(m, now.Value))}
		if b := s.Before(); b != nil {
			one.Changed, one.Since, one.Before = true, now.From, amount(m, b.Value.Value)
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		list = append(list, saying{Text: fmt.Sprintf(Word("says."+string(m)+".none"), number(a.Events))})
	}
	return list
}

// Steady reports whether the page says that nothing changed: not of what never was.
func (d exploreData) Steady() bool {
	return !d.Query.Of.Share() || len(d.Series) > 0 && d.Series[0].Total.Count > 0
}
