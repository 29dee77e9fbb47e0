package console

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/console/runview"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/record"
)

func runsScreen() screen {
	return screen{
		path: "runs", key: "r", icon: "M3 5h6M6 10h8M11 15h6",
		routes: map[string]handler{"": listRuns, "{run}": oneRun},
	}
}

// runToken is a run's name as a segment of a path. Names that no run should have, as
// a hostile record may hold them, are written in base64 behind a ~, which no name has.
func runToken(name string) string {
	if name != "" && record.CheckRun(name) == nil {
		return name
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(name))
}

// runNamed reads the run's name in a path.
func runNamed(r *http.Request) (string, error) {
	token := r.PathValue("run")
	if token == "" || token[0] != '~' {
		return token, nil
	}
	name, err := base64.RawURLEncoding.DecodeString(token[1:])
	if err != nil {
		return "", badRequest{fmt.Errorf("%s: want the name of a run", shorttext.Quote(token))}
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

func listRuns(c *Console, r *http.Request) (answer, error) {
	f, err := runview.ParseFilter(r.URL.Query())
	if err != nil {
		return answer{}, badRequest{err}
	}
	l, err := c.runs.List(r.Context(), f)
	if err != nil {
		return answer{}, err
	}
	d := runsData{List: l, Now: c.config.Now(), First: f.Before == 0}
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
	return answer{template: "runs", title: word("screen.runs"), crumbs: []crumb{{Name: word("screen.runs")}}, data: d, json: l, live: d.First}, nil
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
}

// runViews are the forms of a run.
var runViews = []string{"timeline"}

func oneRun(c *Console, r *http.Request) (answer, error) {
	name, err := runNamed(r)
	if err != nil {
		return answer{}, err
	}
	d := runData{View: cmp.Or(r.URL.Query().Get("view"), runViews[0]), Now: c.config.Now(), Base: "../runs/" + runToken(name), Root: "../"}
	var json any
	switch d.View {
	case "timeline":
		json, err = d.timeline(c, r, name)
	default:
		err = badRequest{fmt.Errorf("view: %s: want %v", shorttext.Quote(d.View), runViews)}
	}
	if err != nil {
		return answer{}, err
	}
	return answer{
		template: "run", title: shorttext.Cut(name, 100), data: d, json: json, script: "runs.js",
		live:   d.Run.Status == runview.Open && d.View == "timeline" && r.URL.Query().Get("at") == "",
		crumbs: []crumb{{word("screen.runs"), "../runs"}, {Name: shorttext.Cut(name, 64)}},
	}, nil
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

func (d *runData) timeline(c *Console, r *http.Request, name string) (any, error) {
	w, err := runview.ParseWindow(r.URL.Query())
	if err != nil {
		return nil, badRequest{err}
	}
	t, err := c.runs.Timeline(r.Context(), name, w)
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
	x, err := c.source.Exchange(r.Context(), t.At, view.Reread{})
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
