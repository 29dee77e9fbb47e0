package agent

import (
	"time"

	"github.com/sotto-llm/sotto/internal/base/retry"
)

// DefaultInvocations is the bound of the replies in a cycle if [Limits] has none.
const DefaultInvocations = 16

// Limits bound what a run may take. Zero means the default. For run bounds, a
// negative value means unlimited.
type Limits struct {
	// Of a cycle, or a conversation.
	Invocations int // replies of the model; if zero, 16. The last is asked for without tools.
	Calls       int // calls of tools; if zero, 32
	Retries     int // further replies asked for after one that shows nothing, or calls a tool in its text; if zero, 1; if negative, none

	// Of an invocation, and of a call.
	Attempts  int           // of an invocation that fails, in addition to the client's own; if zero, 2
	RetryWait time.Duration // before the second attempt; it doubles with each further attempt, up to 64 times; if zero, 1 s
	ReplyTime time.Duration // if zero, 10 min
	ToolTime  time.Duration // if zero, 1 min
	Reply     int           // bytes of a reply, of all kinds; if zero, 1 MiB
	Arguments int           // bytes of a call's arguments; if zero, 256 KiB
	Result    int           // bytes of a result that the model sees; if zero, 64 KiB

	// Of a run, or of an answer in a conversation, with the agents that it calls. Time is
	// what its invocations and calls took, and the outages that ended, including those
	// before a crash.
	FailedCycles int           // in a row; if zero, 3
	Tokens       int64         // read and written, estimated if the server does not report them; if zero, unlimited
	Time         time.Duration // if zero, unlimited
	Cost         float64       `json:",omitzero"` // in the currency of [Turn.Price]; if zero, unlimited
	// Outage is how long the run waits, in the middle of a cycle, for a model that
	// cannot be reached; if zero, 24 h. What is left of Time bounds it too. A run
	// that has waited in vain is suspended.
	Outage time.Duration `json:",omitzero"`
}

const defaultOutage = 24 * time.Hour

func (l Limits) filled() Limits {
	or(&l.Invocations, DefaultInvocations)
	or(&l.Calls, 32)
	or(&l.Retries, 1)
	or(&l.Attempts, 2)
	or(&l.RetryWait, time.Second)
	or(&l.ReplyTime, 10*time.Minute)
	or(&l.ToolTime, time.Minute)
	or(&l.Reply, 1<<20)
	or(&l.Arguments, 256<<10)
	or(&l.Result, 64<<10)
	or(&l.FailedCycles, 3)
	return l
}

// maxDoubled is how often the wait before an attempt doubles.
const maxDoubled = 6

// attempts is how the attempts at an invocation that fails are made.
func (l *Limits) attempts() retry.Policy {
	return retry.Policy{Attempts: max(l.Attempts, 1), First: l.RetryWait, Longest: l.RetryWait << maxDoubled, Patience: l.ReplyTime}
}

func or[T int | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

// A Bound names the limit that a cycle or a run reached.
type Bound string

const (
	BoundInvocations Bound = "invocations"
	BoundCalls       Bound = "calls"
	BoundRetries     Bound = "retries"
	BoundAttempts    Bound = "attempts" // the model could not be asked
	BoundCycles      Bound = "failed_cycles"
	BoundTokens      Bound = "tokens"
	BoundTime        Bound = "time"
	BoundCost        Bound = "cost"
	// The model could not be reached for too long, limits the rate of requests for
	// too long, or refuses them.
	BoundOutage    Bound = "outage"
	BoundRateLimit Bound = "rate_limit"
	BoundRefused   Bound = "refused"
)

// A Status says how a cycle, a conversation or a run ended.
type Status string

const (
	// Answered is a turn with a visible answer: a cycle's reflection.
	Answered Status = "answered"
	// NoVisibleAnswer is a turn whose last reply showed nothing.
	NoVisibleAnswer Status = "no_visible_answer"
	// TextCall is a turn whose last reply only wrote tool calls into its text, and
	// such calls are not made.
	TextCall Status = "text_call"
	// Bounded is a turn that a bound ended before an answer, or a run that a bound
	// ended before its last cycle.
	Bounded Status = "bounded"
	// Failed is a turn whose model could not be asked.
	Failed Status = "failed"
	// Paused is a turn that waits for an answer to a question.
	Paused Status = "paused"
	// Suspended is a run that ended early, and can be resumed by running it again:
	// because of an outage, a rate limit, a refusal or too many failed cycles.
	Suspended Status = "suspended"
	// Done is a run with all its cycles.
	Done Status = "done"
)

// about estimates tokens: four bytes each.
func about(bytes int) int64 { return int64(bytes+3) / 4 }
