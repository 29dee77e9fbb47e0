package cli

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
	"github.com/sotto-llm/sotto/internal/jsonpath"
	"github.com/sotto-llm/sotto/internal/visible"
)

// A failure is a reply that was judged wrong, kept for the page.
type failure struct {
	posed
	idText string
	rank   uint64 // those of the lowest are kept
}

const (
	fewFailures = 25        // of a reason are on the page
	longFailure = 256 << 10 // bytes; of a longer reply the page shows no text
	shownEnds   = 6 << 10   // bytes of a reply that are shown at either end
)

// keepFew keeps a failure, if it is among the few: such that the lines come from
// all over the input, and do not depend on their order.
func keepFew(list []*failure, p *posed, was *outcome) []*failure {
	hash := fnv.New64a()
	hash.Write(p.id)
	io.WriteString(hash, p.raw)
	rank := hash.Sum64()
	if len(list) == fewFailures && rank >= list[fewFailures-1].rank {
		return list
	}
	f := &failure{posed: *p, idText: textOf(p.id), rank: rank}
	f.id, f.group, f.by, f.logged = nil, nil, nil, slices.Clone(p.logged)
	if len(f.raw) > longFailure {
		f.raw = ""
	}
	f.outcome = *was
	f.outcome.id, f.outcome.Attempts = nil, nil
	return fewest(append(list, f))
}

// fewest keeps the few of a list.
func fewest(list []*failure) []*failure {
	slices.SortFunc(list, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.file.order, b.file.order), cmp.Compare(a.line, b.line))
	})
	if len(list) > fewFailures {
		clear(list[fewFailures:])
		list = list[:fewFailures]
	}
	return list
}

//go:embed score.html.tmpl
var pageText string

// A page is what the template reads.
type page struct {
	*summary
	Title    string
	Style    template.CSS
	Policy   string
	Plots    []plot
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

// renderPage returns the page of a summary and its failures.
func renderPage(sum *summary, failures map[answer.Reason][]*failure) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"percent": percent}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	p := &page{summary: sum, Title: "sotto score: " + sum.Task, Style: pageStyle(), Plots: plots(sum), Policy: pagePolicy()}
	for _, reason := range sum.Reasons {
		if list := failures[answer.Reason(reason.Name)]; len(list) > 0 {
			p.Failures = append(p.Failures, showGroup(reason, list))
		}
	}
	return render(t, p)
}

func percent(x float64) string { return fmt.Sprintf("%.2f", 100*x) }

func showGroup(reason rate, list []*failure) failureGroup {
	g := failureGroup{Reason: reason.Name, Count: reason.Count}
	slices.SortFunc(list, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(a.file.order, b.file.order), cmp.Compare(a.line, b.line))
	})
	for _, f := range list {
		g.Shown = append(g.Shown, f.show())
	}
	return g
}

func (f *failure) show() shownFailure {
	s := shownFailure{
		ID: visible.Text(f.idText), Where: fmt.Sprintf("%s, %s %d", visible.Text(f.file.name), f.file.unit, f.line),
		Candidate: visible.Text(f.outcome.Candidate), Method: f.outcome.Method, Detail: visible.Text(f.outcome.Detail),
		Input: visible.Text(abridge(f.problem.Input)), Gold: visible.Text(abridge(f.problem.Gold)), Logged: visible.Text(jsonpath.TextOr(f.logged, "")),
	}
	reply, err := f.Grammar.Parse(f.raw, f.Start, f.End)
	if err != nil {
		return s
	}
	for _, seg := range reply.Segments {
		s.Pieces = append(s.Pieces, f.pieces(seg)...)
	}
	return s
}

// pieces cuts a segment at the candidate's span and at what is left out.
func (f *failure) pieces(seg sotto.Segment) (pieces []shownPiece) {
	cuts := []int{seg.Start, seg.End}
	left, right := shownEnds, len(f.raw)-shownEnds
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
		text := visible.Text(f.raw[from:to])
		if from >= left && to <= right && !candidate {
			class, text = class+" left-out", fmt.Sprintf(" … %d bytes … ", to-from)
		}
		pieces = append(pieces, shownPiece{class, text})
	}
	return pieces
}

// abridge keeps the begin of what was asked.
func abridge(text string) string {
	if len(text) > 2000 {
		return text[:2000] + " …"
	}
	return text
}
