package screens

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

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
