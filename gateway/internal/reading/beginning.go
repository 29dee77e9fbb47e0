package reading

import (
	"errors"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A Beginning says where the reply to a request begins, and how sure that is.
type Beginning struct {
	Start sotto.Beginning
	Doubt doubt
	// ByRule says that rule G8 decides about a start that no marker shows.
	ByRule bool
	// Learned says that the start is inside because earlier replies to this caller began so.
	Learned bool
	// Plain says that nothing in the request ends a reply early or begins it: one that
	// stopped by itself is whole.
	Plain bool
}

// A doubt says whether a reply may be a thought from its first byte, as long as no marker
// in it shows where it began.
type doubt uint8

const (
	NoDoubt doubt = iota // it is known where the reply begins
	NoSign               // nothing is known of the model: its prompt may open a block
	Suspect              // a sign says that the prompt may open a block
)

// unproven reports whether a choice is taken for a thought because no marker has shown
// where it began. Hidden reasoning needs evidence. Where reasoning is shown apart, a reply
// that stopped by itself and calls no tool is an answer: a thought goes on to its close.
func (r *Reading) unproven(c *Choice) bool {
	switch {
	case c.Native, r.separates, r.Doubt == NoDoubt:
		return false
	case r.Display == routing.DisplayHide:
		return true
	}
	return r.Doubt == Suspect && (c.End != sotto.EndStopped || !r.Plain || r.called || c.split.HasCall())
}

// startUnknown is the finding that a choice was taken for a thought because nothing shows
// that it is an answer.
const startUnknown sotto.Code = "start_unknown"

// ErrStartUnknown ends a reply that is withheld, if the route asks for an error.
var ErrStartUnknown = errors.New("nothing shows whether the reply is a thought or the answer, so it is withheld: if the prompts of this model do not open a block of reasoning, set start: outside for it")
