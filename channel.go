package sotto

import (
	"errors"
	"strconv"
)

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
	return "channel(" + strconv.Itoa(int(c)) + ")"
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
	return errors.New("unknown channel " + strconv.Quote(string(text)) + ": want text, reasoning, narration, tool, aside or markup")
}

// An Ending says how a reply ended, by the finish reason of its provider. It decides how a block
// is read that never closed:
//
//   - EndStopped: a model that meant to think would have closed the block. An opener in the
//     middle of a line is a word of the text, and so is what follows it.
//   - EndCut, EndAborted: the rest was still to come, so the block is reasoning.
//     So is a reply without any marker that may have begun inside a block (BeginAuto).
//   - EndUnknown: the block is reasoning, and a reply without any marker is text.
//
// Pass EndUnknown if you do not know. That your input ended does not show that the model
// stopped.
type Ending uint8

const (
	// EndUnknown is the end of a reply whose finish reason is not known.
	EndUnknown Ending = iota
	// EndStopped is the end of a reply that the model finished of its own accord.
	EndStopped
	// EndCut is the end of a reply that reached a limit of length.
	EndCut
	// EndAborted is the end of a reply whose stream broke or was cancelled.
	EndAborted
)

var endNames = [...]string{"unknown", "stopped", "cut", "aborted"}

// String returns the end's name: unknown, stopped, cut or aborted.
func (e Ending) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "end(" + strconv.Itoa(int(e)) + ")"
}

// MarshalText returns the end's name.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an end's name; the empty text is [EndUnknown].
func (e *Ending) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*e = EndUnknown
		return nil
	}
	for i, name := range endNames {
		if name == string(text) {
			*e = Ending(i)
			return nil
		}
	}
	return errors.New("unknown end " + strconv.Quote(string(text)) + ": want stopped, cut, aborted or unknown")
}

// incomplete reports whether more text was to come: the reply was cut or aborted.
func (e Ending) incomplete() bool { return e == EndCut || e == EndAborted }

// A Beginning says where a reply begins: outside every block, inside a block that the
// prompt's template opened, or unknown. The empty Beginning means the dialect's own:
// [BeginAuto] if its templates open the block, else [BeginOutside].
type Beginning string

const (
	// BeginOutside is the start of a reply whose prompt opened no block.
	BeginOutside Beginning = "outside"
	// BeginAuto is the start of a reply about which nothing is known: an orphan
	// close makes everything before it reasoning.
	BeginAuto Beginning = "auto"
	// BeginInsideFirst is [BeginInside] of the dialect's first reasoning block.
	BeginInsideFirst Beginning = "inside"
)

// BeginInside returns the start of a reply whose prompt already opened block name.
func BeginInside(name string) Beginning { return Beginning("inside:" + name) }
