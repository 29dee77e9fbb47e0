package account

import (
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// Tokens are the tokens of one reply, as its provider counts them.
type Tokens struct {
	usage  record.Usage
	apart  bool // the input that was counted does not include what was cached
	counts bool // a count was sent
}

// Found takes counts. A later one takes precedence.
func (t *Tokens) Found(u wire.Usage) {
	t.count(&t.usage.Input, u.Input)
	t.count(&t.usage.Output, u.Output)
	t.count(&t.usage.Reasoning, u.Reasoning)
	t.count(&t.usage.CacheRead, u.CacheRead)
	t.count(&t.usage.CacheWrite, u.CacheWrite)
	t.apart = u.Apart
}

func (t *Tokens) count(to *int64, n int64) {
	if n >= 0 {
		*to, t.counts = n, true
	}
}

// Usage returns the counts, or nil if the provider sent none.
func (t *Tokens) Usage() *record.Usage {
	if !t.counts {
		return nil
	}
	u := t.usage
	u.Input = wire.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Apart: t.apart}.All()
	return &u
}
