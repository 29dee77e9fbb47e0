package streamview

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// Rows is how many pairs of problems a page has at most.
const Rows = 100

// A Change is in what a problem came out otherwise in two streams.
type Change string

// The changes of a problem. Each pair has one.
const (
	Gained Change = "gained" // right in the first stream only
	Lost   Change = "lost"   // right in the second stream only
	Effort Change = "effort" // right or wrong in both, with other calls or tokens
	Same   Change = "same"
	OnlyA  Change = "only_a" // only the first stream has it
	OnlyB  Change = "only_b"
)

// Changes are all changes, those that matter most first.
func Changes() []Change { return []Change{Gained, Lost, Effort, OnlyA, OnlyB, Same} }

// A Pair is a problem in two streams, one of which may lack it.
type Pair struct {
	Change Change   `json:"change"`
	A      *Problem `json:"a,omitempty"`
	B      *Problem `json:"b,omitempty"`
}

// Both reports whether both streams have the problem.
func (p *Pair) Both() bool { return p.A != nil && p.B != nil }

// Problem is the problem in the first stream that has it.
func (p *Pair) Problem() *Problem { return cmp.Or(p.A, p.B) }

// A Side is one of two streams.
type Side struct {
	Name     string `json:"name"`
	Run      string `json:"run,omitempty"` // in the record
	Mode     string `json:"mode,omitempty"`
	Model    string `json:"model,omitempty"`
	Problems int    `json:"problems"`
	Solved   int    `json:"solved"`
	Calls    int    `json:"calls"`
	Tokens   int64  `json:"tokens"`
	// ByMemory are the problems that a known template solved without a call.
	ByMemory int  `json:"by_memory"`
	Partial  bool `json:"partial,omitempty"`
}

// A Mean is the mean of a quantity in the first stream less that in the second, over the
// problems of both.
type Mean struct {
	Value float64  `json:"mean"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// A Comparison is two streams side by side.
type Comparison struct {
	V int  `json:"v"`
	A Side `json:"a"`
	B Side `json:"b"`
	// Difference is the share of right answers in A less that in B, and Calls and Tokens are
	// what a problem takes; over the problems of both.
	Difference stats.Paired   `json:"difference"`
	Calls      *Mean          `json:"calls,omitempty"`
	Tokens     *Mean          `json:"tokens,omitempty"`
	Count      map[Change]int `json:"count"`
	// First is the first pair that is right in one stream only; or that differs otherwise, if
	// there is none.
	First *Pair `json:"first,omitempty"`
	// Pairs are a page of those that the query selects, in the order of the streams.
	Pairs []Pair `json:"pairs"`
	Query Query  `json:"query"`
	// Selected is how many it selects, and Next where the next page begins; 0 if there is none.
	Selected int `json:"selected"`
	Next     int `json:"next,omitempty"`
}

// A Query selects pairs of problems.
type Query struct {
	// Show is the change that is shown; "" is each one, without pairs that are the same.
	Show Change `json:"show,omitempty"`
	At   int    `json:"at,omitempty"`
}

// ParseQuery reads a query of a URL.
func ParseQuery(q url.Values) (out Query, err error) {
	if out.Show = Change(q.Get("show")); out.Show != "" && !slices.Contains(Changes(), out.Show) {
		return out, fmt.Errorf("show: %s: want one of %v", shorttext.Quote(string(out.Show)), Changes())
	}
	if text := q.Get("at"); text != "" {
		if out.At, err = strconv.Atoi(text); err != nil || out.At < 0 {
			return out, fmt.Errorf("at: %s: want the number of a row", shorttext.Quote(text))
		}
	}
	return out, nil
}

func (q Query) selects(p *Pair) bool { return p.Change == q.Show || q.Show == "" && p.Change != Same }

// Compare puts two streams side by side, each with the name that it is shown by.
func Compare(nameA string, a *Stream, nameB string, b *Stream, q Query) *Comparison {
	c := &Comparison{V: 1, A: a.side(nameA), B: b.side(nameB), Count: map[Change]int{}, Pairs: []Pair{}, Query: q}
	pairs := Align(a, b)
	var calls, tokens []float64
	rank := len(Changes())
	for i := range pairs {
		p := &pairs[i]
		c.Count[p.Change]++
		if r := p.rank(); r < rank {
			rank, c.First = r, p
		}
		if p.Both() {
			calls, tokens = append(calls, float64(p.A.Calls-p.B.Calls)), append(tokens, float64(p.A.Tokens-p.B.Tokens))
		}
		if !q.selects(p) {
			continue
		}
		if c.Selected++; c.Selected > q.At && len(c.Pairs) < Rows {
			c.Pairs = append(c.Pairs, *p)
		}
	}
	if end := q.At + len(c.Pairs); end < c.Selected {
		c.Next = end
	}
	c.Difference = stats.NewPaired(c.Count[Gained], c.Count[Lost], len(calls))
	c.Calls, c.Tokens = meanOf(calls), meanOf(tokens)
	return c
}

// rank orders pairs by how much their change matters: what is right in one stream only comes
// before the rest. Those that are the same do not count.
func (p *Pair) rank() int {
	switch p.Change {
	case Gained, Lost:
		return 0
	case Effort:
		return 1
	case OnlyA, OnlyB:
		return 2
	}
	return len(Changes())
}

// meanOf is the mean of differences, with Student's interval: a bootstrap of many problems would
// take minutes.
func meanOf(values []float64) *Mean {
	if len(values) == 0 {
		return nil
	}
	s := stats.NewSample(values)
	m := &Mean{Value: s.Mean()}
	if s.N() > 1 {
		margin := stats.StudentQuantile(s.N()-1) * s.Deviation() / math.Sqrt(float64(s.N()))
		low, high := m.Value-margin, m.Value+margin
		m.Low, m.High = &low, &high
	}
	return m
}

func (s *Stream) side(name string) Side {
	x := Side{Name: name, Run: s.Run, Mode: s.Mode, Model: s.Model, Problems: len(s.Problems), Partial: s.Partial}
	for i := range s.Problems {
		p := &s.Problems[i]
		if p.Solved {
			x.Solved++
			if p.Hit == solve.HitTemplate {
				x.ByMemory++
			}
		}
		x.Calls += p.Calls
		x.Tokens += p.Tokens
	}
	return x
}

// Align pairs the problems of two streams by their names. A name that comes again is paired with
// its next coming in the other stream. The pairs are in the order of the first stream; a
// problem that it lacks comes where the second stream has it.
func Align(x, y *Stream) (pairs []Pair) {
	a, b := inOrder(x.Problems), inOrder(y.Problems)
	type place struct {
		key [16]byte
		n   int
	}
	at, count := make(map[place]int, len(b)), map[[16]byte]int{}
	for i := range b {
		key := b[i].key
		at[place{key, count[key]}] = i
		count[key]++
	}
	partner, taken := make([]int, len(a)), make([]bool, len(b))
	clear(count)
	for i := range a {
		key := a[i].key
		k, ok := at[place{key, count[key]}]
		count[key]++
		if partner[i] = -1; ok {
			partner[i], taken[k] = k, true
		}
	}
	next := 0
	alone := func(before int) { // those that only b has, up to a place in it
		for ; next < len(b) && b[next].N < before; next++ {
			if !taken[next] {
				pairs = append(pairs, Pair{Change: OnlyB, B: &b[next]})
			}
		}
	}
	for i := range a {
		alone(a[i].N)
		p := Pair{A: &a[i]}
		if partner[i] >= 0 {
			p.B = &b[partner[i]]
		}
		p.Change = changeOf(p.A, p.B)
		pairs = append(pairs, p)
	}
	alone(math.MaxInt)
	return pairs
}

// changeOf compares a problem in two streams, of which the second may lack it.
func changeOf(a, b *Problem) Change {
	switch {
	case b == nil:
		return OnlyA
	case a.Solved && !b.Solved:
		return Gained
	case b.Solved && !a.Solved:
		return Lost
	case a.Calls != b.Calls || a.Tokens != b.Tokens:
		return Effort
	}
	return Same
}

func inOrder(list []Problem) []Problem {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Problem) int { return cmp.Compare(a.N, b.N) })
	return list
}
