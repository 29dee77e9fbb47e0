package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

const (
	maxShown    = 256 << 10 // bytes of an answer, and of the thoughts of a reply
	maxMessage  = 16 << 10  // bytes of one message of a prompt
	maxPrompt   = 512 << 10 // bytes of all messages
	maxMessages = 400
	maxListed   = 200 // diagnostics, thoughts and calls of a reply
	maxChoices  = 64
)

// An Exchange is what the console shows of one exchange or invocation.
type Exchange struct {
	V int `json:"v"`
	Row
	Cycle    int    `json:"cycle,omitempty"`
	Purpose  string `json:"purpose,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	// UpstreamName is its name in the gateway's settings, if it has one. Retries are how
	// often the request was sent again.
	UpstreamName string `json:"upstream_name,omitempty"`
	// UpstreamAPI is what the upstream speaks, if it is not what the client speaks. LeftOut are
	// the members of the client's request that it has no counterpart for, and Asked are the
	// messages as the client sent them.
	UpstreamAPI string            `json:"upstream_api,omitempty"`
	LeftOut     []string          `json:"left_out,omitempty"`
	Asked       []Message         `json:"asked,omitempty"`
	AskedBytes  int               `json:"asked_bytes,omitempty"`
	MoreAsked   int               `json:"more_asked,omitempty"`
	Retries     int               `json:"retries,omitempty"`
	ExchangeID  string            `json:"exchange_id,omitempty"` // the gateway's name for it
	ResponseID  string            `json:"response_id,omitempty"`
	IDs         map[string]string `json:"ids,omitempty"`
	Error       string            `json:"error,omitempty"`
	// FirstThought and FirstAnswer are when the first of each came, in ms after the
	// request; 0 if none came, or if the reply was not streamed.
	FirstThought int64 `json:"first_thought_ms,omitempty"`
	FirstAnswer  int64 `json:"first_answer_ms,omitempty"`
	// Session is the conversation that the exchange belongs to, and Trace the trace.
	Session string `json:"session,omitempty"`
	Trace   string `json:"trace,omitempty"`
	// Parameters and Tools are of the request.
	Parameters []Parameter `json:"parameters,omitempty"`
	Tools      []Tool      `json:"tools,omitempty"`
	MoreTools  int         `json:"more_tools,omitempty"`
	// Changes are what the history policy did to the prompt.
	Changes     []Change `json:"changes,omitempty"`
	MoreChanges int      `json:"more_changes,omitempty"`
	// History is what was done to earlier reasoning, and Removed how many bytes of it
	// were taken out of the prompt.
	History string `json:"history,omitempty"`
	Removed int    `json:"removed_bytes,omitempty"`
	// Route is the gateway's route. Leak says what became of reasoning that stood in the
	// text of the reply, which was so many LeakBytes. Switch says how the request's control
	// of thinking was translated.
	Route string `json:"route,omitempty"`
	Leak  string `json:"leak,omitempty"`
	// Got says what the client got, and Thought what became of the thoughts; both are empty
	// if it is not known. Promoted says that the thought became the answer.
	Got       string  `json:"client_got,omitempty"`
	Thought   string  `json:"thought,omitempty"`
	Promoted  bool    `json:"promoted,omitempty"`
	LeakBytes int     `json:"leak_bytes,omitempty"`
	Switch    string  `json:"switch,omitempty"`
	Replies   []Reply `json:"replies"`
	// Steps are what was asked, thought, called and said, in order.
	Steps  []trace.Step `json:"steps"`
	Prompt []Message    `json:"prompt"`
	// PromptBytes are the bytes of all messages. MoreMessages is how many there are
	// beyond those in Prompt.
	PromptBytes  int    `json:"prompt_bytes"`
	MoreMessages int    `json:"more_messages,omitempty"`
	MoreReplies  int    `json:"more_replies,omitempty"`
	Unsearched   int    `json:"unsearched,omitempty"` // secrets that it may hold
	Guard        *Guard `json:"guard,omitempty"`
	// Older and Newer are the exchanges beside it.
	Older uint64 `json:"older,omitempty"`
	Newer uint64 `json:"newer,omitempty"`
}

// A Guard is what a guard decided about the replies.
type Guard struct {
	Summary  string    `json:"summary"` // 10 pieces: 9 pass, 1 cut
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// A Verdict is the decision about a piece that did not pass.
type Verdict struct {
	Choice  int     `json:"choice"`
	Channel string  `json:"channel,omitempty"`
	Start   int64   `json:"start"` // bytes of the channel
	End     int64   `json:"end"`
	Action  string  `json:"action"`
	Reason  Excerpt `json:"reason,omitzero"`
	Failure string  `json:"failure,omitempty"`
	Millis  int64   `json:"ms"`
}

// guardOf returns what is shown of a guard's decisions; nil if there was none.
func guardOf(g *record.Guarding) *Guard {
	if g == nil {
		return nil
	}
	summary, notable := eventtext.Verdicts(g)
	shown := &Guard{Summary: summary}
	for _, j := range notable {
		v := Verdict{Choice: j.Choice, Channel: j.Channel, Start: j.Start, End: j.End, Action: j.Action, Failure: j.Failure, Millis: j.Millis}
		if j.Reason.Len() > 0 {
			v.Reason = excerpt(string(j.Reason.Text), maxReason)
			v.Reason.Bytes = j.Reason.Len()
		}
		shown.Verdicts = append(shown.Verdicts, v)
	}
	return shown
}

// maxReason is how much of a guard's reason is shown, in bytes. The gateway records less.
const maxReason = 1 << 10

// A Reply is what the console shows of a reply.
type Reply struct {
	Choice    int           `json:"choice"`
	Dialect   string        `json:"dialect"`
	Start     string        `json:"start"`
	End       sotto.Ending  `json:"end"`
	Finish    string        `json:"finish,omitempty"`
	Bytes     int           `json:"bytes"`
	Channels  []ChannelSize `json:"channels"`
	Thoughts  []Thought     `json:"thoughts,omitempty"`
	Narration []Excerpt     `json:"narration,omitempty"`
	Answer    Excerpt       `json:"answer"`
	ToolCalls []Call        `json:"tool_calls,omitempty"`

	// Refusal is how the model refused, in a place of its own.
	Refusal Excerpt `json:"refusal,omitzero"`

	Diagnostics     []sotto.Diagnostic `json:"diagnostics,omitempty"`
	MoreDiagnostics int                `json:"more_diagnostics,omitempty"`
	// Withheld is how many bytes of the reply are not in the record.
	Withheld int `json:"withheld_bytes,omitempty"`
	// Reread says that this is another reading than the recorded one, whose answer is
	// Recorded.
	Reread   bool     `json:"reread,omitempty"`
	Recorded *Excerpt `json:"recorded_answer,omitempty"`

	Bars []Bar `json:"-"`
}

// ThoughtBytes are the bytes of all thoughts of a reply.
func (r *Reply) ThoughtBytes() (n int) {
	for _, t := range r.Thoughts {
		n += t.Bytes
	}
	return n
}

// A ChannelSize is how many bytes of a reply are on a channel.
type ChannelSize struct {
	Channel sotto.Channel `json:"channel"`
	Bytes   int           `json:"bytes"`
}

// An Excerpt is a text, or its beginning.
type Excerpt struct {
	Text  record.Text `json:"text"`
	Bytes int         `json:"bytes"` // of the whole
	Cut   bool        `json:"cut,omitempty"`
}

// excerpt returns at most the first n bytes of a text.
func excerpt(text string, n int) Excerpt {
	short := shorttext.Cut(text, n)
	return Excerpt{record.Text(strings.Clone(short)), len(text), len(short) < len(text)}
}

// A Thought is a block of reasoning.
type Thought struct {
	// Field is the member that held it; empty for a block in the text.
	Field  string `json:"field,omitempty"`
	Sealed bool   `json:"sealed,omitempty"` // the provider signed or encrypted it
	At     int    `json:"at"`               // the byte of the reply where it stood
	Excerpt
}

// A Call is a call of a tool.
type Call struct {
	Name      string  `json:"name"`
	ID        string  `json:"id,omitempty"`
	Arguments Excerpt `json:"arguments"`
}

// A Message is a message of a prompt.
type Message struct {
	Role      string    `json:"role"`
	Text      Excerpt   `json:"text"`
	Thoughts  []Thought `json:"thoughts,omitempty"`
	ToolCalls []Call    `json:"tool_calls,omitempty"`
	CallID    string    `json:"call_id,omitempty"`
}

var errCut = errors.New("parts of this reply are not in the record, so it cannot be read again")

func errChoice(choice, of int) error {
	return fmt.Errorf("choice %d: the exchange has %d: %w", choice, of, ErrNotFound)
}

// Exchange returns one exchange.
func (s *Source) Exchange(ctx context.Context, seq uint64, again Reread) (*Exchange, error) {
	o, err := s.open(ctx, seq)
	if err != nil {
		return nil, err
	}
	x := exchangeOf(&o.event)
	for i := range o.replies {
		if i == maxChoices {
			x.MoreReplies = len(o.replies) - i
			break
		}
		r, err := s.reading(o, i, again)
		if err != nil {
			return nil, err
		}
		shown := replyOf(r)
		if r.reread {
			recorded, err := s.reading(o, i, Reread{})
			if err != nil {
				return nil, err
			}
			before := excerpt(recorded.answer, maxShown)
			shown.Recorded = &before
		}
		x.Replies = append(x.Replies, shown)
	}
	if x.Steps, err = s.steps(o, again); err != nil {
		return nil, err
	}
	return x, nil
}

// exchangeOf returns what is shown of an event beside its replies.
func exchangeOf(e *record.Event) *Exchange {
	g := record.Glimpse{Entry: record.Entry{Time: e.Time, Type: e.Type, Run: e.Run, Size: len(e.Line())}, Event: *e}
	x := &Exchange{V: 1, Cycle: e.Cycle, Replies: []Reply{}, Prompt: []Message{}, Unsearched: e.Unsearched}
	p := partsOf(e)
	for _, r := range p.replies {
		for _, d := range r.Diagnostics {
			g.Diagnostics = append(g.Diagnostics, string(d.Code))
		}
	}
	switch y := e.Payload.(type) {
	case record.Exchange:
		g.Model = y.Model
		x.ExchangeID = y.ID
		x.Upstream, x.ResponseID, x.IDs, x.History, x.Removed = y.Upstream, y.ResponseID, y.IDs, y.History, removedBy(y.History)
		_, x.Session = y.Session()
		x.UpstreamName, x.Retries = y.UpstreamName, y.Retries
		x.UpstreamAPI, x.LeftOut = y.UpstreamAPI, y.LeftOut
		if y.UpstreamAPI != "" {
			x.Asked, x.AskedBytes, x.MoreAsked = messagesOf(y.Asked)
		}
		x.Guard = guardOf(y.Guard)
		x.Route, x.Leak, x.LeakBytes = y.Route, y.Leak, y.LeakBytes
		if d := y.Delivered; d != nil {
			x.Got, x.Thought, x.Promoted = eventtext.ClientGot(d), y.Thought(-1), d.Promoted
		}
		if y.Switch != nil {
			x.Switch = y.Switch.Translated
		}
		x.Trace, x.FirstThought, x.FirstAnswer = y.IDs[record.IDTrace], y.FirstThought, y.FirstAnswer
		x.settings(y.Parameters, y.Tools)
		x.changes(&y)
	case record.Invocation:
		g.Model, x.Purpose = y.Model, y.Purpose
		x.IDs, x.Trace = y.IDs, y.IDs[record.IDTrace]
		x.FirstThought, x.FirstAnswer = y.FirstThought, y.FirstAnswer
		x.settings(y.Parameters, y.Tools)
	}
	x.Row, x.Error = RowOf(&g), p.err
	x.prompt(p.messages)
	return x
}

// removedBy reads how many bytes a history policy took out, from its remark.
func removedBy(history string) int {
	_, rest, _ := strings.Cut(history, "removed=")
	digits, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (x *Exchange) prompt(list []record.Message) {
	x.Prompt, x.PromptBytes, x.MoreMessages = messagesOf(list)
}

// messagesOf returns what is shown of the messages of a request.
func messagesOf(list []record.Message) (shown []Message, size, more int) {
	room := maxPrompt
	shown = []Message{}
	for i, m := range list {
		size += m.Text.Len()
		if i >= maxMessages {
			more++
			continue
		}
		one := Message{Role: m.Role, CallID: m.CallID, Text: excerpt(string(m.Text.Text), min(room, maxMessage))}
		room -= len(one.Text.Text)
		one.Thoughts, room = thoughtsOf(m.Reasoning, room)
		one.ToolCalls, room = callsOf(m.ToolCalls, room)
		shown = append(shown, one)
	}
	return shown, size, more
}

func thoughtsOf(list []record.Thought, room int) (shown []Thought, left int) {
	for _, t := range list[:min(len(list), maxListed)] {
		one := Thought{Field: t.Field, Sealed: t.Sealed, At: t.At, Excerpt: excerpt(string(t.Text.Text), room)}
		one.Bytes = t.Text.Len()
		room -= len(one.Text)
		shown = append(shown, one)
	}
	return shown, room
}

func callsOf(list []record.Call, room int) (shown []Call, left int) {
	for _, c := range list[:min(len(list), maxListed)] {
		one := Call{Name: c.Name, ID: c.ID, Arguments: excerpt(string(c.Arguments.Text), min(room, maxMessage))}
		room -= len(one.Arguments.Text)
		shown = append(shown, one)
	}
	return shown, room
}

// replyOf returns what is shown of a reply.
func replyOf(r *reading) Reply {
	out := Reply{
		Choice: r.reply.Choice, Dialect: r.dialect, Start: r.start, End: r.reply.End, Finish: r.reply.Finish, Bytes: r.total,
		Answer: excerpt(r.answer, maxShown), Withheld: r.withheld, Reread: r.reread, Bars: r.bars(),
		Refusal: excerpt(string(r.reply.Refusal.Text), maxMessage), Diagnostics: r.diags[:min(len(r.diags), maxListed)],
	}
	out.MoreDiagnostics = r.more + len(r.diags) - len(out.Diagnostics)
	room := maxShown
	out.Thoughts, room = thoughtsOf(r.reply.Reasoning, room)
	var sizes [6]int
	for i, p := range r.parts {
		sizes[min(int(p.channel), 5)] += p.End - p.Start
		if p.channel != sotto.ChannelReasoning && p.channel != sotto.ChannelNarration {
			continue
		}
		if again := i > 0 && r.parts[i-1].channel == p.channel && r.parts[i-1].block == p.block; again {
			out.extend(p, &room)
			continue
		}
		piece := excerpt(p.Text, room)
		piece.Bytes = p.End - p.Start
		room -= len(piece.Text)
		switch {
		case p.channel == sotto.ChannelNarration && len(out.Narration) < maxListed:
			out.Narration = append(out.Narration, piece)
		case p.channel == sotto.ChannelReasoning && len(out.Thoughts) < maxListed:
			out.Thoughts = append(out.Thoughts, Thought{At: p.Start, Excerpt: piece})
		}
	}
	for c, n := range sizes {
		if n > 0 {
			out.Channels = append(out.Channels, ChannelSize{sotto.Channel(c), n})
		}
	}
	out.ToolCalls, _ = callsOf(r.reply.ToolCalls, maxShown)
	return out
}

// extend adds a further part of a block to the last thought or narration: the block
// is divided where something was cut out of it.
func (r *Reply) extend(p run, room *int) {
	var last *Excerpt
	switch {
	case p.channel == sotto.ChannelNarration && len(r.Narration) > 0:
		last = &r.Narration[len(r.Narration)-1]
	case p.channel == sotto.ChannelReasoning && len(r.Thoughts) > 0:
		last = &r.Thoughts[len(r.Thoughts)-1].Excerpt
	default:
		return
	}
	piece := excerpt(p.Text, *room)
	last.Text, last.Bytes, last.Cut = last.Text+piece.Text, last.Bytes+p.End-p.Start, last.Cut || piece.Cut
	*room -= len(piece.Text)
}
