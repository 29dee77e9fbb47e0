package agent

// An Event says what happens while an agent answers: [Visible], [Narration],
// [Reasoning], [ToolStart], [ToolEnd] or [Alive]. Any of them is a sign of life.
// Only Reasoning holds reasoning.
type Event interface{ event() }

type (
	// Visible is a piece of visible text that is certain.
	Visible struct{ Text string }
	// Narration is a piece of progress for the user that is not part of the answer.
	Narration struct{ Text string }
	// Reasoning is what the model thinks.
	Reasoning struct{ Text string }
	// ToolStart says that a tool is called, and ToolEnd that it has ended. ID
	// distinguishes the calls of one turn. Arguments and Result are the beginnings of
	// what the tool gets and gives, without reasoning and secrets.
	ToolStart struct{ ID, Name, Arguments string }
	ToolEnd   struct {
		ID, Name string
		Failed   bool
		Result   string
	}
	// Alive says that the model continues, without anything that could be shown.
	Alive struct{}
)

func (Visible) event()   {}
func (Narration) event() {}
func (Reasoning) event() {}
func (ToolStart) event() {}
func (ToolEnd) event()   {}
func (Alive) event()     {}
