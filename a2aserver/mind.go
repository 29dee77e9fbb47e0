package a2aserver

import (
	"context"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/record"
)

// A Mind answers messages. It separates reasoning from answer: the server never
// reads a reply itself, and puts only Outcome.Text and the texts of [Visible] into
// an artifact. It is safe for concurrent use.
type Mind interface {
	// Answer answers one turn. It reports progress by calling on, from one
	// goroutine at a time. An error of on, or the end of ctx, ends the turn. With
	// an error, the Outcome is what had come until then.
	Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error)
}

// A Turn is a message that needs an answer.
type Turn struct {
	// Task and Context are the ids of the task and of the conversation that it
	// belongs to.
	Task, Context string
	// Caller is the name of the token that the message came with; "" if the server
	// has no tokens.
	Caller string
	// Text is the message, without parts that are marked as thoughts.
	Text string
	// Question is what the task paused for, if Text is the answer to that.
	Question string
	// Memo is what the mind stored when the task paused.
	Memo []byte
	// Principal is who sent the message. Consent is the answer that it brings to a question
	// about a call; nil if it brings none. ByAgent says that an agent wrote the text.
	Principal consent.Principal
	Consent   *consent.Answer
	ByAgent   bool
	// Allowance is what the sender lets the task take from now on.
	Allowance agent.Allowance
	// Extended returns by how much a person has raised the limits of the task so far.
	Extended func() agent.Extension `json:"-"`
	// Earlier are the earlier messages of this conversation, oldest first, with
	// visible text only.
	Earlier []Said

	// Record, if set, gets what the mind thinks, asks and calls, as events of a run,
	// which is the task, and of a cycle, which is this message.
	Record *record.Writer
	Run    string
	Cycle  int
	// Log, if set, keeps the events of the turn where another process finds them if this one is
	// killed: see [agent.TurnLog].
	Log agent.TurnLog

	begins bool // the record does not have the run yet
}

// Said is one message of a conversation.
type Said struct {
	ByAgent bool
	Text    string
}

// An Outcome is how a turn ended.
type Outcome struct {
	// Text is the visible text of the answer, whole.
	Text string
	// Question, if set, is for the person who asked. The task pauses until the next
	// message answers it.
	Question string
	// Consent, if set, says that the question asks a person for consent to a call, and is
	// that question.
	Consent *consent.Question
	// Memo is data that the mind gets back with the answer to the question. It is
	// kept with the task and shown to nobody.
	Memo []byte
	// Thoughts are what the mind thought, in order. They are for the record, and go nowhere
	// else.
	Thoughts []string
	// End says how the reply ended. Unknown counts as stopped.
	End sotto.Ending
	// Diagnostics are the remarks of the reading.
	Diagnostics []sotto.Diagnostic
	// Of is where the record has the reply that Text comes from, and Metrics are the
	// counts of this turn; nil if the mind has none.
	Of      *record.Ref
	Metrics *record.Metrics
	// Spent is what the task took so far, with all its messages; nil if that is not known.
	Spent *record.Spent
}

// An Event says what happens while a mind works: [Visible], [Narration],
// [Reasoning], [ToolStart], [ToolEnd] or [Alive], as for an agent. Reasoning goes to
// clients that ask for it, in status updates, if the server allows that; else it goes
// nowhere. What tools get and give is shown only if [Config.Previews] is set.
type Event = agent.Event

// The events.
type (
	Visible   = agent.Visible
	Narration = agent.Narration
	Reasoning = agent.Reasoning
	ToolStart = agent.ToolStart
	ToolEnd   = agent.ToolEnd
	Alive     = agent.Alive
)
