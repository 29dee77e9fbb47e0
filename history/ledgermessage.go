package history

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
)

// A ledgerMessage is a message of the assistant whose reply is remembered.
type ledgerMessage struct {
	codec wire.BlockCodec
	known []string // the blocks of the reply

	bridged bool // the client speaks another API, so no block is as it sent it

	first   jsonedit.Member // where the client's blocks stand: the first of its messages
	span    jsonedit.Span   // … and the list in it, or all of its items
	listed  bool            // it has a list
	beside  string          // the member that is a block beside the list; see [wire.BesideCodec]
	is, was []wire.Block    // what the client sends, and what the provider sent
	thought string          // what the provider's say, together
	// dropped says that the client sends nothing of the thoughts, and everything else as it was.
	dropped bool
	sealed  bool // the provider signed or encrypted some of them
}

// maxBlocks bounds the blocks of a message that is compared with its reply.
const maxBlocks = 4096

// content reads what the client sends: the blocks of messages, or the items of a reply. It returns false if
// there are too many.
func (m *ledgerMessage) content(messages []jsonedit.Member, member string) bool {
	m.first = messages[0]
	if c, ok := m.codec.(wire.BesideCodec); ok {
		m.beside = c.Beside()
	}
	if member == "" {
		m.span, m.listed = jsonedit.Span{Start: messages[0].At, End: messages[len(messages)-1].End()}, true
		m.sort(messages)
		return len(m.is) <= maxBlocks
	}
	for i := range messages {
		content := messages[i].Value.Get(member)
		if i == 0 && content.Exists() {
			m.span, m.listed = jsonedit.SpanOf(content), true
		}
		if content.Type == gjson.String { // instead of a list of one text
			m.is = append(m.is, wire.Block{Kind: wire.BlockText, Text: content.Str})
		}
		m.sort(jsonedit.Members(content))
		if v := messages[i].Value.Get(m.beside); m.beside != "" && v.Exists() {
			m.is = append(m.is, m.codec.Block(`{"`+m.beside+`":`+v.Raw+`}`))
		}
	}
	return len(m.is) <= maxBlocks && (m.listed || m.beside != "")
}

func (m *ledgerMessage) sort(blocks []jsonedit.Member) {
	for _, e := range blocks {
		if e.Value.IsObject() {
			m.is = append(m.is, m.codec.Block(e.Value.Raw))
		}
	}
}

// fits reads the reply. It returns false if the client's message does not have its calls.
func (m *ledgerMessage) fits(p *planner) bool {
	var thoughts thoughts
	for _, raw := range m.known {
		b := wire.Block{}
		if raw != "" {
			b = m.codec.Block(raw)
		}
		m.was = append(m.was, b)
		switch b.Kind {
		case wire.BlockThought:
			thoughts.add(b.Text)
			m.sealed = m.sealed || b.Proof != ""
		case wire.BlockText:
			thoughts.add(reasoningOf(p.reader, b.Text, p.start()))
		}
	}
	m.thought = thoughts.text.String()
	return slices.Equal(callIDs(m.is), callIDs(m.was))
}

// keepWords compares what the client's texts say with the reply. If the client changed them, the client's
// are kept. It returns false if it is not known which text is which.
func (m *ledgerMessage) keepWords(p *planner) bool {
	var is, was []wire.Block
	var texts []string
	for _, b := range m.is {
		if b.Kind == wire.BlockText {
			texts = append(texts, b.Text)
			if !m.isThought(b.Text) {
				is = append(is, b)
			}
		}
	}
	for _, b := range m.was {
		if b.Kind == wire.BlockText {
			was = append(was, b)
		}
	}
	words := p.words(was)
	m.dropped = (m.thought != "" || m.sealed) && !hasThought(m.is) && squeezed(strings.Join(texts, "")) == squeezed(words)
	if p.words(is) == words {
		return true
	}
	if _, ok := unspoken(texts, &Remembered{Thought: m.thought, said: len(squeezed(words))}); ok {
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

// isThought reports whether a text is one of the reply's thoughts.
func (m *ledgerMessage) isThought(text string) bool {
	text = strings.Trim(text, white)
	return slices.ContainsFunc(m.was, func(b wire.Block) bool {
		return b.Kind == wire.BlockThought && text != "" && strings.Trim(b.Text, white) == text
	})
}

// words is what texts say together, without a thought in the family's markers, or one that the gateway put
// into tags.
func (p *planner) words(list []wire.Block) string {
	var all strings.Builder
	for _, b := range list {
		all.WriteString(b.Text)
	}
	text, _ := strip(p.reader, all.String(), p.start())
	if strings.HasPrefix(text, tagOpen) {
		text, _ = strip(p.plain, text, sotto.BeginOutside)
	}
	return strings.Trim(text, white)
}

// strip leaves the thoughts out of what goes back, unless they are signed or encrypted. A message that would be
// empty keeps them.
func (m *ledgerMessage) strip(p *planner) {
	var left []wire.Block
	for _, b := range m.was {
		if b.Kind == wire.BlockThought && b.Proof == "" {
			continue
		}
		if b.Kind == wire.BlockText {
			text, ok := strip(p.reader, b.Text, p.start())
			switch {
			case ok && blank(text) && b.Proof == "":
				continue
			case ok:
				b = withText(b, text)
			}
		}
		left = append(left, b)
	}
	if len(left) > 0 || m.callsBeside() {
		m.was = left
	}
}

// callsBeside reports whether the message has calls beside its blocks.
func (m *ledgerMessage) callsBeside() bool {
	return m.beside != "" && m.first.Value.Get("tool_calls.0").Exists()
}

// alike reports whether a message of an API whose clients cut and join texts says what the reply said, with
// every signature of a call, and with no signature that the provider did not make. It stays byte for byte.
func (m *ledgerMessage) alike(p *planner) bool {
	if _, joins := m.codec.(wire.JoiningCodec); !joins {
		return false
	}
	var said, thought [2]string
	var proofs [2][]string
	for i, list := range [][]wire.Block{m.is, m.was} {
		for _, b := range list {
			switch {
			case b.Kind == wire.BlockText:
				said[i] += squeezed(b.Text)
			case b.Kind == wire.BlockThought && b.Text == "" && b.Proof == "":
				return false
			case b.Kind == wire.BlockThought:
				thought[i] += squeezed(b.Text)
			case b.Kind == wire.BlockCall && i == 1 && b.Proof != "" && !slices.Contains(proofs[0], b.Proof):
				return false
			case b.Kind == wire.BlockCall:
				said[i] += " " // no text has one
			}
			if b.Proof != "" {
				proofs[i] = append(proofs[i], b.Proof)
			}
		}
	}
	foreign := slices.ContainsFunc(proofs[0], func(s string) bool { return !slices.Contains(proofs[1], s) })
	return !foreign && said[0] == said[1] && (thought[0] == thought[1] || thought[0] == "" && p.rule.Need == NeedSealed)
}

// A written is what goes to the provider.
type written struct {
	list   []byte // the blocks
	beside string // the value beside them, as JSON
}

// write returns the blocks as they go to the provider, and their number. same says that the client has
// sent them so.
func (m *ledgerMessage) write() (now written, count int, same bool) {
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
		raw, ok := take(func(b *wire.Block) bool { return saysSame(b, was) })
		switch {
		case raw == "":
			raw, same = was.Raw, same && ok && was.Kind == wire.BlockOther
		case m.bridged && was.Raw != "":
			raw, same = was.Raw, same && raw == was.Raw
		}
		if beside := m.besideIn(raw); beside != "" {
			now.beside = beside
		} else if raw != "" {
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
	now.list = out.End()
	return now, count, same
}

// besideIn returns the value of a block that stands beside the list, or "".
func (m *ledgerMessage) besideIn(raw string) string {
	if m.beside == "" || raw == "" {
		return ""
	}
	return jsonedit.Parse(jsonedit.BytesOf(raw)).Get(m.beside).Raw
}

// edits puts what goes to the provider into the first of the client's messages.
func (m *ledgerMessage) edits(edits []jsonedit.Edit, now written) []jsonedit.Edit {
	if m.beside == "" {
		return append(edits, jsonedit.Edit{Span: m.span, With: now.list})
	}
	_, member := m.codec.Lists()
	values := map[string]string{m.beside: now.beside}
	if values[member] = string(now.list); values[member] == "[]" {
		values[member] = ""
	}
	members := jsonedit.Members(m.first.Value)
	for _, e := range members {
		if value, ok := values[e.Key]; ok && value != "" {
			edits = append(edits, jsonedit.Edit{Span: e.ValueSpan(), With: []byte(value)})
			delete(values, e.Key)
		}
	}
	edits = jsonedit.Cut(edits, members, func(i int) bool {
		value, ok := values[members[i].Key]
		return ok && value == ""
	})
	for _, key := range []string{member, m.beside} {
		if values[key] != "" {
			with := append(jsontext.AppendVerbatim(nil, []byte(key)), ':')
			with = append(append(with, values[key]...), ',')
			at := members[0].At // it has a role, at least
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
		}
	}
	return edits
}

// saysSame reports whether a block that a client sends says the same as one of the provider's.
func saysSame(is, was *wire.Block) bool {
	switch {
	case is.Kind != was.Kind:
		return false
	case is.Kind == wire.BlockCall:
		return is.ID == was.ID && (was.Proof == "" || is.Proof == was.Proof)
	case is.Kind == wire.BlockOther:
		return true
	}
	return is.Text == was.Text && is.Proof == was.Proof
}

// withText returns a block of text with another text.
func withText(b wire.Block, text string) wire.Block {
	root := jsonedit.Parse(jsonedit.BytesOf(b.Raw))
	for _, path := range []string{"text", "content.0.text", "content"} {
		if v := root.Get(path); v.Type == gjson.String && v.Str == b.Text {
			edit := jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))}
			b.Raw, b.Text = jsonedit.StringOf(jsonedit.Splice(nil, jsonedit.BytesOf(b.Raw), []jsonedit.Edit{edit})), text
			break
		}
	}
	return b
}
