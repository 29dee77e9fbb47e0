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
}

func (of *lab) listRuns(c *console.Console, r *http.Request) (console.Answer, error) {
	f, err := runview.ParseFilter(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	l, err := of.runs.List(r.Context(), f)
	if err != nil {
		return console.Answer{}, err
	}
	d := runsData{List: l, Now: c.Now(), First: f.Before == 0}
	bare := f
	bare.Before = 0
	d.Query = bare.Values().Encode()
	bare.Below = !bare.Below
	d.Below = "runs?" + bare.Values().Encode()
	if l.Older > 0 {
		f.Before = l.Older
		d.Older = "runs?" + f.Values().Encode()
	}
	for _, row := range l.Rows {
		if row.Agent != "" && !slices.Contains(d.Agents, row.Agent) {
			d.Agents = append(d.Agents, row.Agent)
		}
	}
	return console.Answer{Template: "runs", Title: console.Word("screen.runs"), Crumbs: []console.Crumb{{Name: console.Word("screen.runs")}}, Data: d, JSON: l, Live: d.First}, nil
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
	Selected *selectedData
	Links    windowLinks

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
	if d.Selected != nil {
		seen = []uint64{d.Timeline.At}
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

// selectedData is the selected invocation: its thoughts beside what was visible.
type selectedData struct {
	*view.Exchange
	Thoughts []view.Thought
	Prev     uint64
	Next     uint64
}

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
	if t.At == 0 {
		return t, nil
	}
	x, err := c.Exchange(r.Context(), t.At)
	if err != nil {
		return nil, err
	}
	if x.Run != name {
		return nil, fmt.Errorf("event %d is of another run: %w", t.At, view.ErrNotFound)
	}
	d.Selected = selected(x)
	for i, s := range t.Steps {
		if s.Event == t.At && i > 0 {
			d.Selected.Prev = t.Steps[i-1].Event
		}
		if s.Event == t.At && i+1 < len(t.Steps) {
			d.Selected.Next = t.Steps[i+1].Event
		}
	}
	return struct {
		*runview.Timeline
		Selected *view.Exchange `json:"selected"`
	}{t, x}, nil
}

// maxBeside bounds each text of the selected invocation. Its own page has the rest.
const maxBeside = 8 << 10

func selected(x *view.Exchange) *selectedData {
	d := &selectedData{Exchange: x}
	room := 4 * maxBeside
	for i := range x.Replies {
		for _, t := range x.Replies[i].Thoughts {
			t.Excerpt = shorter(t.Excerpt, min(room, maxBeside))
			room -= len(t.Text)
			d.Thoughts = append(d.Thoughts, t)
		}
		x.Replies[i].Answer = shorter(x.Replies[i].Answer, maxBeside)
	}
	return d
}

func shorter(e view.Excerpt, most int) view.Excerpt {
	cut := shorttext.Cut(string(e.Text), most)
	return view.Excerpt{Text: record.Text(cut), Bytes: e.Bytes, Cut: e.Cut || len(cut) < len(e.Text)}
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
		l.Before = windowQuery(max(t.First, t.From-wide), t.From-1, 0)
	}
	if t.To < t.Last {
		l.After = windowQuery(t.To+1, min(t.Last, t.To+wide), 0)
	}
	return l
}

// windowQuery is the query of a part of a timeline, with an invocation selected.
func windowQuery(from, to int, at uint64) string {
	q := url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	if at > 0 {
		q.Set("at", strconv.FormatUint(at, 10))
	}
	return "?" + q.Encode()
}

// At is the query that selects an invocation and keeps the window.
func (d runData) At(event uint64) string {
	if d.Timeline.Set() {
		return windowQuery(d.Timeline.From, d.Timeline.To, event)
	}
	return "?at=" + strconv.FormatUint(event, 10)
}

// Zoom is the query of the cycles of a lane.
func (d runData) Zoom(l runview.Lane) string { return windowQuery(l.From, l.To, 0) }

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
