// Package guard is what a guard of the gateway sees of a reply, and what it can decide: a
// [Guard] judges replies piece by piece before clients get them, and a [Rule] says for a
// route what is judged.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
)

// A Guard judges replies piece by piece before clients get them. It is called by many
// exchanges at the same time, and in the order of the reply by each.
type Guard interface {
	// Judge decides about a piece. The context ends with the time limit of the route,
	// and if the client leaves. An error is no decision: then the route's
	// [Rule.OnFailure] holds.
	Judge(ctx context.Context, p Piece) (Verdict, error)
}

// A Piece is a piece of a reply that a [Guard] judges: text of one channel of one
// choice. The pieces of a channel, joined, are its text as the model wrote it, without
// markers.
type Piece struct {
	// Exchange is the same for all pieces of a reply, and in its record.
	Exchange string
	API      string // the codec: "openai.chat"
	Model    string
	Caller   string // the name of its token, if there are tokens
	Streamed bool
	Choice   int // always 0 in APIs whose replies are lists of blocks or items
	Channel  Channel
	// Before is the end of what was judged before on the channel, so that a word or a
	// phrase that is divided between two pieces can be seen.
	Before string
	Text   string
	Offset int  // bytes of the channel before Text
	Last   bool // the channel ends here; it may begin again later
}

// A Channel is what a piece is to the client.
type Channel string

const (
	Reasoning Channel = "reasoning" // also if it is hidden from the client
	Answer    Channel = "answer"
	Narration Channel = "narration" // only where the client gets it in a field of its own
)

// Channels lists the values of [Piece.Channel].
func Channels() []Channel {
	return []Channel{Reasoning, Answer, Narration}
}

// An Action is what happens to a piece and to what follows it.
type Action string

const (
	// Pass delivers the piece.
	Pass Action = "pass"
	// Cut drops the piece and all that follows on its channel. The reply goes on:
	// an answer follows reasoning that was cut, and calls an answer. From then on the
	// reply shows only what it would where reasoning is hidden. An answer in JSON cannot
	// be cut, and neither can a reply that passes unchanged (display: keep): these end.
	Cut Action = "cut"
	// End ends the reply before the piece, and the upstream's work on it: a stream
	// as the API does when a filter of contents ends it, or else at a limit of tokens; a
	// whole reply by an error.
	End Action = "end"
)

// Actions lists the values of [Verdict.Action].
func Actions() []Action { return []Action{Pass, Cut, End} }

// A Verdict is the decision about a piece.
type Verdict struct {
	Action Action
	// Reason is for the log, the record, and the error of a whole reply that is ended.
	// Its first 200 bytes are kept.
	Reason string
}

// A Failure says what happens to a piece that a guard did not judge: it took too
// long, or returned an error or an unknown action.
type Failure string

const (
	Open   Failure = "open"   // it is delivered, and the failure is counted
	Closed Failure = "closed" // the reply ends with an error
)

// Failures lists the values of [Rule.OnFailure].
func Failures() []Failure { return []Failure{Open, Closed} }

// A Rule says how the replies of a route are judged.
type Rule struct {
	Guard Guard // if nil, nothing is judged
	// Sees are the channels that are judged. If empty, reasoning and answer. Narration
	// is judged with the answer.
	Sees []Channel
	// Off says that the route has no guard, whatever the default route has.
	Off bool
	// Every is how many bytes of a stream's channel are judged together, about. If zero,
	// 400. If negative, all of a stream is held until it has ended, and judged then.
	Every int
	// Wait is how long a text waits for more before it is judged; if zero, 1 s.
	Wait time.Duration
	// Timeout bounds each judgement; if zero, 5 s.
	Timeout   time.Duration
	OnFailure Failure // if empty, Closed
}

// Over fills in what a rule leaves open from another rule.
func (g Rule) Over(d Rule) Rule {
	if g.Guard == nil {
		g.Guard = d.Guard
	}
	if g.Off {
		g.Guard = nil
	}
	if len(g.Sees) == 0 {
		g.Sees = d.Sees
	}
	g.Every = cmp.Or(g.Every, d.Every)
	g.Wait = cmp.Or(g.Wait, d.Wait)
	g.Timeout = cmp.Or(g.Timeout, d.Timeout)
	g.OnFailure = cmp.Or(g.OnFailure, d.OnFailure)
	return g
}

// Usual has the defaults.
func Usual() Rule {
	return Rule{Sees: []Channel{Reasoning, Answer}, Every: 400, Wait: time.Second, Timeout: 5 * time.Second, OnFailure: Closed}
}

// Judges reports whether a channel is judged.
func (g *Rule) Judges(c Channel) bool {
	if c == Narration {
		c = Answer
	}
	return slices.Contains(g.Sees, c)
}

// Check reports what is wrong with a rule, by the keys of a configuration file.
func (g *Rule) Check(fault func(key string, err error)) {
	for _, c := range g.Sees {
		if c != Reasoning && c != Answer {
			fault("guard-sees", fmt.Errorf("%q: want reasoning, answer or both", c))
		}
	}
	if g.Timeout < 0 {
		fault("guard-timeout", errors.New("is negative: want 0 (the default) or more"))
	}
	if g.Wait < 0 {
		fault("guard-wait", errors.New("is negative: want 0 (the default) or more"))
	}
	if err := faults.OneOf(g.OnFailure, Failures()); err != nil {
		fault("guard-on-failure", err)
	}
}
