package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
)

// A Guard judges replies piece by piece before clients get them. It is called by many
// exchanges at the same time, and in the order of the reply by each.
type Guard interface {
	// Judge decides about a piece. The context ends with the time limit of the route,
	// and if the client leaves. An error is no decision: then the route's
	// [GuardRule.OnFailure] holds.
	Judge(ctx context.Context, p GuardPiece) (GuardVerdict, error)
}

// A GuardPiece is a piece of a reply that a [Guard] judges: text of one channel of one
// choice. The pieces of a channel, joined, are its text as the model wrote it, without
// markers.
type GuardPiece struct {
	// Exchange is the same for all pieces of a reply, and in its record.
	Exchange string
	API      string // the codec: "openai.chat"
	Model    string
	Caller   string // the name of its token, if there are tokens
	Streamed bool
	Choice   int // always 0 in APIs whose replies are lists of blocks or items
	Channel  GuardChannel
	// Before is the end of what was judged before on the channel, so that a word or a
	// phrase that is divided between two pieces can be seen.
	Before string
	Text   string
	Offset int  // bytes of the channel before Text
	Last   bool // the channel ends here; it may begin again later
}

// A GuardChannel is what a piece is to the client.
type GuardChannel string

const (
	GuardReasoning GuardChannel = "reasoning" // also if it is hidden from the client
	GuardAnswer    GuardChannel = "answer"
	GuardNarration GuardChannel = "narration" // only where the client gets it in a field of its own
)

// GuardChannels lists the values of [GuardPiece.Channel].
func GuardChannels() []GuardChannel {
	return []GuardChannel{GuardReasoning, GuardAnswer, GuardNarration}
}

// A GuardAction is what happens to a piece and to what follows it.
type GuardAction string

const (
	// GuardPass delivers the piece.
	GuardPass GuardAction = "pass"
	// GuardCut drops the piece and all that follows on its channel. The reply goes on:
	// an answer follows reasoning that was cut, and calls an answer. From then on the
	// reply shows only what it would where reasoning is hidden. An answer in JSON cannot
	// be cut, and neither can a reply that passes unchanged (DisplayKeep): these end.
	GuardCut GuardAction = "cut"
	// GuardEnd ends the reply before the piece, and the upstream's work on it: a stream
	// as the API does when a filter of contents ends it, or else at a limit of tokens; a
	// whole reply by an error.
	GuardEnd GuardAction = "end"
)

// GuardActions lists the values of [GuardVerdict.Action].
func GuardActions() []GuardAction { return []GuardAction{GuardPass, GuardCut, GuardEnd} }

// A GuardVerdict is the decision about a piece.
type GuardVerdict struct {
	Action GuardAction
	// Reason is for the log, the record, and the error of a whole reply that is ended.
	// Its first 200 bytes are kept.
	Reason string
}

// A GuardFailure says what happens to a piece that a guard did not judge: it took too
// long, or returned an error or an unknown action.
type GuardFailure string

const (
	GuardOpen   GuardFailure = "open"   // it is delivered, and the failure is counted
	GuardClosed GuardFailure = "closed" // the reply ends with an error
)

// GuardFailures lists the values of [GuardRule.OnFailure].
func GuardFailures() []GuardFailure { return []GuardFailure{GuardOpen, GuardClosed} }

// A GuardRule says how the replies of a route are judged.
type GuardRule struct {
	Guard Guard // if nil, nothing is judged
	// Sees are the channels that are judged. If empty, reasoning and answer. Narration
	// is judged with the answer.
	Sees []GuardChannel
	// Off says that the route has no guard, whatever [Config.Default] has.
	Off bool
	// Every is how many bytes of a stream's channel are judged together, about. If zero,
	// 400. If negative, all of a stream is held until it has ended, and judged then.
	Every int
	// Wait is how long a text waits for more before it is judged; if zero, 1 s.
	Wait time.Duration
	// Timeout bounds each judgement; if zero, 5 s.
	Timeout   time.Duration
	OnFailure GuardFailure // if empty, GuardClosed
}

// over fills in what a rule leaves open from another rule.
func (g GuardRule) over(d GuardRule) GuardRule {
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

// usualGuard has the defaults.
var usualGuard = GuardRule{
	Sees: []GuardChannel{GuardReasoning, GuardAnswer}, Every: 400, Wait: time.Second, Timeout: 5 * time.Second, OnFailure: GuardClosed,
}

// sees reports whether a channel is judged.
func (g *GuardRule) sees(c GuardChannel) bool {
	if c == GuardNarration {
		c = GuardAnswer
	}
	return slices.Contains(g.Sees, c)
}

// check reports what is wrong with a rule, by the keys of a configuration file.
func (g *GuardRule) check(fault func(key string, err error)) {
	for _, c := range g.Sees {
		if c != GuardReasoning && c != GuardAnswer {
			fault("guard-sees", fmt.Errorf("%q: want reasoning, answer or both", c))
		}
	}
	if g.Timeout < 0 {
		fault("guard-timeout", errors.New("is negative: want 0 (the default) or more"))
	}
	if g.Wait < 0 {
		fault("guard-wait", errors.New("is negative: want 0 (the default) or more"))
	}
	if err := oneOf(g.OnFailure, GuardFailures()); err != nil {
		fault("guard-on-failure", err)
	}
}

// The findings about a reply that a guard judged.
const (
	guardCut   sotto.Code = "guard_cut"
	guardEnded sotto.Code = "guard_ended"
)

// A guardError ends a reply that a guard ended, or did not judge.
type guardError struct {
	status int
	text   string
	reason string // for the client only: it may quote what was judged
	ended  bool   // by the guard
}

func (e *guardError) Error() string { return e.text }

// said is what the client gets.
func (e *guardError) said() string {
	if e.reason == "" {
		return e.text
	}
	return e.text + ": " + e.reason
}
