package bridging

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A Keeper knows what becomes of the thoughts of a conversation.
type Keeper struct {
	// Open opens a copy of thoughts.
	Open func(text string) (block string, ok bool)
	// Need is what the model needs of the thoughts of earlier turns.
	Need history.Need
	// Preserves says that nothing edits the conversation after it was translated.
	Preserves bool
}

// restore puts the upstream's own thoughts in the place of the copies that the client sends back, and
// leaves out what another upstream has signed or encrypted. Where reasoning is an item with an id, an empty one is
// left out too: the provider would look for the id and not find it. So is one without a seal, if the provider seals its own
// and bare says that nothing later puts the seal back or takes the item out. Messages that are empty then are left for [Bridge.drop].
func (b *Bridge) restore(q *turn.Request, open func(string) (string, bool), bare bool) {
	b.empty = map[int]bool{}
	joinItems(q.Messages, b.empty)
	b.Called = calledAt(q.Messages)
	items := b.Upstream.Capabilities().Items
	from := lastAsked(q.Messages)
	for i := range q.Messages {
		m := &q.Messages[i]
		before := len(b.Foreign)
		r := restored{bridge: b, open: open, assistant: m.Role == turn.Assistant}
		for j := range m.Parts {
			r.insert(&m.Parts[j])
		}
		if items {
			r.unaddressed(m, bare)
		}
		if i >= from {
			b.Stranded = append(b.Stranded, b.Foreign[before:]...)
		}
		if r.changed {
			m.Parts = r.parts
			b.empty[i] = len(r.parts) == 0
		}
	}
}

// calledAt returns the paths of [Bridge.Called].
func calledAt(messages []turn.Message) (list []string) {
	calls := false
	for i := range messages {
		if messages[i].Role != turn.Assistant {
			calls = false
			continue
		}
		for _, p := range messages[i].Parts {
			if p.Kind == turn.Call && !calls {
				list, calls = append(list, p.Extra.Path), true
			}
		}
	}
	return list
}

// joinItems makes the items of each reply one message, the first. The others keep only what is the API's own.
func joinItems(messages []turn.Message, empty map[int]bool) {
	reply := -1
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Role != turn.Assistant || !m.Item:
			reply = -1
		case reply < 0:
			reply = i
			m.Parts = slices.Clip(m.Parts)
		default:
			to := &messages[reply]
			to.Parts, m.Parts, empty[i] = append(to.Parts, m.Parts...), nil, true
		}
	}
}

// drop takes the messages out of a request that restore has made empty, and puts thoughts that stood in a
// text into it. A text of an earlier turn that is nothing but a thought goes if the model gets none, and so does
// a message that is nothing but thoughts: the limit of tokens has cut it, or its client has stopped it.
func (b *Bridge) drop(q *turn.Request, need history.Need) {
	strips := need == history.NeedNone
	left := q.Messages[:0]
	from := lastAsked(q.Messages)
	calls := turnsWithCalls(q.Messages)
	for i, m := range q.Messages {
		if i < from && onlyThinks(&m) && (strips || need == history.NeedSealed || need == history.NeedCalls && !calls[i]) {
			continue
		}
		var parts []turn.Part
		for j, p := range m.Parts {
			bare := p.Kind == turn.Text && p.Name == history.Inline
			if bare && strips && i < from && len(m.Parts) > 1 && (j+1 == len(m.Parts) || m.Parts[j+1].Kind != turn.Text) {
				continue
			}
			if n := len(parts) - 1; n >= 0 && p.Kind == turn.Text && parts[n].Kind == turn.Text && parts[n].Name == history.Inline {
				parts[n] = text(p, parts[n].Text+p.Text)
				continue
			}
			parts = append(parts, p)
		}
		for j := range parts {
			if parts[j].Kind == turn.Text {
				parts[j].Name = ""
			}
		}
		m.Parts = parts
		if !b.empty[i] {
			left = append(left, m)
		}
	}
	q.Messages = left
}

// onlyThinks reports whether a message of the assistant has thoughts, none of which its provider has signed, and
// nothing else.
func onlyThinks(m *turn.Message) bool {
	for _, p := range m.Parts {
		inText := p.Kind == turn.Text && (p.Name == history.Inline || p.Text == "")
		if !inText && p.Kind != turn.Thought || p.Signature != "" || p.Sealed != "" {
			return false
		}
	}
	return m.Role == turn.Assistant && slices.ContainsFunc(m.Parts, func(p turn.Part) bool { return p.Kind == turn.Thought || p.Name == history.Inline })
}

// turnsWithCalls reports for each message whether its turn has calls of tools.
func turnsWithCalls(messages []turn.Message) []bool {
	has := make([]bool, len(messages))
	for begin := 0; begin < len(messages); {
		end, calls := begin, false
		for ; end < len(messages) && (end == begin || !isAsked(&messages[end])); end++ {
			calls = calls || slices.ContainsFunc(messages[end].Parts, func(p turn.Part) bool { return p.Kind == turn.Call })
		}
		for ; begin < end; begin++ {
			has[begin] = calls
		}
	}
	return has
}

// lastAsked is the index of the user's last message that is not the result of a call.
func lastAsked(messages []turn.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if isAsked(&messages[i]) {
			return i
		}
	}
	return 0
}

// isAsked reports whether a message is the user's own, and not the result of a call.
func isAsked(m *turn.Message) bool {
	return m.Role == turn.User && !slices.ContainsFunc(m.Parts, func(p turn.Part) bool { return p.Kind == turn.Result })
}

// A restored is a message with the upstream's own thoughts. Its parts come one after the other.
type restored struct {
	bridge    *Bridge
	open      func(string) (string, bool)
	assistant bool

	parts   []turn.Part
	from    int    // the parts that came since the last copy begin here
	sign    string // of the call that comes next
	tagged  bool   // a tag is open: a thought in a text has not ended before the call
	changed bool
}

func (r *restored) insert(p *turn.Part) {
	sealed := p.Signature != "" || p.Sealed != ""
	if p.Kind == turn.Thought && !sealed && p.Text == "" && p.ID != "" && p.Extra.Whole != "" { // it refers to one that the provider has
		r.bridge.referred, r.changed = append(r.bridge.referred, p.Extra.Path), true
		return
	}
	if r.tagged && p.Kind == turn.Text {
		if after, ok := strings.CutPrefix(p.Text, tagShut); ok {
			now := text(*p, strings.TrimLeft(after, "\n"))
			p, r.tagged, r.changed = &now, false, true
			if now.Text == "" && !sealed {
				return
			}
		}
	}
	if !sealed && (p.Kind != turn.Call || r.sign == "") {
		r.parts = append(r.parts, *p)
		return
	}
	r.changed = true
	c, own := r.opened(p)
	switch {
	case own:
		r.put(&c)
	case sealed:
		r.bridge.Foreign = append(r.bridge.Foreign, p.Extra.Path)
	}
	now := *p
	now.Signature, now.Sealed = "", ""
	switch {
	case p.Kind == turn.Thought, p.Kind == turn.Text && p.Text == "": // that was there for its slot
		return
	case p.Kind == turn.Call:
		now.Signature, r.sign = r.sign, ""
	}
	r.parts = append(r.parts, now)
}

// unaddressed leaves out thoughts that the client has sent without what makes them items of the upstream's.
func (r *restored) unaddressed(m *turn.Message, bare bool) {
	n := len(r.parts)
	r.parts = slices.DeleteFunc(r.parts, func(p turn.Part) bool {
		own := p.Signature != "" || p.Sealed != "" || p.Extra.API == r.bridge.Upstream.Name()
		out := p.Kind == turn.Thought && !own && (bare || p.Text == "")
		if out && p.Text != "" {
			r.bridge.referred = append(r.bridge.referred, cmp.Or(p.Extra.Path, m.Extra.Path+"."+p.Name))
		}
		return out
	})
	r.changed = r.changed || len(r.parts) < n
}

// opened returns the copy in the slot of a part. Only the assistant's messages have any.
func (r *restored) opened(p *turn.Part) (c copied, ok bool) {
	for _, slot := range []string{p.Signature, p.Sealed} {
		if !r.assistant || !sealedslot.Is(slot) || r.bridge.Opened == MaxCopies {
			continue
		}
		if block, ok := r.open(slot); ok && json.Unmarshal([]byte(block), &c) == nil {
			r.bridge.Opened++
			return c, true
		}
		return copied{}, false
	}
	return c, false
}

// put puts the thoughts of a copy where the model wrote them. What the client got of them since the
// copy before is left out: it says the same.
func (r *restored) put(c *copied) {
	if c.Sign != "" {
		r.sign = c.Sign
	}
	own := c.Thoughts
	var left []turn.Part
	at := -1 // where the rest of the thoughts go
	here := func(n int) {
		left, own = append(left, r.bridge.parts(own[:n])...), own[n:]
		at = len(left)
	}
	parts, open := untagged(r.parts[r.from:], func(text string) bool { return strings.TrimSpace(text) == "" || sayings(own, text) > 0 })
	r.tagged = r.tagged || open
	for _, p := range parts {
		switch n := len(own); {
		case p.Kind != turn.Thought:
			left = append(left, p)
		case n > 0:
			if n = sayings(own, p.Text); n == 0 { // it has only some of the words
				n = len(own)
			}
			here(n)
		}
	}
	if at < 0 {
		left, at = c.After.in(left)
	}
	r.parts = append(r.parts[:r.from], left[:at]...)
	r.parts = append(append(r.parts, r.bridge.parts(own)...), left[at:]...)
	r.from = len(r.parts)
}

// parts are thoughts as the upstream's codec reads them.
func (b *Bridge) parts(thoughts []copiedThought) (list []turn.Part) {
	for i := range thoughts {
		t := &thoughts[i]
		list = append(list, t.part(b.Upstream.Name()))
		b.Native = t.Name
	}
	return list
}

// sayings returns how many of the first thoughts a text says; 0 if it says something else.
func sayings(own []copiedThought, text string) (n int) {
	var all strings.Builder
	for i := range own {
		all.WriteString(own[i].Text)
		if strings.TrimSpace(all.String()) == strings.TrimSpace(text) {
			n = i + 1
		}
	}
	return n
}

// untagged returns parts in which thoughts between tags in texts are parts of their own. is reports
// whether what stands there is a thought: a model may write such tags, too. open says that the last of
// them has no end.
func untagged(parts []turn.Part, is func(text string) bool) (out []turn.Part, open bool) {
	for _, p := range joined(parts) {
		for from := 0; p.Kind == turn.Text; {
			i := strings.Index(p.Text[from:], tagOpen)
			if i < 0 {
				break
			}
			i += from
			from = i + len(tagOpen)
			inside, after, closed := strings.Cut(p.Text[from:], tagShut)
			if !is(inside) {
				continue
			}
			open = !closed
			if i > 0 {
				out = append(out, text(p, p.Text[:i]))
			}
			out = append(out, turn.Part{Kind: turn.Thought, Text: inside})
			p, from = text(p, strings.TrimLeft(after, "\n")), 0
		}
		if p.Kind != turn.Text || p.Text != "" {
			out = append(out, p)
		}
	}
	return out, open
}

// The tags in which a client gets thoughts in the text.
const tagOpen, tagShut = "<think>\n", "\n</think>"

// joined returns parts in which texts that stand next to each other are one.
func joined(parts []turn.Part) (out []turn.Part) {
	for _, p := range parts {
		if n := len(out) - 1; n >= 0 && p.Kind == turn.Text && out[n].Kind == turn.Text {
			out[n] = text(out[n], out[n].Text+p.Text)
			continue
		}
		out = append(out, p)
	}
	return out
}

// joinTexts joins the texts of the assistant's messages that stand next to each other, for an API whose
// replies have one text.
func joinTexts(q *turn.Request) {
	for i := range q.Messages {
		if m := &q.Messages[i]; m.Role == turn.Assistant {
			m.Parts = joined(m.Parts)
		}
	}
}

// in returns the index of a place among parts. If it is inside a text, that becomes two.
func (at Place) in(parts []turn.Part) (_ []turn.Part, index int) {
	calls, bytes := 0, 0
	for i := range parts {
		if calls >= at.Calls && bytes >= at.Bytes {
			return parts, i
		}
		switch p := &parts[i]; p.Kind {
		case turn.Call:
			calls++
		case turn.Text:
			if n := at.Bytes - bytes; calls >= at.Calls && n > 0 && n < len(p.Text) && utf8.RuneStart(p.Text[n]) {
				first, second := text(*p, p.Text[:n]), text(*p, p.Text[n:])
				out := append([]turn.Part(nil), parts[:i]...)
				return append(append(out, first, second), parts[i+1:]...), i + 1
			}
			bytes += len(p.Text)
		}
	}
	return parts, len(parts)
}

// text returns a part with another text.
func text(p turn.Part, text string) turn.Part {
	p.Text, p.Extra.Whole = text, ""
	return p
}
