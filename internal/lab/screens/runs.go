package screens

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/record"
)

// runNamed reads the run's name in a path.
func runNamed(r *http.Request) (string, error) {
	token := r.PathValue("run")
	if token == "" || token[0] != '~' {
		return token, nil
	}
	name, err := base64.RawURLEncoding.DecodeString(token[1:])
	if err != nil {
		return "", console.BadRequest{Err: fmt.Errorf("%s: want the name of a run", shorttext.Quote(token))}
	}
	return string(name), nil
}

// stateOf is the class of the status of a run or a cycle that a style knows.
func stateOf(status string) string {
	switch status {
	case "":
		return "unknown"
	case "done", "answered", "completed":
		return "answered"
	case runview.Open:
		return "open"
	case "suspended", "paused", "bounded", "no_visible_answer", "text_call", "refused", "rejected", "stopped", "input-required":
		return "refused"
	case "canceled", "aborted":
		return "canceled"
	}
	return "failed"
}

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
	return console.Answer{Template: "runs", Title: console.Word("screen.runs"), Crumbs: []console.Crumb{{Name: console.Word("screen.runs")}}, Data: d, JSON: data, Live: d.First && f.Sort == "" && all == nil}, nil
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

// runData is what every page of a run shows.
type runData struct {
	Run  runview.Run
	View string
	Now  time.Time
	Base string // the relative way to this run, from its pages
	Root string // the relative way to the console
	Head uint64

	Timeline *runview.Timeline
	Trace    *runview.Trace
	Links    windowLinks
	// Failed are the last steps that failed, and Failures is how many did.
	Failed   []*trace.Step
	Failures int

	Memory   *runview.Remembered
	Matrix   *runview.Matrix
	Commands []command
	Others   []string // runs to compare with
	Compared *runview.Comparison
	With     string
}

// runViews are the forms of a run that share its address.
var runViews = []string{"timeline", "memory", "reflections", "again"}

func (of *lab) oneRun(c *console.Console, r *http.Request) (console.Answer, error) {
	name, err := runNamed(r)
	if err != nil {
		return console.Answer{}, err
	}
	d := runData{View: cmp.Or(r.URL.Query().Get("view"), runViews[0]), Now: c.Now(), Base: "../runs/" + console.RunToken(name), Root: "../"}
	var json any
	switch d.View {
	case "timeline":
		json, err = d.timeline(of, c, r, name)
	case "memory":
		json, err = d.memory(of, r, name)
	case "reflections":
		json, err = d.reflections(of, r, name)
	case "again":
		json, err = d.again(of, r, name)
	default:
		err = console.BadRequest{Err: fmt.Errorf("view: %s: want %s", shorttext.Quote(d.View), strings.Join(runViews, ", "))}
	}
	if err != nil {
		return console.Answer{}, err
	}
	var seen []uint64
	if d.Trace != nil {
		seen = console.ThoughtsIn(d.Trace.Steps)
	}
	return console.Answer{
		Seen:     seen,
		Template: "run", Title: shorttext.Cut(name, console.MaxHead), Data: d, JSON: json, Script: "runs.js",
		Live:   d.Run.Status == runview.Open && d.View == "timeline" && r.URL.Query().Get("at") == "",
		Crumbs: []console.Crumb{{Name: console.Word("screen.runs"), Link: "../runs"}, {Name: shorttext.Cut(name, console.MaxCrumb)}},
	}, nil
}

// Began is when the run began, or was resumed if its first start is not shown.
func (d runData) Began() time.Time {
	if d.Timeline != nil {
		return d.Timeline.Began
	}
	return d.Run.Time
}

// windowLinks lead from one part of a timeline to others.
type windowLinks struct{ All, Before, After string }

func (d *runData) timeline(of *lab, c *console.Console, r *http.Request, name string) (any, error) {
	w, err := runview.ParseWindow(r.URL.Query())
	if err != nil {
		return nil, console.BadRequest{Err: err}
	}
	t, err := of.runs.Timeline(r.Context(), name, w)
	if err != nil {
		return nil, err
	}
	d.Timeline, d.Run, d.Head = t, t.Run, t.Head
	if w.Set() {
		d.Links = around(t)
	}
	if d.Trace, err = of.runs.Trace(r.Context(), name, w); err != nil {
		return nil, err
	}
	failed := trace.Failures(d.Trace.Steps)
	d.Failures = len(failed)
	d.Failed = failed[max(0, len(failed)-maxFailed):]
	return struct {
		*runview.Timeline
		Trace *runview.Trace `json:"trace"`
	}{t, d.Trace}, nil
}

// maxFailed is how many failures stand at the top of a run.
const maxFailed = 3

// Fell reports whether the run did not do what it was to do.
func (d runData) Fell() bool { return trace.Failing(d.Run.Status) }

// maxSaid bounds what is said of a failure at the top of a run.
const maxSaid = 400

// said is what a failed step says: its error, or what its tool gave.
func said(s *trace.Step) string {
	text := s.Result
	if s.Kind != trace.Call {
		text = s.Text
	}
	words := strings.TrimSpace(text.Plain())
	if short := shorttext.Cut(words, maxSaid); len(short) < len(words) {
		words = short + " …"
	}
	return cmp.Or(words, s.Status)
}

// Story is the trace as the page shows it.
func (d runData) Story() console.Trace {
	return console.Trace{Steps: d.Trace.Steps, Root: d.Root, Runs: true}
}

// Earlier is the query of the steps before those on the page.
func (d runData) Earlier() string {
	q := url.Values{"before": {strconv.FormatUint(d.Trace.Older, 10)}}
	if d.Timeline.Set() {
		q.Set("from", strconv.Itoa(d.Timeline.From))
		q.Set("to", strconv.Itoa(d.Timeline.To))
	}
	return "?" + q.Encode()
}

// around are the links from a window to the whole run, and to the windows of the same
// size beside it.
func around(t *runview.Timeline) (l windowLinks) {
	l.All = "?"
	wide := t.To - t.From + 1
	if wide <= 0 { // it has more cycles than numbers
		return l
	}
	if t.From > t.First {
		l.Before = windowQuery(max(t.First, t.From-wide), t.From-1)
	}
	if t.To < t.Last {
		l.After = windowQuery(t.To+1, min(t.Last, t.To+wide))
	}
	return l
}

// windowQuery is the query of a part of a timeline.
func windowQuery(from, to int) string {
	return "?" + url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}.Encode()
}

// At is the place of an event among the steps: on this page if they are all here.
func (d runData) At(event uint64) string {
	n := strconv.FormatUint(event, 10)
	if d.Trace.Older == 0 && !d.Trace.Newer || event >= d.Trace.Older && !d.Trace.Newer {
		return "#e" + n
	}
	return "?at=" + n + "#e" + n
}

// Zoom is the query of the cycles of a lane.
func (d runData) Zoom(l runview.Lane) string { return windowQuery(l.From, l.To) }

// memory shows what the run remembered at the end of a cycle.
func (d *runData) memory(of *lab, r *http.Request, name string) (any, error) {
	cycle := math.MaxInt
	if text := r.URL.Query().Get("cycle"); text != "" {
		var err error
		if cycle, err = strconv.Atoi(text); err != nil {
			return nil, console.BadRequest{Err: fmt.Errorf("cycle: %s: want the number of a cycle", shorttext.Quote(text))}
		}
	}
	m, err := of.runs.Remembered(r.Context(), name, cycle)
	if err != nil {
		return nil, err
	}
	d.Memory, d.Run, d.Head = m, m.Run, m.Head
	return m, nil
}

// reflections compares the reflections of the run with each other.
func (d *runData) reflections(of *lab, r *http.Request, name string) (any, error) {
	w, err := runview.ParseWindow(r.URL.Query())
	if err != nil {
		return nil, console.BadRequest{Err: err}
	}
	m, err := of.runs.Matrix(r.Context(), name, w)
	if err != nil {
		return nil, err
	}
	d.Matrix, d.Run, d.Head = m, m.Run, m.Head
	if err := d.others(of, r, name); err != nil {
		return nil, err
	}
	return m, nil
}

// others are the newest other runs, to compare with.
func (d *runData) others(of *lab, r *http.Request, name string) error {
	l, err := of.runs.List(r.Context(), runview.Filter{})
	if err != nil {
		return err
	}
	for _, row := range l.Rows {
		if row.Run != name && len(d.Others) < 20 {
			d.Others = append(d.Others, row.Run)
		}
	}
	return nil
}

// A command continues or repeats a run. Why says why there is none.
type command struct {
	What string `json:"what"`
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
	Why  string `json:"why,omitempty"`
}

// again has the commands that extend and replay the run.
func (d *runData) again(of *lab, r *http.Request, name string) (any, error) {
	t, err := of.runs.Timeline(r.Context(), name, runview.Window{From: math.MinInt, To: math.MinInt})
	if err != nil {
		return nil, err
	}
	d.Run, d.Head = t.Run, t.Head
	extend, replay := command{What: console.Word("again.extend")}, command{What: console.Word("again.replay")}
	switch {
	case t.Run.Agent == "sotto" && t.Run.Parent == "" && record.CheckRun(name) == nil:
		dir := shellWord(of.Name)
		extend.Text, extend.Note = fmt.Sprintf("sotto run --config FILE --name %s --record %s", shellWord(name), dir), console.Word("again.extend.note")
		if t.Run.Status != "done" {
			extend.What, extend.Note = console.Word("again.resume"), console.Word("again.resume.note")
		}
		replay.Text, replay.Note = fmt.Sprintf("sotto run --config FILE --name %s --replay %s", shellWord(name), dir), console.Word("again.replay.note")
	case t.Run.Parent != "":
		extend.Why, replay.Why = console.Word("again.called"), console.Word("again.called")
	default:
		extend.Why, replay.Why = console.Word("again.other"), console.Word("again.other")
	}
	d.Commands = []command{extend, replay}
	return struct {
		V        int         `json:"v"`
		Run      runview.Run `json:"run"`
		Commands []command   `json:"commands"`
	}{1, t.Run, d.Commands}, nil
}

// shellWord quotes a word for a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-:@+/", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// compareRuns puts a run beside another one.
func (of *lab) compareRuns(c *console.Console, r *http.Request) (console.Answer, error) {
	name, err := runNamed(r)
	if err != nil {
		return console.Answer{}, err
	}
	q := r.URL.Query()
	with := q.Get("with")
	if with == "" && !console.WantsJSON(r) { // the reader has not chosen one yet
		return console.Answer{Redirect: "../" + console.RunToken(name) + "?view=reflections"}, nil
	}
	if with == "" || len(with) > console.MaxAsked {
		return console.Answer{}, console.BadRequest{Err: errors.New("with: want the name of another run")}
	}
	from := math.MinInt
	if text := q.Get("from"); text != "" {
		if from, err = strconv.Atoi(text); err != nil {
			return console.Answer{}, console.BadRequest{Err: fmt.Errorf("from: %s: want the number of a cycle", shorttext.Quote(text))}
		}
	}
	x, err := of.runs.Compare(r.Context(), name, with, from)
	if err != nil {
		return console.Answer{}, err
	}
	d := runData{
		Run: x.A, View: "compare", Now: c.Now(), Base: "../../runs/" + console.RunToken(name), Root: "../../", Head: x.Head, Compared: x, With: with,
	}
	if err := d.others(of, r, name); err != nil {
		return console.Answer{}, err
	}
	return console.Answer{
		Template: "run", Title: shorttext.Cut(name, console.MaxHead), Data: d, JSON: x,
		Crumbs: []console.Crumb{{Name: console.Word("screen.runs"), Link: "../../runs"}, {Name: shorttext.Cut(name, console.MaxCrumb), Link: d.Base}, {Name: console.Word("run.compare")}},
	}, nil
}

// Parting is where the two runs part, as the page shows it.
func (d runData) Parting() *console.Parting {
	return console.PartingOf(d.Compared.Parting, d.Run.Run, d.With, console.Trace{Root: d.Root, Runs: true}, func(run string, event uint64, id string) string {
		to := d.Root + "runs/" + console.RunToken(run)
		if id != "" {
			to += "?at=" + strconv.FormatUint(event, 10) + "#" + id
		}
		return to
	})
}

// shade is the class of a similarity: of ten, the darker the more similar.
func shade(v float64) string { return "s" + strconv.Itoa(min(9, max(0, int(v*10)))) }

// share prints a number from 0 to 1 without its first digit.
func share(v float64) string {
	if v >= 0.995 {
		return "1"
	}
	return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 2, 64), "0")
}

// NextCycle is where the rest of a comparison begins.
func (d runData) NextCycle() int { return d.Compared.Cycles[len(d.Compared.Cycles)-1].Cycle + 1 }
