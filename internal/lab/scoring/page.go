package scoring

import (
	"cmp"
	_ "embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

// A Failure is a reply that was judged wrong, kept for the page.
type Failure struct {
	Posed
	idText string
	rank   uint64 // failures with the lowest ranks are kept
}

const (
	fewFailures = 25        // of each reason, on the page
	longFailure = 256 << 10 // bytes; the page shows no text of a longer reply
	shownEnds   = 6 << 10   // bytes of a reply that are shown at each end
)

// keepFew keeps a failure if it is among the few. The choice covers the whole input
// and does not depend on the order of lines.
func keepFew(list []*Failure, p *Posed, was *Result) []*Failure {
	hash := fnv.New64a()
	hash.Write(p.id)
	io.WriteString(hash, p.Raw)
	rank := hash.Sum64()
	if len(list) == fewFailures && rank >= list[fewFailures-1].rank {
		return list
	}
	f := &Failure{Posed: *p, idText: textOf(p.id), rank: rank}
	f.id, f.group, f.by, f.logged = nil, nil, nil, slices.Clone(p.logged)
	if len(f.Raw) > longFailure {
		f.Raw = ""
	}
	f.outcome = *was
	f.outcome.ID, f.outcome.Attempts = nil, nil
	return fewest(append(list, f))
}

// fewest returns the few of a list that are kept.
func fewest(list []*Failure) []*Failure {
	slices.SortFunc(list, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.File.Order, b.File.Order), cmp.Compare(a.Line, b.Line))
	})
	if len(list) > fewFailures {
		clear(list[fewFailures:])
		list = list[:fewFailures]
	}
	return list
}

//go:embed page.html.tmpl
var pageText string

// A pageData is the template's input.
type pageData struct {
	*Summary
	Title    string
	Style    template.CSS
	Policy   string
	Plots    []report.Plot
	Failures []failureGroup
}

type failureGroup struct {
	Reason string
	Count  int
	Shown  []shownFailure
}

// A shownFailure is a failure as the page shows it.
type shownFailure struct {
	ID, Where, Candidate, Method, Detail string
	Input, Gold, Logged                  string
	Pieces                               []shownPiece
}

// A shownPiece is a part of a reply on one channel.
type shownPiece struct {
	Class string
	Text  string
}

// Page returns the page for a summary and its failures.
func Page(sum *Summary, failures map[answer.Reason][]*Failure) ([]byte, error) {
	p := &pageData{Summary: sum, Title: "sotto score: " + sum.Task, Style: report.Style(), Plots: plots(sum), Policy: report.Policy()}
	for _, reason := range sum.Reasons {
		if list := failures[answer.Reason(reason.Name)]; len(list) > 0 {
			p.Failures = append(p.Failures, showGroup(reason, list))
		}
	}
	return report.Render(pageText, template.FuncMap{"percent": percent}, p)
}

func percent(x float64) string { return fmt.Sprintf("%.2f", 100*x) }

func showGroup(reason stats.Rate, list []*Failure) failureGroup {
	g := failureGroup{Reason: reason.Name, Count: reason.Count}
	slices.SortFunc(list, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(a.File.Order, b.File.Order), cmp.Compare(a.Line, b.Line))
	})
	for _, f := range list {
		g.Shown = append(g.Shown, f.show())
	}
	return g
}

func (f *Failure) show() shownFailure {
	s := shownFailure{
		ID: visible.Text(f.idText), Where: fmt.Sprintf("%s, %s %d", visible.Text(f.File.Name), f.File.Unit, f.Line),
		Candidate: visible.Text(f.outcome.Candidate), Method: f.outcome.Method, Detail: visible.Text(f.outcome.Detail),
		Input: visible.Text(abridge(f.Problem.Input)), Gold: visible.Text(abridge(f.Problem.Gold)), Logged: visible.Text(jsonpath.TextOr(f.logged, "")),
	}
	reply, err := f.Grammar.Parse(f.Raw, f.Start, f.End)
	if err != nil {
		return s
	}
	for _, seg := range reply.Segments {
		s.Pieces = append(s.Pieces, f.pieces(seg)...)
	}
	return s
}

// pieces cuts a segment at the candidate's span and at omitted text.
func (f *Failure) pieces(seg sotto.Segment) (pieces []shownPiece) {
	cuts := []int{seg.Start, seg.End}
	left, right := shownEnds, len(f.Raw)-shownEnds
	for _, at := range []int{left, right} {
		cuts = append(cuts, min(max(at, seg.Start), seg.End))
	}
	if span := f.outcome.Span; span != nil {
		cuts = append(cuts, min(max(span.Start, seg.Start), seg.End), min(max(span.End, seg.Start), seg.End))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i, from := range cuts[:len(cuts)-1] {
		to, class := cuts[i+1], seg.Channel.String()
		candidate := f.outcome.Span != nil && from >= f.outcome.Span.Start && to <= f.outcome.Span.End
		if candidate {
			class += " candidate"
		}
		text := visible.Text(f.Raw[from:to])
		if from >= left && to <= right && !candidate {
			class, text = class+" left-out", fmt.Sprintf(" … %d bytes … ", to-from)
		}
		pieces = append(pieces, shownPiece{class, text})
	}
	return pieces
}

// abridge keeps the beginning of a question.
func abridge(text string) string {
	if len(text) > 2000 {
		return text[:2000] + " …"
	}
	return text
}
