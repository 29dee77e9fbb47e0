package llamacpp

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/written"
)

// beside reports what an object says beside its text and reasoning, for a reply that is
// written from events.
func (y *reply) beside(choice int, root gjson.Result, r wire.Reader) {
	written.Members(r, choice, wire.MembersOfChoice, shownText, root.Raw, y.whole)
	if p := root.Get("completion_probabilities"); says(p) {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: choice, Name: wire.MembersOfTokens, Raw: p.Raw})
	}
}

// isReply reports whether an object of a body has a member by which it is one of this API.
// A text alone may be anything.
func isReply(root gjson.Result) bool {
	return slices.ContainsFunc([]string{"stop", "stop_type", "tokens_predicted", "timings"}, func(name string) bool { return root.Get(name).Exists() })
}
