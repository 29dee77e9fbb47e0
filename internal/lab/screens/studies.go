package screens

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport"
)

// Studies are the studies that a console shows.
type Studies struct {
	// Dir is the folder of a study, or one whose folders are studies.
	Dir string
	// Identities decrypt their records.
	Identities []age.Identity

	mu    sync.Mutex
	known map[string]*knownReport
}

// A knownReport is a report that was made a moment ago.
type knownReport struct {
	sync.Mutex
	report *studyreport.Report
	until  time.Time
}

const (
	// maxStudies bounds the studies of a list.
	maxStudies = 200
	// maxGroups bounds the groups of a page.
	maxGroups = 500
	// maxHalf is how wide a drawing may be to stand beside another one, in pixels.
	maxHalf = 660
)

// names lists the studies by the names of their folders.
func (s *Studies) names() (names []string, more bool, err error) {
	if isStudy(s.Dir) {
		return []string{filepath.Base(absolute(s.Dir))}, false, nil
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if !e.IsDir() || !isStudy(filepath.Join(s.Dir, e.Name())) {
			continue
		}
		if len(names) == maxStudies {
			return names, true, nil
		}
		names = append(names, e.Name())
	}
	return names, false, nil
}

// Any reports whether there is a study.
func (s *Studies) Any() bool {
	names, _, err := s.names()
	return err == nil && len(names) > 0
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// isStudy reports whether a folder is a study.
func isStudy(dir string) bool {
	info, err := os.Stat(study.ManifestFile(dir))
	return err == nil && info.Mode().IsRegular()
}

// dir returns the folder of a study.
func (s *Studies) dir(name string) (string, error) {
	names, _, err := s.names()
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if n == name {
			if isStudy(s.Dir) {
				return s.Dir, nil
			}
			return filepath.Join(s.Dir, name), nil
		}
	}
	return "", fmt.Errorf("study %s: %w", shorttext.Quote(name), view.ErrNotFound)
}

// report makes the report of a study. A report that took long is shown for longer: for
// ten times as long as it took, so that pages that come again do not fill the processor.
func (s *Studies) report(ctx context.Context, name string, now func() time.Time) (*studyreport.Report, error) {
	dir, err := s.dir(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.known == nil {
		s.known = map[string]*knownReport{}
	}
	k := s.known[name]
	if k == nil {
		k = &knownReport{}
		s.known[name] = k
	}
	s.mu.Unlock()
	k.Lock()
	defer k.Unlock()
	if k.report != nil && now().Before(k.until) {
		return k.report, nil
	}
	began := now()
	r, err := studyreport.Build(ctx, dir, studyreport.Options{Identities: s.Identities})
	if err != nil {
		return nil, err
	}
	k.report, k.until = r, now().Add(10*now().Sub(began))
	return r, nil
}

// studiesData is what the list of studies shows.
type studiesData struct {
	Rows []studyRow
	More bool
	Now  time.Time
}

// A studyRow is a study of the list.
type studyRow struct {
	Name, Link, Title, Question string
	Kind                        study.Kind
	Statuses                    []studyreport.StatusCount
	Cells                       int
	Fault                       string
}

// Lead is the first line: how many studies are finished, and which need a look.
func (d studiesData) Lead() []console.LeadPart {
	finished, ill, unread := 0, 0, 0
	for _, row := range d.Rows {
		good, failed := 0, false
		for _, s := range row.Statuses {
			switch s.Status {
			case study.Done, study.Bounded:
				good += s.Cells
			case study.Failed:
				failed = true
			}
		}
		switch {
		case row.Fault != "":
			unread++
		case failed:
			ill++
		case good == row.Cells:
			finished++
		}
	}
	count := func(n int) string { return console.FactText(view.Times, int64(n)) }
	list := []console.LeadPart{{Text: fmt.Sprintf(console.Word("lead.studies"), console.Counted(len(d.Rows), "study.list"), count(finished))}}
	if ill > 0 {
		list = append(list, console.LeadPart{Text: fmt.Sprintf(console.Word("lead.ill"), count(ill))})
	}
	if unread > 0 {
		list = append(list, console.LeadPart{Text: fmt.Sprintf(console.Word("lead.unread"), count(unread))})
	}
	return list
}

func (of *lab) studyList(c *console.Console, r *http.Request) (console.Answer, error) {
	names, more, err := of.Studies.names()
	if err != nil {
		return console.Answer{}, err
	}
	d := studiesData{More: more, Now: c.Now()}
	running := false
	for _, name := range names {
		row := studyRow{Name: name, Link: "studies/" + url.PathEscape(name)}
		dir, err := of.Studies.dir(name)
		if err != nil {
			return console.Answer{}, err
		}
		s, err := study.OpenWhole(dir, of.Studies.Identities...)
		if err != nil {
			row.Link, row.Fault = "", shorttext.Escape(err.Error(), console.MaxFault)
		} else {
			row.Title, row.Question, row.Kind, row.Cells = shorttext.Ellipsis(s.Name, 200), shorttext.Ellipsis(s.Question, 500), s.Kind, len(s.Cells)
			row.Statuses = studyreport.Statuses(s)
		}
		for _, n := range row.Statuses {
			running = running || n.Status == study.Running
		}
		d.Rows = append(d.Rows, row)
	}
	return console.Answer{Template: "studies", Title: console.Word("screen.studies"), Crumbs: []console.Crumb{{Name: console.Word("screen.studies")}}, Data: d, Header: again(running)}, nil
}

// again lets a page come again while a study runs, also without scripts.
func again(running bool) map[string]string {
	if !running {
		return nil
	}
	return map[string]string{"Refresh": "5"}
}

// studyData is what the page of a study shows.
type studyData struct {
	*studyreport.Report
	Folder      string // of the study, as its address names it
	Summary     string
	Answers     []answerLine // the answer to its question
	Finished    int
	Cells       int
	Repetitions []int
	Grid        []gridRow
	MoreGroups  int
	Measures    []study.Measure
	Tables      []measureTable
	Pictures    []studyFigure
	Page        string // the address of the report
	// Pairs are the cells that can be compared, and Pair is the address that compares
	// two of them.
	Pairs []string
	Pair  string
}

// An answerLine is a sentence of the answer, and the link to the first pair that differs.
type answerLine struct {
	studyreport.Finding
	Link string
}

// A gridRow is a group, and its cells by repetition.
type gridRow struct {
	Labels []string
	Cells  []gridCell
}

// A gridCell is a cell, or the place of one that the study does not have.
type gridCell struct {
	ID     string
	Status study.Status
	Reason string
	Link   string
}

// A measureTable is a measure, and its figures by group.
type measureTable struct {
	study.Measure
	Rows []measureRow
}

type measureRow struct {
	Few                           bool // so many repetitions say little
	Labels                        []string
	N, Mean, SD, Interval, Ranges string
}

type studyFigure struct {
	Title, Note string
	Wide        bool // it takes the whole width
	Drawing     template.HTML
}

func (of *lab) oneStudy(c *console.Console, r *http.Request) (console.Answer, error) {
	name := r.PathValue("study")
	report, err := of.Studies.report(r.Context(), name, c.Now)
	if err != nil {
		return console.Answer{}, err
	}
	d := studyData{Report: report, Folder: name, Summary: report.Summary(), Measures: report.Measures(), Page: url.PathEscape(name) + "/report"}
	running := false
	for _, s := range report.Statuses {
		d.Cells += s.Cells
		if s.Status == study.Done || s.Status == study.Bounded {
			d.Finished += s.Cells
		}
		running = running || s.Status == study.Running
	}
	for _, f := range report.Answer() {
		line := answerLine{Finding: f}
		if f.Of != "" && (of.Record != nil || report.Kind == study.Streams) {
			line.Link = url.PathEscape(name) + "/compare?" + url.Values{"a": {f.Of}, "b": {f.Base}}.Encode()
		}
		d.Answers = append(d.Answers, line)
	}
	d.grid(of)
	if d.Pair = url.PathEscape(name) + "/compare"; len(d.Pairs) < 2 {
		d.Pairs = nil
	}
	for _, m := range d.Measures {
		d.Tables = append(d.Tables, tableOf(report, m))
	}
	for _, p := range report.Pictures() {
		d.Pictures = append(d.Pictures, studyFigure{p.Title, p.Note, p.Drawing.Wide > maxHalf, p.Drawing.HTML()})
	}
	return console.Answer{
		Template: "study", Title: console.Word("screen.studies") + " " + report.Name, Data: d, JSON: report, Header: again(running),
		Crumbs: []console.Crumb{{Name: console.Word("screen.studies"), Link: "../studies"}, {Name: report.Name}},
	}, nil
}

// grid arranges the cells by group and repetition.
func (d *studyData) grid(of *lab) {
	most := 0
	for i := range d.Groups {
		for _, cell := range d.Report.CellsOf(&d.Groups[i]) {
			most = max(most, min(cell.Repetition, 1000))
		}
	}
	for n := range most {
		d.Repetitions = append(d.Repetitions, n+1)
	}
	for i := range d.Groups[:min(len(d.Groups), maxGroups)] {
		g := &d.Groups[i]
		row := gridRow{Labels: d.Labels(g.Values), Cells: make([]gridCell, most)}
		for _, cell := range d.Report.CellsOf(g) {
			if cell.Repetition < 1 || cell.Repetition > most {
				continue
			}
			x := gridCell{ID: cell.ID, Status: cell.Status, Reason: cell.Reason}
			ended := cell.Status == study.Done || cell.Status == study.Bounded
			if of.Record != nil && d.Kind == study.Runs && cell.Status == study.Done {
				x.Link = "../runs/" + console.RunToken(cell.Run)
			}
			if x.Link != "" || ended && d.Kind == study.Streams {
				d.Pairs = append(d.Pairs, cell.ID)
			}
			row.Cells[cell.Repetition-1] = x
		}
		d.Grid = append(d.Grid, row)
	}
	d.MoreGroups = len(d.Groups) - len(d.Grid)
}

// tableOf returns the figures of a measure.
func tableOf(r *studyreport.Report, m study.Measure) measureTable {
	t := measureTable{Measure: m}
	for i := range r.Groups[:min(len(r.Groups), maxGroups)] {
		g := &r.Groups[i]
		f := g.Figure(m.Name)
		if f == nil {
			continue
		}
		x := f.Shown()
		t.Rows = append(t.Rows, measureRow{f.N < studyreport.FewRepetitions, r.Labels(g.Values), strconv.Itoa(f.N), x.Mean, x.SD, x.Interval, x.Range})
	}
	return t
}

// studyPage serves the report as a page that stands alone, to be kept.
func (of *lab) studyPage(c *console.Console, r *http.Request) (console.Answer, error) {
	report, err := of.Studies.report(r.Context(), r.PathValue("study"), c.Now)
	if err != nil {
		return console.Answer{}, err
	}
	page, err := report.Page()
	if err != nil {
		return console.Answer{}, err
	}
	return console.Answer{Raw: page, Header: map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Disposition":     `attachment; filename="study.html"`,
		"Content-Security-Policy": studyreport.Policy() + "; sandbox",
	}}, nil
}
