package history

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/internal/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
)

// Originals say what became of messages that were put back as their provider sent them.
type Originals struct {
	Body []byte // the request; nil if nothing changed
	// Messages are those that are known, by their index in the new request: what they have is the
	// provider's own.
	Messages map[int]bool
	// Removed and Restored are bytes of blocks that the messages lost and got. First is the index
	// of the first message that changed, or -1.
	Removed, Restored, First int
}

// Original puts the assistant's messages back as the provider sent them, for an API whose messages are
// lists of blocks. The client may have emptied a thought, put it into a text, split its message or dropped
// the thought: what the store remembers of the reply decides, and not what came back.
//
//   - Words that the client has changed are the client's: a person may edit an answer. The thoughts are put
//     back around them if the message still has as many texts. Otherwise it stays as it is.
//   - Everything else that the client sends in the message is left out, apart from blocks of kinds that are
//     not known here.
//   - A message whose calls are not those of the reply stays as it is.
//   - A thought that the client dropped is put back if its provider needs it: in the current turn, and in
//     earlier ones if the policy or the family keeps them.
//   - A block that says the same as the provider's stays byte for byte, with what the client added to it.
func Original(body []byte, q *wire.Request, policy Policy, k Knowledge, c wire.Codec) Originals {
	out := Originals{First: -1}
	blocks, ok := c.(wire.BlockCodec)
	if !ok || k.Recall == nil {
		return out
	}
	p := planner{q: q, k: k, policy: policy, rule: RuleFor(q.Model, c.Name()), can: c.Capabilities()}
	if p.policy == "" {
		p.policy = Auto
	}
	p.turns()
	p.plain = readerOf(sotto.Default())
	list, member := blocks.Lists()
	var edits []jsonedit.Edit
	var messages []jsonedit.Member // of the body, once they are needed
	shift := 0                     // by how many items the messages before are more than they were
	for i, next := 0, 0; i < len(q.Messages); i = next {
		if next = i + 1; q.Messages[i].Role != "assistant" {
			continue
		}
		if member == "" {
			_, next, _ = replyItems(q.Messages, i)
		} else if next < len(q.Messages) && q.Messages[next].Role == "assistant" {
			for next < len(q.Messages) && q.Messages[next].Role == "assistant" { // which of them are one reply is not known
				next++
			}
			continue
		}
		var known Remembered
		for at := i; at < next && len(known.Blocks) == 0; at++ { // one of the items stands for the reply
			known, _ = k.Recall(at)
		}
		if len(known.Blocks) == 0 {
			continue
		}
		if messages == nil {
			messages = jsonedit.Members(jsonedit.Parse(body).Get(list))
		}
		if len(messages) != len(q.Messages) { // several of the body are one, as a client keeps each delta
			break
		}
		m := ledgerMessage{codec: blocks, known: known.Blocks}
		span := m.content(messages[i:next], member)
		if !m.fits() || !m.keepWords(&p) || m.dropped && !p.wantsDropped(i, m.sealed) {
			continue
		}
		now, count, same := m.write()
		if member == "" {
			now = now[1 : len(now)-1] // items stand in the list of the request
		} else {
			count = next - i
		}
		out.put(i+shift, count)
		shift += count - (next - i)
		if same {
			continue
		}
		edits = append(edits, jsonedit.Edit{Span: span, With: now})
		out.changed(i, len(now)-(span.End-span.Start))
	}
	if len(edits) > 0 {
		out.Body = jsonedit.Splice(make([]byte, 0, len(body)+out.Restored), body, edits)
	}
	return out
}

// put notes that messages of the new request are the provider's own.
func (o *Originals) put(from, count int) {
	if o.Messages == nil {
		o.Messages = map[int]bool{}
	}
	for i := range count {
		o.Messages[from+i] = true
	}
}

func (o *Originals) changed(message, grown int) {
	if grown > 0 {
		o.Restored += grown
	} else {
		o.Removed -= grown
	}
	if o.First < 0 {
		o.First = message
	}
}

// wantsDropped reports whether a message gets back a thought that the client does not send in any form. What
// is sealed is needed in the current turn alone: providers ignore that of earlier turns.
func (p *planner) wantsDropped(i int, sealed bool) bool {
	switch {
	case p.policy == Preserve || sealed && i < p.from:
		return false
	case p.policy == Restore || sealed && p.can.Items:
		return true
	case p.policy == Auto:
		return sealed || p.rule.Need == NeedAll || p.rule.Need == NeedCalls && p.tools[i]
	}
	return false
}

// A ledgerMessage is a message of the assistant whose reply is remembered.
type ledgerMessage struct {
	codec wire.BlockCodec
	known []string // the blocks of the reply

	is, was []wire.Block // what the client sends, and what the provider sent
	// dropped says that the client sends nothing of the thoughts, and everything else as it was.
	dropped bool
	sealed  bool // the provider signed or encrypted some of them
}

// maxBlocks bounds the blocks of a message that is compared with its reply.
const maxBlocks = 4096

// content reads what the client sends: the blocks of a message, or the items of a reply. It returns where
// they stand in the request.
func (m *ledgerMessage) content(messages []jsonedit.Member, member string) jsonedit.Span {
	list, span := messages, jsonedit.Span{Start: messages[0].At, End: messages[len(messages)-1].End()}
	if member != "" {
		content := messages[0].Value.Get(member)
		span = jsonedit.SpanOf(content)
		if content.Type == gjson.String { // instead of a list of one text
			m.is = []wire.Block{{Kind: wire.BlockText, Text: content.Str}}
			return span
		}
		list = jsonedit.Members(content)
	}
	for _, e := range list {
		m.is = append(m.is, m.codec.Block(e.Value.Raw))
	}
	return span
}

// fits reads the reply. It returns false if the client's message does not have its calls.
func (m *ledgerMessage) fits() bool {
	calls := func(list []wire.Block) (ids []string) {
		for _, b := range list {
			if b.Kind == wire.BlockCall {
				ids = append(ids, b.ID)
			}
		}
		return ids
	}
	thoughts := 0
	for _, raw := range m.known {
		b := wire.Block{}
		if raw != "" {
			b = m.codec.Block(raw)
		}
		m.was = append(m.was, b)
		if b.Kind == wire.BlockThought {
			thoughts++
			m.sealed = m.sealed || b.Proof != ""
		}
	}
	if len(m.is) > maxBlocks || !slices.Equal(calls(m.is), calls(m.was)) {
		return false
	}
	m.dropped = thoughts > 0 && !slices.ContainsFunc(m.is, func(b wire.Block) bool {
		return b.Kind == wire.BlockThought || b.Kind == wire.BlockText && !m.said(b.Text)
	})
	return true
}

// keepWords compares what the client's texts say with the reply. If the client changed them, the client's
// are kept. It returns false if it is not known which text is which.
func (m *ledgerMessage) keepWords(p *planner) bool {
	var is, was []wire.Block
	for _, b := range m.is {
		if b.Kind == wire.BlockText && !m.thought(b.Text) {
			is = append(is, b)
		}
	}
	for _, b := range m.was {
		if b.Kind == wire.BlockText {
			was = append(was, b)
		}
	}
	if p.words(is) == p.words(was) {
		return true
	}
	if len(is) != len(was) || slices.ContainsFunc(is, func(b wire.Block) bool { return b.Raw == "" || strings.HasPrefix(b.Text, tagOpen) }) {
		return false
	}
	for i := range m.was {
		if m.was[i].Kind == wire.BlockText {
			m.was[i], is = is[0], is[1:]
		}
	}
	return true
}

// thought reports whether a text is one of the reply's thoughts.
func (m *ledgerMessage) thought(text string) bool {
	text = strings.Trim(text, white)
	return slices.ContainsFunc(m.was, func(b wire.Block) bool {
		return b.Kind == wire.BlockThought && text != "" && strings.Trim(b.Text, white) == text
	})
}

// words is what texts say together, without a thought that the gateway put into tags.
func (p *planner) words(list []wire.Block) string {
	var all strings.Builder
	for _, b := range list {
		all.WriteString(b.Text)
	}
	text := all.String()
	if strings.HasPrefix(text, tagOpen) {
		text, _ = strip(p.plain, text, sotto.StartOutside)
	}
	return strings.Trim(text, white)
}

// said reports whether the reply had a text.
func (m *ledgerMessage) said(text string) bool {
	return slices.ContainsFunc(m.was, func(b wire.Block) bool { return b.Kind == wire.BlockText && b.Text == text })
}

// write returns the blocks as they go to the provider, and their number. same says that the client has
// sent them so.
func (m *ledgerMessage) write() (list []byte, count int, same bool) {
	var out jsonwrite.List
	left := slices.Clone(m.is) // what the client sends and has no place yet
	same = true
	take := func(fits func(b *wire.Block) bool) (raw string, ok bool) {
		for i := range left {
			if fits(&left[i]) {
				same = same && i == 0
				raw = left[i].Raw
				left = slices.Delete(left, i, i+1)
				return raw, true
			}
		}
		return "", false
	}
	for i := range m.was {
		was := &m.was[i]
		raw, ok := take(func(b *wire.Block) bool {
			switch {
			case b.Kind != was.Kind:
				return false
			case b.Kind == wire.BlockCall:
				return b.ID == was.ID && (was.Proof == "" || b.Proof == was.Proof)
			case b.Kind == wire.BlockOther:
				return true
			}
			return b.Text == was.Text && b.Proof == was.Proof
		})
		if raw == "" {
			raw, same = was.Raw, same && ok && was.Kind == wire.BlockOther
		}
		if raw != "" {
			out.Raw(raw)
			count++
		}
	}
	for _, b := range left {
		same = false
		if b.Kind == wire.BlockOther {
			out.Raw(b.Raw)
			count++
		}
	}
	return out.End(), count, same
}
