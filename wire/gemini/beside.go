package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// What candidates and parts say beside texts, reasoning and calls is reported for a reply
// that is written from events. That a candidate, its content or a part stands there is
// reported even if nothing of it is shown.

// beside reports a candidate and its content.
func beside(choice int, v, body gjson.Result, r wire.Reader) {
	tell(choice, wire.MembersOfChoice, shownCandidate, v, r)
	if body.IsObject() {
		tell(choice, wire.MembersOfMessage, shownContent, body, r)
	}
}

// tell reports a part, before what it says.
func (p *parts) tell(v gjson.Result, r wire.Reader) {
	tell(p.choice, wire.MembersOfPart, shownPart, v, r)
}

// apart reports that what comes next belongs to none of the upstream's parts.
func (p *parts) apart(r wire.Reader) {
	if p.written {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: p.choice, Name: wire.MembersOfPart})
	}
}

// tell reports what is shown of an object. No text in it comes in pieces.
func tell(choice int, of string, tree *shown.Value, v gjson.Result, r wire.Reader) {
	left, ok, err := tree.Read(jsonedit.BytesOf(v.Raw), written.Texts(r, choice, of, true))
	if err != nil {
		r.Fail(err)
	}
	f := wire.Event{Kind: wire.EventMembers, Choice: choice, Name: of}
	if ok {
		f.Raw = jsonedit.StringOf(left)
	}
	r.Found(f)
}
