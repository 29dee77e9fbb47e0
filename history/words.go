package history

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Some clients send a thought back as text before what the reply said. They join the two as they like, so
// they are compared without white space.

// tagShut is how a thought ends that begins with tagOpen.
const tagShut = "</think>"

// squeezed is a text without white space.
func squeezed(text string) string {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		if c := text[i]; !isWhite(c) {
			out = append(out, c)
		}
	}
	return jsonedit.StringOf(out)
}

// worded returns the key of a reply by its words, the number of its calls, and the names of the called tools.
func (c *chain) worded(words string, calls int, called []string) key {
	return c.after(&c.asked, strconv.Itoa(calls), words, called)
}

// item reads the items of a reply that begins with item i. It returns the item that stands for the reply, its
// words and the names of the called tools.
func (c *chain) item(all []wire.Message, i int) (at int, words string, called []string) {
	at, next, _ := replyItems(all, i)
	if at < 0 {
		return i, "", nil
	}
	var b strings.Builder
	for ; i < next; i++ {
		b.WriteString(squeezed(c.said(&all[i])))
		called = append(called, all[i].Called...)
	}
	return at, b.String(), called
}

// unspoken finds a remembered thought at the beginning of texts in which the reply has it as text. It returns the
// texts without it; ok is false if they do not say the thought and then as much as the reply said.
func unspoken(texts []string, r *Remembered) (without []string, ok bool) {
	thought := squeezed(r.Thought)
	if thought == "" || len(texts) == 0 {
		return nil, false
	}
	if strings.HasPrefix(texts[0], strings.TrimSpace(tagOpen)) && !strings.HasPrefix(r.Thought, tagOpen) {
		thought = strings.TrimSpace(tagOpen) + thought + tagShut
	}
	size := 0
	for _, text := range texts {
		size += len(squeezed(text))
	}
	if size != len(thought)+r.said {
		return nil, false
	}
	for i, text := range texts {
		for text = strings.TrimLeft(text, white); text != "" && thought != ""; text = strings.TrimLeft(text, white) {
			n := strings.IndexAny(text, white)
			if n < 0 {
				n = len(text)
			}
			n = min(n, len(thought))
			if text[:n] != thought[:n] {
				return nil, false
			}
			text, thought = text[n:], thought[n:]
		}
		without = append(without, text)
		if thought == "" {
			return append(without, texts[i+1:]...), true
		}
	}
	return nil, false
}

// unspeak takes a thought out of the text of a message in which the client has it as text, with tags or
// without. The rest of the plan is made as if the client had dropped it.
func (p *planner) unspeak(i int) {
	m := &p.q.Messages[i]
	if p.policy == Preserve || len(m.Texts) != 1 || p.can.Items || len(m.Thoughts) > 0 {
		return
	}
	r, _ := p.recall(i)
	text := m.Texts[0]
	bare, ok := "", false
	if without, is := unspoken(m.Texts, &r); is {
		bare, ok = without[0], true
	} else if strings.HasPrefix(text, tagOpen) && r.Raw == "" && !(p.goesOn(i) && !hasReasoning(p.plain, text, sotto.BeginOutside)) && (p.taggedFor() != "" || p.takesFields() && r.Thought != "") {
		bare, ok = p.untagged(text, &r)
	}
	if !ok || blank(bare) && (!m.Calls || p.can.NoBlanks) {
		return
	}
	if p.spoke == nil {
		p.spoke = map[int]string{}
	}
	p.spoke[i] = text
	p.edited(i).Texts = []string{bare}
	p.setText(p.change(i), 0, bare)
	p.count(len(bare) - len(text))
}

// goesOn reports whether the reply goes on with a message: the last one, if it is the assistant's. An empty block
// in it is how a client turns thinking off.
func (p *planner) goesOn(i int) bool { return i == len(p.q.Messages)-1 && !p.q.Messages[i].Calls }

// untagged returns a text without a thought in tags that is the remembered one, a part of it, or empty.
func (p *planner) untagged(text string, r *Remembered) (bare string, ok bool) {
	if bare, ok = strip(p.plain, text, sotto.BeginOutside); !ok {
		return "", false
	}
	thought := reasoningOf(p.plain, text, sotto.BeginOutside)
	part := strings.Contains(squeezed(r.Thought), squeezed(thought))
	return strings.TrimLeft(bare, white), part && (r.Thought == "" || r.said == len(squeezed(bare)))
}

// edited returns a message of the planner's own request. That of the caller stays as it is.
func (p *planner) edited(i int) *wire.Message {
	if !p.cloned {
		q := *p.q
		q.Messages = slices.Clone(q.Messages)
		p.q, p.cloned = &q, true
	}
	return &p.q.Messages[i]
}

// unblock leaves out blocks of thoughts that the client has emptied, if nobody signed them. The rest of the plan
// is made as if the client had dropped them.
func (p *planner) unblock(i int) {
	m := &p.q.Messages[i]
	if p.policy == Preserve || p.can.Kind == "" || len(m.Thoughts) == 0 {
		return
	}
	says := m.Calls || p.can.Items || slices.ContainsFunc(m.Texts, func(t string) bool { return !blank(t) })
	if !says || slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return t.Sealed || !blank(t.Text) }) {
		return
	}
	c := p.change(i)
	for j := range m.Thoughts {
		c.Drop = append(c.Drop, j)
	}
	p.edited(i).Thoughts = nil
}
