package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// takesFields reports whether a message may get a member for its reasoning.
func (p *planner) takesFields() bool { return p.can.Members }

// named reports whether the upstream's member for reasoning is known.
func (p *planner) named() bool { return p.k.Native != "" && p.k.Native != Inline && p.takesFields() }

// own reports whether Sotto made a thought.
func (p *planner) own(t wire.Thought) bool {
	switch {
	case t.Sealed, t.Name == "reasoning_details":
		return false
	case p.can.Unsigned && !(t.Minted && p.rule.Need == NeedSealed): // where all are signed, one without is Sotto's
		return t.Name == p.can.Kind && p.k.Native == Inline
	case t.Passed:
		return p.rule.Need == NeedSealed // a limit has cut it
	case t.Minted: // some servers also send blocks with an empty signature
		return p.rule.Need == NeedSealed || p.k.Native == Inline || p.can.Items || t.Name != p.k.Native && !p.rule.Demands
	case !p.takesFields(), p.k.Native == "":
		return false
	case p.k.Native == Inline:
		return len(p.k.Fields) == 0 || t.Name == p.can.Field || slices.Contains(p.k.Fields, t.Name)
	}
	return t.Name != p.k.Native
}

// giveBack moves what Sotto made back to where the upstream had it. It reports
// whether there was any.
func (p *planner) giveBack(i int) bool {
	m := &p.q.Messages[i]
	var own []int
	var said thoughts
	native := ""
	for j, t := range m.Thoughts {
		switch {
		case p.own(t):
			own = append(own, j)
			said.add(t.Text)
		case t.Name == p.k.Native:
			native = t.Text
		}
	}
	own = p.andEmptied(m, p.andCopies(m, own, said.seen))
	thought := said.text.String()
	switch {
	case len(own) == 0:
		return p.once(i) || p.onlyListed(m) && p.giveBackTags(i)
	case p.named():
		p.rename(i, own, thought, native)
	case p.fold(i, own, thought):
	case p.rule.Need == NeedSealed, p.can.Items && p.target(i) < 0:
		p.dropMinted(i, own)
	}
	return true
}

// onlyListed reports whether a message has no thoughts, apart from a list that its provider has signed.
func (p *planner) onlyListed(m *wire.Message) bool {
	return !slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return !p.lists || !t.Sealed || t.Name != chatjson.Details })
}

// andCopies adds to Sotto's own thoughts the members in which the client repeats them:
// some clients send what they read under a second name.
func (p *planner) andCopies(m *wire.Message, own []int, said map[string]bool) []int {
	if !p.takesFields() {
		return own
	}
	for j, t := range m.Thoughts {
		if said[t.Text] && !t.Sealed && t.Name != "reasoning_details" && t.Name != p.k.Native && !slices.Contains(own[:min(len(own), few)], j) {
			own = append(own, j)
		}
	}
	return own
}

// andEmptied adds to Sotto's own thoughts the blocks beside them, if the client has emptied them all: without
// the others they would be left out, see unblock.
func (p *planner) andEmptied(m *wire.Message, own []int) []int {
	if len(own) == 0 || len(m.Thoughts) > few || p.policy == Preserve || p.can.Kind == "" {
		return own
	}
	all := own
	for j, t := range m.Thoughts {
		switch {
		case slices.Contains(own, j):
		case t.Sealed || !blank(t.Text):
			return own
		default:
			all = append(all, j)
		}
	}
	return all
}

// once drops a member that Sotto added beside the upstream's own, if the client sends
// back both. It matters while the upstream's member is not known, such as after a
// restart: two members say the same, and Sotto's is the one of its names.
func (p *planner) once(i int) bool {
	m := &p.q.Messages[i]
	native := func(text string) bool {
		return slices.ContainsFunc(m.Thoughts[:min(len(m.Thoughts), few)], func(t wire.Thought) bool {
			return t.Text == text && !slices.Contains(p.k.Fields, t.Name)
		})
	}
	var drop []int
	grown := 0
	for j, t := range m.Thoughts {
		if p.takesFields() && !t.Sealed && t.Text != "" && t.Name != p.k.Native && slices.Contains(p.k.Fields, t.Name) && native(t.Text) {
			drop = append(drop, j)
			grown -= len(t.Text)
		}
	}
	if len(drop) == 0 {
		return false
	}
	p.change(i).Drop = drop
	p.count(grown)
	return true
}

// few is more than the number of members that hold reasoning under several names.
// Only this many texts are searched for in each other. Further texts are only
// compared whole, since a message may have a hundred thousand.
const few = 16

// thoughts joins those texts that add something new. Members of several names may
// say the same.
type thoughts struct {
	text strings.Builder
	n    int
	seen map[string]bool
}

func (t *thoughts) add(text string) {
	if text == "" {
		return
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	if t.n++; t.seen[text] || t.n <= few && strings.Contains(t.text.String(), text) {
		return
	}
	t.seen[text] = true
	if t.text.Len() > 0 {
		t.text.WriteString("\n\n")
	}
	t.text.WriteString(text)
}

// rename moves reasoning to the upstream's own member. If the message already has
// that member, native is its text; then only reasoning that says the same is removed.
func (p *planner) rename(i int, drop []int, thought, native string) {
	m := &p.q.Messages[i]
	if native != "" {
		many := len(drop) > few
		drop = slices.DeleteFunc(drop, func(j int) bool {
			text := m.Thoughts[j].Text
			return text != native && (many || !strings.Contains(native, text))
		})
		if len(drop) == 0 {
			return
		}
	}
	c := p.change(i)
	c.Drop = drop
	grown := 0
	for _, j := range drop {
		grown -= len(m.Thoughts[j].Text)
	}
	if native == "" {
		c.Field, c.Add = p.k.Native, thought
		grown += len(thought)
	}
	p.count(grown)
}

// dropMinted removes parts that the provider would refuse, if something is left
// without them.
func (p *planner) dropMinted(i int, own []int) {
	m := &p.q.Messages[i]
	says := m.Calls || p.can.Items || slices.ContainsFunc(m.Texts, func(t string) bool { return !blank(t) })
	for _, t := range m.Thoughts { // sealed parts are not Sotto's own
		says = says || t.Sealed
	}
	if !says {
		return
	}
	for _, j := range own {
		if t := m.Thoughts[j]; t.Minted || p.can.Kind != "" && blank(t.Text) {
			c := p.change(i)
			c.Drop = append(c.Drop, j)
			p.removed += len(t.Text)
		}
	}
}

// maxFolds bounds the number of items whose reasoning is folded into one message,
// since each fold reads the message again.
const maxFolds = 64

// fold puts reasoning back into the content; false if it cannot.
func (p *planner) fold(i int, drop []int, thought string) bool {
	m := &p.q.Messages[i]
	raw := p.raw(i)
	minted := slices.ContainsFunc(drop, func(j int) bool { return m.Thoughts[j].Minted })
	if raw == "" && minted && p.rule.Need == NeedSealed {
		return false
	}
	at := p.target(i)
	if at < 0 || p.folds[at] == maxFolds {
		return false
	}
	if p.folds == nil {
		p.folds = map[int]int{}
	}
	p.folds[at]++
	if len(p.q.Messages[at].Texts) > 1 || at != i {
		raw = ""
	}
	text, grown := p.textOf(at), 0
	for _, j := range drop {
		grown -= len(m.Thoughts[j].Text)
	}
	now := p.textNow(at)
	switch inline := reasoningOf(p.reader, text, sotto.BeginOutside); {
	case raw != "":
	case inline != "" && strings.Contains(inline, strings.Trim(thought, white)):
		raw = text // the client sent both
	case p.put[at] && strings.Contains(reasoningOf(p.reader, now, p.start()), strings.Trim(thought, white)):
		raw, text = now, now // it is back already, from memory
	case inline != "":
		return false
	default:
		text = now
		var ok bool
		if raw, ok = p.marked(thought, text); !ok {
			return false
		}
	}
	c := p.change(i)
	c.Drop = drop
	if raw != text {
		p.setText(p.change(at), 0, raw)
	}
	p.count(grown + len(raw) - len(text))
	return true
}

// textOf returns the first text of a message, and textNow the same with the changes
// that are planned already.
func (p *planner) textOf(i int) string {
	if texts := p.q.Messages[i].Texts; len(texts) > 0 {
		return texts[0]
	}
	return ""
}

func (p *planner) textNow(i int) string {
	if c := p.changes[i]; c != nil {
		if t, ok := c.Texts[0]; ok {
			return t
		}
	}
	return p.textOf(i)
}

// start is how the reading of a content that came from the upstream begins.
func (p *planner) start() sotto.Beginning {
	if p.mayPreOpen() {
		return sotto.BeginAuto
	}
	return sotto.BeginOutside
}

func (p *planner) recall(i int) (Remembered, bool) {
	if p.k.Recall == nil {
		return Remembered{}, false
	}
	return p.k.Recall(i)
}

// raw returns the remembered content of a message whose reasoning stood in it.
func (p *planner) raw(i int) string {
	r, _ := p.recall(i)
	return r.Raw
}

// target returns the message before whose first text, or before whose calls, the
// reasoning of message i stood, or -1. If the items of a reply are messages, it may be
// a later message.
func (p *planner) target(i int) int {
	if p.targets == nil {
		p.targets = make([]int, len(p.q.Messages)+1)
		p.targets[len(p.q.Messages)] = -1
		for j := len(p.q.Messages) - 1; j >= 0; j-- {
			m := &p.q.Messages[j]
			p.targets[j] = -1
			switch {
			case m.Role != "assistant":
			case len(m.Texts) > 0 || m.Calls:
				p.targets[j] = j
			case p.can.Items:
				p.targets[j] = p.targets[j+1]
			}
		}
	}
	return p.targets[i]
}

// marked returns a text with reasoning before it, in the first reasoning markers
// that the dialect has. It returns false if the result would not read back as the
// reasoning and the text.
func (p *planner) marked(thought, text string) (string, bool) {
	thought = strings.Trim(thought, white)
	open, shut := markers(p.k.Grammar.Dialect())
	if open == "" || thought == "" {
		return "", false
	}
	out := open + "\n" + thought + "\n" + shut + "\n\n" + text
	after, _, err := visibleOf(p.reader, out, sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		return "", false
	}
	before, _, err := visibleOf(p.reader, text, sotto.BeginOutside, sotto.EndStopped)
	if err != nil || !sameContent(after, before) {
		return "", false
	}
	return out, firstReasoning(p.reader, out, sotto.BeginOutside) == thought
}

func sameContent(a, b string) bool { return strings.Trim(a, white) == strings.Trim(b, white) }

// markers returns the first reasoning markers of a dialect, without the white
// space around them.
func markers(d dialect.Dialect) (open, shut string) {
	for _, m := range d.Markers {
		switch {
		case m.Role != dialect.RoleReasoning:
		case m.Tag != "":
			return "<" + m.Tag + ">", "</" + m.Tag + ">"
		case len(m.Open) > 0 && len(m.Close) > 0:
			return strings.Trim(m.Open[0], white), strings.Trim(m.Close[0], white)
		}
	}
	return "", ""
}

// tagOpen is how content begins if Sotto shows reasoning in tags.
const tagOpen = "<think>\n"

// giveBackTags is giveBack for tags in the content.
func (p *planner) giveBackTags(i int) bool {
	m := &p.q.Messages[i]
	member := p.taggedFor()
	if !p.k.Tags && (member == "" || p.strips(i) || p.policy == Preserve) || p.k.Native == "" || len(m.Texts) == 0 || !strings.HasPrefix(m.Texts[0], tagOpen) {
		return false
	}
	text := m.Texts[0]
	bare, ok := strip(p.plain, text, sotto.BeginOutside)
	thought := reasoningOf(p.plain, text, sotto.BeginOutside)
	if !ok || thought == "" {
		if ok && len(m.Thoughts) > 0 && !blank(bare) { // the list has the thought, and the client emptied the tags
			p.setText(p.change(i), 0, bare)
			p.count(len(bare) - len(text))
		}
		return false
	}
	var with string
	switch raw := p.raw(i); {
	case member != "":
		if blank(bare) && (!m.Calls || p.can.NoBlanks) {
			return true
		}
		c := p.change(i)
		c.Field, c.Add = member, thought
		p.setText(c, 0, bare)
		p.count(len(thought) + len(bare) - len(text))
		return true
	case p.k.Native != Inline:
		return false
	case raw != "" && len(m.Texts) == 1:
		with = raw
	case hasReasoning(p.reader, text, sotto.BeginOutside):
		return true // the tags are the family's own
	default:
		if with, ok = p.marked(thought, bare); !ok {
			return true
		}
	}
	if with != text {
		p.setText(p.change(i), 0, with)
		p.count(len(with) - len(text))
	}
	return true
}

// taggedFor returns the member or the kind of block into which a thought in tags goes, because the upstream sends
// its reasoning there. It is "" if it sends none, or none that Sotto could make.
func (p *planner) taggedFor() string {
	switch {
	case p.named():
		return p.k.Native
	case p.can.Kind != "" && p.k.Native == p.can.Kind && p.rule.Need != NeedSealed:
		return p.can.Kind
	}
	return ""
}

// restore puts back what the client dropped, if that is wanted and remembered.
func (p *planner) restore(i int) {
	m := &p.q.Messages[i]
	if !p.restores(i) || !p.missing(i) || p.rule.Binds && !p.can.Members { // [Original] has put back what may come back
		return
	}
	r, ok := p.recall(i)
	field := p.k.Native
	if field == "" {
		field = p.field()
	}
	takes := p.takesFields() && field != Inline
	switch {
	case p.takesBlocks():
		p.restoreBlock(i, r, ok)
	case r.Thought != "" && takes && (p.named() || r.Raw == ""):
		p.fill(i, field, r.Thought)
	case r.Raw != "" || r.Thought != "" && !takes:
		p.restoreText(i, r)
	default:
		if !ok && (p.policy == Restore || p.demanded(i) || p.k.Native == Inline) { // others may have had none
			p.missed++
		}
		if takes && p.demanded(i) && !slices.Contains(m.Empty, field) {
			p.fill(i, field, "")
		}
	}
}

// takesBlocks reports whether a message may get a block or an item for its reasoning:
// the upstream sends such, and does not sign them.
func (p *planner) takesBlocks() bool {
	return p.can.Kind != "" && p.k.Native == p.can.Kind && (p.rule.Need == NeedAll || p.rule.Need == NeedCalls)
}

// restoreBlock is restore for an upstream with blocks or items of reasoning.
func (p *planner) restoreBlock(i int, r Remembered, ok bool) {
	switch {
	case p.can.Items && i > 0 && len(p.q.Messages[i-1].Thoughts) > 0:
	case r.Thought != "" && r.Raw == "":
		p.fill(i, p.can.Kind, r.Thought)
	case !ok:
		p.missed++
	}
}

// complete puts back the whole of a thought of which the client sends only parts: some
// clients keep only the last delta of a member that they do not know. It reports
// whether there was one.
func (p *planner) complete(i int) bool {
	m := &p.q.Messages[i]
	field := cmp.Or(p.k.Native, p.field())
	if p.policy == Preserve || !p.takesFields() || field == Inline || len(m.Thoughts) == 0 || len(m.Thoughts) > few {
		return false
	}
	r, _ := p.recall(i)
	if r.Thought == "" || r.Raw != "" {
		return false
	}
	var drop []int
	grown, parts := len(r.Thought), 0
	for j, t := range m.Thoughts {
		switch {
		case t.Sealed || t.Name == "reasoning_details" && (t.Text == "" || !isPart(t.Text, r.Thought)):
			continue
		case t.Name == "reasoning_details": // a part, too
			drop = append(drop, j)
			grown -= len(t.Text)
			continue
		case !isPart(t.Text, r.Thought):
			return false
		case t.Name != field:
			drop = append(drop, j)
		}
		parts++
		grown -= len(t.Text)
	}
	if parts == 0 {
		return false
	}
	c := p.change(i)
	c.Drop, c.Field, c.Add = drop, field, r.Thought
	p.count(grown)
	return true
}

// isPart reports whether a text is a part of another, and not the whole.
func isPart(text, whole string) bool { return text != whole && strings.Contains(whole, text) }

// restoreText puts reasoning back into the content that it stood in. If the client has
// changed the text, only the reasoning is put back.
func (p *planner) restoreText(i int, r Remembered) {
	m := &p.q.Messages[i]
	if len(m.Texts) > 1 || len(m.Texts) == 0 && !m.Calls || p.k.Native != Inline && r.Raw == "" {
		return
	}
	text, raw := p.textOf(i), r.Raw
	if raw == "" {
		var ok bool
		if raw, ok = p.marked(r.Thought, text); !ok {
			return
		}
	}
	if raw == text {
		return
	}
	p.setText(p.change(i), 0, raw)
	p.count(len(raw) - len(text))
	if p.put == nil {
		p.put = map[int]bool{}
	}
	p.put[i] = true
}

func (p *planner) fill(i int, field, thought string) {
	c := p.change(i)
	c.Field, c.Add = field, thought
	p.count(len(thought))
}

// sign puts back the signatures of calls that the client dropped.
func (p *planner) sign(i int) {
	m := &p.q.Messages[i]
	if !m.Calls || slices.Contains(m.Signed, true) || !p.signs() {
		return
	}
	r, _ := p.recall(i)
	if len(r.Signatures) == 0 {
		switch {
		case !p.rule.Signs || i < p.from:
		case p.k.Bridged && p.can.Placeholder != "": // the conversation may be one of another model
			p.change(i).Sign = map[int]string{0: p.can.Placeholder}
		default:
			p.missed++
		}
		return
	}
	c := p.change(i)
	c.Sign = map[int]string{}
	for j, signature := range r.Signatures {
		if j < len(m.CallIDs) {
			c.Sign[j] = signature
			p.restored += len(signature)
		}
	}
}

// relist puts the list back in which the provider has signed or encrypted a message's reasoning, if the client
// dropped it, or sends a part of it.
func (p *planner) relist(i int) {
	if !p.lists || p.policy == Preserve {
		return
	}
	r, _ := p.recall(i)
	if r.Listed == "" {
		return
	}
	list := jsonedit.Parse([]byte(r.Listed))
	for _, t := range p.q.Messages[i].Thoughts {
		if t.Name == chatjson.Details {
			if t.Proof != chatjson.DetailsProof(list) || t.Text != chatjson.DetailsText(list) {
				p.change(i).Listed = r.Listed
				p.count(len(r.Listed) - len(t.Text) - len(t.Proof))
			}
			return
		}
	}
	if p.wantsDropped(i, true) {
		p.change(i).Listed = r.Listed
		p.restored += len(r.Listed)
	}
}

// unseal puts the encrypted reasoning back that stood before the first item of a reply,
// if the client dropped it. Only the current turn needs it: the provider refuses a call
// without the reasoning that it belongs to, and ignores that of earlier turns.
func (p *planner) unseal(i int) {
	m := &p.q.Messages[i]
	first := i == 0 || p.q.Messages[i-1].Role != "assistant"
	if !p.can.Items || p.policy == Preserve || i < p.from || !first || len(m.Thoughts) > 0 {
		return
	}
	r, _ := p.recall(i)
	for _, item := range r.Sealed {
		c := p.change(i)
		c.Before = append(c.Before, item)
		p.restored += len(item)
	}
}

// signs reports whether signatures are put back.
func (p *planner) signs() bool {
	return p.policy == Restore || p.rule.Signs && p.policy != Preserve
}

// field is the member for reasoning, if the upstream has not shown one.
func (p *planner) field() string {
	switch {
	case p.can.Field != "":
		return p.can.Field
	case p.rule.Field != "":
		return p.rule.Field
	}
	return "reasoning_content"
}

// restores reports whether a message's reasoning should be put back if it is
// missing: if the provider otherwise refuses its turn, or if the family needs all of it.
func (p *planner) restores(i int) bool {
	if _, spoke := p.spoke[i]; spoke { // the client sends it
		return !p.strips(i)
	}
	switch p.policy {
	case Restore:
		return true
	case Auto:
		return p.demanded(i) || (!p.k.Protocol || i >= p.from) && p.rule.Need == NeedAll
	}
	return false
}

// demanded reports whether the provider refuses message i without its reasoning.
func (p *planner) demanded(i int) bool { return p.rule.Demands && p.tools[i] }

// missing reports whether a message could have reasoning, and has none. If the items
// of a reply are messages, a call has reasoning only if no text comes before it.
func (p *planner) missing(i int) bool {
	m := &p.q.Messages[i]
	if len(m.Thoughts) > 0 || len(m.Texts) == 0 && !m.Calls || p.can.Items && p.follows(i) {
		return false
	}
	return !slices.ContainsFunc(m.Texts, func(t string) bool { return hasReasoning(p.reader, t, p.start()) })
}

// follows reports whether an item of the assistant that is not reasoning comes
// directly before item i.
func (p *planner) follows(i int) bool {
	for i--; i >= 0 && p.q.Messages[i].Role == "assistant"; i-- {
		if m := &p.q.Messages[i]; m.Calls || len(m.Texts) > 0 {
			return true
		}
	}
	return false
}

// inline are the channels that stay in the texts of history.
var inline = []sotto.Channel{sotto.ChannelNarration, sotto.ChannelTool}
