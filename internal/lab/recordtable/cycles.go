package recordtable

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A cycleRow is a row of the table of cycles.
type cycleRow struct {
	e          *recordset.Event
	end        record.CycleEnd
	metrics    record.Metrics
	advisories []string // their codes
	model      string
}

var cycles = define(Table{
	Name:  "cycles",
	Doc:   "One row for each cycle of a run that ended.",
	Types: []record.Type{record.TypeRunStart, record.TypeAdvisory, record.TypeCycleEnd},
}, slices.Concat(
	where(func(r *cycleRow) *recordset.Event { return r.e }),
	[]column[cycleRow]{
		textColumn("model", "The model of the run, if its start is among the events.", func(r *cycleRow, c *cells) { c.word(r.model) }),
		textColumn("status", "How the cycle ended.", func(r *cycleRow, c *cells) { c.word(r.end.Status) }),
		textColumn("bound", "The bound that it reached, if one ended it.", func(r *cycleRow, c *cells) { c.word(r.end.Bound) }),
		intColumn("ms", "ms", "How long the cycle took.", func(r *cycleRow, c *cells) { c.Integer(r.end.Millis) }),
		metric("invocations", "", "Calls of the model.", func(m *record.Metrics) int64 { return int64(m.Invocations) }),
		metric("unanswered", "", "Calls of the model to which no reply came.", func(m *record.Metrics) int64 { return int64(m.Unanswered) }),
		metric("retries", "", "Calls that repeated another one.", func(m *record.Metrics) int64 { return int64(m.Retries) }),
		metric("tool_calls", "", "Uses of tools.", func(m *record.Metrics) int64 { return int64(m.ToolCalls) }),
		metric("tool_errors", "", "Uses of tools that failed.", func(m *record.Metrics) int64 { return int64(m.ToolErrors) }),
		metric("text_calls", "", "Tool calls that the model wrote into its text.", func(m *record.Metrics) int64 { return int64(m.TextCalls) }),
		metric("tokens_in", "tokens", "Tokens of the prompts.", func(m *record.Metrics) int64 { return m.InputTokens }),
		metric("tokens_out", "tokens", "Tokens of the replies.", func(m *record.Metrics) int64 { return m.OutputTokens }),
		metric("largest_prompt", "tokens", "Tokens of the largest prompt; 0 if the context window is not known.", func(m *record.Metrics) int64 { return m.LargestPrompt }),
		metric("reply_bytes", "bytes", "All that came as replies, in the text and in fields of its own.", func(m *record.Metrics) int64 { return int64(m.ReplyBytes) }),
		metric("visible_bytes", "bytes", "How much of it was visible.", func(m *record.Metrics) int64 { return int64(m.VisibleBytes) }),
		metric("thought_bytes", "bytes", "How much of it was reasoning.", func(m *record.Metrics) int64 { return int64(m.ThoughtBytes) }),
		metric("prompt_bytes", "bytes", "The prompts.", func(m *record.Metrics) int64 { return int64(m.PromptBytes) }),
		metric("saved_bytes", "bytes", "How much longer the prompts would have been with all thoughts in them.", func(m *record.Metrics) int64 { return int64(m.SavedBytes) }),
		metric("saved_tokens", "tokens", "About how many tokens that is.", func(m *record.Metrics) int64 { return int64(m.SavedTokens) }),
		textColumn("policy", "The thoughts policy that saved them.", func(r *cycleRow, c *cells) { c.word(r.metrics.Policy) }),
		realColumn("similarity", "0 to 1", "The similarity of the summary to the most similar earlier one; null without one.", func(r *cycleRow, c *cells) {
			if r.metrics.Method == "" {
				c.Null()
				return
			}
			c.Real(r.metrics.Similarity)
		}),
		intColumn("similar_to", "", "The cycle of that summary.", func(r *cycleRow, c *cells) { c.count(int64(r.metrics.SimilarTo)) }),
		textColumn("method", "How the similarity was measured.", func(r *cycleRow, c *cells) { c.word(r.metrics.Method) }),
		intColumn("advisories", "", "Advisories since the end of the cycle before.", func(r *cycleRow, c *cells) { c.int(len(r.advisories)) }),
		textColumn("advisory_codes", "Their codes, with spaces between them.", func(r *cycleRow, c *cells) { c.word(strings.Join(r.advisories, " ")) }),
		intColumn("reply_seq", "", "The number of the event with the reply that the summary comes from.", func(r *cycleRow, c *cells) {
			if r.end.Of == nil {
				c.Null()
				return
			}
			c.Integer(int64(r.end.Of.Seq))
		}),
		textColumn("summary", "The summary that later cycles get.", func(r *cycleRow, c *cells) { c.content(r.end.Summary) }),
		truthColumn("cut", "Whether some of the summary was not recorded; summary is null then.", func(r *cycleRow, c *cells) { c.Truth(!r.end.Summary.Whole()) }),
	}), func(row func(*cycleRow) error) (func(*recordset.Event) error, func() error) {
	x := cyclesOf{row: row, runs: map[runKey]*runState{}}
	return x.event, func() error { return nil }
})

// metric makes a column of a count of a cycle.
func metric(name, unit, doc string, of func(*record.Metrics) int64) column[cycleRow] {
	return intColumn(name, unit, doc, func(r *cycleRow, c *cells) {
		if r.end.Metrics == nil {
			c.Null()
			return
		}
		c.Integer(of(&r.metrics))
	})
}

// A runKey identifies a run. Runs of two records may have the same name.
type runKey struct {
	from *recordset.Source
	run  string
}

// A runState is what rows of later events need to know about a run.
type runState struct {
	model      string
	advisories []string
}

const (
	maxRuns       = 1 << 16 // whose state is kept
	maxAdvisories = 1000    // of a cycle whose codes are kept
)

// cyclesOf makes rows of the ends of cycles.
type cyclesOf struct {
	row  func(*cycleRow) error
	runs map[runKey]*runState
}

// state returns what is kept of a run.
func (x *cyclesOf) state(e *recordset.Event) *runState {
	key := runKey{e.Source, e.Run}
	s := x.runs[key]
	if s == nil {
		if len(x.runs) >= maxRuns {
			clear(x.runs)
		}
		s = &runState{}
		x.runs[key] = s
	}
	return s
}

func (x *cyclesOf) event(e *recordset.Event) error {
	switch p := e.Payload.(type) {
	case record.RunStart:
		x.state(e).model = strings.Clone(p.Model)
	case record.Advisory:
		if s := x.state(e); len(s.advisories) < maxAdvisories {
			s.advisories = append(s.advisories, strings.Clone(p.Code))
		}
	case record.CycleEnd:
		s := x.state(e)
		r := cycleRow{e: e, end: p, model: s.model, advisories: s.advisories}
		if p.Metrics != nil {
			r.metrics = *p.Metrics
		}
		s.advisories = nil
		return x.row(&r)
	}
	return nil
}
