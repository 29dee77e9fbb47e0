package runview

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/streamview"
	"github.com/sotto-llm/sotto/record"
)

// streamAgent is the agent of the runs that are streams of problems.
const streamAgent = "solve"

// IsStream reports whether a run is a stream of problems: each of its cycles is a problem.
func (r *Run) IsStream() bool { return r.Agent == streamAgent }

// Run returns a run by its name.
func (s *Source) Run(ctx context.Context, name string) (*Run, error) {
	_, newest, _, err := s.one(ctx, name)
	return newest, err
}

// Has reports whether the record has an event of a run.
func (s *Source) Has(ctx context.Context, run string) bool { return s.any(ctx, run) }

// Stream reads the problems of a run that is a stream of them. Of a long one only the newest
// are read.
func (s *Source) Stream(ctx context.Context, r *Run) (*streamview.Stream, error) {
	out := &streamview.Stream{Run: r.Run, Model: r.Model}
	_, _, config, err := s.one(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	out.Mode = config["mode"]
	problems := map[int]*streamview.Problem{}
	ended := map[int]bool{}
	at := func(n int) *streamview.Problem {
		if problems[n] == nil {
			problems[n] = &streamview.Problem{N: n}
		}
		return problems[n]
	}
	var read reading
	q := record.Query{Run: r.Run, Types: []record.Type{record.TypeCycleStart, record.TypeInvocation, record.TypeExtraction, record.TypeMemory, record.TypeCycleEnd}}
	cut, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		p := at(g.Event.Cycle)
		switch x := g.Event.Payload.(type) {
		case record.CycleStart:
			p.ID = cmp.Or(p.ID, strings.Clone(string(x.Goal.Text)))
		case record.CycleEnd:
			if !ended[p.N] { // the newest: a problem that was broken off began again
				ended[p.N], p.Solved, p.Answer = true, x.Status == statusSolved, string(textOf(string(x.Summary.Text), maxGlance).Text)
			}
		case record.Extraction:
			if v := x.Verdict; v != nil && !v.OK {
				p.Reason = cmp.Or(p.Reason, v.Reason)
			}
		case record.Invocation:
			p.Calls++
			if x.Usage != nil {
				p.Tokens += max(0, x.Usage.Input) + max(0, x.Usage.Output)
			}
		case record.Memory:
			if len(x.Used) > 0 {
				p.Hit = solve.HitPaths
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	out.Partial = cut
	list := make([]*streamview.Problem, 0, len(problems))
	for n, p := range problems {
		if n < 1 || !ended[n] || cut && p.ID == "" {
			continue // not finished, or its beginning was not read
		}
		if p.Solved {
			p.Reason = ""
		}
		if p.Hit != "" && p.Calls == 0 {
			p.Hit = solve.HitTemplate
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *streamview.Problem) int { return cmp.Compare(a.N, b.N) })
	for _, p := range list {
		out.Add(*p)
	}
	return out, nil
}

// statusSolved is the status of a cycle whose problem was solved.
const statusSolved = "solved"
