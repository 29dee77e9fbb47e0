package gateway

import (
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// learning is the observer that learns how replies begin, and remembers reasoning
// that a later request may have to contain again.
func (e *engine) learning() observer {
	return observer{settled: func(x *exchange) {
		x.remember()
		x.learn()
	}}
}

// remember keeps the reasoning of the first choice, which is the one that clients
// continue with.
func (x *exchange) remember() {
	if !x.reading.remembers {
		return
	}
	c := x.reading.first()
	if c == nil {
		c = &choice{}
	}
	if c.kept.cut {
		return
	}
	calls := &x.reading.calls
	said := history.Said{Visible: string(c.kept.visible), ToolCalls: calls.list, Names: calls.names, Called: calls.tools}
	said.Thought, said.Signatures, said.Sealed = string(c.kept.native), calls.signatures, x.reading.sealed.list
	if !c.native && (c.thought > 0 || x.reading.lacks(c.number, guard.Reasoning)) {
		said.Thought, said.Raw = string(c.kept.inline), string(c.kept.raw)
	}
	var proofs []string
	if said.Blocks, proofs = x.blocks(); len(x.engine.config.Upstreams) > 0 {
		x.engine.store.Issued(x.credential, x.issuer(), proofs)
	}
	x.engine.store.Remember(x.rememberedFor(), x.request, said)
}

// maxProofs bounds the proofs of a reply whose issuer is remembered: each takes the room of a reply.
const maxProofs = 16

// blocks returns the reply as it goes back to its provider, if the API's messages are lists of blocks
// and one of them is not a text or a call that every client gives back. A thought that a limit cut
// has no signature, and its provider would refuse it. The proofs are what the provider signed or encrypted.
func (x *exchange) blocks() (list, proofs []string) {
	codec, ok := x.codec.(wire.BlockCodec)
	if !ok || x.reading.turn == nil || !x.reading.finished {
		return nil, nil
	}
	m, ok := x.reading.turn.Message()
	needed := false
	for _, b := range turn.Blocks(codec, m) {
		if b.Kind == wire.BlockThought && b.Proof == "" && x.family.rule.Need == history.NeedSealed {
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
	native := x.reading.native
	c := x.reading.first() // one reply counts once, however many choices it has
	if c == nil {
		return
	}
	if c.withheld && x.route.Display == routing.DisplayHide && x.engine.withheld.Now(x.model) {
		x.engine.config.Logger.Warn("a reply was withheld: nothing shows whether it is a thought or the answer; if prompts of this model open no block of reasoning, set start: outside in its route", "model", x.model, "route", x.route.Name)
	}
	what := starts.Lesson{API: x.codec.Name(), Unlearn: c.lessons.unlearned}
	if x.shown.teaches() {
		what.Start, what.Suspect = c.shows()
	}
	switch {
	case native != "":
	case c.native:
		native = x.reading.can.Kind
	case x.reading.reasoning > 0 && !c.withheld:
		native = history.Inline
	}
	what.Native = native
	if err := x.engine.learned.Learn(x.key, what); err != nil {
		x.engine.config.Logger.Warn("learned starts cannot be saved", "error", err)
	}
}
