// Package recordstats sums up the events of a record: how much was reasoning, what
// was saved, which models leaked.
package recordstats

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// A Member is what the rows of a sum are by.
type Member string

const (
	Model    Member = "model"
	Upstream Member = "upstream"
	Caller   Member = "caller" // the name of the token that the client sent
	Day      Member = "day"    // in UTC
)

// Figures are the counts of the events that are equal in some members, or of all.
type Figures struct {
	Model          string         `json:"model"`
	Upstream       string         `json:"upstream"`
	Caller         string         `json:"caller,omitempty"`
	Day            string         `json:"day,omitempty"`
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
	CachedTokens   int64          `json:"cached_tokens"`
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

// A Sum is the totals of a record's events, overall and by some members.
type Sum struct {
	V     int        `json:"v"`
	Total Figures    `json:"total"`
	Runs  runFigures `json:"runs"`
	By    []*Figures `json:"by"`
	of    []Member
	by    map[key]*Figures
}

// A key is what the events of a row have in common.
type key struct{ model, upstream, caller, day string }

// New returns the figures for no events. Rows are by some members: by model and upstream,
// if none is given.
func New(by ...Member) *Sum {
	if len(by) == 0 {
		by = []Member{Model, Upstream}
	}
	return &Sum{V: 1, By: []*Figures{}, of: by, by: map[key]*Figures{}, Total: Figures{Diagnostics: map[string]int{}}}
}

// mostRows bounds the table, because clients choose the names in it.
const mostRows = 1000

// A Count is what one event adds to a sum.
type Count struct {
	Type                    record.Type
	Model, Upstream, Caller string
	Time                    time.Time

	Replies, Bytes, ReasoningBytes, Leaks, LeakedBytes, SavedBytes int
	PromptBytes                                                    int // of a cycle
	InputTokens, OutputTokens, CachedTokens                        int64
	Codes                                                          []string // diagnostics of replies, each as often as there are
}

// CountOf returns what an event adds to a sum.
func CountOf(e *record.Event) Count {
	c := Count{Type: e.Payload.Type(), Time: e.Time}
	var replies []record.Reply
	var usage *record.Usage
	switch x := e.Payload.(type) {
	case record.Exchange:
		c.Model, c.Upstream, c.Caller, c.SavedBytes = x.Model, x.Upstream, x.Caller, removedBy(x.History)
		replies, usage = x.Replies, x.Usage
	case record.Invocation:
		c.Model, c.Upstream = x.Model, x.Provider
		replies, usage = x.Replies, x.Usage
	case record.CycleEnd:
		if m := x.Metrics; m != nil {
			c.PromptBytes, c.SavedBytes = m.PromptBytes, m.SavedBytes
		}
	default:
		c.Type = "" // it adds nothing
	}
	if usage != nil {
		c.InputTokens, c.OutputTokens, c.CachedTokens = usage.Input, usage.Output, usage.CacheRead
	}
	if len(replies) == 0 {
		return c
	}
	f := Figures{Diagnostics: map[string]int{}}
	for i := range replies {
		f.CountReply(&replies[i])
		for _, d := range replies[i].Diagnostics {
			c.Codes = append(c.Codes, string(d.Code))
		}
	}
	c.Replies, c.Bytes, c.ReasoningBytes, c.Leaks, c.LeakedBytes = f.Replies, f.Bytes, f.ReasoningBytes, f.Leaks, f.LeakedBytes
	return c
}

// Add counts an event.
func (s *Sum) Add(e *record.Event) {
	c := CountOf(e)
	s.AddCount(&c)
}

// AddCount counts what an event adds.
func (s *Sum) AddCount(c *Count) {
	switch c.Type {
	case record.TypeExchange, record.TypeInvocation:
		of := key{model: c.Model, upstream: c.Upstream, caller: c.Caller}
		if slices.Contains(s.of, Day) {
			of.day = c.Time.UTC().Format(time.DateOnly)
		}
		s.both(of, c.addTo)
	case record.TypeCycleEnd:
		s.Runs.Cycles++
		s.Runs.PromptBytes += c.PromptBytes
		s.Runs.SavedBytes += c.SavedBytes
	}
}

func (c *Count) addTo(f *Figures) {
	f.Events++
	f.Replies += c.Replies
	f.Bytes += c.Bytes
	f.ReasoningBytes += c.ReasoningBytes
	f.Leaks += c.Leaks
	f.LeakedBytes += c.LeakedBytes
	f.SavedBytes += c.SavedBytes
	f.InputTokens += c.InputTokens
	f.OutputTokens += c.OutputTokens
	f.CachedTokens += c.CachedTokens
	for _, code := range c.Codes {
		f.Diagnostics[code]++
	}
}

// both counts for the total and for one row.
func (s *Sum) both(of key, count func(*Figures)) {
	of = of.only(s.of)
	if s.by[of] == nil && len(s.by) >= mostRows {
		of = key{"other", "other", "other", "other"}.only(s.of)
	}
	if s.by[of] == nil {
		s.by[of] = &Figures{Model: of.model, Upstream: of.upstream, Caller: of.caller, Day: of.day, Diagnostics: map[string]int{}}
		s.By = append(s.By, s.by[of])
	}
	count(&s.Total)
	count(s.by[of])
}

// only returns a key with some members only.
func (k key) only(members []Member) (out key) {
	for _, m := range members {
		switch m {
		case Model:
			out.model = k.model
		case Upstream:
			out.upstream = k.upstream
		case Caller:
			out.caller = k.caller
		case Day:
			out.day = k.day
		}
	}
	return out
}

// Value returns a member of the events of a row.
func (f *Figures) Value(m Member) string {
	return map[Member]string{Model: f.Model, Upstream: f.Upstream, Caller: f.Caller, Day: f.Day}[m]
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
var removedNote = lazyregexp.New(`(?:^|; )removed=(\d+) bytes`)

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
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(b.Replies, a.Replies),
			strings.Compare(a.Caller, b.Caller), strings.Compare(a.Model, b.Model), strings.Compare(a.Upstream, b.Upstream))
	})
}
