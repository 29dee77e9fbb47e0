// Package recordstats sums up the events of a record: how much was reasoning, what
// was saved, which models leaked.
package recordstats

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// Figures are the counts of one model at one upstream, or of all.
type Figures struct {
	Model          string         `json:"model"`
	Upstream       string         `json:"upstream"`
	Events         int            `json:"events"`
	Replies        int            `json:"replies"`
	Bytes          int            `json:"bytes"`
	ReasoningBytes int            `json:"reasoning_bytes"`
	ReasoningShare float64        `json:"reasoning_share"`
	Leaks          int            `json:"leaks"`
	LeakedBytes    int            `json:"leaked_bytes"`
	Diagnostics    map[string]int `json:"diagnostics"`
	InputTokens    int64          `json:"input_tokens"`
	OutputTokens   int64          `json:"output_tokens"`
	SavedBytes     int            `json:"saved_bytes"`
	SavedTokens    int            `json:"saved_tokens"` // estimated
}

// runFigures are the counts of runs, from the metrics of their cycles.
type runFigures struct {
	Cycles      int `json:"cycles"`
	PromptBytes int `json:"prompt_bytes"`
	SavedBytes  int `json:"saved_bytes"`
	SavedTokens int `json:"saved_tokens"`
}

// A Sum is the totals of a record's events, overall and by model and upstream.
type Sum struct {
	V     int        `json:"v"`
	Total Figures    `json:"total"`
	Runs  runFigures `json:"runs"`
	By    []*Figures `json:"by"`
	by    map[[2]string]*Figures
}

// New returns the figures for no events.
func New() *Sum {
	return &Sum{V: 1, By: []*Figures{}, by: map[[2]string]*Figures{}, Total: Figures{Diagnostics: map[string]int{}}}
}

// mostRows bounds the table, because clients choose the names in it.
const mostRows = 1000

// Add counts an event.
func (s *Sum) Add(p record.Payload) {
	switch x := p.(type) {
	case record.Exchange:
		s.both(x.Model, x.Upstream, func(f *Figures) { f.add(x.Replies, x.Usage, removedBy(x.History)) })
	case record.Invocation:
		s.both(x.Model, x.Provider, func(f *Figures) { f.add(x.Replies, x.Usage, 0) })
	case record.CycleEnd:
		s.Runs.Cycles++
		if m := x.Metrics; m != nil {
			s.Runs.PromptBytes += m.PromptBytes
			s.Runs.SavedBytes += m.SavedBytes
		}
	}
}

// both counts for the total and for one row.
func (s *Sum) both(model, upstream string, count func(*Figures)) {
	key := [2]string{model, upstream}
	if s.by[key] == nil && len(s.by) >= mostRows {
		key = [2]string{"other", "other"}
	}
	if s.by[key] == nil {
		s.by[key] = &Figures{Model: key[0], Upstream: key[1], Diagnostics: map[string]int{}}
		s.By = append(s.By, s.by[key])
	}
	count(&s.Total)
	count(s.by[key])
}

func (f *Figures) add(replies []record.Reply, usage *record.Usage, removed int) {
	f.Events++
	f.SavedBytes += removed
	if usage != nil {
		f.InputTokens += usage.Input
		f.OutputTokens += usage.Output
	}
	for i := range replies {
		f.CountReply(&replies[i])
	}
}

// CountReply counts a reply.
func (f *Figures) CountReply(r *record.Reply) {
	f.Replies++
	f.Bytes += r.Raw.Len()
	leaked := 0
	for _, s := range eventtext.SegmentsOf(r) {
		if s.Channel == sotto.ChannelReasoning {
			leaked += s.End - s.Start
		}
	}
	f.ReasoningBytes += leaked
	f.LeakedBytes += leaked
	if leaked > 0 {
		f.Leaks++
	}
	for _, t := range r.Reasoning {
		f.Bytes += t.Text.Len()
		f.ReasoningBytes += t.Text.Len()
	}
	for _, d := range r.Diagnostics {
		f.Diagnostics[string(d.Code)]++
	}
}

// removedNote is the note in an exchange's history about text removed from a
// request.
var removedNote = regexp.MustCompile(`(?:^|; )removed=(\d+) bytes`)

func removedBy(history string) int {
	m := removedNote.FindStringSubmatch(history)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// Finish computes the derived figures, and sorts the rows.
func (s *Sum) Finish() {
	s.Runs.SavedTokens = s.Runs.SavedBytes / 4
	for _, f := range append(s.By, &s.Total) {
		f.SavedTokens = f.SavedBytes / 4
		if f.Bytes > 0 {
			f.ReasoningShare = float64(f.ReasoningBytes) / float64(f.Bytes)
		}
	}
	slices.SortFunc(s.By, func(a, b *Figures) int {
		return cmp.Or(cmp.Compare(b.Replies, a.Replies), strings.Compare(a.Model, b.Model), strings.Compare(a.Upstream, b.Upstream))
	})
}
