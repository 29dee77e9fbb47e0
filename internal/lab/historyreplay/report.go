package historyreplay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/lexical"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A Report compares policies. All differences are paired: both sides answer the same
// request of the same conversation, and a conversation counts once, because its
// requests are not independent.
type Report struct {
	Baseline      history.Policy `json:"baseline"`
	Requests      int            `json:"requests"` // cases with a row for each policy
	Conversations int            `json:"conversations"`
	Rows          int            `json:"rows"`
	Policies      []Policy       `json:"policies"`
	Differences   []Difference   `json:"differences"`
}

// A Policy is what came under one policy.
type Policy struct {
	Policy  history.Policy `json:"policy"`
	Rows    int            `json:"rows"`
	Shared  int            `json:"same_requests"` // rows whose request was that of another policy
	Refused stats.Rate     `json:"refused"`
	Errors  []Count        `json:"errors,omitempty"` // the most frequent
	// The means of the rows that were not refused.
	Bytes     float64 `json:"request_bytes"`
	Input     float64 `json:"input_tokens"`
	Cached    float64 `json:"cached_tokens"`
	Output    float64 `json:"output_tokens"`
	Reasoning float64 `json:"reasoning_tokens"`
	Millis    float64 `json:"ms"`
	// CachedShare is the share of all prompt tokens that came from the cache.
	CachedShare float64 `json:"cached_share"`
	// Recorded says how many answers are those of the record, and Baseline how many are
	// those of the baseline in the same round.
	Recorded stats.Rate `json:"same_as_recorded"`
	Baseline stats.Rate `json:"same_as_baseline"`
	// Again says how many answers of a further round are those of the first round under
	// the same policy: what chance alone changes. It is empty if there is one round.
	Again stats.Rate `json:"same_in_next_round"`
}

// A Count is how often something came.
type Count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// A Difference is a measure under a policy less the same under the baseline.
type Difference struct {
	Policy   history.Policy  `json:"policy"`
	Measure  string          `json:"measure"`
	Unit     string          `json:"unit"`
	N        int             `json:"conversations"`
	Mean     float64         `json:"mean"`
	Interval *stats.Interval `json:"interval,omitempty"`
	P        float64         `json:"p"`
	// Corrected is P after Holm's correction for all differences of the report.
	Corrected float64 `json:"p_corrected"`
	Method    string  `json:"method,omitempty"`
}

// A measure is a figure of a row. ok is false if the row has none.
type measure struct {
	name, unit string
	of         func(*figures) (value float64, ok bool)
}

var measures = []measure{
	{"refused", "share", func(f *figures) (float64, bool) { return truth(f.refused), true }},
	{"request size", "bytes", func(f *figures) (float64, bool) { return f.bytes, true }},
	{"prompt", "tokens", func(f *figures) (float64, bool) { return f.input, !f.refused && f.input > 0 }},
	{"cached", "tokens", func(f *figures) (float64, bool) { return f.cached, !f.refused && f.input > 0 }},
	{"reply", "tokens", func(f *figures) (float64, bool) { return f.output, !f.refused && f.output > 0 }},
	{"reasoning", "tokens", func(f *figures) (float64, bool) { return f.reasoning, !f.refused && f.output > 0 }},
	{"time", "ms", func(f *figures) (float64, bool) { return f.ms, !f.refused && !f.shared }},
	{"likeness to the recorded answer", "0 to 1", func(f *figures) (float64, bool) { return f.likeness, !f.refused }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// figures are what a tally keeps of a row.
type figures struct {
	refused, shared                             bool
	bytes, input, cached, output, reasoning, ms float64
	likeness                                    float64
	asRecorded                                  bool
	answer                                      [32]byte
	err                                         string
}

// A Tally makes a report from rows. It keeps some numbers of each, and no text.
type Tally struct {
	policies []history.Policy // the first is the baseline
	cases    map[string]*tallied
}

type tallied struct {
	conversation string
	rows         map[string]*figures // by policy and round
}

// NewTally returns a tally of these policies, of which the first is the baseline.
func NewTally(policies []history.Policy) *Tally {
	return &Tally{policies, map[string]*tallied{}}
}

// Add counts a row. A row that is there already replaces the earlier one.
func (t *Tally) Add(r *Row) {
	c := t.cases[r.Event]
	if c == nil {
		c = &tallied{r.Conversation, map[string]*figures{}}
		t.cases[r.Event] = c
	}
	c.rows[rowKey("", r.Policy, r.Round)] = &figures{
		refused: r.Error != "", shared: r.As != "", bytes: float64(r.Bytes), input: float64(r.Input), cached: float64(r.Cached),
		output: float64(r.Output), reasoning: float64(r.Reasoning), ms: float64(r.Millis),
		likeness: likeness(r.Answer, r.Recorded), asRecorded: sameText(r.Answer, r.Recorded), answer: digestOf(r), err: errorOf(r),
	}
}

// likeness is 1 for the same words, and the cosine of the letter groups otherwise.
func likeness(a, b string) float64 {
	if sameText(a, b) {
		return 1
	}
	return lexical.NewVector(a).Similarity(lexical.NewVector(b))
}

func errorOf(r *Row) string {
	if r.Error == "" {
		return ""
	}
	return fmt.Sprintf("%d: %s", r.Status, r.Error)
}

// Report compares the policies.
func (t *Tally) Report() *Report {
	out := &Report{Baseline: t.policies[0], Policies: []Policy{}, Differences: []Difference{}}
	conversations := map[string]bool{}
	for _, c := range t.cases {
		out.Rows += len(c.rows)
		if t.complete(c) {
			out.Requests++
			conversations[c.conversation] = true
		}
	}
	out.Conversations = len(conversations)
	events := slices.Sorted(maps.Keys(t.cases)) // sums in one order
	for _, p := range t.policies {
		out.Policies = append(out.Policies, t.policy(p, events))
	}
	for _, p := range t.policies[1:] {
		for _, m := range measures {
			if d, ok := t.difference(p, m, events); ok {
				out.Differences = append(out.Differences, d)
			}
		}
	}
	ps := make([]float64, len(out.Differences))
	for i, d := range out.Differences {
		ps[i] = d.P
	}
	for i, p := range stats.Holm(ps) {
		out.Differences[i].Corrected = p
	}
	return out
}

// complete reports whether a case has a first row for each policy.
func (t *Tally) complete(c *tallied) bool {
	return !slices.ContainsFunc(t.policies, func(p history.Policy) bool { return c.rows[rowKey("", p, 1)] == nil })
}

// policy returns the figures of one policy.
func (t *Tally) policy(p history.Policy, events []string) Policy {
	out := Policy{Policy: p}
	errors := map[string]int{}
	var refused, answered, recorded, based, ofBase, again, ofAgain int
	for _, event := range events {
		c := t.cases[event]
		for round := 1; ; round++ {
			f := c.rows[rowKey("", p, round)]
			if f == nil {
				break
			}
			out.Rows++
			out.Shared += int(truth(f.shared))
			if f.refused {
				refused++
				errors[f.err]++
				continue
			}
			answered++
			out.Bytes += f.bytes
			out.Input += f.input
			out.Cached += f.cached
			out.Output += f.output
			out.Reasoning += f.reasoning
			out.Millis += f.ms
			recorded += int(truth(f.asRecorded))
			if base := c.rows[rowKey("", t.policies[0], round)]; base != nil && !base.refused {
				ofBase++
				based += int(truth(base.answer == f.answer))
			}
			if first := c.rows[rowKey("", p, 1)]; round > 1 && !first.refused {
				ofAgain++
				again += int(truth(first.answer == f.answer))
			}
		}
	}
	if out.Input > 0 {
		out.CachedShare = out.Cached / out.Input
	}
	for _, sum := range []*float64{&out.Bytes, &out.Input, &out.Cached, &out.Output, &out.Reasoning, &out.Millis} {
		*sum /= max(1, float64(answered))
	}
	out.Refused = stats.NewRate("", refused, out.Rows)
	out.Recorded, out.Baseline, out.Again = stats.NewRate("", recorded, answered), stats.NewRate("", based, ofBase), stats.NewRate("", again, ofAgain)
	for what, n := range errors {
		out.Errors = append(out.Errors, Count{what, n})
	}
	slices.SortFunc(out.Errors, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.What, b.What)) })
	out.Errors = out.Errors[:min(len(out.Errors), 3)]
	return out
}

// difference compares a measure between a policy and the baseline, conversation by
// conversation. ok is false if no request has it on both sides.
func (t *Tally) difference(p history.Policy, m measure, events []string) (d Difference, ok bool) {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, event := range events {
		c := t.cases[event]
		for round := 1; ; round++ {
			a, b := c.rows[rowKey("", p, round)], c.rows[rowKey("", t.policies[0], round)]
			if a == nil || b == nil {
				break
			}
			x, hasX := m.of(a)
			y, hasY := m.of(b)
			if hasX && hasY {
				sums[c.conversation] += x - y
				counts[c.conversation]++
			}
		}
	}
	if len(sums) == 0 {
		return d, false
	}
	values := make([]float64, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		values = append(values, sums[name]/counts[name])
	}
	sample := stats.NewSample(values)
	test := sample.SignFlip()
	return Difference{
		Policy: p, Measure: m.name, Unit: m.unit, N: sample.N(), Mean: sample.Mean(), Interval: sample.IntervalOfMean(),
		P: zeroNaN(test.P), Method: test.Method,
	}, true
}

func zeroNaN(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return p
}

// digestOf names what a reply says and does, apart from white space.
func digestOf(r *Row) [32]byte {
	h := newDigest()
	h.words(r.Answer)
	for _, c := range r.Calls {
		h.part(c.Name)
		h.part(normalJSON(c.Arguments))
	}
	return h.sum()
}

// normalJSON is JSON without white space and with sorted members, or the text as it is
// if it is no JSON.
func normalJSON(text string) string {
	var v any
	if !foreignjson.Valid([]byte(text)) || json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, _ := json.Marshal(v)
	return string(b)
}
