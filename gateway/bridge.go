package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/turn"
)

// APIs are the names of the APIs that an upstream may speak.
func APIs() []string {
	var names []string
	for _, a := range providers.APIs() {
		names = append(names, a.Name)
	}
	return names
}

// apiNamed returns the API of a name; nil if there is none.
func apiNamed(name string) turn.API {
	api, _ := providers.Named(name)
	return api
}

func checkAPI(name string) error {
	if name == "" || apiNamed(name) != nil {
		return nil
	}
	return fmt.Errorf("%q is not the name of an API: want one of %s", name, strings.Join(APIs(), ", "))
}

// clientCodec is the codec of the API that the client speaks.
func (x *exchange) clientCodec() codec {
	if x.bridge != nil {
		return x.bridge.Client
	}
	return x.codec
}

// upstreamAPI names the API of the upstream, if the client speaks another.
func (x *exchange) upstreamAPI() string {
	if x.bridge == nil {
		return ""
	}
	return x.codec.Name()
}

// cross writes the request in the API that the upstream speaks, if the client speaks another. From
// then on, the exchange is one in the upstream's API, whose reply is written in the client's.
func (x *exchange) cross(r *http.Request) error {
	to := x.to.api
	if to == nil || to.Name() == x.codec.Name() {
		return nil
	}
	from, ok := x.codec.(turn.API)
	if !ok {
		if p := endpoints.Provider(x.codec); p != nil && p.Has(to) {
			return nil // servers of the one have the other too
		}
		return faults.New(faultname.RouteNotTranslated, http.StatusNotFound, bridging.ErrNoConversation)
	}
	cost := budget.ParsedCost(x.body) + int64(len(x.body)) // and what is written of it
	if sealedslot.Has(x.request) {
		cost += int64(len(x.body)) // copies are smaller than their sealed form
	}
	if err := x.charge.Take(cost); err != nil {
		return err
	}
	name := sealedslot.Name{Caller: x.credential, Upstream: x.to.facts, Model: x.request.Model, API: bridgedName(to)}
	b, body, err := bridging.Cross(r, from, to, x.request, x.body, bridging.Keeper{
		Open: func(text string) (string, bool) { return x.engine.slots.Open(name, text) },
		Need: needOfEarlier(x.route.History, x.request.Model, to), Preserves: x.route.History == history.Preserve || x.engine.config.HistoryDryRun,
	})
	if err != nil {
		return faults.New(faultname.RequestNotTranslated, http.StatusBadRequest, err)
	}
	request, err := to.Request(body)
	if err != nil {
		return faults.New(faultname.RequestNotTranslated, http.StatusBadRequest, err)
	}
	request.Model, request.Stream = modelname.Bounded(x.request.Model), x.request.Stream
	x.bridge, x.codec, x.request, x.body = b, to, request, body
	x.opened, x.unopened = b.Opened > 0, len(b.Foreign)
	return nil
}

// bridgedName tells the copies of a bridge from those of one API.
func bridgedName(api codec) string { return "bridge to " + api.Name() }

// copies reports whether the client keeps copies of the reply's thoughts.
func (x *exchange) copies() bool { return x.bridge != nil && !x.stored && x.bridge.HasSlot() }

// copyThoughts returns what makes the copies of a reply: of what came since the copy before.
func (x *exchange) copyThoughts() func(bridging.Place) string {
	name := sealedslot.Name{Caller: x.credential, Upstream: x.to.facts, Model: x.request.Model, API: bridgedName(x.codec)}
	var done struct{ parts, native, inline, raw, visible, calls, listed int }
	since := func(text []byte, done *int) []byte {
		from := min(*done, len(text))
		*done = len(text)
		return text[from:]
	}
	return func(after bridging.Place) string {
		var parts []turn.Part
		if x.reading.Turn != nil {
			parts, done.parts = x.reading.Turn.Since(done.parts)
			parts = slices.DeleteFunc(parts, func(p turn.Part) bool {
				return p.Kind != turn.Thought && (p.Kind != turn.Call || p.Signature == "")
			})
		}
		c := x.reading.First()
		if c == nil {
			c = &reading.Choice{}
		}
		text := string(since(c.Kept.Native, &done.native))
		list, listed := x.reading.Returned.Since(done.listed)
		done.listed = listed
		if p := (turn.Part{Kind: turn.Thought, Name: x.reading.Native, Text: text}); text != "" && x.reading.Turn == nil {
			if list != "" && x.listed() {
				p.Extra.Whole, list = list, "" // which has the text
			}
			parts = append(parts, p)
		}
		if list != "" {
			parts = append(parts, turn.Part{Kind: turn.Thought, Name: chatjson.Details, Extra: turn.Extra{Whole: list}})
		}
		inline, raw, visible := since(c.Kept.Inline, &done.inline), since(c.Kept.Raw, &done.raw), since(c.Kept.Visible, &done.visible)
		if len(inline) > 0 && x.route.Display != routing.DisplayKeep { // else they stand in the text
			p := turn.Part{Kind: turn.Thought, Name: history.Inline, Text: string(inline)}
			if raw, ok := bytes.CutSuffix(raw, visible); ok && !c.Kept.Several {
				p.Extra.Whole = string(raw) // with its markers
			}
			parts = append(parts, p)
		}
		if calls := &x.reading.Calls; x.reading.Turn == nil && len(calls.List) > done.calls {
			if sign := calls.Signatures[done.calls]; sign != "" {
				parts = append(parts, turn.Part{Kind: turn.Call, Signature: sign})
			}
			done.calls = len(calls.List)
		}
		return x.seal(name, parts, after)
	}
}

// listed reports whether the upstream sends its reasoning in the list and in no other member.
func (x *exchange) listed() bool { return x.reading.Native == chatjson.Details }

// seal returns a sealed copy of parts of a reply, or "".
func (x *exchange) seal(name sealedslot.Name, parts []turn.Part, after bridging.Place) string {
	if block := bridging.Copy(parts, after); block != "" {
		return x.engine.slots.Seal(name, block)
	}
	return ""
}

// needOfEarlier is what a model gets of the thoughts of earlier turns.
func needOfEarlier(policy history.Policy, model string, api codec) history.Need {
	rule := history.RuleFor(model, api.Name())
	switch {
	case policy == history.Auto, policy == "":
		return rule.Need
	case policy == history.Strip, policy == history.StripAll:
		return history.NeedNone
	case needsProofs(rule, api.Capabilities()):
		return history.NeedSealed // what nobody has signed would be refused under every policy
	}
	return history.NeedAll
}

// needsProofs reports whether a provider refuses a block of reasoning that it has not signed.
func needsProofs(rule history.Rule, can wire.Capabilities) bool {
	return rule.Need == history.NeedSealed && !rule.Signs && can.Kind != "" && !can.Items
}

// bridgedNative is where the upstream has its thoughts, as the copies say that came over a bridge; "" if
// they do not say it.
func (x *exchange) bridgedNative() string {
	if x.bridge == nil || x.codec.Capabilities().Kind != "" && x.bridge.Native != history.Inline {
		return ""
	}
	return x.bridge.Native
}

// checkStranded returns an error if the upstream would refuse the turn under way, because it needs its own
// reasoning there and the client has sent that of another model or gateway. The ledger may have put it back.
func (x *exchange) checkStranded() error {
	if x.bridge == nil || len(x.bridge.Stranded) == 0 {
		return nil
	}
	rule, can := x.family.rule, x.codec.Capabilities()
	if !rule.Demands && !needsProofs(rule, can) {
		return nil
	}
	at, err := x.unthought(false)
	if err != nil || at < 0 {
		return err
	}
	return faults.New(faultname.ReasoningStranded, http.StatusBadRequest, fmt.Errorf("%s: %w", x.bridge.Stranded[0], errStranded))
}

// unthought returns the index of the first step with calls that lacks the upstream's own reasoning, or its signature,
// although the family of the model needs it there. If each step has it, the index is -1. A step is what the model says
// between two messages of others. Of the turns before the last question, earlier says whether they count.
func (x *exchange) unthought(earlier bool) (at int, err error) {
	rule := x.family.rule
	if !rule.Demands && rule.Need != history.NeedSealed || x.bridge.Unthinking {
		return -1, nil
	}
	now, err := x.codec.Request(x.body)
	if err != nil {
		return -1, fmt.Errorf("history: %w", err)
	}
	list := now.Messages
	from := len(list)
	for from > 0 && (list[from-1].Role == "assistant" || list[from-1].Results) {
		from--
	}
	at = -1
	thinks, calls := false, false
	for i, m := range list {
		if m.Role != "assistant" {
			thinks, calls = false, false
			continue
		}
		thinks = thinks || slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool {
			return t.Proof != "" || t.Sealed || t.Text != "" && rule.Need != history.NeedSealed
		})
		if !m.Calls {
			continue
		}
		if !calls {
			at++
		}
		calls = true
		has := thinks
		if rule.Signs {
			has = len(m.Signed) > 0 && m.Signed[0]
		}
		if !has && (earlier || i >= from) {
			return at, nil
		}
	}
	return -1, nil
}

// withoutReasoning returns the client's error in place of one by which the upstream refuses a request that lacks its own
// reasoning, or nil: the upstream's error is about a message that the client has not written. said is what it says.
func (x *exchange) withoutReasoning(status int, body []byte, said string) error {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return nil
	}
	lower := bytes.ToLower(body)
	if !slices.ContainsFunc([]string{"thinking", "reasoning", "thought"}, func(word string) bool { return bytes.Contains(lower, []byte(word)) }) {
		return nil
	}
	at, err := x.unthought(x.family.rule.Demands)
	if err != nil || at < 0 || at >= len(x.bridge.Called) {
		return nil
	}
	if said == wire.ErrUpstream.Error() {
		return fmt.Errorf("%s: %w", x.bridge.Called[at], errUnthought)
	}
	return fmt.Errorf("%s: %w. It says: %s", x.bridge.Called[at], errUnthought, said)
}

var errUnthought = errors.New("the upstream refuses to continue without its own reasoning before this call of a tool. " +
	"Send the reply back as it came, or begin a new turn")

var errStranded = errors.New("the reasoning in this message is not the upstream's: it was made or sealed by another model, provider or gateway, " +
	"and the upstream cannot continue these calls of tools without its own. Begin a new turn")
