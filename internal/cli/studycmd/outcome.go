package studycmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/prices"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/record"
)

// outcome says how a cell ended, and computes its measures.
func outcome(dir string, kind study.Kind, p *study.Plan, c *study.Cell, e study.Exit) study.Outcome {
	if e.Err != nil && strings.Contains(e.Reason, record.ErrLocked.Error()) {
		// A process of a study that was killed ends a moment after it.
		return study.Outcome{Status: study.Failed, Suspended: true, Wait: time.Second, Reason: e.Reason}
	}
	if kind == study.Runs {
		return outcomeOfRun(e)
	}
	return outcomeOfStream(study.StreamFile(dir, c.ID), p, e)
}

// A runSummary is what sotto run --json prints.
type runSummary struct {
	V        int            `json:"v"`
	Status   agent.Status   `json:"status"`
	Bound    agent.Bound    `json:"bound"`
	Cycles   int            `json:"cycles"`
	Answered int            `json:"answered"`
	Repeated int            `json:"repeated"`
	Millis   int64          `json:"ms"`
	Metrics  record.Metrics `json:"metrics"`
}

func outcomeOfRun(e study.Exit) study.Outcome {
	var s runSummary
	if err := errors.Join(foreignjson.Check(bytes.TrimSpace(e.Out)), json.Unmarshal(e.Out, &s)); err != nil || s.V != 1 {
		o := study.Outcome{Status: study.Failed, Reason: e.Reason}
		if e.Err == nil {
			o.Reason = "it printed no summary"
		}
		return o
	}
	o := study.Outcome{Status: study.Done, Reason: string(s.Bound), Measures: measuresOfRun(s)}
	switch {
	case s.Status == agent.Suspended && s.Bound == agent.BoundOutage:
		o.Status, o.Suspended = study.Failed, true
	case s.Status == agent.Suspended: // too many cycles failed in a row
		o.Status = study.Failed
	case s.Status != agent.Done:
		o.Status = study.Bounded
	}
	return o
}

func measuresOfRun(s runSummary) map[string]float64 {
	share := func(part, of int) float64 {
		if of == 0 {
			return 0
		}
		return float64(part) / float64(of)
	}
	m := s.Metrics
	return map[string]float64{
		"cycles": float64(s.Cycles), "answered_share": share(s.Answered, s.Cycles), "repeated_share": share(s.Repeated, s.Cycles),
		"invocations": float64(m.Invocations), "tool_calls": float64(m.ToolCalls), "tool_errors": float64(m.ToolErrors),
		"input_tokens": float64(m.InputTokens), "output_tokens": float64(m.OutputTokens),
		"thought_share": share(m.ThoughtBytes, m.ReplyBytes), "saved_tokens": float64(m.SavedTokens), "ms": float64(s.Millis),
	}
}

func outcomeOfStream(name string, p *study.Plan, e study.Exit) study.Outcome {
	o := study.Outcome{Status: study.Done}
	var err error
	if o.Measures, err = measuresOfStream(name); err != nil {
		return study.Outcome{Status: study.Failed, Reason: err.Error()}
	}
	if e.Err == nil {
		return o
	}
	o.Status, o.Reason = study.Failed, e.Reason
	switch {
	case strings.Contains(e.Reason, "the budget of "):
		o.Status = study.Bounded
	case p.Server != "":
		o.Suspended = true // problems that fail alone do not end a stream
	}
	return o
}

// measuresOfStream reads the output of a stream, which may be incomplete.
func measuresOfStream(name string) (map[string]float64, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	defer f.Close()
	_, results, err := solvereport.ReadResults(sealing.NewPlainReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sum := solve.Summarise(results)
	if len(sum.Rows) == 0 {
		return nil, nil
	}
	row := sum.Rows[len(sum.Rows)-1]
	m := map[string]float64{
		"solved_share": float64(row.Solved) / float64(row.Problems), "solved": float64(row.Solved), "problems": float64(row.Problems),
		"attempts": float64(row.Attempts), "by_template": float64(row.ByTemplate), "with_paths": float64(row.WithPaths), "tokens": float64(row.Tokens),
	}
	if sum.Priced {
		m["cost"] = row.Cost
	}
	for _, r := range results {
		m["ms"] += r.Millis
	}
	return m, nil
}

// costs returns what cells cost. A stream with prices of its own knows it; for runs
// the prices are those of the study.
func costs(f *study.File, plans *study.Plans) (func(*study.Cell, *study.State) float64, error) {
	if f.Kind == study.Streams {
		return func(_ *study.Cell, s *study.State) float64 { return s.Measures["cost"] }, nil
	}
	if f.Prices == "" {
		return nil, nil
	}
	name := f.Path(f.Prices)
	data, err := files.Read("prices", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	list, err := prices.Read(name, data)
	if err != nil {
		return nil, err
	}
	of := map[string]*prices.Price{}
	for _, p := range plans.Of {
		if p.Model == "" || of[p.Model] != nil {
			continue
		}
		if of[p.Model], err = list.Of(p.Model); err != nil {
			return nil, err
		}
	}
	return func(c *study.Cell, s *study.State) float64 {
		p := of[plans.Of[c.ID].Model]
		if p == nil {
			return 0
		}
		return (p.Input*s.Measures["input_tokens"] + p.Output*s.Measures["output_tokens"]) / 1e6
	}, nil
}
