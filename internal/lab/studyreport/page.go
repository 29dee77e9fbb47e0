package studyreport

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var pageStyle string

const (
	// shownRows bounds the rows of a table of the page.
	shownRows = 2000
	// shownFile bounds the bytes of the study's file on the page.
	shownFile = 256 << 10
)

// A pageData is the template's input. Its texts are safe to show; html/template
// escapes them.
type pageData struct {
	*Report
	Title       string
	Style       template.CSS
	Policy      string
	Summary     string
	Keys        []string // as shown
	MeasureList []study.Measure
	Means       []figure
	Results     []resultRow
	Forests     []figure
	DiffKeys    []string
	Diffs       []diffRow
	Least       string
	CurveList   []curveSection
	Memories    []memoryGraph
	MissingRows []missingRow
	MissingLeft int
	CellRows    []cellRow
	CellsLeft   int
	Manifest    study.Manifest
	Began       string
	File        string
	FileCut     bool
}

// A figure is a picture on the page.
type figure struct {
	Title, Note string
	Drawing     template.HTML
}

type curveSection struct {
	ID, Title, Note string
	Figures         []figure
}

type resultRow struct {
	Labels []string
	N      string
	Cells  []resultCell
	Solved string
}

// A resultCell is a figure of a group. Its mean is "" if there is none.
type resultCell struct{ Mean, SD, Interval string }

type diffRow struct {
	Measure, Pairs string
	Labels         []string
	Value, N       string
	Unpaired       string
	Mean, Interval string
	More, Less     int
	P, Holm        string
	Tests          int
	Method         string
	Empty          bool
}

type missingRow struct {
	Missing
	Labels []string
}

type cellRow struct {
	ID         string
	Labels     []string
	Repetition int
	Status     study.Status
	Counted    bool
	Reason     string
	Values     []string
	Record     string // the command that shows its events
}

// Policy is the content security policy of the page.
func Policy() string { return report.Policy(report.FigureStyle(), pageStyle) }

// Page returns the report as a page that stands alone.
func (r *Report) Page() ([]byte, error) {
	p := &pageData{
		Report: r, Title: "Study: " + visible.Line(r.Name), Style: report.Style(report.FigureStyle(), pageStyle), Policy: Policy(), Summary: r.Summary(),
		MeasureList: r.Measures(), Means: shown(r.Means()), Forests: shown(r.Forests()), Manifest: r.study.Manifest, Least: r.leastNote(),
	}
	for _, key := range r.Keys {
		p.Keys = append(p.Keys, visible.Line(key))
	}
	p.Manifest.Inputs = p.Manifest.Inputs[:min(len(p.Manifest.Inputs), shownRows)]
	p.results()
	p.differences()
	for i := range r.Curves {
		c := &r.Curves[i]
		p.CurveList = append(p.CurveList, curveSection{"curve-" + fileName(c.Name), c.Title, c.note(), shown(r.Panels(c))})
	}
	var err error
	if p.Memories, err = r.memoryGraphs(); err != nil {
		return nil, err
	}
	p.cells()
	if p.Began = ""; !r.study.Began.IsZero() {
		p.Began = r.study.Began.UTC().Format(time.RFC3339)
	}
	p.File = r.study.File
	if p.FileCut = len(p.File) > shownFile; p.FileCut {
		p.File = strings.ToValidUTF8(p.File[:shownFile], "")
	}
	return report.Render(pageText, template.FuncMap{"utc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) }}, p)
}

// note says what a curve shows, and over how many problems a point is.
func (c *Curve) note() string {
	if c.Window > 0 {
		return fmt.Sprintf("%s; each point over the last %d problems", c.Note, c.Window)
	}
	return c.Note
}

func shown(list []Picture) (figures []figure) {
	for _, p := range list {
		figures = append(figures, figure{p.Title, p.Note, p.Drawing.HTML()})
	}
	return figures
}

func (p *pageData) results() {
	for i := range p.Groups[:min(len(p.Groups), shownRows)] {
		g := &p.Groups[i]
		row := resultRow{Labels: labels(p.Report.Keys, g.Values), N: ofPlanned(g)}
		for _, m := range p.MeasureList {
			cell := resultCell{}
			if f := g.Figure(m.Name); f != nil {
				cell = resultCell{number(f.Mean), deviation(f), interval(f.Low, f.High)}
			}
			row.Cells = append(row.Cells, cell)
		}
		if s := g.Solved; s != nil {
			row.Solved = fmt.Sprintf("%d of %d, %s", s.Count, s.Of, interval(&s.Low, &s.High))
		}
		p.Results = append(p.Results, row)
	}
}

func (p *pageData) differences() {
	if p.Compare == nil {
		return
	}
	others := p.otherKeys()
	for _, key := range others {
		p.DiffKeys = append(p.DiffKeys, visible.Line(key))
	}
	for i := range p.Differences[:min(len(p.Differences), shownRows)] {
		d := &p.Differences[i]
		p.Diffs = append(p.Diffs, diffRow{
			Measure: d.Measure, Pairs: d.Pairs, Labels: labels(others, d.Others), Value: visible.Line(d.Value), N: d.pairs(), Unpaired: strings.Join(d.Unpaired, ", "),
			Mean: signed(d.Mean), Interval: interval(d.Low, d.High), More: d.More, Less: d.Less, P: pValue(d.P), Holm: pValue(d.Holm), Tests: d.Tests, Method: d.Method, Empty: d.N == 0,
		})
	}
}

func (p *pageData) cells() {
	for _, m := range p.Missing[:min(len(p.Missing), shownRows)] {
		m.Reason = visible.Line(m.Reason)
		p.MissingRows = append(p.MissingRows, missingRow{m, labels(p.Report.Keys, m.Values)})
	}
	p.MissingLeft = len(p.Missing) - len(p.MissingRows)
	for i := range p.study.Cells[:min(len(p.study.Cells), shownRows)] {
		c := &p.study.Cells[i]
		state := p.study.State(c)
		row := cellRow{
			ID: c.ID, Labels: labels(p.Report.Keys, c.Values), Repetition: c.Repetition, Status: state.Status, Counted: counts(state), Reason: visible.Line(state.Reason),
			Record: "sotto record show . --run " + p.study.RunName(c),
		}
		for _, m := range p.MeasureList {
			v, ok := state.Measures[m.Name]
			text := ""
			if ok {
				text = number(v)
			}
			row.Values = append(row.Values, text)
		}
		p.CellRows = append(p.CellRows, row)
	}
	p.CellsLeft = len(p.study.Cells) - len(p.CellRows)
}
