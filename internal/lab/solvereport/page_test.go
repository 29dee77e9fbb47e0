package solvereport

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// Text from a model or a file is text on the page too, and adds no line to a plot's
// markup.
func TestSolvePageEscapes(t *testing.T) {
	evil := `<script>alert(1)</script>" onload="x`
	s := Stream{Results: []solve.Result{{V: 1, N: 1, ID: "1", Task: evil, Mode: solve.Graph, Model: evil, Solved: true, Input: 10, Output: 3}}}
	s.Summary = solve.Summarise(s.Results)
	s.Name = evil
	page, err := Page([]Stream{s, s})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte(`" onload`)) || !strings.Contains(string(page), "&lt;script&gt;") {
		t.Errorf("the page is not escaped:\n%s", page)
	}
}

// Unknown values are not drawn as zero. A stream without prices has no line of
// costs, and a stream that solved nothing is not the cheapest.
func TestSolvePageUnknown(t *testing.T) {
	of := func(name string, priced, solved bool) Stream {
		s := Stream{Results: []solve.Result{
			{N: 1, ID: "1", Mode: solve.CoT, Input: 10, Cost: 1, Priced: priced},
			{N: 2, ID: "2", Mode: solve.CoT, Input: 10, Cost: 1, Priced: priced, Solved: solved},
		}}
		s.Summary = solve.Summarise(s.Results)
		s.Name = name
		return s
	}
	list := []Stream{of("free", false, true), of("paid", true, true), of("failing", true, false)}
	costs := series(list, pricedStream, func(r *pace) float64 { return ratio(r.cost, r.solved) })
	if len(costs) != 1 || costs[0].Name != "paid" || costs[0].From != 1 || len(costs[0].Points) != 1 || costs[0].Points[0] != 2 {
		t.Errorf("costs: %+v", costs)
	}
	for _, p := range solvePlots(list) {
		drawn := strings.Count(string(p.Drawing), "<polyline")
		switch {
		case strings.HasPrefix(p.Title, "Cost") && drawn != 1, strings.HasPrefix(p.Title, "Tokens") && drawn != 2:
			t.Errorf("%s: %d lines", p.Title, drawn)
		}
		if strings.Contains(string(p.Drawing), "NaN") {
			t.Errorf("%s holds NaN", p.Title)
		}
	}
	var b bytes.Buffer
	Print(&b, list[2:])
	if !regexp.MustCompile(`(?m)^ +2 .* - +-$`).Match(b.Bytes()) {
		t.Errorf("the table tells what a solved problem took:\n%s", b.String())
	}
}
