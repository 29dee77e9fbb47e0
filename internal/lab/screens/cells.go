package screens

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/streamview"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport"
)

// A namedCell is a cell of a study, and what tells it from the others.
type namedCell struct {
	studyreport.Cell
	label string
}

// compareCells puts two cells side by side: two streams of problems, or the runs of both.
func (of *lab) compareCells(c *console.Console, r *http.Request) (console.Answer, error) {
	name := r.PathValue("study")
	report, err := of.Studies.report(r.Context(), name, c.Now)
	if err != nil {
		return console.Answer{}, err
	}
	if report.Kind == study.Runs && of.Record == nil {
		return console.Answer{}, console.BadRequest{Err: errors.New("the console does not show the record of these cells")}
	}
	if q := r.URL.Query(); q.Get("a") == "" && q.Get("b") == "" && !console.WantsJSON(r) { // the reader has not chosen two yet
		return console.Answer{Redirect: "../" + url.PathEscape(name)}, nil
	}
	pair, err := pairIn(report, r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	if report.Kind == study.Runs {
		return console.Answer{Redirect: "../../runs/" + console.RunToken(pair[0].Run) + "/compare?" + url.Values{"with": {pair[1].Run}}.Encode()}, nil
	}
	var streams [2]aStream
	for i, cell := range pair {
		if streams[i], err = of.streamOf(r.Context(), name, cell); err != nil {
			return console.Answer{}, err
		}
	}
	self := url.Values{"a": {pair[0].ID}, "b": {pair[1].ID}}
	return of.compareStreams(r, streams[0], streams[1], "../../", self, []console.Crumb{
		{Name: console.Word("screen.studies"), Link: "../../studies"}, {Name: report.Name, Link: "../" + url.PathEscape(name)}, {Name: console.Word("run.compare")},
	})
}

// pairIn finds the two cells that a query names.
func pairIn(report *studyreport.Report, q url.Values) (pair [2]namedCell, err error) {
	cells := map[string]namedCell{}
	example := "one of the study"
	for i := range report.Groups {
		g := &report.Groups[i]
		for _, cell := range report.CellsOf(g) {
			if len(cells) == 0 {
				example = cell.ID
			}
			label := strings.Join(report.Labels(g.Values), ", ")
			cells[cell.ID] = namedCell{cell, fmt.Sprintf(console.Word("streams.repetition"), label, cell.Repetition)}
		}
	}
	for i, side := range []string{"a", "b"} {
		cell, ok := cells[q.Get(side)]
		if !ok {
			return pair, fmt.Errorf("%s: %s: want the name of a cell, such as %s", side, shorttext.Quote(q.Get(side)), example)
		}
		pair[i] = cell
	}
	return pair, nil
}

// streamOf reads the stream of a cell.
func (of *lab) streamOf(ctx context.Context, name string, cell namedCell) (aStream, error) {
	dir, err := of.Studies.dir(name)
	if err != nil {
		return aStream{}, err
	}
	s, err := streamview.Read(ctx, study.StreamFile(dir, cell.ID), of.Studies.Identities...)
	if err != nil {
		return aStream{}, err
	}
	out := aStream{Stream: s, name: cell.ID, label: cell.label}
	if of.Record != nil && of.runs.Has(ctx, s.Run) {
		out.link = "../../runs/" + console.RunToken(s.Run)
	}
	return out, nil
}
