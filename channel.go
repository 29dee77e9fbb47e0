package sotto

import "fmt"

// A Channel is the kind of a byte of the reply.
type Channel uint8

const (
	// ChannelText is for the user: the answer, and everything else said to the user.
	ChannelText Channel = iota
	// ChannelReasoning is what the model thinks.
	ChannelReasoning
	// ChannelNarration is progress for the user that is not part of the answer.
	ChannelNarration
	// ChannelTool is tool-call markup that a model wrote into its text, passed through untouched.
	ChannelTool
	// ChannelAside is text set aside because an output block holds the answer.
	ChannelAside
	// ChannelMarkup is for the markers themselves.
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
// may read differently if the model stopped of its own accord or a limit cut it.
type End uint8

const (
	// EndUnknown is the end of a reply whose finish reason is not known.
	EndUnknown End = iota
	// EndStopped is the end of a reply that the model finished of its own accord.
	EndStopped
	// EndCut is the end of a reply that reached a limit of length.
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

// incomplete reports whether more text was to come: the reply was cut or aborted.
func (e End) incomplete() bool { return e == EndCut || e == EndAborted }

// A Start says where a reply begins: outside every block, inside a block that the
// prompt's template opened, or unknown. The empty Start means the dialect's own:
// [StartAuto] if its templates open the block, else [StartOutside].
type Start string

const (
	// StartOutside is the start of a reply whose prompt opened no block.
	StartOutside Start = "outside"
	// StartAuto is the start of a reply about which nothing is known: an orphan
	// close makes everything before it reasoning.
	StartAuto Start = "auto"
	// StartInsideFirst is [StartInside] of the dialect's first reasoning block.
	StartInsideFirst Start = "inside"
)

// StartInside returns the start of a reply whose prompt already opened block name.
func StartInside(name string) Start { return Start("inside:" + name) }
