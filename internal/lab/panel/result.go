package panel

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/agreement"
	"github.com/sotto-llm/sotto/internal/lab/judge"
)

// A Result is what a panel found.
type Result struct {
	V      int    `json:"v"`
	Rubric string `json:"rubric"`
	Digest string `json:"digest"` // of the rubric
	Of     string `json:"of"`     // what was rated: reply, thought or all
	Seed   uint64 `json:"seed"`
	Repeat int    `json:"repeat"`
	Record string `json:"record"` // the folder with the raters' records
	// Replies are those that were rated, and Texts how many different texts they have. Found is
	// how many there were, if that is more.
	Replies  int `json:"replies"`
	Texts    int `json:"texts"`
	Found    int `json:"found"`
	Withheld int `json:"withheld"`
	// A rating is all criteria of one text by one rater at one time. Each is rated, failed or
	// missing.
	Ratings int `json:"ratings"`
	Rated   int `json:"rated"`
	Failed  int `json:"failed"`
	Missing int `json:"missing"`

	Raters   []RaterRow      `json:"raters"`
	Means    []Mean          `json:"means"`
	Cycles   []CycleRow      `json:"cycles"`
	Items    []ItemAgreement `json:"agreement"`
	Pairs    []PairAgreement `json:"pairs"`
	Self     []SelfAgreement `json:"self"`
	Each     []Rating        `json:"each"`
	criteria []judge.Criterion
}

// A RaterRow says what a rater did.
type RaterRow struct {
	Name     string `json:"name"`
	Model    string `json:"model"`
	Provider string `json:"provider"`
	Record   string `json:"record"`
	Run      string `json:"run"`
	Ratings  int    `json:"ratings"`
	Rated    int    `json:"rated"`
	Failed   int    `json:"failed"`
	Missing  int    `json:"missing"`
	// Faults count the failed ratings by what was wrong with the last attempt.
	Faults    map[string]int `json:"faults,omitempty"`
	Asked     int            `json:"asked"` // calls now
	Recalled  int            `json:"recalled"`
	Tokens    int64          `json:"tokens"`
	Estimated bool           `json:"tokens_estimated"`
	// Error is why the rater stopped, if it did.
	Error string `json:"error,omitempty"`
}

// A Mean is the mean rating of the texts of an author. Of a nominal criterion, there is a
// row for each label, and the mean is the share of ratings that are this label.
type Mean struct {
	Author   string          `json:"author"`
	Item     string          `json:"item"`
	Label    string          `json:"label,omitempty"`
	From     float64         `json:"from"`
	To       float64         `json:"to"`
	Texts    int             `json:"texts"`
	Mean     float64         `json:"mean"`
	Interval *stats.Interval `json:"interval"`
	// By are the means by each rater, in their order; nil if it rated none.
	By []*float64 `json:"by"`
}

// A CycleRow is the mean rating of one cycle of a run.
type CycleRow struct {
	Run   string  `json:"run"`
	Cycle int     `json:"cycle"`
	Item  string  `json:"item"`
	Mean  float64 `json:"mean"`
	// Low and High are the lowest and the highest mean of a rater.
	Low  float64    `json:"low"`
	High float64    `json:"high"`
	By   []*float64 `json:"by"`
}

// An ItemAgreement says how far all raters agree on a criterion.
type ItemAgreement struct {
	Item  string                `json:"item"`
	Level agreement.Level       `json:"level"`
	Alpha agreement.Coefficient `json:"alpha"`
	// Single and Average are ICC(2,1) and ICC(2,k). A nominal criterion has none.
	Single  *agreement.Coefficient `json:"icc_2_1,omitempty"`
	Average *agreement.Coefficient `json:"icc_2_k,omitempty"`
}

// A PairAgreement says how far two raters agree on a criterion.
type PairAgreement struct {
	Item    string                `json:"item"`
	Rater   string                `json:"rater"`
	With    string                `json:"with"`
	Ratings int                   `json:"ratings"` // that both gave
	Same    float64               `json:"same"`    // the share of them that are the same
	Weights agreement.Weights     `json:"weights"`
	Kappa   agreement.Coefficient `json:"kappa"`
}

// A SelfAgreement says how far a rater agrees with itself on a criterion that it rated several
// times: alpha, with the times as raters.
type SelfAgreement struct {
	Item  string                `json:"item"`
	Rater string                `json:"rater"`
	Alpha agreement.Coefficient `json:"alpha"`
}

// A Rating is one rating of one criterion.
type Rating struct {
	Reply  string  `json:"reply"`
	Author string  `json:"author,omitempty"`
	Run    string  `json:"run,omitempty"`
	Cycle  int     `json:"cycle,omitempty"`
	Text   int     `json:"text"` // the number of the text, from 1: replies with the same text share ratings
	Rater  string  `json:"rater"`
	Time   int     `json:"time"` // from 1
	Item   string  `json:"item"`
	Value  float64 `json:"value"`
	Label  string  `json:"label,omitempty"`
}

// Work is what a rater did.
type Work struct {
	Rater    Rater
	Provider string
	Record   string
	Outcome  *judge.Outcome // nil if it could not begin
	Err      error
}

// NewResult returns the result of what raters did with the texts of replies. of says which
// text each reply has.
func NewResult(rubric *judge.Rubric, seed uint64, replies []Reply, of []int, list []Work) *Result {
	r := &Result{
		V: 1, Rubric: rubric.Name, Digest: rubric.Digest(), Of: cmp.Or(rubric.Of, judge.OfReply), Seed: seed, Repeat: rubric.Repeat, Replies: len(replies), criteria: rubric.Criteria,
		Raters: []RaterRow{}, Means: []Mean{}, Cycles: []CycleRow{}, Items: []ItemAgreement{}, Pairs: []PairAgreement{}, Self: []SelfAgreement{}, Each: []Rating{},
	}
	for _, n := range of {
		r.Texts = max(r.Texts, n+1)
	}
	t := table{raters: len(list), repeat: rubric.Repeat, texts: r.Texts, scores: make([][][][]float64, len(list))}
	for i, w := range list {
		r.rater(&w, r.Texts*rubric.Repeat)
		if w.Outcome != nil {
			t.scores[i] = w.Outcome.Scores
		}
	}
	r.each(&t, replies, of)
	for item := range rubric.Criteria {
		r.agreements(&t, item)
	}
	r.means(&t, replies, of)
	r.cycles(&t, replies, of)
	return r
}

// rater adds what a rater did.
func (r *Result) rater(w *Work, ratings int) {
	row := RaterRow{Name: w.Rater.Name, Model: w.Rater.Model.Model, Provider: w.Provider, Record: w.Record, Ratings: ratings}
	if w.Err != nil {
		row.Error = w.Err.Error()
	}
	if o := w.Outcome; o != nil {
		for _, text := range o.Scores {
			for _, scores := range text {
				if scores != nil {
					row.Rated++
				}
			}
		}
		row.Run, row.Failed, row.Faults = o.Run, o.Failed, o.Faults
		row.Asked, row.Recalled, row.Tokens, row.Estimated = o.Asked, o.Recalled, o.Tokens, o.Estimated
	}
	row.Missing = ratings - row.Rated - row.Failed
	r.Raters = append(r.Raters, row)
	r.Ratings, r.Rated, r.Failed, r.Missing = r.Ratings+ratings, r.Rated+row.Rated, r.Failed+row.Failed, r.Missing+row.Missing
}

// A table holds the scores by rater, text, time and criterion.
type table struct {
	raters, repeat, texts int
	scores                [][][][]float64
}

// at returns a rating, NaN if it is missing.
func (t *table) at(rater, text, time, item int) float64 {
	if of := t.scores[rater]; text < len(of) && time < len(of[text]) && of[text][time] != nil {
		return of[text][time][item]
	}
	return math.NaN()
}

// mean is that of a rater's ratings of a text, by value; ok is false if there is none.
func (t *table) mean(rater, text, item int, value func(float64) float64) (mean float64, ok bool) {
	n := 0
	for time := range t.repeat {
		if v := t.at(rater, text, time, item); !math.IsNaN(v) {
			mean += value(v)
			n++
		}
	}
	return mean / float64(max(n, 1)), n > 0
}

// units are the ratings of a criterion as units of its agreement.
func (t *table) units(item int) []agreement.Unit {
	list := make([]agreement.Unit, t.texts)
	for text := range list {
		for time := range t.repeat {
			line := make([]float64, t.raters)
			for rater := range line {
				line[rater] = t.at(rater, text, time, item)
			}
			list[text] = append(list[text], line)
		}
	}
	return list
}

// own are the ratings of one rater, with the times as raters.
func (t *table) own(item, rater int) []agreement.Unit {
	list := make([]agreement.Unit, t.texts)
	for text := range list {
		line := make([]float64, t.repeat)
		for time := range line {
			line[time] = t.at(rater, text, time, item)
		}
		list[text] = agreement.Unit{line}
	}
	return list
}

// agreements adds how far raters agree on a criterion.
func (r *Result) agreements(t *table, item int) {
	c := &r.criteria[item]
	units := t.units(item)
	if t.raters > 1 {
		row := ItemAgreement{Item: c.Name, Level: c.Measured(), Alpha: agreement.Alpha(units, c.Measured())}
		if row.Level != agreement.Nominal {
			single, average := agreement.ICC(units)
			row.Single, row.Average = &single, &average
		}
		r.Items = append(r.Items, row)
	}
	weights := []agreement.Weights{agreement.Linear, agreement.Quadratic}
	if c.Measured() == agreement.Nominal {
		weights = []agreement.Weights{agreement.Unweighted}
	}
	for a := range t.raters {
		for b := a + 1; b < t.raters; b++ {
			pair := agreement.Pair{A: a, B: b}
			same, of := agreement.Same(units, pair)
			for _, w := range weights {
				r.Pairs = append(r.Pairs, PairAgreement{
					Item: c.Name, Rater: r.Raters[a].Name, With: r.Raters[b].Name, Ratings: of, Same: float64(same) / float64(max(of, 1)), Weights: w, Kappa: agreement.Kappa(units, pair, w),
				})
			}
		}
		if t.repeat > 1 {
			r.Self = append(r.Self, SelfAgreement{c.Name, r.Raters[a].Name, agreement.Alpha(t.own(item, a), c.Measured())})
		}
	}
}

// each adds all ratings.
func (r *Result) each(t *table, replies []Reply, of []int) {
	for i := range replies {
		p := &replies[i]
		for rater := range t.raters {
			for time := range t.repeat {
				for item := range r.criteria {
					v := t.at(rater, of[i], time, item)
					if math.IsNaN(v) {
						continue
					}
					c := &r.criteria[item]
					label := ""
					if len(c.Labels) > 0 {
						label = c.Labels[int(v)-1]
					}
					r.Each = append(r.Each, Rating{p.ID, p.Author, p.Run, p.Cycle, of[i] + 1, r.Raters[rater].Name, time + 1, c.Name, v, label})
				}
			}
		}
	}
}

// all is the author of the rows of all replies.
const all = "all"

// means adds the means by author.
func (r *Result) means(t *table, replies []Reply, of []int) {
	names := map[string]bool{}
	for i := range replies {
		names[replies[i].Author] = true
	}
	authors := slices.Sorted(maps.Keys(names))
	if len(authors) > 1 {
		authors = append(authors, all)
	}
	for n, author := range authors {
		total := n == len(authors)-1 // of one author, or of all
		var texts []int
		seen := map[int]bool{}
		for i := range replies {
			if (total || replies[i].Author == author) && !seen[of[i]] {
				seen[of[i]] = true
				texts = append(texts, of[i])
			}
		}
		for item := range r.criteria {
			c := &r.criteria[item]
			if c.Measured() != agreement.Nominal {
				r.mean(t, Mean{Author: author, Item: c.Name, From: c.From, To: c.To}, item, texts, func(v float64) float64 { return v })
				continue
			}
			for place := c.From; place <= c.To && place < c.From+maxShares; place++ {
				label := fmt.Sprintf("%g", place)
				if len(c.Labels) > 0 {
					label = c.Labels[int(place)-1]
				}
				r.mean(t, Mean{Author: author, Item: c.Name, Label: label, To: 1}, item, texts, func(v float64) float64 {
					if v == place {
						return 1
					}
					return 0
				})
			}
		}
	}
}

// maxShares bounds the rows of a nominal scale of numbers.
const maxShares = 50

// mean adds a row. The rating of a text is the mean of its raters, and each text counts once.
func (r *Result) mean(t *table, m Mean, item int, texts []int, value func(float64) float64) {
	var whole []float64
	each := make([][]float64, t.raters)
	for _, text := range texts {
		sum, n := 0.0, 0.0
		for rater := range t.raters {
			if v, ok := t.mean(rater, text, item, value); ok {
				each[rater] = append(each[rater], v)
				sum, n = sum+v, n+1
			}
		}
		if n > 0 {
			whole = append(whole, sum/n)
		}
	}
	if len(whole) == 0 {
		return
	}
	s := stats.NewSample(whole)
	m.Texts, m.Mean, m.Interval = len(whole), s.Mean(), s.IntervalOfMean().Within(m.From, m.To)
	for _, values := range each {
		m.By = append(m.By, meanOf(values))
	}
	r.Means = append(r.Means, m)
}

func meanOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	s := stats.NewSample(values)
	v := s.Mean()
	return &v
}

// cycles adds the means by cycle, of scales that are not nominal.
func (r *Result) cycles(t *table, replies []Reply, of []int) {
	for i := range replies {
		p := &replies[i]
		if p.Cycle == 0 {
			continue
		}
		for item := range r.criteria {
			c := &r.criteria[item]
			if c.Measured() == agreement.Nominal {
				continue
			}
			row := CycleRow{Run: p.Run, Cycle: p.Cycle, Item: c.Name, Low: math.Inf(1), High: math.Inf(-1)}
			n := 0.0
			for rater := range t.raters {
				v, ok := t.mean(rater, of[i], item, func(v float64) float64 { return v })
				if !ok {
					row.By = append(row.By, nil)
					continue
				}
				row.By = append(row.By, &v)
				row.Mean, n = row.Mean+v, n+1
				row.Low, row.High = min(row.Low, v), max(row.High, v)
			}
			if n > 0 {
				row.Mean /= n
				r.Cycles = append(r.Cycles, row)
			}
		}
	}
	slices.SortStableFunc(r.Cycles, func(a, b CycleRow) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Cycle, b.Cycle))
	})
}
