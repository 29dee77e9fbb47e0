package agent

import "time"

// A budget is what a run may take, and what it took before this turn. A nil budget
// sets no bounds.
type budget struct {
	limits Limits
	tokens int64
	spent  time.Duration
}

// hit returns the bound that the run has reached.
func (b *budget) hit(t *turn) Bound {
	switch {
	case b == nil:
	case b.limits.Tokens > 0 && b.tokens+t.tokens >= b.limits.Tokens:
		return BoundTokens
	case b.limits.Time > 0 && b.spent+t.spent >= b.limits.Time:
		return BoundTime
	}
	return ""
}

// below returns the budget of an agent below a turn: what is left to its caller,
// and no more than the agent's own limits.
func (b *budget) below(caller *turn, own Limits) *budget {
	var c budget
	if b != nil {
		c = budget{b.limits, b.tokens + caller.tokens, b.spent + caller.spent}
	}
	if own.Tokens > 0 {
		c.limits.Tokens = lower(c.limits.Tokens, c.tokens+own.Tokens)
	}
	if own.Time > 0 {
		c.limits.Time = lower(c.limits.Time, c.spent+own.Time)
	}
	return &c
}

// lower returns the lower one of a limit and n. Zero and less is no limit.
func lower[T int64 | time.Duration](limit, n T) T {
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
	return max(b.limits.Time-b.spent-t.spent, time.Millisecond)
}
