package agent

import (
	"context"
	"time"
)

// A budget is what a run may take, and what it took before this turn. A nil budget
// sets no bounds.
type budget struct {
	limits Limits
	took   Usage
	more   *extending // of the limits; nil if nobody can raise them
}

// take adds what a turn took.
func (b *budget) take(t *turn) {
	spent := b.took.Time + t.took.Time
	b.took = b.took.plus(t.took)
	b.took.Time = spent
}

// hit returns the bound that the run has reached.
func (b *budget) hit(t *turn) (bound Bound) {
	if b == nil {
		return ""
	}
	b.more.reached(func() bool {
		bound = b.over(t)
		return bound != ""
	})
	return bound
}

// over returns the bound that the run has reached as far as the extension is known.
func (b *budget) over(t *turn) Bound {
	l := b.extended()
	switch {
	case l.Tokens > 0 && sum(b.took.Tokens(), t.took.Tokens()) >= l.Tokens:
		return BoundTokens
	case l.Time > 0 && b.took.Time+t.took.Time >= l.Time:
		return BoundTime
	case l.Cost > 0 && sum(b.took.Cost, t.took.Cost) >= billionths(l.Cost):
		return BoundCost
	}
	return ""
}

// extended returns the limits with the extension.
func (b *budget) extended() Limits { return b.more.now().Limits(b.limits) }

// extends is what can raise the limits; nil if nobody can.
func (b *budget) extends() *extending {
	if b == nil {
		return nil
	}
	return b.more
}

// below returns the budget of an agent below a turn: what is left to its caller,
// and no more than the agent's own limits.
func (b *budget) below(caller *turn, own Limits) *budget {
	var c budget
	if b != nil {
		c = *b
		c.take(caller)
	}
	return c.within(&turn{}, Allowance{Tokens: own.Tokens, Time: own.Time, Cost: own.Cost})
}

// within returns the budget with no more than an allowance for the rest of a turn.
func (b *budget) within(t *turn, a Allowance) *budget {
	c, so := *b, *b
	so.take(t)
	if a.Tokens > 0 {
		c.limits.Tokens = lower(c.limits.Tokens, sum(so.took.Tokens(), a.Tokens))
	}
	if a.Time > 0 {
		c.limits.Time = lower(c.limits.Time, time.Duration(sum(int64(so.took.Time), int64(a.Time))))
	}
	if a.Cost > 0 {
		c.limits.Cost = lower(c.limits.Cost, float64(so.took.Cost)/1e9+a.Cost)
	}
	return &c
}

// lower returns the lower one of a limit and n. Zero and less is no limit.
func lower[T int64 | float64 | time.Duration](limit, n T) T {
	if limit <= 0 {
		return n
	}
	return min(limit, n)
}

// time returns what is left of the run's time; 0 means unlimited.
func (b *budget) time(t *turn) time.Duration {
	if b == nil || b.limits.Time <= 0 {
		return 0
	}
	return max(b.extended().Time-b.took.Time-t.took.Time, time.Millisecond)
}

// An Allowance is what an agent that is called may take. Zero means unlimited.
type Allowance struct {
	Tokens int64
	Time   time.Duration
	Cost   float64
	// Currency is that of the one who calls. A cost in another one than the agent's prices
	// are in limits nothing.
	Currency string
}

// allowance returns what is left to the turn. A limit that is reached leaves a little,
// because nothing would be unlimited.
func (b *budget) allowance(t *turn) (a Allowance) {
	if b == nil {
		return a
	}
	l := b.extended()
	if n := l.Tokens; n > 0 {
		a.Tokens = max(n-sum(b.took.Tokens(), t.took.Tokens()), 1)
	}
	if x := l.Cost; x > 0 {
		a.Cost = float64(max(billionths(x)-sum(b.took.Cost, t.took.Cost), 1)) / 1e9
	}
	a.Time, a.Currency = b.time(t), t.Currency
	return a
}

// Left returns what the agent that a tool calls may take: what is left to the turn that calls
// the tool. ctx is that of [Tool.Call].
func Left(ctx context.Context) Allowance {
	n, ok := ctx.Value(peerKey{}).(*peerNote)
	if !ok {
		return Allowance{}
	}
	return n.left
}
