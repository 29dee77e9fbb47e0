package studyreport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxCycles bounds the cycles of a run that are kept in memory.
	maxCycles = 100_000
	// maxFaults bounds the lines of records that are named because they cannot be
	// read.
	maxFaults = 20
)

// A cycle is what the record has of a cycle of a run.
type cycle struct {
	ended   time.Time
	metrics record.Metrics
}

// A runCurve is a kind of curve over the cycles of runs.
type runCurve struct {
	name, title, unit, note string
	of                      func(*record.Metrics) float64
}

// runCurveKinds are the curves of runs. A value that a cycle does not have is NaN.
var runCurveKinds = []runCurve{
	{"similarity", "Repetition", "share", "similarity of the reflection to the most similar earlier one of the run", func(m *record.Metrics) float64 {
		if m.Method == "" {
			return math.NaN()
		}
		return m.Similarity
	}},
	{"prompt_tokens", "Tokens of a prompt", "tokens", "tokens of the prompts of a cycle, by invocations", func(m *record.Metrics) float64 {
		return float64(m.InputTokens) / float64(m.Invocations)
	}},
	{"thought_share", "Share of thoughts", "share", "bytes of thoughts, of all bytes of the replies of a cycle", func(m *record.Metrics) float64 {
		return float64(m.ThoughtBytes) / float64(m.ReplyBytes)
	}},
	{"saved_tokens", "Tokens saved", "tokens", "tokens that the policy kept out of the prompts of a cycle; estimated", func(m *record.Metrics) float64 {
		return float64(m.SavedTokens)
	}},
}

// runCurves computes the curves of runs, from the record.
func (r *Report) runCurves(ctx context.Context, o Options) error {
	wanted := map[string]bool{}
	for i := range r.study.Cells {
		if c := &r.study.Cells[i]; counts(r.study.State(c)) {
			wanted[r.study.RunName(c)] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	runs, err := r.readCycles(ctx, wanted, o)
	if err != nil {
		return err
	}
	for _, kind := range runCurveKinds {
		c := Curve{Name: kind.name, Title: kind.title, Unit: kind.unit, X: "cycle", Note: kind.note}
		for i := range r.Groups {
			g := &r.Groups[i]
			var tracks []track
			last := 0
			for _, cell := range r.counted(g) {
				cycles := runs[r.study.RunName(cell)]
				for n := range cycles {
					last = max(last, n)
				}
				tracks = append(tracks, func(x int) float64 {
					at, ok := cycles[x]
					if !ok {
						return math.NaN()
					}
					return kind.of(&at.metrics)
				})
			}
			c.Lines = append(c.Lines, lineOf(g, positions(1, last), tracks))
		}
		r.addCurve(c)
	}
	return nil
}

// readCycles reads the cycles of runs from all records of the study. A cycle that
// ended twice, because a worker was killed and another one began the run again, is
// that which ended last.
func (r *Report) readCycles(ctx context.Context, wanted map[string]bool, o Options) (map[string]map[int]cycle, error) {
	runs := map[string]map[int]cycle{}
	dir := study.RecordsFolder(r.study.Dir)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		r.Faults = append(r.Faults, "the study has no record, so there are no curves over cycles")
		return runs, nil
	}
	set, err := recordset.Open(dir, record.ReadOptions{Identities: o.Identities, NoIndex: true})
	if err != nil {
		r.Faults = append(r.Faults, fmt.Sprintf("the records: %v", err))
		return runs, nil
	}
	faults := 0
	for e, err := range set.Events(record.Query{Types: []record.Type{record.TypeCycleEnd}}) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			addCycle(runs, wanted, &e.Event)
			continue
		}
		if faults++; faults <= maxFaults {
			r.Faults = append(r.Faults, fmt.Sprintf("the records: %v", err))
		}
	}
	if faults > maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf("the records: %d more lines cannot be read", faults-maxFaults))
	}
	return runs, nil
}

func addCycle(runs map[string]map[int]cycle, wanted map[string]bool, e *record.Event) {
	end, ok := e.Payload.(record.CycleEnd)
	if !ok || end.Metrics == nil || !wanted[e.Run] || e.Cycle < 1 || e.Cycle > maxCycles {
		return
	}
	if runs[e.Run] == nil {
		runs[e.Run] = map[int]cycle{}
	}
	if was, ok := runs[e.Run][e.Cycle]; !ok || !e.Time.Before(was.ended) {
		runs[e.Run][e.Cycle] = cycle{e.Time, *end.Metrics}
	}
}
