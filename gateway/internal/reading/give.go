package reading

import (
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

func (r *Reading) part(place wire.Place, text []byte) {
	if len(text) > 0 {
		r.Parts = append(r.Parts, wire.Part{Place: place, Text: text})
	}
}

// give is part for text of a choice whose delivery is noted; spans are the places of it.
func (r *Reading) give(c *Choice, place wire.Place, text []byte, spans func() []span) {
	r.part(place, text)
	if r.Display != routing.DisplayKeep { // then the client gets what came
		r.gave(c, place, text, spans)
	}
}

// giveOwn gives text of the gateway's own.
func (r *Reading) giveOwn(c *Choice, text []byte) { r.give(c, wire.Content, text, c.put(text)) }

var tagOpen, tagClose = []byte("<think>\n"), []byte("\n</think>\n\n")

func (r *Reading) content(c *Choice, text []byte) {
	if r.Display == routing.DisplayHide && len(text) > 0 {
		text = r.withoutDetails(c, text)
	}
	r.deliver(c, text)
}

// say gives visible text to the client.
func (r *Reading) say(c *Choice, text []byte) {
	r.sayFrom(c, text, func(text []byte) []span { return r.name(c, shownText, text) })
}

// sayFrom gives text to the client as the answer; spans finds the places of what passes.
func (r *Reading) sayFrom(c *Choice, text []byte, spans func(text []byte) []span) {
	if len(text) == 0 {
		return
	}
	if len(trimLeft(text)) > 0 {
		came(&r.FirstAnswer)
	}
	r.couldAnswer(c.Number, text)
	if text = r.lets(c.Number, guard.Answer, text); len(text) == 0 {
		return
	}
	c.shown += len(text)
	r.keepVisible(c, text)
	if c.tagOpen {
		c.tagOpen = false
		r.giveOwn(c, tagClose)
	}
	r.apart(c)
	r.give(c, wire.Content, text, func() []span { return spans(text) })
}

// apart puts a blank line between a tag of ours and the content that follows it in
// the next text of the message.
func (r *Reading) apart(c *Choice) {
	if r.shut && r.Can.Adjacent {
		r.giveOwn(c, blankLine)
	}
	r.shut = false
}

// thoughts puts reasoning of a channel where the display wants it.
func (r *Reading) thoughts(c *Choice, ch channel, text []byte) {
	if text = r.lets(c.Number, guard.Reasoning, text); len(text) == 0 {
		return
	}
	c.Thought += len(text)
	var named []span
	if r.Notes {
		named = r.name(c, ch, text)
	}
	r.hasThought(c.Number, text, named)
	spans := func() []span { return named }
	switch r.Display {
	case routing.DisplayField, routing.DisplayKeep:
		r.give(c, wire.Reasoning, text, spans)
	case routing.DisplayTags:
		if !c.tagOpen {
			if len(trimLeft(text)) == 0 {
				return // between blocks: the tags separate them already
			}
			c.tagOpen = true
			r.apart(c)
			r.giveOwn(c, tagOpen)
		}
		r.give(c, wire.Content, text, spans)
	}
}
