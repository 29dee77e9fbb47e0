package thoughts

import (
	"math"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

// A Thought is a thought that is held as a text.
type Thought struct {
	Group  string        `json:"group"`
	Run    string        `json:"run"`
	Cycle  int           `json:"cycle"`
	Seq    uint64        `json:"seq"`
	Choice int           `json:"choice"`
	Reply  record.Digest `json:"-"`
	// Verdict is that of its reply: right, wrong, or empty.
	Verdict string `json:"verdict,omitempty"`
	// Text is the thought, or its beginning if Cut.
	Text string `json:"-"`
	Cut  bool   `json:"cut,omitempty"`

	reply *reply
}

// Held returns the thoughts that are held as texts, by rank, at most limit of them.
func (r *Report) Held(limit int) []Thought {
	var list []Thought
	for _, x := range r.held {
		if x.text == "" || len(list) == limit {
			continue
		}
		list = append(list, Thought{
			Group: r.groupOf(x), Run: x.place.run, Cycle: x.cycle, Seq: x.place.seq, Choice: x.place.choice, Reply: x.place.digest,
			Verdict: [...]string{"", "wrong", "right"}[x.verdict], Text: strings.ToValidUTF8(shorttext.Cut(x.text, maxGiven), "\uFFFD"), Cut: x.cut, reply: x,
		})
	}
	return list
}

func (r *Report) groupOf(x *reply) string {
	if r.By == ByVerdict {
		return verdictNames[x.verdict]
	}
	return x.label
}

// A Criterion is what a judge scored.
type Criterion struct {
	Name     string
	From, To float64
}

// A Scored thought has the scores that a judge gave to it: for each time, one for each
// criterion.
type Scored struct {
	Thought
	Scores [][]float64 `json:"scores"`
}

// A Judged row says how a judge scored the thoughts of a group by a criterion.
type Judged struct {
	Group     string  `json:"group"`
	Criterion string  `json:"criterion"`
	From      float64 `json:"from"`
	To        float64 `json:"to"`
	// Estimate is the mean score, over the thoughts. The score of a thought is the mean
	// of its scores.
	Estimate
	// Right and Wrong are the same for the thoughts of right and of wrong replies.
	Right Estimate `json:"right"`
	Wrong Estimate `json:"wrong"`
	// Repeated is how many thoughts were scored more than once, Same the share of them
	// whose scores are all the same, and Deviation the standard deviation of the scores
	// of one thought, pooled over them.
	Repeated  int     `json:"repeated"`
	Same      Rate    `json:"same"`
	Deviation float64 `json:"deviation"`
}

const judgedMethod = "The scores that a judge model gave by the rubric, read from its replies by their schema. They are the judge's opinion: nothing checks it. " +
	"same and deviation say how far the judge agrees with itself where a thought was scored several times. " + meanMethod

// JudgedFigure returns the scores by group and criterion.
func (r *Report) JudgedFigure(criteria []Criterion, list []Scored) Figure[Judged] {
	f := Figure[Judged]{Method: judgedMethod, Rows: []Judged{}}
	for _, size := range r.Size.Rows {
		var own []Scored
		for _, s := range list {
			if len(s.Scores) > 0 && (size.Group == allGroup || s.Group == size.Group) {
				own = append(own, s)
			}
		}
		for i, c := range criteria {
			if len(own) > 0 {
				f.Rows = append(f.Rows, judgedRow(size.Group, i, c, own))
			}
		}
	}
	if len(f.Rows) == 0 {
		f.Note = "no thought has a score"
	}
	return f
}

func judgedRow(group string, at int, c Criterion, list []Scored) Judged {
	means := map[*reply]float64{}
	same := map[*reply]bool{}
	var replies, repeated []*reply
	squares, degrees := 0.0, 0
	for _, s := range list {
		sum, all := 0.0, true
		for _, scores := range s.Scores {
			sum += scores[at]
			all = all && scores[at] == s.Scores[0][at]
		}
		n := len(s.Scores)
		m := sum / float64(n)
		means[s.reply], same[s.reply] = m, all
		replies = append(replies, s.reply)
		if n > 1 {
			repeated = append(repeated, s.reply)
			degrees += n - 1
			for _, scores := range s.Scores {
				squares += (scores[at] - m) * (scores[at] - m)
			}
		}
	}
	of := func(v verdict) Estimate {
		own := filtered(replies, func(r *reply) bool { return v == unjudged || r.verdict == v })
		return mean(own, func(r *reply) (float64, bool) { return means[r], true }).within(c.From, c.To)
	}
	row := Judged{
		Group: group, Criterion: c.Name, From: c.From, To: c.To, Estimate: of(unjudged), Right: of(right), Wrong: of(wrong),
		Repeated: len(repeated), Same: rate("", repeated, func(r *reply) bool { return same[r] }),
	}
	if degrees > 0 {
		row.Deviation = math.Sqrt(squares / float64(degrees))
	}
	return row
}
