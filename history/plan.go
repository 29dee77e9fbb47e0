package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
)

// A Policy says what happens to earlier reasoning.
type Policy string

const (
	// Auto does what the family needs, by the table; for an unknown family it
	// preserves.
	Auto Policy = "auto"
	// Preserve keeps what the client sends, except for what Sotto made.
	Preserve Policy = "preserve"
	// Strip removes the reasoning of earlier turns, of any family, except for what
	// the family's rule requires back.
	Strip Policy = "strip"
	// StripAll removes the reasoning of the current turn too, for providers that
	// refuse it in any message. What the family's rule requires back stays.
	StripAll Policy = "strip-all"
	// Restore preserves, and puts back everything that is missing and remembered.
	Restore Policy = "restore"
)

// Policies lists the policies.
func Policies() []Policy { return []Policy{Auto, Preserve, Strip, StripAll, Restore} }

// Knowledge is what is known about the upstream of a request, and about its client.
type Knowledge struct {
	// Grammar reads the model's texts; if nil, the grammar is chosen by the model's name.
	Grammar *sotto.Grammar
	// Native is the member in which the upstream itself sends reasoning. It is "" if
	// that is not known, and [Inline] if the upstream sends none, which means that
	// Sotto made any such field that comes back.
	Native string
	// Fields are the members in which Sotto shows reasoning to this client; if
	// empty, any.
	Fields []string
	// Tags reports that Sotto shows this client reasoning in <think> tags in the
	// content.
	Tags bool
	// Protocol says that the operator has named the grammar's dialect, and that it is a
	// protocol: an instruction taught it to the model. Programs with such protocols do
	// not send the model its earlier reasoning.
	Protocol bool
	// Recall returns what is remembered of assistant message m. It comes from
	// [Store.For]; if nil, nothing is remembered.
	Recall func(m int) (Remembered, bool)
	// Bridged says that the client speaks another API. What it sends back was written from that, so
	// what the provider itself sent takes precedence.
	Bridged bool
}

// Inline is the Native of an upstream that sends reasoning in the content.
const Inline = "-"

// A Plan is what is to happen to the earlier messages of a request.
type Plan struct {
	Changes []wire.Change // by message, in order
	// Rule is the name of the rule that allowed the plan, or the name of the
	// requested policy and of the rule that stood against it.
	Rule     string
	Removed  int // bytes of reasoning, and of its markers, that are removed
	Restored int // bytes that are put back
	// Missed counts messages whose reasoning, or whose signatures, should have been
	// put back, but nothing was remembered of them.
	Missed int
	// Originals counts messages that were put back as their provider sent them, before the
	// Changes: see [Original].
	Originals int
	// Foreign counts thoughts of another upstream that were left out before: see [Foreign].
	Foreign int
	// IDs counts the ids of calls and results that were the client's own, and for which the provider got its
	// own back: see [CallIDs].
	IDs int
	// First is the index of the first message that changes, or -1 if none does. The
	// prefix that the provider has cached ends there.
	First int
}

// Changed reports whether any message changes.
func (p Plan) Changed() bool {
	return len(p.Changes) > 0 || p.Originals > 0 || p.Foreign > 0 || p.IDs > 0
}

// After adds what was put back before the plan was made.
func (p Plan) After(o Originals) Plan {
	if o.Body == nil {
		return p
	}
	p.Removed, p.Restored, p.Originals = p.Removed+o.Removed, p.Restored+o.Restored, len(o.Messages)
	if p.First < 0 || o.First < p.First {
		p.First = o.First
	}
	return p
}

// Renamed adds the changes of [CallIDs], which were made before the plan.
func (p Plan) Renamed(changes []wire.Change) Plan {
	for i, c := range changes {
		p.IDs += len(c.IDs)
		if i == 0 && (p.First < 0 || c.Message < p.First) {
			p.First = c.Message
		}
	}
	return p
}

// Tokens is an estimate of how many tokens Removed is, at four bytes a token.
func (p Plan) Tokens() int { return p.Removed / 4 }

// String is the plan as one line of ASCII, for a header or a log.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule=%s", p.Rule)
	if p.Removed > 0 {
		fmt.Fprintf(&b, "; removed=%d bytes (about %d tokens)", p.Removed, p.Tokens())
	}
	if p.Restored > 0 {
		fmt.Fprintf(&b, "; restored=%d bytes", p.Restored)
	}
	if p.Missed > 0 {
		fmt.Fprintf(&b, "; missed=%d", p.Missed)
	}
	if p.Foreign > 0 {
		fmt.Fprintf(&b, "; foreign=%d", p.Foreign)
	}
	if p.IDs > 0 {
		fmt.Fprintf(&b, "; ids=%d", p.IDs)
	}
	if p.First < 0 {
		b.WriteString("; unchanged")
	} else {
		fmt.Fprintf(&b, "; prefix changes at message %d", p.First)
	}
	return b.String()
}

// PlanFor returns the plan for a request's earlier messages, which the codec read.
func PlanFor(q *wire.Request, policy Policy, k Knowledge, c wire.Codec) Plan {
	p := planner{
		q: q, k: k, policy: policy, rule: RuleFor(q.Model, c.Name()), can: c.Capabilities(),
		changes: map[int]*wire.Change{},
	}
	if p.policy == "" {
		p.policy = Auto
	}
	_, p.lists = c.(wire.ListCodec)
	if p.k.Grammar == nil {
		p.k.Grammar, _ = sotto.ForModel(q.Model)
	}
	p.reader, p.plain = readerOf(p.k.Grammar), readerOf(sotto.Default())
	p.turns()
	p.bind(p.sendsSigned)
	for i := len(q.Messages) - 1; i >= 0; i-- { // backward: what folds into a later text comes before it
		if q.Messages[i].Role == "assistant" {
			p.unspeak(i)
			p.unblock(i)
			p.message(i)
		}
	}
	return p.plan()
}

// A planner makes one plan.
type planner struct {
	q      *wire.Request
	k      Knowledge
	policy Policy
	rule   Rule
	can    wire.Capabilities

	from    int         // the first message of the current turn
	targets []int       // by message, see target; nil until they are needed
	folds   map[int]int // how often reasoning was folded into a message
	tools   []bool      // by message: its turn calls tools
	bound   []bool      // by message: a later thought of its turn binds it; see bind
	changes map[int]*wire.Change
	reader  *reader // of the model's texts
	plain   *reader // of tags that Sotto made

	put   map[int]bool   // messages with texts from memory
	spoke map[int]string // messages that had a thought as text: their text
	// cloned says that q is the planner's own.
	cloned bool

	removed, restored, missed int
	lists                     bool // the API has a list that the provider signs: see [wire.ListCodec]
	kept                      bool // the rule stood against the policy
}

// protocolRule is the rule for models that were taught a protocol.
const protocolRule = "protocol-strip"

func (p *planner) plan() Plan {
	p.forgetSame()
	out := Plan{Rule: string(p.policy), Removed: p.removed, Restored: p.restored, Missed: p.missed, First: -1}
	switch {
	case p.policy == Auto && p.k.Protocol && !p.rule.Demands:
		out.Rule = protocolRule
	case p.policy == Auto:
		out.Rule = p.rule.Name
	case p.kept:
		out.Rule += ", but " + p.rule.Name
	}
	for _, i := range slices.Sorted(maps.Keys(p.changes)) {
		c := p.changes[i]
		slices.Sort(c.Drop)
		if c.Listed != "" { // it stands in place of what the client sends
			c.Drop = slices.DeleteFunc(c.Drop, func(j int) bool { return p.q.Messages[i].Thoughts[j].Name == chatjson.Details })
		}
		out.Changes = append(out.Changes, *p.changes[i])
	}
	if len(out.Changes) > 0 {
		out.First = out.Changes[0].Message
	}
	return out
}

// forgetSame forgets the changes of messages whose thought was taken out of the text and put back as it was.
func (p *planner) forgetSame() {
	for i, sent := range p.spoke {
		c := p.changes[i]
		if text, ok := c.Texts[0]; !ok || text != sent || len(c.Texts) > 1 || len(c.Drop)+len(c.Before)+len(c.Sign) > 0 || c.Field != "" || c.Listed != "" {
			continue
		}
		n := len(sent) - len(p.q.Messages[i].Texts[0])
		p.removed, p.restored = p.removed-n, p.restored-n
		delete(p.changes, i)
	}
}

// isAsked reports whether a message is the user's own, and not a tool result that
// an API sends as the user's.
func isAsked(m *wire.Message) bool { return m.Role == "user" && !m.Results }

// turns finds where the current turn begins, and which turns call tools. A turn is
// everything between two messages of the user.
func (p *planner) turns() {
	all := p.q.Messages
	p.tools = make([]bool, len(all))
	begin, calls := 0, false
	for i := 0; i <= len(all); i++ {
		if i < len(all) && !isAsked(&all[i]) {
			calls = calls || all[i].Calls
			continue
		}
		for j := begin; j < i; j++ {
			p.tools[j] = calls
		}
		if i < len(all) {
			p.from = i
		}
		begin, calls = i, false
	}
	p.from = min(p.from, openCall(all, p.from))
}

// openCall returns where the group of calls begins whose results are still missing
// at from, or from if there is none. A user may speak before the results are in.
func openCall(all []wire.Message, from int) int {
	called, open := map[string]bool{}, map[string]bool{}
	unnamed := false // a result that does not name its call, before any call
	for i := range all[from:] {
		m := &all[from+i]
		for _, id := range m.CallIDs {
			called[id] = called[id] || m.Calls
			open[id] = open[id] || m.Results && !called[id]
		}
		unnamed = unnamed || m.Results && len(m.CallIDs) == 0 && len(called) == 0
		if m.Calls {
			called[""] = true
		}
	}
	begin := from
	for i := from - 1; i >= 0 && (unnamed || len(open) > 0); i-- {
		m := &all[i]
		if !m.Calls {
			continue
		}
		if unnamed {
			begin, unnamed = i, false
		}
		for _, id := range m.CallIDs {
			if open[id] {
				begin = i
			}
			delete(open, id)
		}
	}
	for begin < from && begin > 0 && all[begin-1].Role == "assistant" { // items of one reply
		begin--
	}
	return begin
}

func (p *planner) message(i int) {
	p.sign(i)
	p.unseal(i)
	p.relist(i)
	if p.strips(i) && p.strip(i) {
		return
	}
	if p.complete(i) || p.giveBack(i) {
		return
	}
	p.restore(i)
}

// strips reports whether a message should lose its reasoning.
func (p *planner) strips(i int) bool {
	if i >= p.from && p.policy != StripAll || p.binds(i) {
		return false
	}
	switch p.policy {
	case Auto:
		if p.k.Protocol && !p.rule.Demands {
			return true
		}
		return p.rule.Need == NeedNone || p.rule.Need == NeedCalls && !p.tools[i]
	case Strip, StripAll:
		demanded := p.rule.Demands && (p.rule.Need == NeedAll || p.tools[i])
		p.kept = p.kept || demanded
		return !demanded
	}
	return false
}

// strip removes a message's reasoning, if something is left without it. It returns
// false if it finds no reasoning.
func (p *planner) strip(i int) bool {
	m := &p.q.Messages[i]
	texts, says := p.strippedTexts(m)
	removed := 0
	var drop []int
	for j, t := range m.Thoughts {
		if !t.Sealed || p.readable(t) {
			drop = append(drop, j)
			removed += len(t.Text)
		}
	}
	for j, text := range texts {
		removed += len(m.Texts[j]) - len(text)
	}
	if len(drop) == 0 && len(texts) == 0 {
		return false
	}
	if !says && !m.Calls && !p.can.Items {
		return true
	}
	c := p.change(i)
	c.Drop = append(c.Drop, drop...) // after the blocks that the client has emptied
	for j, text := range texts {
		p.setText(c, j, text)
	}
	p.removed += removed
	return true
}

// readable reports whether a thought that counts as sealed because of its id is one that everybody can read,
// of a family that does not need it.
func (p *planner) readable(t wire.Thought) bool {
	return p.can.Items && t.Proof == "" && t.Text != "" && (p.rule.Need == NeedNone || p.rule.Need == NeedCalls)
}

// strippedTexts returns the texts of a message that change, by index. says reports
// whether the message still has a text that is not blank.
func (p *planner) strippedTexts(m *wire.Message) (texts map[int]string, says bool) {
	for j, text := range m.Texts {
		start := sotto.BeginOutside
		if j == 0 && p.mayPreOpen() && preOpened(p.reader, text) {
			start = sotto.BeginAuto
		}
		bare, ok := strip(p.reader, text, start)
		if !ok && j == 0 && p.k.Tags && strings.HasPrefix(text, tagOpen) {
			bare, ok = strip(p.plain, text, sotto.BeginOutside)
		}
		if ok && blank(bare) && !(m.Calls && len(m.Texts) == 1 && !p.can.NoBlanks) {
			ok = false
		}
		if !ok {
			says = says || !blank(text)
			continue
		}
		says = says || !blank(bare)
		if texts == nil {
			texts = map[int]string{}
		}
		texts[j] = bare
	}
	return texts, says
}

// mayPreOpen reports whether content may begin inside reasoning. It does if a
// template opened the block and no server separated the reasoning.
func (p *planner) mayPreOpen() bool {
	return (p.k.Native == "" || p.k.Native == Inline) && p.k.Grammar.Dialect().PreOpens != "no"
}

// preOpened reports whether a text begins inside reasoning: a close without an
// opener is alone on its line. A close within a line of prose does not count.
func preOpened(r *reader, text string) bool {
	found, err := r.scan(text, sotto.BeginAuto, sotto.EndUnknown, func([]sotto.Piece) bool { return true })
	if err != nil {
		return false
	}
	i := slices.IndexFunc(found, func(d sotto.Diagnostic) bool { return d.Code == sotto.CodeOrphanClose })
	if i < 0 {
		return false
	}
	at := found[i].Offset
	segment, end := -1, -1 // of the close
	_, _ = r.scan(text, sotto.BeginAuto, sotto.EndUnknown, func(pieces []sotto.Piece) bool {
		for _, p := range pieces {
			switch {
			case p.Channel != sotto.ChannelMarkup:
			case p.Segment == segment, p.Offset <= at && at < p.Offset+len(p.Bytes):
				segment, end = p.Segment, p.Offset+len(p.Bytes)
			}
			if segment >= 0 && p.Segment > segment {
				return false
			}
		}
		return true
	})
	if end < 0 {
		return false
	}
	before := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	after, _, _ := strings.Cut(text[end:], "\n")
	return blank(before) && blank(after)
}

// change returns the change of a message, and creates it if there was none.
func (p *planner) change(i int) *wire.Change {
	c := p.changes[i]
	if c == nil {
		c = &wire.Change{Message: i}
		p.changes[i] = c
	}
	return c
}

func (p *planner) setText(c *wire.Change, j int, text string) {
	if c.Texts == nil {
		c.Texts = map[int]string{}
	}
	c.Texts[j] = text
}

// count adds how a message's bytes grew.
func (p *planner) count(grown int) {
	if grown > 0 {
		p.restored += grown
	} else {
		p.removed -= grown
	}
}

func blank(s string) bool { return strings.Trim(s, white) == "" }

const white = " \t\n\v\f\r"
