package history

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
)

// bind finds the messages that must stay as they were when a later thought was signed, for a provider whose
// signatures bind what precedes them ([Rule.Binds]).
//
// While a turn is under way, its messages go to the provider with their thoughts, and later thoughts of the turn
// are signed behind them. When the turn has ended, most policies would change these messages: they remove thoughts,
// and no longer put back those that the client drops. So a message that a signed thought of the same turn follows
// is treated as if its turn were still under way. A message without one after it changes once, when its turn ends,
// and every thought of later turns is signed behind what it is then.
//
// signs reports whether message i has a signed thought that the provider gets back. It is asked from the last
// message to the first, when bound is known for this one and all after it.
func (p *planner) bind(signs func(i int) bool) {
	all := p.q.Messages
	p.bound = make([]bool, len(all))
	if !p.rule.Binds {
		return
	}
	after := false
	for i := len(all) - 1; i >= 0; i-- {
		if isAsked(&all[i]) {
			after = false
			continue
		}
		p.bound[i] = after
		after = after || all[i].Role == "assistant" && signs(i)
	}
}

// sendsSigned reports whether the client sends a signed thought with message i.
func (p *planner) sendsSigned(i int) bool {
	return slices.ContainsFunc(p.q.Messages[i].Thoughts, func(t wire.Thought) bool { return t.Proof != "" })
}

// binds reports whether a signed thought would be refused if message i lost its reasoning now. A policy that
// removes it from the current turn too has done so before the later thoughts were signed.
func (p *planner) binds(i int) bool { return p.bound[i] && p.policy != StripAll }

// keepsSealed reports whether a message gets back a signed thought that the client dropped.
func (p *planner) keepsSealed(i int) bool {
	return i >= p.from || p.bound[i] || p.rule.Binds && p.policy == Restore
}

// bind is the planner's, with the thoughts that are put back.
func (w *originals) bind() {
	w.planner.bind(func(i int) bool { return w.sendsSigned(i) || w.putsSigned(i) })
}

// putsSigned reports whether the reply in message i gets a signed thought back.
func (w *originals) putsSigned(i int) bool {
	next := w.replyFrom(i)
	known := w.recallOf(i, next)
	if len(known.Blocks) == 0 || w.messages == nil && !w.find() {
		return false
	}
	m, ok := w.read(i, next, known.Blocks)
	return ok && m.sealed && (!m.dropped || w.wantsDropped(i, true))
}
