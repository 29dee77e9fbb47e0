package observing

import (
	"time"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/record"
)

// A Judgement is what a guard decided about a piece of a reply, or why it did not.
type Judgement struct {
	Choice     int
	Channel    guard.Channel
	Start, End int64 // bytes of the channel's text
	Verdict    guard.Verdict
	Err        error
	Took       time.Duration
	Unheard    bool // the client had left
}

// action is the word for what happened.
func (d *Judgement) action() string {
	if d.Err != nil {
		return "failed"
	}
	return string(d.Verdict.Action)
}

// Judgements are what a guard decided about one reply. If it judged nothing, they may be nil.
type Judgements struct {
	ID   string
	n    int
	list []Judgement
}

// maxJudgements bounds how many judgements of a reply are recorded. Pieces that passed
// leave room for the others.
const maxJudgements, maxPassed = 128, 64

// Note notes a judgement.
func (l *Judgements) Note(d Judgement) {
	l.n++
	if len(l.list) < maxPassed || d.action() != string(guard.Pass) && len(l.list) < maxJudgements {
		l.list = append(l.list, d)
	}
}

// Recorded returns them in the form in which they are recorded; nil if there are none.
func (l *Judgements) Recorded() *record.Guarding {
	if l == nil || l.n == 0 {
		return nil
	}
	g := &record.Guarding{ID: l.ID, Pieces: l.n, More: l.n - len(l.list)}
	for _, d := range l.list {
		j := record.Judgement{
			Choice: d.Choice, Channel: string(d.Channel), Start: d.Start, End: d.End, Action: d.action(),
			Reason: record.Say(d.Verdict.Reason), Millis: Millis(d.Took),
		}
		if d.Err != nil {
			j.Failure = faults.Plain(d.Err.Error())
		}
		g.Judgements = append(g.Judgements, j)
	}
	return g
}

// Verdict is what a guard did to a reply, in a word; empty if it judged
// nothing.
func (l *Judgements) Verdict() string {
	if l == nil || l.n == 0 {
		return ""
	}
	worst := guard.Pass
	for _, d := range l.list {
		switch action := guard.Action(d.action()); {
		case action == guard.End, d.Err != nil && worst != guard.End:
			worst = action
		case action == guard.Cut && worst == guard.Pass:
			worst = action
		}
	}
	return string(worst)
}
