package wire

import (
	"strings"

	"github.com/sotto-llm/sotto"
)

// An EventKind says what a codec found in a reply.
type EventKind uint8

const (
	EventText    EventKind = iota // text of the model, or a piece of it
	EventThought                  // reasoning that the upstream itself has separated, or a piece of it
	EventDetails                  // a list of reasoning_details: Text is the part that is new, Raw the list
	EventSealed                   // signed or encrypted data of a thought, or a piece of it
	EventCall                     // a tool call, or a piece of it
	EventUsage                    // token counts
	EventFinish                   // why a choice ended
	EventFault                    // an error that the upstream reported
	EventModel                    // the name of the model that replies, and the reply's own id
	EventRefusal                  // text by which the model refuses, in a member of its own
	EventOther                    // output that has no text which a Reader reads: an image, audio, a part of another kind
	EventEnd                      // the API's own sign that the reply is complete
	// EventNarration is narration in a member of its own, or what the Reader found in a text.
	EventNarration
	// EventMember is a text that belongs to no text of the reply, such as the title of a
	// source. Name is its place. It is complete if it is Whole, and else a piece.
	EventMember
	// EventMembers are members that only one API has, of the object that Name names: a JSON
	// object in Raw, whose texts were read. A codec reports them if [Settings.Written].
	EventMembers
	// EventBlockEnd says that the block of an Index is complete. A codec of an API whose
	// messages are lists of blocks reports it if [Settings.Written].
	EventBlockEnd
	// EventSlot is for a [Writer] of another API than the upstream's: Text is a copy of the
	// thoughts before it, for the place that the API promises to return as it was. A writer
	// whose API has no such place leaves it out.
	EventSlot
	// EventPicture is a picture that the model made, for a [Writer] of another API: Name is its media type,
	// and Text its bytes in base64. A codec reports it, after EventOther, if [Settings.Written].
	EventPicture
)

// An Event is one thing that a codec found in a frame or in a body. A codec reports
// everything that it finds, in the order of the reply, so nobody else needs to read
// the provider's JSON. What it holds is valid until the call returns.
type Event struct {
	Kind   EventKind
	Choice int
	// Index tells the thoughts and calls of a reply apart: pieces with the same
	// Index, Kind and Name belong together. It is the number of a block, an item or
	// a call.
	Index int
	// Part is the number of a text among those of its item, if an item has several.
	Part int
	// Name is the member or the kind of block that holds a thought, the name of a
	// tool or of a model, or the provider's word for why a choice ended.
	Name string
	// Member says that the thought stands in the member Name of its message, not in a
	// block or an item.
	Member bool
	ID     string // of a call, or of the reply as the provider knows it
	// Text is a text, or a piece of one, which may be empty: a block that begins. For a
	// call, it is the arguments.
	Text []byte
	// Again says that a [Reader] must not read the text, because it has had the same
	// text already or does not read it at all: it is for whoever keeps the reply.
	// Whole says that the text replaces what came before it under the same Index.
	Again, Whole bool
	// Own says that a call is of a kind that only the API has, such as one of a tool that the provider runs
	// itself. Clients of another API have no such tool.
	Own bool
	// Free says that a call is of a tool that takes a text, which Text is. Space is the group of the
	// tool. Only a [Writer] of another API than the upstream's gets either, and the first only with the
	// whole text.
	Free  bool
	Space string
	// Signature is the provider's signature on a call, which it requires back.
	Signature string
	Usage     Usage
	End       sotto.Ending
	// Raw is the JSON of what was found, where it may have members that an Event has
	// no field for: a call, a block, an error with its frame.
	Raw string
}

// Picture returns the event of a picture; ok is false if it is not an image of some type in base64.
func Picture(choice, index int, mediaType, data string) (e Event, ok bool) {
	format, isImage := strings.CutPrefix(mediaType, "image/")
	ok = isImage && data != "" && len(format) <= 32 && isOf(format, "+-.") && isOf(data, "+/-_=")
	return Event{Kind: EventPicture, Choice: choice, Index: index, Name: mediaType, Text: []byte(data)}, ok
}

// isOf reports whether a text has only letters and digits of ASCII, and others.
func isOf(s, others string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(others, c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// Usage are token counts. A count that the provider did not give is -1.
type Usage struct {
	Input, Output, Reasoning int64
	// CacheRead and CacheWrite are the tokens of the prompt that the provider read
	// from its cache, and that it wrote to it. Apart says that Input does not include
	// them.
	CacheRead, CacheWrite int64
	Apart                 bool
	// Estimated says that Reasoning is an estimate.
	Estimated bool
}

// All returns all tokens of the prompt, or -1 if the provider did not count them.
func (u Usage) All() int64 {
	if u.Input < 0 || !u.Apart {
		return u.Input
	}
	return u.Input + max(u.CacheRead, 0) + max(u.CacheWrite, 0)
}
