// Package thoughts analyses what models think in a record: how much, how it repeats,
// whether it does what it announces, and whether it helps.
//
// [Analyse] reads the events once. It holds a bounded number of replies, and of their
// texts. If there are more, it holds a sample: those of which a digest of the thought
// and its place is lowest. So the sample does not depend on the order in which records
// are merged, and the same events give the same report, to the byte.
//
// A thought is all reasoning of one reply: the bytes that were read as reasoning, and
// what the provider sent apart. Every figure says its method, how many thoughts and
// how many independent units it rests on, and an interval if there is one.
package thoughts

import (
	"context"
	"iter"
	"time"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// Options say what to analyse, and how. The zero value is right for most records.
type Options struct {
	// By says what the groups are: model, run, purpose, verdict, or the name of
	// a setting in the configuration of the runs. If empty, model.
	By string
	// Label, if not nil, returns the group of a run instead of its configuration, and
	// "" if the run has none. It is called for values of By that are not one of the names
	// of this package. record is the name of the record of a set, or "".
	Label func(record, run string) string
	// Between names the two groups whose phrases are compared. If empty, each group is
	// compared with all others.
	Between [2]string
	// Clusters is how many clusters of thoughts there are. If zero, it is chosen: from 2
	// to 8.
	Clusters int
	// Filter selects the replies that count.
	Filter Filter
	// Replies and Texts are the maximum numbers of replies and of texts that are held.
	// If zero, 200,000 and 2,000.
	Replies, Texts int
	// Embed returns vectors of texts, for repetition by meaning. Space is the name of
	// the model that makes them.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Space string
	// Context ends the requests to the model of Embed. If nil, nothing ends them.
	Context context.Context
}

// A Filter selects replies by their events. The zero Filter selects all.
type Filter struct {
	Run        string
	Cycle      *int
	Model      string
	Diagnostic string
	From, To   time.Time
	After      uint64
}

func (o Options) orDefaults() Options {
	if o.By == "" {
		o.By = ByModel
	}
	if o.Replies <= 0 {
		o.Replies = 200_000
	}
	if o.Texts <= 0 {
		o.Texts = 2_000
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	return o
}

// What groups are by, if it is not a setting of the runs.
const (
	ByModel   = "model"
	ByRun     = "run"
	ByPurpose = "purpose"
	ByVerdict = "verdict"
)

// A Report is the figures of a record.
type Report struct {
	V          int                `json:"v"`
	By         string             `json:"by"`
	Source     Source             `json:"source"`
	Size       Figure[Size]       `json:"size"`
	Cycles     Figure[Cycle]      `json:"cycles"`
	Repetition Figure[Repetition] `json:"repetition"`
	Announced  Figure[Announced]  `json:"announced"`
	Verdicts   Figure[Quantile]   `json:"verdicts"`
	Longer     Figure[Longer]     `json:"longer"`
	Reading    Figure[Reading]    `json:"reading"`
	Phrases    Figure[Phrase]     `json:"phrases"`
	Clusters   Figure[Cluster]    `json:"clusters"`
	// Judge is there if a judge model scored thoughts.
	Judge *Judgement `json:"judge,omitempty"`

	held []*reply
}

// A Judgement is what a judge model said about thoughts.
type Judgement struct {
	Rubric   string `json:"rubric"`
	Digest   string `json:"digest"` // of the rubric and its settings
	Model    string `json:"model"`
	Record   string `json:"record"` // the folder
	Run      string `json:"run"`
	Thoughts int    `json:"thoughts"` // that were given to the judge
	Repeat   int    `json:"repeat"`
	// Asked is how many calls were made now, Recalled how many scores the record had,
	// Failed how many the judge did not give in two attempts, and Left how many were not
	// asked for because the budget was spent. Tokens are those of all calls in the record.
	Asked     int            `json:"asked"`
	Recalled  int            `json:"recalled"`
	Failed    int            `json:"failed"`
	Left      int            `json:"left"`
	Tokens    int64          `json:"tokens"`
	Estimated bool           `json:"tokens_estimated"`
	Scores    Figure[Judged] `json:"scores"`
	Each      []Scored       `json:"each"`
	// Criteria are the names of what each list of scores has, in its order.
	Criteria []string `json:"criteria"`
}

// A Figure is a table, and how its numbers were found.
type Figure[Row any] struct {
	Method string `json:"method"`
	// Note says what is missing, and why.
	Note string `json:"note,omitempty"`
	Rows []Row  `json:"rows"`
}

// A Source says what the figures rest on.
type Source struct {
	Events  int `json:"events"`
	Replies int `json:"replies"`
	// Thinking is how many replies have a thought.
	Thinking     int   `json:"thinking"`
	ThoughtBytes int64 `json:"thought_bytes"`
	ReplyBytes   int64 `json:"reply_bytes"`
	// Withheld are the bytes of thoughts that a level of the record left out, and Sealed
	// those that the provider encrypted. They are counted in sizes, and are in no text.
	Withheld int64 `json:"withheld_bytes"`
	Sealed   int64 `json:"sealed_bytes"`
	// Held is how many of the replies are held, and Texts how many thoughts are compared
	// as texts, of WithText that have one.
	Held     int `json:"held"`
	WithText int `json:"with_text"`
	Texts    int `json:"texts"`
	// Verdicts is how many verdicts there are, also about replies that are not held or
	// not selected. Judged is how many of the replies that are held have one.
	Verdicts int `json:"verdicts"`
	Judged   int `json:"judged"`
	// Reopened is how often a run was closed to measure another one, because more than
	// 256 were open at a time. The thought after it counts as a run's first.
	Reopened int `json:"reopened_runs"`
	// Settings are the names of the settings that the configurations of runs have: what
	// groups can be by. At most 100 are listed.
	Settings []string `json:"run_settings"`
	// Unread is how many events are of a later version, or do not fit their type.
	Unread int `json:"unread"`
	// Sample says how the held ones were chosen, if they are not all.
	Sample string `json:"sample,omitempty"`
}

// An Estimate is a mean, a share or another ratio, with its interval.
type Estimate struct {
	N     int     `json:"n"` // replies, thoughts or pairs
	Value float64 `json:"value"`
	// Interval is null if there are too few units.
	Interval *stats.Interval `json:"interval"`
	// Units is how many independent units there are, and Unit what one is: run, cycle or
	// reply.
	Units int    `json:"units"`
	Unit  string `json:"unit"`
}

// A Rate is a share of replies with its interval.
type Rate struct {
	stats.Rate
	Units int    `json:"units"`
	Unit  string `json:"unit"`
}

// Analyse computes the figures of events. An error of the events ends it.
func Analyse(events iter.Seq2[record.Event, error], o Options) (*Report, error) {
	return AnalyseSet(func(yield func(recordset.Event, error) bool) {
		for e, err := range events {
			if !yield(recordset.Event{Event: e}, err) {
				return
			}
		}
	}, o)
}

// Events returns the events of a set that [AnalyseSet] reads. If run is not empty, it
// is the only run.
func Events(set *recordset.Set, run string) iter.Seq2[recordset.Event, error] {
	return func(yield func(recordset.Event, error) bool) {
		for e, err := range set.Events(record.Query{Run: run, Types: read}) {
			if !set.Several() {
				e.Source = nil
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// read are the types that are read.
var read = []record.Type{
	record.TypeRunStart, record.TypeInvocation, record.TypeExchange, record.TypeToolCall, record.TypeExtraction, record.TypeRunEnd,
}

// AnalyseSet is [Analyse] for the events of several records. Runs of different records
// are different runs, also if they have one name; an event's Source is
// nil if there is only one record.
func AnalyseSet(events iter.Seq2[recordset.Event, error], o Options) (*Report, error) {
	o = o.orDefaults()
	c := newCollector(o)
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Type == record.TypeSealed {
			return nil, record.ErrSealed
		}
		c.event(&e.Event, e.Source)
	}
	c.finish()
	r := &Report{V: 1, By: o.By, Source: c.source(), held: c.replies.list()}
	groups := c.groups()
	r.Size = sizes(groups)
	r.Cycles = cycles(groups)
	r.Announced = c.announcements()
	r.Reading = readings(groups)
	r.Verdicts = quantiles(groups)
	r.Longer = longer(groups)
	r.Phrases = phrases(r.held, groups, o)
	lex := lexicalVectors{}
	r.Clusters = clusters(r.held, lex, o.Clusters)
	var err error
	r.Repetition, err = repetition(groups, lex, o)
	return r, err
}
