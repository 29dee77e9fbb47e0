package screens

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

// memoryData is what the page of a memory shows.
type memoryData struct {
	*runview.Memory
	Now       time.Time
	Choices   []choice
	Size, Hit report.Plot
	HasFile   bool
	HasRecord bool
	Seen      bool // the page shows the record, though there is a file
	Templates []runview.Earned
	Rest      []runview.Earned
	Points    []curvePoint
}

// A choice is another memory that the page can show.
type choice struct {
	Name, Link string
	Current    bool
}

// A curvePoint is a row of the table beside a curve.
type curvePoint struct {
	After             int
	Templates, Traces int
	Hits              float64
	HasHits           bool
}

func (of *lab) memory(c *console.Console, r *http.Request) (console.Answer, error) {
	q := r.URL.Query()
	task, run := q.Get("task"), q.Get("run")
	if len(task) > console.MaxAsked || len(run) > console.MaxAsked {
		return console.Answer{}, console.BadRequest{Err: fmt.Errorf("task and run: at most %d bytes each", console.MaxAsked)}
	}
	ofRecord := of.Record != nil && (of.Memory == nil || run != "" || q.Get("from") == "record")
	var m *runview.Memory
	var err error
	if ofRecord {
		m, err = of.runs.RecordMemory(r.Context(), run)
	} else {
		m, err = of.Memory.Memory(r.Context(), task)
	}
	if err != nil {
		return console.Answer{}, err
	}
	d := memoryData{Memory: m, Now: c.Now(), HasFile: of.Memory != nil, HasRecord: of.Record != nil, Seen: ofRecord}
	for _, e := range m.Earned {
		if e.Kind == "template" {
			d.Templates = append(d.Templates, e)
		} else {
			d.Rest = append(d.Rest, e)
		}
	}
	d.choose()
	if len(m.Curve) > 0 {
		d.Size.Drawing = report.Series(m.Curve, 0, "", 1)
		d.points()
	}
	if len(m.Hits) > 0 {
		d.Hit.Drawing = report.Series(m.Hits, 1, " %", 100)
	}
	return console.Answer{Template: "memory", Title: console.Word("screen.memory"), Crumbs: []console.Crumb{{Name: console.Word("screen.memory")}}, Data: d, JSON: m, Live: ofRecord}, nil
}

// Lead is the first line: what the templates were good for, and which was best.
func (d memoryData) Lead() []console.LeadPart {
	var solved, failed int64
	best := d.Templates[0]
	for _, e := range d.Templates {
		solved, failed = solved+e.Solved, failed+e.Failed
		if e.Solved > best.Solved {
			best = e
		}
	}
	text := "lead.memory"
	switch {
	case solved+failed == 0:
		return []console.LeadPart{{Text: console.Word("lead.memory.none")}}
	case d.More > 0:
		text = "lead.memory.least"
	}
	list := []console.LeadPart{{Text: fmt.Sprintf(console.Word(text), console.FactText(view.Times, solved), console.FactText(view.Times, failed))}}
	if best.Solved > 0 {
		list = append(list, console.LeadPart{Text: fmt.Sprintf(console.Word("lead.best"), console.FactText(view.Times, best.Solved)), Name: shorttext.Cut(string(best.Key.Text), console.MaxHead)})
	}
	return list
}

// choose lists the other memories that the page can show.
func (d *memoryData) choose() {
	add := func(name, key, value string, current bool) {
		d.Choices = append(d.Choices, choice{name, "memory?" + url.Values{key: {value}}.Encode(), current})
	}
	if d.HasFile && d.Seen {
		d.Choices = append(d.Choices, choice{console.Word("memory.file"), "memory", false})
	}
	if len(d.Tasks) > 1 {
		d.Choices = append(d.Choices, choice{console.Word("memory.alltasks"), "memory", d.Task == ""})
		for _, t := range d.Tasks {
			add(t, "task", t, t == d.Task)
		}
	}
	if len(d.Runs) > 1 {
		for _, run := range d.Runs {
			add(run, "run", run, run == d.Run)
		}
	}
	if d.HasFile && !d.Seen && d.HasRecord {
		add(console.Word("record"), "from", "record", false)
	}
}

// points are some of the numbers of the curves: ten, and the last.
func (d *memoryData) points() {
	n := len(d.Curve[0].Points)
	step := max(1, int(report.Step(float64(n), 10)))
	for at := step; ; at += step {
		at = min(at, n)
		p := curvePoint{After: at, Templates: int(d.Curve[0].Points[at-1]), Traces: int(d.Curve[1].Points[at-1])}
		if len(d.Hits) > 0 {
			p.Hits, p.HasHits = d.Hits[0].Points[at-1], true
		}
		d.Points = append(d.Points, p)
		if at == n {
			return
		}
	}
}
