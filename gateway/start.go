package gateway

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A beginning says where the reply to a request begins, and how sure that is.
type beginning struct {
	start sotto.Start
	doubt doubt
	// byRule says that rule G8 decides about a start that no marker shows.
	byRule bool
	// learned says that the start is inside because earlier replies to this caller began so.
	learned bool
	// plain says that nothing in the request ends a reply early or begins it: one that
	// stopped by itself is whole.
	plain bool
}

// A doubt says whether a reply may be a thought from its first byte, as long as no marker
// in it shows where it began.
type doubt uint8

const (
	noDoubt doubt = iota // it is known where the reply begins
	noSign               // nothing is known of the model: its prompt may open a block
	suspect              // a sign says that the prompt may open a block
)

// beginning decides where a reply begins. The first evidence that settles it decides: the
// route's configuration; what the request shows; the provider; what earlier replies showed;
// the model's family; what the upstream shows of its prompts. If none does, the reply itself must show it, by a marker or by a
// native field of reasoning; one that shows nothing is read as [reading.unproven] says.
func (x *exchange) beginning(whole bool) beginning {
	hides := x.route.Display == routing.DisplayHide
	b := beginning{start: x.route.Start, plain: !x.shown.cuts && !x.shown.resumed}
	switch {
	case b.start == sotto.StartAuto && hides:
		b.doubt = suspect
		return b
	case b.start != "":
		b.byRule = true
		return b
	}
	settled := func(s sotto.Start) beginning {
		b.start = s
		return b
	}
	switch {
	case x.shown.settles(hides):
		return settled(x.shown.start)
	case x.to != nil && separates(x.to.url):
		return settled(sotto.StartOutside)
	case x.shown.unusual, x.shown.start != "":
		b.doubt = suspect
		return settled(sotto.StartAuto)
	}
	outside := x.family.start
	if whole {
		outside = sotto.StartAuto // it costs no wait, and a close without an opener still shows a thought
	}
	earlier, closed := x.engine.learned.Says(x.key), x.family.named && !x.family.mayPreOpen
	if x.shown.prefilled && earlier.Began == starts.Outside {
		earlier.Began = 0 // replies that the server began show nothing about one that the client began
	}
	switch {
	case earlier.Began == starts.Inside, earlier.Began == 0 && earlier.Others && !closed:
		b.learned = true
		return settled(sotto.StartInsideFirst)
	case earlier.Began == starts.Outside && !whole:
		return settled(sotto.StartOutside)
	case earlier.Began == starts.Outside, closed:
		return settled(outside)
	case x.server.separates, x.server.start == sotto.StartOutside:
		if whole {
			return settled(outside)
		}
		return settled(sotto.StartOutside)
	case x.server.start != "":
		return settled(x.server.start)
	case x.shown.off && !hides && !earlier.Suspect:
		return settled(sotto.StartAuto) // a close still shows that the server did not honour it
	case x.family.mayPreOpen, x.server.mayOpen, earlier.Suspect:
		b.doubt = suspect
		return settled(sotto.StartAuto)
	case hides:
		b.doubt = noSign
		return settled(sotto.StartAuto)
	}
	b.doubt = noSign
	return settled(outside)
}

// separatingHosts are the hosts of providers whose references say that reasoning is never in
// the text: it has a field, a block or an item of its own, or is not given.
var separatingHosts = []string{
	"api.openai.com", "openai.azure.com", // reasoning items; chat completions give none
	"api.anthropic.com",                                              // thinking blocks
	"generativelanguage.googleapis.com", "aiplatform.googleapis.com", // parts with "thought": true
	"api.deepseek.com", // reasoning_content
	"api.x.ai",         // reasoning_content
}

// separates reports whether an upstream is one of those hosts, or of their regions.
func separates(u *url.URL) bool {
	if u == nil || u.Scheme != "https" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(separatingHosts, func(known string) bool {
		return host == known || strings.HasSuffix(host, "."+known) || strings.HasSuffix(host, "-"+known)
	})
}

// unproven reports whether a choice is taken for a thought because no marker has shown
// where it began. Hidden reasoning needs evidence. Where reasoning is shown apart, a reply
// that stopped by itself and calls no tool is an answer: a thought goes on to its close.
func (r *reading) unproven(c *choice) bool {
	switch {
	case c.native, r.separates, r.doubt == noDoubt:
		return false
	case r.display == routing.DisplayHide:
		return true
	}
	return r.doubt == suspect && (c.end != sotto.EndStopped || !r.plain || r.called || c.split.HasCall())
}

// startUnknown is the finding that a choice was taken for a thought because nothing shows
// that it is an answer.
const startUnknown sotto.Code = "start_unknown"

// errStartUnknown ends a reply that is withheld, if the route asks for an error.
var errStartUnknown = errors.New("nothing shows whether the reply is a thought or the answer, so it is withheld: if the prompts of this model do not open a block of reasoning, set start: outside for it")
