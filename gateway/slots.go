package gateway

import (
	"fmt"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// The ledger forgets, and another replica may have none. So where a client gets a thought
// without its text, the slot of the thought has a sealed copy of what its provider needs back:
// see package sealedslot.

// openSlotKeys returns the keys of the copies: of the secret that replicas have in common, or
// else of one in the data folder. Without either, copies end with the process.
func openSlotKeys(c Config) (*sealedslot.Keys, error) {
	var own [][]byte
	var err error
	switch {
	case c.Data == "":
	case len(c.SharedSecret) > 0: // what it sealed before it got replicas
		own, err = sealedslot.Read(c.Data)
	default:
		own, err = sealedslot.Make(c.Data)
	}
	if err != nil {
		c.Logger.Warn("the key of sealed thoughts cannot be kept: after a restart, what clients have of them does not count", "error", err)
	}
	secrets := own
	if len(c.SharedSecret) > 0 {
		secrets = append(append([][]byte{c.SharedSecret}, c.OldSecrets...), own...)
	}
	if len(secrets) == 0 {
		secrets = [][]byte{sealedslot.Random()}
	}
	keys, err := sealedslot.New(secrets...)
	if err != nil {
		return nil, fmt.Errorf("the secret that seals thoughts: %w", err)
	}
	return keys, nil
}

// slotName says to whom a copy of this exchange belongs.
func (x *exchange) slotName() sealedslot.Name {
	return sealedslot.Name{Caller: x.credential, Upstream: x.to.facts, Model: x.request.Model, API: x.codec.Name()}
}

// slot returns what makes the copies of a reply, or nil if its client gets none. It gets one of a
// thought of which it does not see all: it is hidden, or a guard has cut it.
func (x *exchange) slot() func(index int) string {
	codec, ok := x.codec.(wire.BlockCodec)
	hidden := x.route.Display == routing.DisplayHide
	if !hidden && x.route.Guard.Guard == nil {
		return nil
	}
	if x.reading.Returned != nil {
		return func(choice int) string {
			if x.display() != routing.DisplayTags && !x.lacksThought() { // in tags, no element has its text
				return ""
			}
			return x.listSlot(choice)
		}
	}
	if !ok || x.stored || x.codec.Capabilities().Items && !x.request.Sealed {
		return nil
	}
	return func(index int) string {
		if x.reading.Turn == nil { // nothing goes back
			return ""
		}
		if !x.lacksThought() {
			return ""
		}
		m, ok := x.reading.Turn.Thought(index)
		if !ok {
			return ""
		}
		blocks := turn.Blocks(codec, m)
		if len(blocks) != 1 || blocks[0].Proof == "" && !x.returnsUnsigned() {
			return ""
		}
		return x.engine.slots.Seal(x.slotName(), blocks[0].Raw)
	}
}

// lacksThought reports whether the client does not have the whole thought of the first choice.
func (x *exchange) lacksThought() bool {
	return x.route.Display == routing.DisplayHide || x.reading.Lacks(0, guard.Reasoning)
}

// returnsList reports whether the list of a reply may go back, in which its provider signs or encrypts thoughts.
func (x *exchange) returnsList() bool {
	return !x.stored && (x.reading.Remembers || x.copies() || x.route.Display == routing.DisplayHide || x.route.Guard.Guard != nil)
}

// listSlot returns the copy of that list.
func (x *exchange) listSlot(choice int) string {
	list := x.reading.Returned.JSON()
	if choice != 0 || list == "" {
		return ""
	}
	return x.engine.slots.Seal(x.slotName(), list)
}

// returnsUnsigned reports whether a thought without the provider's signature may go back: where
// all are signed, a limit has cut it; and some families want none but those of the tool loop.
func (x *exchange) returnsUnsigned() bool {
	switch need := x.family.rule.Need; {
	case need == history.NeedSealed || x.route.History == history.Strip:
		return false
	case need == history.NeedNone && x.route.History == history.Auto:
		return x.request.Tools
	}
	return true
}

// openSlots puts the blocks back of which the client has copies. A copy that does not open is
// treated as a thought of another upstream.
func (x *exchange) openSlots() error {
	if !sealedslot.Has(x.request) {
		return nil
	}
	if err := x.charge.Take(int64(len(x.body))); err != nil {
		return err
	}
	_, blocks := x.codec.(wire.BlockCodec)
	name := x.slotName()
	return x.charge.Use(int64(len(x.body)), func() error {
		body, foreign := sealedslot.Restore(x.body, x.codec, func(text string) (string, bool) {
			block, ok := x.engine.slots.Open(name, text)
			x.opened = x.opened || ok && blocks
			return block, ok
		})
		request, err := x.reread(x.request, body)
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		x.request, x.body, x.unopened = request, body, foreign
		return nil
	})
}
