package sotto

import "fmt"

// A Channel says what a byte of a reply is.
type Channel uint8

const (
	// ChannelText is for the user: the answer, and everything else that is said aloud.
	ChannelText Channel = iota
	// ChannelReasoning is what the model thinks.
	ChannelReasoning
	// ChannelNarration is progress for the user that is no part of the answer.
	ChannelNarration
	// ChannelTool is tool-call markup that a model wrote into its text, given through untouched.
	ChannelTool
	// ChannelAside is text set aside because an output block holds the answer.
	ChannelAside
	// ChannelMarkup is the markers themselves.
	ChannelMarkup
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
	// EndUnknown is the end of a reply whose finish reason is not at hand.
	EndUnknown End = iota
	// EndStopped is the end of a reply that the model finished of itself.
	EndStopped
	// EndCut is the end of a reply that ran into a limit of length.
	EndCut
	// EndAborted is the end of a reply whose stream broke or was cancelled.
	EndAborted
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

// UnmarshalText reads an end's name; the empty text is [EndUnknown].
func (e *End) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*e = EndUnknown
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
func (e End) incomplete() bool { return e == EndCut || e == EndAborted }

// A Start says where a reply begins: outside every block, inside one that the
// prompt's template opened, or unknown. The empty Start is the dialect's own:
// [StartAuto] where its templates open the block, else [StartOutside].
type Start string

const (
	// StartOutside is the start of a reply whose prompt opened no block.
	StartOutside Start = "outside"
	// StartAuto is the start of a reply of which nothing is known: an orphan close
	// makes all before it reasoning.
	StartAuto Start = "auto"
	// StartInsideFirst is [StartInside] of the dialect's first reasoning block.
	StartInsideFirst Start = "inside"
)

// StartInside returns the start of a reply whose prompt already opened block name.
func StartInside(name string) Start { return Start("inside:" + name) }
