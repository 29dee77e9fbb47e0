package sotto

import "fmt"

// A Channel says what a byte of a reply is.
type Channel uint8

const (
	// Text is for the user: the answer, and everything else that is said aloud.
	Text Channel = iota
	// Reasoning is what the model thinks.
	Reasoning
	// Narration is progress for the user that is no part of the answer.
	Narration
	// Tool is tool-call markup that a model wrote into its text, given through untouched.
	Tool
	// Aside is text set aside because an output block holds the answer.
	Aside
	// Markup is the markers themselves.
	Markup
)

var channelNames = [...]string{"text", "reasoning", "narration", "tool", "aside", "markup"}

// String returns the channel's name as it stands in JSON: text, reasoning, …
func (c Channel) String() string {
	if int(c) < len(channelNames) {
		return channelNames[c]
	}
	return fmt.Sprintf("channel(%d)", uint8(c))
}

// MarshalText returns the channel's name.
func (c Channel) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a channel's name.
func (c *Channel) UnmarshalText(text []byte) error {
	for i, name := range channelNames {
		if name == string(text) {
			*c = Channel(i)
			return nil
		}
	}
	return fmt.Errorf("unknown channel %q: want text, reasoning, narration, tool, aside or markup", text)
}

// An End says how a reply ended. It is an input of the reading: the same bytes
// read differently where the model stopped of itself and where a limit cut it.
type End uint8

const (
	// Unknown is the end of a reply whose finish reason is not at hand.
	Unknown End = iota
	// Stopped is the end of a reply that the model finished of itself.
	Stopped
	// Cut is the end of a reply that ran into a limit of length.
	Cut
	// Aborted is the end of a reply whose stream broke or was cancelled.
	Aborted
)

var endNames = [...]string{"unknown", "stopped", "cut", "aborted"}

// String returns the end's name: unknown, stopped, cut or aborted.
func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return fmt.Sprintf("end(%d)", uint8(e))
}

// MarshalText returns the end's name.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an end's name; the empty text is [Unknown].
func (e *End) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*e = Unknown
		return nil
	}
	for i, name := range endNames {
		if name == string(text) {
			*e = End(i)
			return nil
		}
	}
	return fmt.Errorf("unknown end %q: want stopped, cut, aborted or unknown", text)
}

// incomplete reports whether more would have come: the reply was cut or aborted.
func (e End) incomplete() bool { return e == Cut || e == Aborted }

// A Start says where a reply begins: outside every block, inside one that the
// prompt's template opened, or unknown. The empty Start is the dialect's own.
type Start string

const (
	// Outside is the start of a reply whose prompt opened no block.
	Outside Start = "outside"
	// Auto is the start of a reply of which nothing is known: an orphan close
	// makes all before it reasoning.
	Auto Start = "auto"
	// InsideFirst is Inside of the dialect's first reasoning block.
	InsideFirst Start = "inside"
)

// Inside returns the start of a reply whose prompt already opened block name.
func Inside(name string) Start { return Start("inside:" + name) }
