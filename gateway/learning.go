package gateway

import (
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// remember keeps the reasoning of the first choice, which is the one that clients
// continue with.
func (x *exchange) remember() {
	if !x.reading.Remembers {
		return
	}
	c := x.reading.First()
	if c == nil {
		c = &reading.Choice{}
	}
	if c.Kept.Cut {
		return
	}
	calls := &x.reading.Calls
	// The store copies what it keeps, so the texts need not be copied for it.
	said := history.Said{Visible: jsonedit.StringOf(c.Kept.Visible), ToolCalls: calls.List, Names: calls.Names, Called: calls.Tools, Arguments: calls.Arguments()}
	said.Thought, said.Signatures, said.Sealed = jsonedit.StringOf(c.Kept.Native), calls.Signatures, x.reading.Sealed.List
	if !c.Native && (c.Thought > 0 || x.reading.Lacks(c.Number, guard.Reasoning)) {
		said.Thought, said.Raw = jsonedit.StringOf(c.Kept.Inline), jsonedit.StringOf(c.Kept.Raw)
	}
	var proofs []string
	inline := said.Raw != ""
	if c.Kept.Several { // it is only that of the first
		said.Raw = ""
	}
	if said.Blocks, proofs = x.blocks(inline); x.reading.Finished {
		if said.Listed = x.reading.Returned.JSON(); said.Listed != "" {
			proofs = append(proofs, chatjson.DetailsProof(jsonedit.Parse([]byte(said.Listed))))
		}
	}
	if len(x.engine.config.Upstreams) > 0 {
		x.engine.store.Issued(x.credential, x.issuer(), proofs)
	}
	x.engine.store.Remember(x.rememberedFor(), x.request, said)
}

// maxProofs bounds the proofs of a reply whose issuer is remembered: each takes the room of a reply.
const maxProofs = 16

// blocks returns the reply as it goes back to its provider, if the API's messages are lists of blocks
// and one of them is not a text or a call that every client gives back: inline says that a text has a thought.
// A thought that a limit cut
// has no signature, and its provider would refuse it. The proofs are what the provider signed or encrypted.
func (x *exchange) blocks(inline bool) (list, proofs []string) {
	codec, ok := x.codec.(wire.BlockCodec)
	if !ok || x.reading.Turn == nil || !x.reading.Finished {
		return nil, nil
	}
	m, ok := x.reading.Turn.Message()
	calls := 0
	for i := range m.Parts {
		if m.Parts[i].Kind == turn.Call {
			calls++
		}
	}
	if calls < len(x.reading.Calls.List) { // the model wrote one into its text, and the client has it apart
		return nil, nil
	}
	needed := inline
	for _, b := range turn.Blocks(codec, m) {
		if b.Kind == wire.BlockThought && b.Proof == "" && x.family.rule.Need == history.NeedSealed && !x.reading.Can.Unsigned {
			continue
		}
		needed = needed || b.Kind == wire.BlockThought || b.Proof != ""
		list = append(list, b.Raw)
		if b.Proof != "" && len(proofs) < maxProofs {
			proofs = append(proofs, b.Proof)
		}
	}
	if !ok || !needed {
		return nil, nil
	}
	return list, proofs
}

func (x *exchange) learn() {
	native := x.reading.Native
	c := x.reading.First() // one reply counts once, however many choices it has
	if c == nil {
		return
	}
	if c.Withheld && x.route.Display == routing.DisplayHide && x.engine.withheld.Now(x.model) {
		x.engine.config.Logger.Warn("a reply was withheld: nothing shows whether it is a thought or the answer; if prompts of this model open no block of reasoning, set start: outside in its route", "model", x.model, "route", x.route.Name)
	}
	what := starts.Lesson{API: x.codec.Name(), Unlearn: c.Lessons.Unlearned}
	if x.shown.teaches() {
		what.Start, what.Suspect = c.Shows()
	}
	switch {
	case native != "":
	case c.Native:
		native = x.reading.Can.Kind
	case x.reading.Reasoning > 0 && !c.Withheld:
		native = history.Inline
	}
	what.Native = native
	if err := x.engine.learned.Learn(x.key, what); err != nil {
		x.engine.config.Logger.Warn("learned starts cannot be saved", "error", err)
	}
}
