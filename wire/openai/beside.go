package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/written"
)

// What a frame or a body says beside its texts, reasoning and calls is reported for a reply
// that is written from events.

// members reports what is said of the reply as a whole.
func (y *reply) members(data []byte, r wire.Reader) {
	if len(y.edits) > 0 {
		data = jsonedit.Splice(nil, data, y.edits) // an estimate of the usage
		y.edits = y.edits[:0]
	}
	if said := written.Members(r, 0, wire.MembersOfReply, shownReply, jsonedit.StringOf(data), y.whole); said != y.said {
		y.said = strings.Clone(said)
	}
}

// beside reports what a choice says beside its message, and the message beside its text.
func (y *reply) beside(choice gjson.Result, o chatjson.Object, r wire.Reader) {
	var message gjson.Result // of completions, the choice is the message
	switch {
	case y.whole && y.api.message != "":
		message = choice.Get(y.api.message)
	case !y.whole && y.api.delta != "":
		message = choice.Get(y.api.delta)
	}
	n := o.Choice
	more := written.Members(r, n, wire.MembersOfChoice, shownChoice, choice.Raw, y.whole) != ""
	if message.IsObject() {
		more = written.Members(r, n, wire.MembersOfMessage, shownMessage, message.Raw, y.whole) != "" || more
		if message.Get("role").Exists() {
			r.Found(wire.Event{Kind: wire.EventMembers, Choice: n, Name: wire.MembersOfRole})
		}
		pictures(n, message, r)
	}
	if hasLogprobs(choice) {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: n, Name: wire.MembersOfTokens, Raw: choice.Get("logprobs").Raw})
		more = true
	}
	y.more = y.more || more
}

// readPart reports nothing yet: it returns what is shown of a part of the content.
func readPart(choice int, raw string, r wire.Reader) string {
	left, ok, err := shownParts.Read([]byte(raw), written.Texts(r, choice, "content", true))
	if err != nil {
		r.Fail(err)
	}
	if !ok || err != nil {
		return ""
	}
	return strings.Clone(jsonedit.StringOf(left))
}
