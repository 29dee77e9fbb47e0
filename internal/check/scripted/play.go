package scripted

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
)

// A cue is what a request says about the wanted reply.
type cue struct {
	tools  []string // the names of the tools offered
	result bool     // the last message is a tool's result
	rounds int      // how often the turn called tools and got their results
	quiet  bool     // thinking is turned off
	raw    bool     // there is no field for thoughts or for tool calls
	lead   string   // the text that the reply continues: a prompt, or the start of a message
	limit  int      // the length limit of the reply in tokens; if zero, none
	calls  []ToolCall
}

// roundsOf counts the rounds of a conversation's last turn. has reports whether message i is the user's own,
// and whether it has results of tools.
func roundsOf(messages int, has func(i int) (asked, results bool)) (n int) {
	in := false // messages with results, which follow each other
	for i := messages - 1; i >= 0; i-- {
		asked, results := has(i)
		if asked {
			break
		}
		if results && !in {
			n++
		}
		in = results
	}
	return n
}

// A performance is a reply as it will be played.
type performance struct {
	reply *Reply
	parts []part
	end   sotto.Ending
	call  *ToolCall // nil if there is none, or if the limit comes first
	wrote int       // tokens
}

// A part is a delta of the reply.
type part struct {
	kind partKind
	text string
}

type partKind uint8

const (
	textPart partKind = iota
	thoughtPart
	redactedPart // the text is the hidden form of the thought
)

// perform chooses the reply to a request. If there are several choices, each has
// the same text, cut at different places.
func (m *Model) perform(c cue, choice int) performance {
	reply := m.choose(c)
	p := performance{reply: reply, end: reply.End, call: reply.ToolCall}
	deltas, thought := reply.Deltas, reply.Thought
	if p.call != nil {
		p.call, deltas = p.call.among(&c, deltas)
	}
	if opener := opener(deltas); opener != "" && strings.HasSuffix(strings.TrimSpace(c.lead), opener) {
		deltas = cut(strings.TrimPrefix(strings.Join(deltas, ""), opener), choice)
	}
	if choice > 0 {
		deltas, thought = cut(strings.Join(deltas, ""), choice), cut(strings.Join(thought, ""), choice+1)
	}
	if c.raw {
		p.call = nil
	} else if !c.quiet || !m.Switch {
		p.say(thoughtPart, thought)
		if reply.Redacted {
			p.say(redactedPart, []string{sign(m.Name, "redacted")})
		}
	}
	p.say(textPart, deltas)
	p.limit(c.limit)
	if m.Fault != "" {
		p.parts, p.call = p.parts[:len(p.parts)/2], nil
	}
	return p
}

// opener returns the marker that a text begins with, or "" if there is none. If a
// prompt ends in it, the prompt has opened the block, and the reply does not open
// it again.
func opener(deltas []string) string {
	text := strings.Join(deltas, "")
	if text == "" || text[0] != '<' && text[0] != '[' {
		return ""
	}
	return text[:strings.IndexAny(text, ">]")+1]
}

func (m *Model) choose(c cue) *Reply {
	switch {
	case c.rounds == 1 && c.result && len(c.tools) > 0 && m.Again != nil:
		return m.Again
	case c.result && m.Result != nil:
		return m.Result
	case len(c.tools) > 0 && m.Call != nil:
		return m.Call
	case c.quiet && m.Quiet != nil:
		return m.Quiet
	}
	return &m.Reply
}

// among returns the call of an offered tool, and the text. The call is nil if it is
// in the text.
func (t *ToolCall) among(c *cue, deltas []string) (*ToolCall, []string) {
	call := *t
	if len(c.tools) > 0 && !slices.Contains(c.tools, t.Name) {
		call.Name = c.tools[0]
		if i := slices.IndexFunc(c.calls, func(o ToolCall) bool { return slices.Contains(c.tools, o.Name) }); i >= 0 {
			call.Name, call.Arguments = c.calls[i].Name, c.calls[i].Arguments
		}
	}
	if !call.InText {
		return &call, deltas
	}
	if call.Name != t.Name {
		deltas = cut(strings.ReplaceAll(strings.Join(deltas, ""), t.Name, call.Name), 0)
	}
	return nil, deltas
}

func (p *performance) say(kind partKind, deltas []string) {
	for _, d := range deltas {
		p.parts = append(p.parts, part{kind, d})
	}
}

// limit ends the reply after as many tokens as the request allows. A delta is one
// token, and so is a tool call.
func (p *performance) limit(n int) {
	p.wrote = len(p.parts)
	if p.call != nil {
		p.wrote++
	}
	if n <= 0 || p.wrote <= n {
		return
	}
	p.parts, p.call, p.end, p.wrote = p.parts[:min(n, len(p.parts))], nil, sotto.EndCut, n
}

// text joins the parts of a kind.
func (p *performance) text(kind partKind) string {
	var b strings.Builder
	for _, d := range p.parts {
		if d.kind == kind {
			b.WriteString(d.text)
		}
	}
	return b.String()
}

// thoughts returns the number of tokens in the field for thoughts.
func (p *performance) thoughts() int {
	n := 0
	for _, d := range p.parts {
		if d.kind != textPart {
			n++
		}
	}
	return n
}

// A block is consecutive parts of one kind; some APIs send blocks.
type block struct {
	kind   partKind
	deltas []string
}

func (b block) text() string { return strings.Join(b.deltas, "") }

func (p *performance) blocks() []block {
	var blocks []block
	for _, d := range p.parts {
		if n := len(blocks); n == 0 || blocks[n-1].kind != d.kind {
			blocks = append(blocks, block{kind: d.kind})
		}
		last := &blocks[len(blocks)-1]
		last.deltas = append(last.deltas, d.text)
	}
	return blocks
}

// finish returns how the reply ended, in a provider's words.
func (p *performance) finish(stop, cut, call string) string {
	switch {
	case p.end == sotto.EndCut:
		return cut
	case p.call != nil:
		return call
	}
	return stop
}
