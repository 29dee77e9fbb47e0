package screens

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/lab/runview"
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
	case "done", "answered", "completed", "solved":
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

	// Task is the task that the run is; nil if it is not a task of this gateway. Fixed says that
	// nobody can cancel or extend the run here.
	Task  *console.TaskCard
	Fixed bool
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
	if d.Task, err = c.TaskOf(r, d.Run.Run, d.Run.Caller); err != nil {
		return console.Answer{}, err
	}
	d.Fixed = d.Task == nil && c.HasTasks() && d.Run.Status == runview.Open
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
