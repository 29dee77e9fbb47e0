package a2aserver

import (
	"context"

	"github.com/sotto-llm/sotto"
)

// A Mind answers messages. What it gives is already told apart: the server
// never reads a reply itself, and never puts anything but Outcome.Text and the
// texts of [Visible] into an artifact. It is safe for concurrent use.
type Mind interface {
	// Answer answers one turn. It says what goes on by calling on, from one
	// goroutine at a time; an error of on, or the end of ctx, ends the turn.
	// With an error, the Outcome is what had come until then.
	Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error)
}

// A Turn is a message that wants an answer.
type Turn struct {
	// Task and Context are the ids of the task and of the conversation that it
	// belongs to.
	Task, Context string
	// Caller is the name of the token that the message came with; "" where the
	// server has none.
	Caller string
	// Text is the message, without parts that are marked as thoughts.
	Text string
	// Question is what the task paused for, if Text is the answer to that.
	Question string
	// Memo is what the mind gave when the task paused.
	Memo []byte
	// Earlier are what was said before in this conversation, oldest first, the
	// visible text alone.
	Earlier []Said
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
	// Question, if set, is for the person who asked: the task pauses until the
	// next message answers it.
	Question string
	// Memo is what the mind wants to have back with the answer to the question. It
	// is kept with the task and shown to nobody.
	Memo []byte
	// End says how the reply ended. Unknown counts as stopped.
	End sotto.End
	// Diagnostics are what the reading remarked.
	Diagnostics []sotto.Diagnostic
}

// An Event is what goes on while a mind works: [Visible], [ChannelNarration],
// [ChannelReasoning], [ToolStart], [ToolEnd] or [Alive]. Any of them shows that it
// lives.
type Event interface{ event() }

type (
	// Visible is a piece of the answer that is certain.
	Visible struct{ Text string }
	// Narration is a piece of progress for the user that is no part of the answer.
	Narration struct{ Text string }
	// Reasoning is what the model thinks. It goes to clients that ask for it, in
	// status updates, where the server allows that; else nowhere.
	Reasoning struct{ Text string }
	// ToolStart says that a tool is called, and ToolEnd that it has ended. ID
	// tells calls of one turn apart.
	ToolStart struct{ ID, Name string }
	ToolEnd   struct {
		ID, Name string
		Failed   bool
	}
	// Alive says that the model goes on, and nothing that could be shown.
	Alive struct{}
)

func (Visible) event()   {}
func (Narration) event() {}
func (Reasoning) event() {}
func (ToolStart) event() {}
func (ToolEnd) event()   {}
func (Alive) event()     {}
