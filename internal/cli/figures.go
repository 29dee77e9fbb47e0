package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// figures are the counts of one model at one upstream, or of all.
type figures struct {
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

type recordFigures struct {
	V     int        `json:"v"`
	Total figures    `json:"total"`
	Runs  runFigures `json:"runs"`
	By    []*figures `json:"by"`
	by    map[[2]string]*figures
}

// newRecordFigures returns the figures of no event.
func newRecordFigures() *recordFigures {
	return &recordFigures{V: 1, By: []*figures{}, by: map[[2]string]*figures{}, Total: figures{Diagnostics: map[string]int{}}}
}

// mostRows bounds the table: names are what clients sent.
const mostRows = 1000

// add counts an event.
func (s *recordFigures) add(p record.Payload) {
	switch x := p.(type) {
	case record.Exchange:
		s.both(x.Model, x.Upstream, func(f *figures) { f.add(x.Replies, x.Usage, removedBy(x.History)) })
	case record.Invocation:
		s.both(x.Model, x.Provider, func(f *figures) { f.add(x.Replies, x.Usage, 0) })
	case record.CycleEnd:
		s.Runs.Cycles++
		if m := x.Metrics; m != nil {
			s.Runs.PromptBytes += m.PromptBytes
			s.Runs.SavedBytes += m.SavedBytes
		}
	}
}

// both counts for the whole and for one row.
func (s *recordFigures) both(model, upstream string, count func(*figures)) {
	key := [2]string{model, upstream}
	if s.by[key] == nil && len(s.by) >= mostRows {
		key = [2]string{"other", "other"}
	}
	if s.by[key] == nil {
		s.by[key] = &figures{Model: key[0], Upstream: key[1], Diagnostics: map[string]int{}}
		s.By = append(s.By, s.by[key])
	}
	count(&s.Total)
	count(s.by[key])
}

func (f *figures) add(replies []record.Reply, usage *record.Usage, removed int) {
	f.Events++
	f.SavedBytes += removed
	if usage != nil {
		f.InputTokens += usage.Input
		f.OutputTokens += usage.Output
	}
	for i := range replies {
		f.reply(&replies[i])
	}
}

func (f *figures) reply(r *record.Reply) {
	f.Replies++
	f.Bytes += r.Raw.Len()
	leaked := 0
	for _, s := range segmentsOf(r) {
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

// removedNote is how an exchange's history says what was taken out of a request.
var removedNote = regexp.MustCompile(`(?:^|; )removed=(\d+) bytes`)

func removedBy(history string) int {
	m := removedNote.FindStringSubmatch(history)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// finish makes what follows from the counts, and the order of the rows.
func (s *recordFigures) finish() {
	s.Runs.SavedTokens = s.Runs.SavedBytes / 4
	for _, f := range append(s.By, &s.Total) {
		f.SavedTokens = f.SavedBytes / 4
		if f.Bytes > 0 {
			f.ReasoningShare = float64(f.ReasoningBytes) / float64(f.Bytes)
		}
	}
	slices.SortFunc(s.By, func(a, b *figures) int {
		return cmp.Or(cmp.Compare(b.Replies, a.Replies), strings.Compare(a.Model, b.Model), strings.Compare(a.Upstream, b.Upstream))
	})
}
