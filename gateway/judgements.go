package gateway

import (
	"time"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/record"
)

// A judgement is what a guard decided about a piece, or why it did not.
type judgement struct {
	part       reading.JudgedPart
	start, end int64
	verdict    guard.Verdict
	err        error
	took       time.Duration
}

// action is the word for what happened.
func (d *judgement) action() string {
	if d.err != nil {
		return "failed"
	}
	return string(d.verdict.Action)
}

// judgements are what a guard decided about one reply.
type judgements struct {
	id   string
	n    int
	list []judgement
}

// maxJudgements bounds how many judgements of a reply are recorded. Pieces that passed
// leave room for the others.
const maxJudgements, maxPassed = 128, 64

// judged notes a judgement, and tells the observers.
func (x *exchange) judged(d judgement) {
	l := x.judgements
	l.n++
	if len(l.list) < maxPassed || d.action() != string(guard.Pass) && len(l.list) < maxJudgements {
		l.list = append(l.list, d)
	}
	x.engine.observers.judged(x, d)
}

// recorded returns them in the form in which they are recorded; nil if there are none.
func (l *judgements) recorded() *record.Guarding {
	if l == nil || l.n == 0 {
		return nil
	}
	g := &record.Guarding{ID: l.id, Pieces: l.n, More: l.n - len(l.list)}
	for _, d := range l.list {
		j := record.Judgement{
			Choice: d.part.Choice, Channel: string(d.part.Channel), Start: d.start, End: d.end, Action: d.action(),
			Reason: record.Say(d.verdict.Reason), Millis: millis(d.took),
		}
		if d.err != nil {
			j.Failure = faults.Plain(d.err.Error())
		}
		g.Judgements = append(g.Judgements, j)
	}
	return g
}

// verdict is what a guard did to a reply, in a word; empty if it judged
// nothing.
func (l *judgements) verdict() string {
	if l == nil || l.n == 0 {
		return ""
	}
	worst := guard.Pass
	for _, d := range l.list {
		switch action := guard.Action(d.action()); {
		case action == guard.End, d.err != nil && worst != guard.End:
			worst = action
		case action == guard.Cut && worst == guard.Pass:
			worst = action
		}
	}
	return string(worst)
}
