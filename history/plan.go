package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// A Policy says what becomes of earlier reasoning.
type Policy string

const (
	// Auto does what the family needs, by the table; of an unknown one it
	// preserves.
	Auto Policy = "auto"
	// Preserve leaves what the client sends, but for what Sotto made.
	Preserve Policy = "preserve"
	// Strip removes the reasoning of earlier turns, of any family, but for what
	// the family's rule demands back.
	Strip Policy = "strip"
	// Restore preserves, and puts back all that is missing and remembered.
	Restore Policy = "restore"
)

// Knowledge is what is known of the upstream of a request, and of its client.
type Knowledge struct {
	// Grammar reads the model's texts; if nil, that of the model's name.
	Grammar *sotto.Grammar
	// Native is the member in which the upstream sends reasoning itself; "" where
	// that is not known; [Inline] where it sends none, so that a field which
	// comes back was made by Sotto.
	Native string
	// Fields are the members that Sotto shows this client reasoning in; if
	// empty, any.
	Fields []string
	// Tags says that Sotto shows this client reasoning in <think> tags in the
	// content.
	Tags bool
	// Recall returns what is remembered of assistant message m: its reasoning,
	// and its content as the upstream sent it where the reasoning stood in that.
	// It is [Store.For]'s; nil where nothing is remembered.
	Recall func(m int) (thought, raw string, ok bool)
}

// Inline is the Native of an upstream whose reasoning stands in the content.
const Inline = "-"

// A Plan is what becomes of the earlier messages of a request.
type Plan struct {
	Changes []wire.Change // by message, in order
	// Rule is the name of the rule that allowed it, or of the policy that was
	// asked for, and the rule that stood against it.
	Rule     string
	Removed  int // bytes of reasoning, and of its markers, that go
	Restored int // bytes that are put back
	// First is the index of the first message that changes, where the prefix that
	// the provider has cached ends; -1 if none does.
	First int
}

// Tokens is about how many tokens Removed is: an estimate, of four bytes a token.
func (p Plan) Tokens() int { return p.Removed / 4 }

// String is the plan in a line of ASCII, for a header or a log.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule=%s", p.Rule)
	if p.Removed > 0 {
		fmt.Fprintf(&b, "; removed=%d bytes (about %d tokens)", p.Removed, p.Tokens())
	}
	if p.Restored > 0 {
		fmt.Fprintf(&b, "; restored=%d bytes", p.Restored)
	}
	if p.First < 0 {
		b.WriteString("; unchanged")
	} else {
		fmt.Fprintf(&b, "; prefix changes at message %d", p.First)
	}
	return b.String()
}

// PlanFor returns what becomes of a request's earlier messages. The api is the
// name of the codec that read them.
func PlanFor(q *wire.Request, policy Policy, k Knowledge, api string) Plan {
	p := planner{
		q: q, k: k, policy: policy, rule: RuleFor(q.Model, api), api: api,
		changes: map[int]*wire.Change{},
	}
	if p.policy == "" {
		p.policy = Auto
	}
	if p.k.Grammar == nil {
		p.k.Grammar, _ = sotto.ForModel(q.Model)
	}
	p.reader, p.plain = readerOf(p.k.Grammar), readerOf(sotto.Default())
	p.turns()
	for i := len(q.Messages) - 1; i >= 0; i-- { // backward: what folds into a later text comes before it
		if q.Messages[i].Role == "assistant" {
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
	api    string

	from    int         // the first message of the turn under way
	targets []int       // by message, see target; nil before they are asked for
	folds   map[int]int // how often reasoning was folded into a message
	tools   []bool      // by message: its turn calls tools
	changes map[int]*wire.Change
	reader  *reader // of the model's texts
	plain   *reader // of tags that Sotto made

	removed, restored int
	kept              bool // the rule stood against the policy
}

func (p *planner) plan() Plan {
	out := Plan{Rule: string(p.policy), Removed: p.removed, Restored: p.restored, First: -1}
	switch {
	case p.policy == Auto:
		out.Rule = p.rule.Name
	case p.kept:
		out.Rule += ", but " + p.rule.Name
	}
	for _, i := range slices.Sorted(maps.Keys(p.changes)) {
		slices.Sort(p.changes[i].Drop)
		out.Changes = append(out.Changes, *p.changes[i])
	}
	if len(out.Changes) > 0 {
		out.First = out.Changes[0].Message
	}
	return out
}

// isAsked reports whether a message is the user's, not a tool's result that an
// API sends as the user's.
func isAsked(m *wire.Message) bool { return m.Role == "user" && !m.Results }

// turns finds where the turn under way begins, and which turns call tools. A turn
// is what stands between two messages of the user.
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

// openCall returns where the group of calls begins that waits at from for its
// results, or from: a user may speak before the results are in.
func openCall(all []wire.Message, from int) int {
	called, open := map[string]bool{}, map[string]bool{}
	unnamed := false // a result that says not of what, before any call
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
	if p.strips(i) && p.strip(i) {
		return
	}
	if p.giveBack(i) {
		return
	}
	p.restore(i)
}

// strips reports whether a message is to lose its reasoning.
func (p *planner) strips(i int) bool {
	if i >= p.from {
		return false
	}
	switch p.policy {
	case Auto:
		return p.rule.Need == NeedNone || p.rule.Need == NeedCalls && !p.tools[i]
	case Strip:
		demanded := p.rule.Demands && (p.rule.Need == NeedAll || p.tools[i])
		p.kept = p.kept || demanded
		return !demanded
	}
	return false
}

// strip removes a message's reasoning, if something is left without; false where
// it finds none.
func (p *planner) strip(i int) bool {
	m := &p.q.Messages[i]
	texts, says := p.strippedTexts(m)
	removed := 0
	var drop []int
	for j, t := range m.Thoughts {
		if !t.Sealed {
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
	if !says && !m.Calls && p.api != responsesAPI {
		return true
	}
	c := p.change(i)
	c.Drop = drop
	for j, text := range texts {
		p.setText(c, j, text)
	}
	p.removed += removed
	return true
}

// strippedTexts returns the texts of a message that change, by index; says
// reports whether the message still has a text that is not blank.
func (p *planner) strippedTexts(m *wire.Message) (texts map[int]string, says bool) {
	for j, text := range m.Texts {
		start := sotto.StartOutside
		if j == 0 && p.mayPreOpen() && preOpened(p.reader, text) {
			start = sotto.StartAuto
		}
		bare, ok := strip(p.reader, text, start)
		if !ok && j == 0 && p.k.Tags && strings.HasPrefix(text, tagOpen) {
			bare, ok = strip(p.plain, text, sotto.StartOutside)
		}
		if ok && blank(bare) && !(m.Calls && len(m.Texts) == 1 && p.api != messagesAPI) {
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

// mayPreOpen reports whether content may begin inside reasoning, as it does where
// a template opened the block and no server told reasoning apart.
func (p *planner) mayPreOpen() bool {
	return (p.k.Native == "" || p.k.Native == Inline) && p.k.Grammar.Dialect().PreOpens != "no"
}

// preOpened reports whether a text begins inside reasoning: a close without an
// opener is alone on its line. One in a line of prose is none, whatever it says.
func preOpened(r *reader, text string) bool {
	found, err := r.scan(text, sotto.StartAuto, sotto.EndUnknown, func([]sotto.Piece) bool { return true })
	if err != nil {
		return false
	}
	i := slices.IndexFunc(found, func(d sotto.Diagnostic) bool { return d.Code == sotto.CodeOrphanClose })
	if i < 0 {
		return false
	}
	at := found[i].Offset
	segment, end := -1, -1 // of the close
	_, _ = r.scan(text, sotto.StartAuto, sotto.EndUnknown, func(pieces []sotto.Piece) bool {
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

// change returns the change of a message, which is new if there was none.
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
