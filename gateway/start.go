package gateway

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// beginning decides where a reply begins. The first evidence that settles it decides: the
// route's configuration; what the request shows; the provider; what earlier replies showed;
// the model's family; what the upstream shows of its prompts. If none does, the reply itself must show it, by a marker or by a
// native field of reasoning; one that shows nothing is read as [reading.unproven] says.
func (x *exchange) beginning(whole bool) reading.Beginning {
	hides := x.route.Display == routing.DisplayHide
	b := reading.Beginning{Start: x.route.Start, Plain: !x.shown.cuts && !x.shown.resumed}
	switch {
	case b.Start == sotto.BeginAuto && hides:
		b.Doubt = reading.Suspect
		return b
	case b.Start != "":
		b.ByRule = true
		return b
	}
	settled := func(s sotto.Beginning) reading.Beginning {
		b.Start = s
		return b
	}
	switch {
	case x.shown.settles(hides):
		return settled(x.shown.start)
	case x.to != nil && separates(x.to.url):
		return settled(sotto.BeginOutside)
	case x.shown.unusual, x.shown.start != "":
		b.Doubt = reading.Suspect
		return settled(sotto.BeginAuto)
	}
	outside := x.family.start
	if whole {
		outside = sotto.BeginAuto // it costs no wait, and a close without an opener still shows a thought
	}
	earlier, closed := x.engine.learned.Says(x.key), x.family.named && !x.family.mayPreOpen
	if x.shown.prefilled && earlier.Began == starts.Outside {
		earlier.Began = 0 // replies that the server began show nothing about one that the client began
	}
	switch {
	case earlier.Began == starts.Inside, earlier.Began == 0 && earlier.Others && !closed:
		b.Learned = true
		return settled(sotto.BeginInsideFirst)
	case earlier.Began == starts.Outside && !whole:
		return settled(sotto.BeginOutside)
	case earlier.Began == starts.Outside, closed:
		return settled(outside)
	case x.server.separates, x.server.start == sotto.BeginOutside:
		if whole {
			return settled(outside)
		}
		return settled(sotto.BeginOutside)
	case x.server.start != "":
		return settled(x.server.start)
	case x.shown.off && !hides && !earlier.Suspect:
		return settled(sotto.BeginAuto) // a close still shows that the server did not honour it
	case x.family.mayPreOpen, x.server.mayOpen, earlier.Suspect:
		b.Doubt = reading.Suspect
		return settled(sotto.BeginAuto)
	case hides:
		b.Doubt = reading.NoSign
		return settled(sotto.BeginAuto)
	}
	b.Doubt = reading.NoSign
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
