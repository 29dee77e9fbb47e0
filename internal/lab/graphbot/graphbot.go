// Package graphbot writes what sotto solve recorded as the calls of graph-bot
// (PROFOUNDIVE/graph-bot), whose streams of problems have a memory too: a line for each
// reply and a line for each verdict on one, so that programs that read its logs can read
// a record.
package graphbot

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A Line is a line of a log NAME.calls.jsonl. What a record does not say is null.
type Line struct {
	CallID       string   `json:"call_id"`
	ParentID     *string  `json:"parent_id"`
	T            int      `json:"t"` // the place of the problem in the stream
	ProblemID    string   `json:"problem_id"`
	Operation    string   `json:"operation"` // solve or validate
	AttemptIndex int      `json:"attempt_index"`
	Temperature  *float64 `json:"temperature"`
	Passed       *bool    `json:"validator_passed"`
	Failure      *string  `json:"failure_reason"`
	Variant      *string  `json:"prompt_variant"`
	PromptTokens *int64   `json:"prompt_tokens"`
	Completion   *int64   `json:"completion_tokens"`
	TotalTokens  *int64   `json:"total_tokens"`
	LatencyMS    float64  `json:"latency_ms"`
	CostUSD      *float64 `json:"api_cost_usd"`
	ErrorType    *string  `json:"error_type"`
	Raw          *string  `json:"raw_output"`
	Candidate    *string  `json:"candidate_line"`
	// Normalization is how the candidate was found.
	Normalization *string `json:"normalization"`
	Precheck      *string `json:"precheck_failure_reason"`
}

// Types are the types of events of which lines are made.
var Types = []record.Type{record.TypeCycleStart, record.TypeInvocation, record.TypeExtraction, record.TypeCycleEnd}

// maxRuns bounds the runs whose problem is not finished.
const maxRuns = 1024

type runKey struct {
	from *recordset.Source
	run  string
}

// A problem is one that a run has begun. The line of its last reply waits for the
// verdict on it.
type problem struct {
	id    string
	seq   uint64
	waits *Line
}

// An Exporter makes lines of events, in their order.
type Exporter struct{ problems map[runKey]*problem }

// Lines returns the lines that are complete with an event; with nil, the rest.
func (x *Exporter) Lines(e *recordset.Event) []Line {
	if e == nil {
		return x.rest()
	}
	var list []Line
	if x.problems == nil || len(x.problems) > maxRuns {
		list, x.problems = x.rest(), map[runKey]*problem{}
	}
	key := runKey{e.Source, e.Run}
	p := x.problems[key]
	if p == nil {
		p = &problem{id: fmt.Sprintf("%s:%d", e.Run, e.Cycle)}
		x.problems[key] = p
	}
	switch payload := e.Payload.(type) {
	case record.CycleStart:
		list = append(list, p.flush()...)
		if text := textOf(payload.Goal); text != nil && *text != "" {
			p.id = *text
		}
	case record.Invocation:
		list = append(list, p.flush()...)
		p.begin(e, &payload)
	case record.Extraction:
		list = append(list, p.judge(e, &payload)...)
	case record.CycleEnd:
		list = append(list, p.flush()...)
		delete(x.problems, key)
	}
	return list
}

// rest returns the lines that wait for a verdict that does not come.
func (x *Exporter) rest() (list []Line) {
	open := slices.SortedFunc(maps.Values(x.problems), func(a, b *problem) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) // in the same order each time
	})
	for _, p := range open {
		list = append(list, p.flush()...)
	}
	x.problems = nil
	return list
}

// flush returns the line that waits.
func (p *problem) flush() []Line {
	if p.waits == nil {
		return nil
	}
	line := *p.waits
	p.waits = nil
	return []Line{line}
}

// begin makes the line of a reply. It waits for the verdict.
func (p *problem) begin(e *recordset.Event, call *record.Invocation) {
	line := Line{
		CallID: callID(e), T: e.Cycle, ProblemID: p.id, Operation: "solve", AttemptIndex: max(1, call.Attempt), LatencyMS: float64(call.Millis),
	}
	if u := call.Usage; u != nil {
		total := u.Input + u.Output
		line.PromptTokens, line.Completion, line.TotalTokens = &u.Input, &u.Output, &total
	}
	if len(call.Replies) > 0 {
		line.Raw = textOf(call.Replies[0].Raw)
	}
	if call.Error != "" {
		line.ErrorType = &call.Error
	}
	p.seq, p.waits = e.Seq, &line
}

// judge returns the line of a reply with its verdict, and the line of the verdict.
func (p *problem) judge(e *recordset.Event, x *record.Extraction) []Line {
	if p.waits == nil || x.Of.Seq != p.seq {
		return nil // of a reply that this log has no line of
	}
	solve := p.flush()[0]
	solve.Candidate = textOf(x.Candidate)
	if x.Method != "" {
		solve.Normalization = &x.Method
	}
	if v := x.Verdict; v != nil {
		solve.Passed = &v.OK
		if !v.OK {
			solve.Failure = &v.Reason
		}
	}
	validate := solve
	validate.CallID, validate.ParentID, validate.Operation = callID(e), &solve.CallID, "validate"
	validate.PromptTokens, validate.Completion, validate.TotalTokens, validate.LatencyMS = nil, nil, nil, 0
	return []Line{solve, validate}
}

// callID is an id that no other event of the records has.
func callID(e *recordset.Event) string { return fmt.Sprintf("%s:%d", e.Source.Name, e.Seq) }

// textOf returns a text, or nil if some of it was not recorded.
func textOf(c record.Content) *string {
	if !c.Whole() {
		return nil
	}
	text := string(c.Text)
	return &text
}

// Write writes the lines of events. A failed reading is passed to failed; if it
// returns nil, the reading continues.
func Write(to io.Writer, events iter.Seq2[recordset.Event, error], failed func(error) error) error {
	var x Exporter
	return recordset.WriteLines(to, events, x.Lines, failed)
}
