package agent

import (
	"math"
	"time"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/record"
)

// A Usage is what an answer or a run took: its own calls of models, those of the agents below
// it, and those of agents elsewhere, as far as they report them.
type Usage struct {
	Calls     int64         `json:"calls,omitempty"` // of models, also those that failed
	Input     int64         `json:"input,omitempty"` // tokens
	Output    int64         `json:"output,omitempty"`
	Reasoning int64         `json:"reasoning,omitempty"` // of Output
	Estimated bool          `json:"estimated,omitempty"` // some of Reasoning is
	Time      time.Duration `json:"time,omitempty"`      // that invocations and calls of tools took
	// Cost is in billionths of the currency of the prices: see [Turn.Price]. Unpriced says
	// that not all of it is known.
	Cost     int64 `json:"cost,omitempty"`
	Unpriced bool  `json:"unpriced,omitempty"`
}

// Tokens returns the tokens that were read and written.
func (u Usage) Tokens() int64 { return sum(u.Input, u.Output) }

// plus returns the sum of two usages. The time is that of u: what was called took its time
// within the call.
func (u Usage) plus(v Usage) Usage {
	return Usage{
		Calls: sum(u.Calls, v.Calls), Input: sum(u.Input, v.Input), Output: sum(u.Output, v.Output), Reasoning: sum(u.Reasoning, v.Reasoning),
		Estimated: u.Estimated || v.Estimated, Time: u.Time, Cost: sum(u.Cost, v.Cost), Unpriced: u.Unpriced || v.Unpriced,
	}
}

// Since returns what came after u was was.
func (u Usage) Since(was Usage) Usage {
	less := func(a, b int64) int64 { return max(a-b, 0) }
	return Usage{
		Calls: less(u.Calls, was.Calls), Input: less(u.Input, was.Input), Output: less(u.Output, was.Output), Reasoning: less(u.Reasoning, was.Reasoning),
		Estimated: u.Estimated, Time: max(u.Time-was.Time, 0), Cost: less(u.Cost, was.Cost), Unpriced: u.Unpriced,
	}
}

// sum adds counts, up to the largest one.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// billionths returns a sum of money as an integer. What is too large is the largest one.
func billionths(x float64) int64 {
	if x = math.Round(x * 1e9); x < 1<<62 {
		return int64(x)
	}
	return 1 << 62
}

// currencyName matches the names of currencies.
var currencyName = lazyregexp.New(`^[A-Za-z]{1,16}$`)

// The bounds of what an agent elsewhere may report of one task. A report beyond them, or below
// zero, is not believed.
const (
	maxPeerCalls  = 1 << 32
	maxPeerTokens = 1 << 48
	maxPeerCost   = 1e6
)

// Spent returns the usage as it is recorded and reported, in a currency.
func (u Usage) Spent(currency string) *record.Spent {
	s := &record.Spent{
		Calls: u.Calls, Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, Estimated: u.Estimated, Millis: millis(u.Time),
		Cost: float64(u.Cost) / 1e9, Unpriced: u.Unpriced,
	}
	if u.Cost > 0 {
		s.Currency = currency
	}
	return s
}

// believable reports whether an agent can have spent this.
func believable(s *record.Spent) bool {
	within := func(n, limit int64) bool { return n >= 0 && n <= limit }
	return within(s.Calls, maxPeerCalls) && within(s.Input, maxPeerTokens) && within(s.Output, maxPeerTokens) && within(s.Reasoning, s.Output) &&
		s.Millis >= 0 && s.Cost >= 0 && s.Cost <= maxPeerCost // both are false for NaN
}

// usageOfPeer returns what a task of an agent elsewhere took. A cost in another currency is not
// known.
func usageOfPeer(s *record.Spent, currency string) Usage {
	u := Usage{Calls: s.Calls, Input: s.Input, Output: s.Output, Reasoning: s.Reasoning, Estimated: s.Estimated, Unpriced: s.Unpriced}
	if s.Cost == 0 || s.Currency == currency {
		u.Cost = billionths(s.Cost)
	} else {
		u.Unpriced = true
	}
	return u
}

// spend counts an invocation. The bytes of its reply, and those that were thoughts, estimate
// the tokens of reasoning if the server does not count them.
func (t *turn) spend(u *record.Usage, thoughts, all int) {
	in, out := believed(u.Input), believed(u.Output)
	now := Usage{Input: in, Output: out, Reasoning: min(max(u.Reasoning, 0), out)}
	if now.Reasoning == 0 && thoughts > 0 && all > 0 {
		now.Reasoning, now.Estimated = int64(float64(out)*float64(thoughts)/float64(all)), true
	}
	if t.Price != nil {
		var known bool
		now.Cost, known = t.Price(t.Model.Name(), in, out)
		now.Cost, now.Unpriced = max(now.Cost, 0), !known
	}
	t.metrics.InputTokens += in
	t.metrics.OutputTokens += out
	t.took = t.took.plus(now)
}

// believed returns a count of tokens, or 0 if it is impossible.
func believed(n int64) int64 {
	if n < 0 || n > maxTokens {
		return 0
	}
	return n
}

// spendBelow counts what an agent took that the turn called.
func (t *turn) spendBelow(u Usage) {
	t.metrics.InputTokens = sum(t.metrics.InputTokens, u.Input)
	t.metrics.OutputTokens = sum(t.metrics.OutputTokens, u.Output)
	t.took = t.took.plus(u)
}

// spendPeer counts what an agent elsewhere reports of a task. It reports the sum over all
// messages to the task, so what was counted before is left out.
func (t *turn) spendPeer(x *record.ToolCall) {
	if x.Peer == nil || x.Peer.Spent == nil || !believable(x.Peer.Spent) {
		return
	}
	now := usageOfPeer(x.Peer.Spent, t.Currency)
	key := x.Name + " " + x.Peer.Task
	was := t.peers[key]
	t.spendBelow(now.Since(was))
	t.peers[key] = Usage{
		Calls: max(now.Calls, was.Calls), Input: max(now.Input, was.Input), Output: max(now.Output, was.Output),
		Reasoning: max(now.Reasoning, was.Reasoning), Cost: max(now.Cost, was.Cost),
	}
}
