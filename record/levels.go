package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// A Level says how much of a kind of text is recorded.
type Level uint8

const (
	// Full records the text byte for byte.
	Full Level = iota
	// Redacted records the text without what the patterns match.
	Redacted
	// Digests records the text's place, its length and a keyed digest.
	Digests
	// Off records the text's place and its length.
	Off
)

var levelNames = [...]string{"full", "redacted", "digest", "off"}

// String returns the level's name: full, redacted, digest or off.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// MarshalText returns the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name.
func (l *Level) UnmarshalText(b []byte) error {
	i := slices.Index(levelNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown level %q: want %s", b, strings.Join(levelNames[:], ", "))
	}
	*l = Level(i)
	return nil
}

// ErrUnknownPayload is the error of an [Unknown] payload that is appended to a record
// that withholds something.
var ErrUnknownPayload = errors.New("the reasoning in a payload of unknown type cannot be found")

// kind distinguishes reasoning from all other text.
type kind uint8

const (
	said kind = iota
	thought
)

// why returns the reason for cuts by level.
var why = [...]string{said: "answer", thought: "reasoning"}

// A guard removes from a payload what must not be recorded.
type guard struct {
	levels   [2]Level // by kind
	idLevel  Level
	patterns []*regexp.Regexp
	key      []byte
	secrets  *needles // nil if there are none
}

// withholds reports whether anything may be cut by level.
func (g *guard) withholds() bool { return g.levels[said] > Full || g.levels[thought] > Full }

// with returns a guard that also knows the secrets of one event.
func (g *guard) with(more *needles) *guard {
	if more == nil {
		return g
	}
	c := *g
	c.secrets = c.secrets.and(more)
	return &c
}

// content cuts a text of one kind.
func (g *guard) content(c Content, k kind) Content {
	c.Cuts = omissions(c)
	if c.Len() == 0 {
		return Content{}
	}
	if !g.withholds() && g.secrets == nil {
		return c
	}
	return g.cut(c, []Segment{{Channel: channelOf(k), End: c.Len()}})
}

func channelOf(k kind) sotto.Channel {
	if k == thought {
		return sotto.ChannelReasoning
	}
	return sotto.ChannelText
}

// kindOf says what counts as reasoning. Text that was set aside counts too, since
// it was shown to nobody.
func kindOf(c sotto.Channel) kind {
	if c == sotto.ChannelReasoning || c == sotto.ChannelAside {
		return thought
	}
	return said
}

// cut removes what must not be recorded from a text that the segments cover. Each run
// between the caller's omissions is cut by itself.
func (g *guard) cut(c Content, segments []Segment) Content {
	if len(c.Cuts) == 0 {
		return g.cutRun(string(c.Text), segments)
	}
	var text strings.Builder
	var cuts []Cut
	for _, p := range c.Parts() {
		if p.Why != "" {
			cuts = append(cuts, Cut{Start: p.Start, End: p.End, Why: p.Why})
			continue
		}
		for len(segments) > 0 && segments[0].End <= p.Start {
			segments = segments[1:]
		}
		run := g.cutRun(p.Text, within(segments, p.Start, p.End))
		text.WriteString(string(run.Text))
		for _, k := range run.Cuts {
			k.Start, k.End = k.Start+p.Start, k.End+p.Start
			cuts = append(cuts, k)
		}
	}
	return Content{Text: Text(text.String()), Cuts: cuts}
}

// within returns the parts of segments from one place to another, as places after the
// first.
func within(segments []Segment, start, end int) (inside []Segment) {
	for _, s := range segments {
		if s.Start >= end {
			break
		}
		s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start
		inside = append(inside, s)
	}
	return inside
}

func (g *guard) cutRun(text string, segments []Segment) Content {
	var cuts []Cut
	for _, s := range segments {
		k := kindOf(s.Channel)
		if level := g.levels[k]; level >= Digests && s.End > s.Start {
			c := Cut{Start: s.Start, End: s.End, Why: why[k]}
			if level == Digests {
				c.HMAC = g.digest(text[s.Start:s.End])
			}
			cuts = append(cuts, c)
		}
	}
	cuts = add(cuts, g.secrets.find(text), "secret")
	if g.levels[said] == Redacted || g.levels[thought] == Redacted {
		for _, re := range g.patterns {
			cuts = add(cuts, g.redacted(re.FindAllStringIndex(text, -1), segments), "pattern")
		}
	}
	return render(text, cuts)
}

// digest returns the keyed digest of a text.
func (g *guard) digest(text string) string {
	h := hmac.New(sha256.New, g.key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// redacted returns the parts of spans that are in segments at level redacted. Both
// are in order.
func (g *guard) redacted(spans [][]int, segments []Segment) []Span {
	var parts []Span
	for _, s := range segments {
		for len(spans) > 0 && spans[0][1] <= s.Start {
			spans = spans[1:]
		}
		if g.levels[kindOf(s.Channel)] != Redacted {
			continue
		}
		for _, p := range spans {
			if p[0] >= s.End {
				break
			}
			if from, to := max(p[0], s.Start), min(p[1], s.End); from < to {
				parts = append(parts, Span{from, to})
			}
		}
	}
	return parts
}

// add adds cuts at spans, except what is cut already. The cuts stay in order.
func add(cuts []Cut, spans []Span, why string) []Cut {
	if len(spans) == 0 {
		return cuts
	}
	old, i := cuts, 0
	for _, p := range merged(spans) {
		from := p.Start
		for i < len(old) && old[i].End <= from {
			i++
		}
		for k := i; from < p.End; k++ {
			to := p.End
			if k < len(old) {
				to = min(to, old[k].Start)
			}
			if from < to {
				cuts = append(cuts, Cut{Start: from, End: to, Now: len(words[why]), Why: why})
			}
			if k >= len(old) || old[k].Start >= p.End {
				break
			}
			from = old[k].End
		}
	}
	slices.SortFunc(cuts, func(a, b Cut) int { return a.Start - b.Start })
	return cuts
}

// merged sorts spans and joins those that overlap.
func merged(spans []Span) []Span {
	if len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:1]
	for _, p := range spans[1:] {
		if last := &out[len(out)-1]; p.Start < last.End {
			last.End = max(last.End, p.End)
			continue
		}
		out = append(out, p)
	}
	return out
}

// words replace a cut text if its place does not show what it was.
var words = map[string]string{"secret": "[secret]", "pattern": "[redacted]"}

// render returns a text with the cuts made.
func render(text string, cuts []Cut) Content {
	if len(cuts) == 0 {
		return Content{Text: Text(text)}
	}
	var b strings.Builder
	at := 0
	for _, c := range cuts {
		b.WriteString(text[at:c.Start])
		b.WriteString(words[c.Why])
		at = c.End
	}
	b.WriteString(text[at:])
	return Content{Text: Text(b.String()), Cuts: cuts}
}

// reply cuts a reply by its segments.
func (g *guard) reply(r Reply) Reply {
	r.Raw.Cuts = omissions(r.Raw)
	if g.withholds() && !covers(r.Segments, r.Raw.Len()) {
		r.Segments = readAgain(r)
	}
	switch {
	case !g.withholds():
		r.Raw = g.content(r.Raw, said)
	case r.Raw.Len() > 0:
		r.Raw = g.cut(r.Raw, r.Segments)
	}
	r.Digest = DigestOf(string(r.Raw.Text))
	r.Reasoning = g.thoughts(r.Reasoning)
	r.ToolCalls = g.calls(r.ToolCalls)
	r.Refusal = g.mixed(r.Refusal)
	return r
}

// mixed cuts a text that nobody has read and that may hold thoughts in tags.
func (g *guard) mixed(c Content) Content {
	c.Cuts = omissions(c)
	if !g.withholds() || c.Len() == 0 {
		return g.content(c, said)
	}
	return g.cut(c, readAgain(Reply{Raw: c}))
}

// tools cuts definitions. A digest would betray what a level withholds.
func (g *guard) tools(list []Tool) []Tool {
	out := slices.Clone(list)
	for i := range out {
		out[i].Definition = g.content(out[i].Definition, said)
		if g.levels[said] > Full {
			out[i].Digest = ""
		}
	}
	return out
}

func (g *guard) replies(list []Reply) []Reply {
	out := make([]Reply, len(list))
	for i, r := range list {
		out[i] = g.reply(r)
	}
	return out
}

// covers reports whether segments cover the whole of a reply, in order.
func covers(segments []Segment, size int) bool {
	at := 0
	for _, s := range segments {
		if s.Start != at || s.End < s.Start {
			return false
		}
		at = s.End
	}
	return at == size
}

// readAgain reads a reply if the caller did not. If its dialect is not known here, or if
// not all of it is, all of it is taken for reasoning.
func readAgain(r Reply) []Segment {
	all := []Segment{{Channel: sotto.ChannelReasoning, End: r.Raw.Len()}}
	if !r.Raw.Whole() {
		return all
	}
	grammar := sotto.Default()
	if r.Dialect != "" {
		var err error
		if grammar, err = sotto.Named(r.Dialect); err != nil {
			return all
		}
	}
	reading, err := grammar.ParseWith(string(r.Raw.Text), r.Options(), r.End)
	if err != nil {
		return all
	}
	return ReplyOf(reading).Segments
}

// messages cuts a prompt's messages. All except the system's are read as replies
// are, since any of them may hold earlier reasoning.
func (g *guard) messages(list []Message) []Message {
	out := make([]Message, len(list))
	for i, m := range list {
		if m.Role == "system" || m.Role == "developer" {
			m.Text = g.content(m.Text, said)
		} else {
			m.Text = g.mixed(m.Text)
		}
		m.Reasoning = g.thoughts(m.Reasoning)
		m.ToolCalls = g.calls(m.ToolCalls)
		out[i] = m
	}
	return out
}

func (g *guard) thoughts(list []Thought) []Thought {
	out := slices.Clone(list)
	for i := range out {
		out[i].Text, out[i].Raw = g.content(out[i].Text, thought), g.content(out[i].Raw, thought)
	}
	return out
}

func (g *guard) calls(list []Call) []Call {
	out := slices.Clone(list)
	for i := range out {
		out[i].Arguments, out[i].Extra = g.content(out[i].Arguments, said), g.content(out[i].Extra, thought)
	}
	return out
}

// message returns the message of an error as it may be recorded.
func (g *guard) message(s string) string { return plainError(g.secrets.scrub(s)) }

// idCredential matches names of identifiers that are credentials nevertheless.
var idCredential = lazyregexp.New(`(?i)authorization|token|secret|passw|credential|cookie|signature|api.?key`)

// ids returns identifiers without what must not be recorded of them.
func (g *guard) ids(list map[string]string) map[string]string {
	if len(list) == 0 || g.idLevel == Off {
		return nil
	}
	out := make(map[string]string, len(list))
	for name, value := range list {
		switch {
		case idCredential.MatchString(name):
			value = "[secret]"
		case g.idLevel == Digests:
			value = DigestID(g.key, value)
		default:
			value = g.secrets.scrub(value)
		}
		out[g.secrets.scrub(name)] = value
	}
	return out
}

// DigestID returns what is recorded of an identifier at level Digests, with the
// same key.
func DigestID(key []byte, id string) string {
	g := guard{key: key}
	return "hmac-sha256:" + g.digest(id)
}

func (x Exchange) guarded(g *guard) Payload {
	x.Replies, x.Messages = g.replies(x.Replies), g.messages(x.Messages)
	x.Parameters, x.Tools = g.content(x.Parameters, said), g.tools(x.Tools)
	if len(x.Asked) > 0 {
		x.Asked = g.messages(x.Asked)
	}
	x.AskedParameters = g.content(x.AskedParameters, said)
	x.LeftOut = slices.Clone(x.LeftOut)
	for i := range x.LeftOut {
		x.LeftOut[i] = g.message(x.LeftOut[i])
	}
	x.Revisions = slices.Clone(x.Revisions)
	for i := range x.Revisions {
		x.Revisions[i].Removed = g.content(x.Revisions[i].Removed, thought)
	}
	x.Guard, x.Delivered = g.guarding(x.Guard), g.delivery(x.Delivered)
	if x.Switch != nil {
		s := *x.Switch
		s.Client, x.Switch = g.content(s.Client, said), &s
	}
	x.Caller = g.message(x.Caller)
	x.ResponseID, x.IDs = g.secrets.scrub(x.ResponseID), g.ids(x.IDs)
	x.Path, x.Upstream, x.Error = plainPath(g.secrets.scrub(x.Path)), plainURL(g.secrets.scrub(x.Upstream)), g.message(x.Error)
	return x
}

// guarding cuts the reasons of a guard, which may quote reasoning.
func (g *guard) guarding(x *Guarding) *Guarding {
	if x == nil {
		return nil
	}
	out := *x
	out.Judgements = slices.Clone(x.Judgements)
	for i := range out.Judgements {
		j := &out.Judgements[i]
		j.Reason, j.Failure = g.content(j.Reason, thought), g.message(j.Failure)
	}
	return &out
}

func (x Invocation) guarded(g *guard) Payload {
	x.Replies, x.Messages = g.replies(x.Replies), g.messages(x.Messages)
	x.Parameters, x.Tools = g.content(x.Parameters, said), g.tools(x.Tools)
	x.IDs, x.Error = g.ids(x.IDs), g.message(x.Error)
	return x
}

func (x ToolCall) guarded(g *guard) Payload {
	x.Arguments, x.Result = g.content(x.Arguments, said), g.content(x.Result, said)
	x.Reasoning = g.thoughts(x.Reasoning)
	x.IDs, x.Error = g.ids(x.IDs), g.message(x.Error)
	if x.Peer != nil {
		x.Peer = &Peer{g.secrets.scrub(x.Peer.Task), g.secrets.scrub(x.Peer.Context), x.Peer.Spent}
	}
	return x
}

func (x Extraction) guarded(g *guard) Payload {
	k := said
	if x.FromReasoning || strings.HasSuffix(x.Method, "_in_reasoning") {
		k = thought
	}
	x.Candidate, x.Written = g.content(x.Candidate, k), g.content(x.Written, k)
	if x.Verdict != nil {
		v := *x.Verdict
		v.Detail = g.content(v.Detail, k)
		x.Verdict = &v
	}
	return x
}

func (x Advisory) guarded(g *guard) Payload {
	x.Text = g.content(x.Text, said)
	return x
}

func (x Failure) guarded(g *guard) Payload {
	x.Message = g.message(x.Message)
	return x
}

func (x RunStart) guarded(g *guard) Payload {
	x.Goal = g.content(x.Goal, said)
	x.Config = plainConfig(x.Config, g.secrets)
	x.Caller, x.IDs = g.message(x.Caller), g.ids(x.IDs)
	return x
}

func (x CycleStart) guarded(g *guard) Payload {
	x.IDs = g.ids(x.IDs)
	x.Goal = g.content(x.Goal, said)
	return x
}

func (x CycleEnd) guarded(g *guard) Payload {
	x.Summary = g.content(x.Summary, said)
	if x.Reasoning = g.thoughts(x.Reasoning); g.levels[thought] == Off {
		x.Reasoning = nil
	}
	return x
}

func (x RunEnd) guarded(g *guard) Payload {
	x.Result = g.content(x.Result, said)
	return x
}

func (u Unknown) guarded(*guard) Payload { return u }
