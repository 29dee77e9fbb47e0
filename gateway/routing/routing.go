// Package routing says how the gateway handles the replies of some models: a [Route], and the
// values of its settings.
package routing

import (
	"cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire/switches"
)

// A Route says how the replies of some models are handled.
type Route struct {
	// Name names the route in the metrics and in the record: letters, digits, and .-_
	// between them. If empty, routes[N], with its index; the name of the default is default.
	Name string
	// Models are patterns of model names, as dialects have them: lower case, no
	// registry path, a hyphen for : and @, * for any run of characters. If empty,
	// the route matches any model. APIs are names of codecs ("openai.chat",
	// "ollama.generate" …), or the shorter ones of gateway.APIs ("chat"). If empty, it
	// matches any API.
	Models []string
	APIs   []string
	// Upstream is the name of one of the gateway's Upstreams, to which the requests of the
	// route go. If empty, that of the default route; if that is empty too, the gateway's
	// Upstream.
	Upstream string

	Dialect string          // if empty, chosen by the model's name
	Start   sotto.Beginning // how every reply begins; if empty, decided by evidence

	Display Display // if empty, DisplayField
	// ReasoningFields are the members that reasoning is written to in chat
	// completions. If empty, reasoning_content.
	ReasoningFields []string
	Narration       Narration      // if empty, NarrationText
	History         history.Policy // if empty, history.Auto
	OnNoAnswer      NoAnswerAction // if empty, NoAnswerEmpty
	// ThinkingLimit is how many bytes of reasoning a reply may have; 0 means no limit.
	// OnThinkingLimit says what happens beyond it; if empty, ThinkingStop.
	ThinkingLimit   int
	OnThinkingLimit ThinkingAction
	// OnThinkingLoop says what happens if the reasoning repeats one passage again and
	// again; if empty, ThinkingIgnore.
	OnThinkingLoop ThinkingAction
	// ThinkingSwitch is the form in which the server reads whether and how much to think. A
	// request in another form is translated. If empty, switches.Untouched: none is.
	ThinkingSwitch switches.Words
	// Guard judges the replies before clients get them.
	Guard guard.Rule
	// ResponsesReasoning is the form of reasoning in the responses API; if empty,
	// ReasoningContent. A request that asks for a summary gets ReasoningSummary.
	ResponsesReasoning ResponsesReasoning
	// ThinkingSignature is the signature of a block of thinking that nobody has signed, in
	// the messages API; if empty, SignatureSotto.
	ThinkingSignature ThinkingSignature
	// Calls says what becomes of calls of tools that a model writes into its text; if
	// empty, CallsText.
	Calls Calls
	// Conversations says who keeps the conversations of an API whose servers keep them; if empty,
	// ConversationsAuto.
	Conversations Conversations
}

// A Display says where a reply's reasoning is put.
type Display string

const (
	DisplayField Display = "field" // in the API's place for it: a field, block or item
	DisplayHide  Display = "hide"  // nowhere
	DisplayKeep  Display = "keep"  // where the upstream put it: replies pass unchanged
	DisplayTags  Display = "tags"  // in <think> tags in the content, for clients that know only these
)

// A Narration says where a reply's narration is put.
type Narration string

const (
	NarrationText  Narration = "text"  // in the content, without its tags
	NarrationField Narration = "field" // in a field of its own, where the API has room for one
	NarrationDrop  Narration = "drop"  // nowhere
)

// A ResponsesReasoning is a form of reasoning in the responses API.
type ResponsesReasoning string

const (
	ReasoningContent ResponsesReasoning = "content" // reasoning_text in the content of an item
	ReasoningSummary ResponsesReasoning = "summary" // summary_text, for clients that read nothing else
)

// A ThinkingSignature says how a block is signed that the gateway itself makes, or that the
// upstream sends unsigned.
type ThinkingSignature string

const (
	SignatureEmpty ThinkingSignature = "empty" // an empty one, or the upstream's
	// SignatureSotto is one by which the gateway knows the block in the next request,
	// for clients that drop a block with an empty one. No upstream gets it.
	SignatureSotto ThinkingSignature = "sotto"
)

// ResponsesReasonings lists the values of [Route.ResponsesReasoning].
func ResponsesReasonings() []ResponsesReasoning {
	return []ResponsesReasoning{ReasoningContent, ReasoningSummary}
}

// ThinkingSignatures lists the values of [Route.ThinkingSignature].
func ThinkingSignatures() []ThinkingSignature {
	return []ThinkingSignature{SignatureEmpty, SignatureSotto}
}

// Displays lists the values of [Route.Display].
func Displays() []Display {
	return []Display{DisplayField, DisplayHide, DisplayKeep, DisplayTags}
}

// Narrations lists the values of [Route.Narration].
func Narrations() []Narration {
	return []Narration{NarrationText, NarrationField, NarrationDrop}
}

// Policies lists the values of [Route.History].
func Policies() []history.Policy {
	return history.Policies()
}

// A NoAnswerAction says what a client gets if a reply was all thought: it showed no text,
// and called no tool.
type NoAnswerAction string

const (
	NoAnswerEmpty   NoAnswerAction = "empty"   // a reply without text
	NoAnswerError   NoAnswerAction = "error"   // an error
	NoAnswerPromote NoAnswerAction = "promote" // the reasoning as the text
)

// NoAnswerActions lists the values of [Route.OnNoAnswer].
func NoAnswerActions() []NoAnswerAction {
	return []NoAnswerAction{NoAnswerEmpty, NoAnswerError, NoAnswerPromote}
}

// A ThinkingAction says what happens if a model thinks too much or in circles.
type ThinkingAction string

const (
	ThinkingIgnore ThinkingAction = "ignore" // nothing, and it is not looked for
	ThinkingReport ThinkingAction = "report" // it is noted in the diagnostics, the metrics and the record
	// ThinkingStop also ends a streamed reply, as the API does at a limit of tokens, and
	// the upstream's work on it. A whole reply is made before it can be read, so it is
	// only reported.
	ThinkingStop ThinkingAction = "stop"
)

// ThinkingActions lists the values of [Route.OnThinkingLimit] and [Route.OnThinkingLoop].
func ThinkingActions() []ThinkingAction {
	return []ThinkingAction{ThinkingIgnore, ThinkingReport, ThinkingStop}
}

// Calls says what becomes of calls of tools that a model writes into its text.
type Calls string

const (
	CallsText Calls = "text" // they stay text
	// CallsField sends a call as the API's own when its markup closes, if the request
	// declares the tool and the arguments are what its schema says. Otherwise it stays
	// text.
	CallsField Calls = "field"
)

// CallsValues lists the values of [Route.Calls].
func CallsValues() []Calls { return []Calls{CallsText, CallsField} }

// Conversations says who keeps what a request only names, as previous_response_id does.
type Conversations string

const (
	ConversationsAuto     Conversations = "auto"     // the gateway, if the upstream speaks another API, and else the upstream
	ConversationsGateway  Conversations = "gateway"  // for upstreams that keep none
	ConversationsUpstream Conversations = "upstream" // the gateway keeps nothing
)

// ConversationsValues lists the values of [Route.Conversations].
func ConversationsValues() []Conversations {
	return []Conversations{ConversationsAuto, ConversationsGateway, ConversationsUpstream}
}

// ThinkingSwitches lists the values of [Route.ThinkingSwitch].
func ThinkingSwitches() []switches.Words { return switches.All() }

// WithDefaults returns a route in which nothing is left open that has a default.
func (r Route) WithDefaults() Route {
	return r.Over(Route{
		Display: DisplayField, ReasoningFields: []string{"reasoning_content"},
		Narration: NarrationText, History: history.Auto, OnNoAnswer: NoAnswerEmpty, OnThinkingLimit: ThinkingStop, OnThinkingLoop: ThinkingIgnore, ThinkingSwitch: switches.Untouched,
		ResponsesReasoning: ReasoningContent, ThinkingSignature: SignatureSotto, Calls: CallsText, Conversations: ConversationsAuto, Guard: guard.Usual(),
	})
}

// Over fills in what a route leaves open from another route.
func (r Route) Over(d Route) Route {
	r.Upstream = cmp.Or(r.Upstream, d.Upstream)
	r.Dialect = cmp.Or(r.Dialect, d.Dialect)
	r.Start = cmp.Or(r.Start, d.Start)
	r.Display = cmp.Or(r.Display, d.Display)
	if len(r.ReasoningFields) == 0 {
		r.ReasoningFields = d.ReasoningFields
	}
	r.Narration = cmp.Or(r.Narration, d.Narration)
	r.History = cmp.Or(r.History, d.History)
	r.OnNoAnswer = cmp.Or(r.OnNoAnswer, d.OnNoAnswer)
	r.ThinkingLimit = cmp.Or(r.ThinkingLimit, d.ThinkingLimit)
	r.OnThinkingLimit = cmp.Or(r.OnThinkingLimit, d.OnThinkingLimit)
	r.Calls = cmp.Or(r.Calls, d.Calls)
	r.Conversations = cmp.Or(r.Conversations, d.Conversations)
	r.OnThinkingLoop = cmp.Or(r.OnThinkingLoop, d.OnThinkingLoop)
	r.ThinkingSwitch = cmp.Or(r.ThinkingSwitch, d.ThinkingSwitch)
	r.Guard = r.Guard.Over(d.Guard)
	r.ResponsesReasoning = cmp.Or(r.ResponsesReasoning, d.ResponsesReasoning)
	r.ThinkingSignature = cmp.Or(r.ThinkingSignature, d.ThinkingSignature)
	return r
}
