package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// A Builder makes steps of events, which it gets in the order of the record.
type Builder struct {
	Steps []Step

	most, room, left int // bytes of a text, of all texts, and steps
	began            time.Time
	now              time.Time // of the next step
	event            *record.Event
	n                int // steps of the event
	asked            string
	begun            bool // something was asked or a model was invoked
	// waiting are the calls without a result, by their place in Steps.
	waiting []int
	more    int
}

// NewBuilder returns a builder with the usual bounds.
func NewBuilder() *Builder { return &Builder{most: MaxText, room: MaxTexts, left: MaxSteps} }

// Wide bounds each text by another number of bytes.
func (b *Builder) Wide(most int) *Builder {
	b.most = most
	return b
}

// Below returns a builder for the steps of an agent that a step called. It takes from the
// room of b.
func (b *Builder) Below() *Builder {
	return &Builder{most: b.most, room: b.room / 2, left: b.left / 2, began: b.began}
}

// Took takes what a builder below has used.
func (b *Builder) Took(below *Builder) {
	b.room -= b.room/2 - below.room
	b.left -= b.left/2 - below.left
}

// Left is how many events found no room.
func (b *Builder) Left() int { return b.more }

// Run adds the beginning of a run, in a session.
func (b *Builder) Run(e *record.Event) {
	if !b.begin(e) {
		return
	}
	s := Step{Kind: Run, Run: e.Run}
	if x, ok := e.Payload.(record.RunStart); ok {
		s.Name = x.Agent
	}
	b.add(s).ID = fmt.Sprintf("r%d", e.Seq) // the event has its other steps below
	b.asked, b.begun = "", false
}

// Elsewhere adds what is known of a run that is not in the record, below the step that
// called it.
func (b *Builder) Elsewhere(s *Step) {
	b.event, b.now = &record.Event{Seq: s.Event, Time: s.Time, Cycle: s.Cycle}, s.Time
	b.add(Step{Kind: Gap, Name: "run"}).ID = s.ID + ".run"
}

// add appends a step of the current event.
func (b *Builder) add(s Step) *Step {
	s.Event, s.Time, s.Cycle, s.ID = b.event.Seq, b.now, b.event.Cycle, b.id()
	if b.began.IsZero() {
		b.began = s.Time
	}
	s.Offset = max(0, s.Time.Sub(b.began).Milliseconds())
	s.Name, s.Status = shorttext.Cut(s.Name, maxName), shorttext.Cut(s.Status, maxName)
	b.left--
	b.Steps = append(b.Steps, s)
	return &b.Steps[len(b.Steps)-1]
}

// id is the address of the next step of the event.
func (b *Builder) id() string {
	b.n++
	if b.n == 1 {
		return fmt.Sprintf("e%d", b.event.Seq)
	}
	return fmt.Sprintf("e%d.%d", b.event.Seq, b.n)
}

// begin begins the steps of an event. ok is false if there is no more room.
func (b *Builder) begin(e *record.Event) (ok bool) {
	if b.left <= 0 {
		b.more++
		return false
	}
	b.event, b.n, b.now = e, 0, e.Time
	return true
}

// ago goes back from the time of the event, which is when it ended, to when it began.
func (b *Builder) ago(ms int64) {
	b.now = b.event.Time.Add(-time.Duration(min(max(0, ms), int64(1<<40))) * time.Millisecond)
}

// shortest is the length of a thought that is worth saying, in milliseconds.
const shortest = 10

// comes sets the times of the thoughts and of the answer of a reply whose steps follow
// from, by when the first of each came after the request.
func (b *Builder) comes(from int, ms, thought, answer int64) {
	begin := b.event.Time.Add(-time.Duration(min(max(0, ms), int64(1<<40))) * time.Millisecond)
	if thought <= 0 && answer <= 0 || thought > ms || answer > ms {
		return
	}
	for i := from; i < len(b.Steps); i++ {
		s, after := &b.Steps[i], int64(0)
		switch s.Kind {
		case Thought:
			if after, thought = thought, 0; after > 0 && answer-after >= shortest {
				s.Millis = answer - after
			}
		case Answer, Narration:
			after, answer = answer, 0
		}
		if after > 0 {
			s.Time = begin.Add(time.Duration(after) * time.Millisecond)
			s.Offset = max(0, s.Time.Sub(b.began).Milliseconds())
		}
	}
}

// Event adds the steps of an event. long says that its line is too long to be read for a
// page, so that only its beginning is there.
func (b *Builder) Event(e *record.Event, long bool) {
	if !b.begin(e) {
		return
	}
	switch x := e.Payload.(type) {
	case record.Exchange:
		b.exchange(&x, long, nil)
	case record.Invocation:
		b.invocation(&x, long)
	case record.ToolCall:
		b.toolCall(&x)
	case record.RunStart:
		b.question(x.Goal, "goal")
	case record.CycleStart:
		b.cycle(&x)
	case record.CycleEnd:
		b.end(x.Status, x.Bound, x.Millis, x.Summary, "summary", x.Metrics)
	case record.RunEnd:
		b.end(x.Status, x.Bound, x.Millis, x.Result, "result", x.Metrics)
		b.Steps[len(b.Steps)-1].Cycle = 0
	case record.Failure:
		if x.Phase != "start" {
			b.add(Step{Kind: Error, Name: x.Code, Text: b.say(x.Message), Path: "message", Millis: max(0, x.Millis), Failed: true})
		}
	default:
		b.remark(e, long)
	}
}

// remark adds the step of an event beside the conversation.
func (b *Builder) remark(e *record.Event, long bool) {
	s := Step{Kind: Note, Name: strings.ToLower(strings.ReplaceAll(string(e.Type), "_", " "))}
	switch x := e.Payload.(type) {
	case record.Advisory:
		s.Name, s.Text, s.Path = cmp.Or(x.Code, s.Name), b.text(x.Text), "text"
	case record.Extraction:
		s.Status, s.Text, s.Path = x.Status, b.text(x.Candidate), "candidate"
		if v := x.Verdict; v != nil {
			s.Status, s.Failed = "right", !v.OK
			if !v.OK {
				s.Status = strings.TrimSpace("wrong " + v.Reason)
			}
		}
	case record.Consent:
		verb := "refused by "
		if x.Agreed {
			verb = "agreed by "
		}
		s.Status = verb + cmp.Or(x.Person, x.By)
	case record.Memory:
		s.Text, s.Path = b.text(x.Query), "query"
	case record.Audit:
		s.Text = b.say(strings.TrimSpace(x.Action + " " + x.Page))
	case nil:
		s.Kind = Gap
		if !long {
			s.Kind = Note
		}
	}
	b.add(s)
}

// cycle begins a cycle.
func (b *Builder) cycle(x *record.CycleStart) {
	if b.event.Cycle > 0 {
		b.add(Step{Kind: Cycle})
	}
	if goal := string(x.Goal.Text); goal != b.asked || !b.begun {
		b.question(x.Goal, "goal")
	}
	b.begun = false
}

// question adds what was asked.
func (b *Builder) question(goal record.Content, path string) {
	if goal.Len() == 0 || string(goal.Text) == b.asked && goal.Whole() {
		return
	}
	b.asked = strings.Clone(string(goal.Text))
	b.add(Step{Kind: Question, Text: b.text(goal), Path: path})
}

// end adds the end of a cycle or of a run. Its text is shown if it is not the answer above.
func (b *Builder) end(status, bound string, ms int64, said record.Content, path string, m *record.Metrics) {
	s := Step{Kind: End, Status: status, Name: bound, Millis: max(0, ms), Failed: Failing(status)}
	if m != nil && m.InputTokens+m.OutputTokens > 0 {
		s.Usage = &record.Usage{Input: m.InputTokens, Output: m.OutputTokens}
	}
	if text := strings.TrimSpace(string(said.Text)); text != "" && !b.said(text) || !said.Whole() {
		s.Text, s.Path = b.text(said), path
	}
	b.add(s)
}

// said reports whether a text is the last answer.
func (b *Builder) said(text string) bool {
	for _, s := range slices.Backward(b.Steps) {
		if s.Kind == Answer || s.Kind == End && !s.Text.Empty() {
			plain := strings.TrimSpace(s.Text.Plain())
			return plain == text || s.Text.Cut && strings.HasPrefix(text, plain)
		}
	}
	return false
}

// Failing reports whether a run or cycle with this status did not do what it was to do.
func Failing(status string) bool {
	switch status {
	case "", "done", "answered", "completed", "solved", "paused", "suspended", "input-required", "open":
		return false
	}
	return true
}

// invocation adds an agent's invocation of a model, and its reply.
func (b *Builder) invocation(x *record.Invocation, long bool) {
	b.ago(x.Millis)
	if !b.begun {
		b.latest(x.Messages)
	}
	b.begun = true
	s := Step{Kind: Model, Name: x.Model, Status: x.Purpose, Millis: max(0, x.Millis), Usage: x.Usage, setup: setupOf(x.Messages, x.Parameters, x.Tools)}
	if x.Attempt > 1 {
		s.Attempt = x.Attempt
	}
	b.add(s)
	b.answered(x, nil, long)
}

// answered adds what came of an invocation.
func (b *Builder) answered(x *record.Invocation, parts [][]eventtext.Stretch, long bool) {
	b.now = b.event.Time
	if long {
		b.add(Step{Kind: Gap, Name: "long"})
		return
	}
	from := len(b.Steps)
	b.replies(x.Replies, parts, x.Error == "")
	b.comes(from, x.Millis, x.FirstThought, x.FirstAnswer)
	if x.Error != "" {
		b.add(Step{Kind: Error, Text: b.say(x.Error), Path: "error", Failed: true})
	}
}

// latest adds the last question of a prompt, if it was not asked already.
func (b *Builder) latest(messages []record.Message) {
	for i, m := range slices.Backward(messages) {
		if m.Role == "user" && m.CallID == "" {
			if b.asked == "" {
				b.question(m.Text, fmt.Sprintf("messages.%d.text", i))
			}
			return
		}
	}
}

// toolCall adds a use of a tool: it belongs to the call that the model asked for.
func (b *Builder) toolCall(x *record.ToolCall) {
	at := b.waitingFor(x)
	if at < 0 {
		b.add(Step{Kind: Call, Name: x.Name, Text: b.text(x.Arguments), Path: "arguments", State: Unknown, callID: x.ID})
		at = len(b.Steps) - 1
		b.waiting = append(b.waiting, at)
	}
	s := &b.Steps[at]
	s.number = x.Number
	if x.Phase == "start" {
		s.State, s.ResultEvent = Open, b.event.Seq
		if s.Event != b.event.Seq {
			s.StartID = b.id()
		}
		s.Time, s.Offset = b.event.Time, max(0, b.event.Time.Sub(b.began).Milliseconds())
		return
	}
	s.State, s.Millis, s.ResultEvent, s.ResultPath = Done, max(0, x.Millis), b.event.Seq, "result"
	if s.Event != b.event.Seq {
		s.ResultID = b.id()
	}
	s.Result = b.text(x.Result)
	if len(x.Reasoning) > 0 {
		s.State = Withheld // the agent read its own thoughts: they are above
	}
	s.Failed, s.Status = x.Error != "", shorttext.Cut(x.Error, maxName)
	if s.Failed && s.Result.Empty() {
		s.Result, s.ResultPath = b.say(x.Error), "error"
	}
	if x.Child != nil && len(x.Child.Run) <= maxRun {
		s.Run = x.Child.Run
	}
	if x.Peer != nil {
		s.Peer = shorttext.Cut(x.Peer.Task, maxName)
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(i int) bool { return i == at })
}

// maxRun bounds the name of a run that a step leads to.
const maxRun = 512

// waitingFor finds the call that a use belongs to: its beginning, or what the model asked
// for. The number is -1 if there is none.
func (b *Builder) waitingFor(x *record.ToolCall) int {
	for _, i := range slices.Backward(b.waiting) {
		if s := &b.Steps[i]; s.State == Open && s.number == x.Number && s.Cycle == b.event.Cycle {
			return i
		}
	}
	for _, i := range b.waiting {
		s := &b.Steps[i]
		if s.Status == "text" && x.FromText && x.Of != nil && s.Event == x.Of.Seq && s.State == Unknown {
			s.Name, s.Text, s.callID = shorttext.Cut(x.Name, maxName), b.text(x.Arguments), x.ID
			return i
		}
		if s.State == Unknown && (x.Of == nil || s.of == nil || *x.Of == *s.of || x.Of.Seq == s.of.Seq) && s.Cycle == b.event.Cycle &&
			(x.ID != "" && s.callID == x.ID || (x.ID == "" || s.callID == "") && s.Name == shorttext.Cut(x.Name, maxName)) {
			return i
		}
	}
	return -1
}

// result adds the result of a call, as a client sent it back.
func (b *Builder) result(m *record.Message, path string) {
	for _, i := range slices.Backward(b.waiting) {
		if s := &b.Steps[i]; s.callID == m.CallID && s.callID != "" {
			s.State, s.Result, s.ResultEvent, s.ResultPath = Done, b.text(m.Text), b.event.Seq, path
			s.ResultID = b.id()
			b.waiting = slices.DeleteFunc(b.waiting, func(k int) bool { return k == i })
			return
		}
	}
	b.add(Step{Kind: Result, Name: m.CallID, Text: b.text(m.Text), Path: path})
}

// Exchange adds the steps of an exchange whose replies are read as parts says; nil means
// as they were recorded.
func (b *Builder) Exchange(e *record.Event, parts [][]eventtext.Stretch) {
	if x, ok := e.Payload.(record.Exchange); ok && b.begin(e) {
		b.exchange(&x, false, parts)
	} else if inv, ok := e.Payload.(record.Invocation); ok && b.begin(e) {
		b.ago(inv.Millis)
		b.prompt(inv.Messages)
		b.begun = true
		b.add(Step{Kind: Model, Name: inv.Model, Status: inv.Purpose, Millis: max(0, inv.Millis), Usage: inv.Usage})
		b.answered(&inv, parts, false)
	}
}

// exchange adds an exchange: what is new in its prompt, the reply, and what the client got.
func (b *Builder) exchange(x *record.Exchange, long bool, parts [][]eventtext.Stretch) {
	b.ago(x.Millis)
	b.prompt(x.Messages)
	b.begun = true
	b.add(Step{Kind: Model, Name: x.Model, Status: x.Outcome, Millis: max(0, x.Millis), Usage: x.Usage, Failed: x.Error == "" && (x.Outcome == "failed" || x.Outcome == "refused"), setup: setupOf(x.Messages, x.Parameters, x.Tools)})
	b.now = b.event.Time
	if long {
		b.add(Step{Kind: Gap, Name: "long"})
		return
	}
	from := len(b.Steps)
	b.replies(x.Replies, parts, x.Error == "" && x.Outcome == "answered")
	b.comes(from, x.Millis, x.FirstThought, x.FirstAnswer)
	if x.Error != "" {
		b.add(Step{Kind: Error, Text: b.say(x.Error), Path: "error", Failed: true})
	}
	b.got(x)
}

// prompt adds what is new in a prompt: the last question, and the calls and results after
// it that were not shown yet.
func (b *Builder) prompt(messages []record.Message) {
	from := 0
	for i, m := range messages {
		switch {
		case m.Role == "user" && m.CallID == "" && !b.begun:
			from = i
		case m.Role == "assistant" && b.begun:
			from = i + 1
		}
	}
	if len(messages)-from > maxCalls {
		from = len(messages) - maxCalls
	}
	for i := from; i < len(messages); i++ {
		m, path := &messages[i], fmt.Sprintf("messages.%d", i)
		switch {
		case m.CallID != "":
			b.result(m, path+".text")
		case m.Role == "user":
			b.asked = ""
			b.question(m.Text, path+".text")
		case m.Role == "assistant":
			for k, t := range m.Reasoning {
				b.thought(&t, fmt.Sprintf("%s.reasoning.%d.text", path, k), len(m.ToolCalls) > 0)
			}
			if strings.TrimSpace(string(m.Text.Text)) != "" {
				b.add(Step{Kind: Answer, Text: b.text(m.Text), Path: path + ".text"})
			}
			b.calls(m.ToolCalls, path, nil)
		}
	}
}

func (b *Builder) thought(t *record.Thought, path string, leads bool) {
	b.add(Step{Kind: Thought, Field: shorttext.Cut(t.Field, maxName), Sealed: t.Sealed, Text: b.text(t.Text), Path: path, Leads: leads})
}

func (b *Builder) calls(list []record.Call, path string, of *record.Ref) {
	for i, c := range list[:min(len(list), maxCalls)] {
		b.add(Step{Kind: Call, Name: c.Name, Text: b.text(c.Arguments), Path: fmt.Sprintf("%s.tool_calls.%d.arguments", path, i), State: Unknown, callID: c.ID, of: of})
		b.waiting = append(b.waiting, len(b.Steps)-1)
	}
}

// replies adds the replies of a model. whole says that an answer is expected of them.
func (b *Builder) replies(list []record.Reply, parts [][]eventtext.Stretch, whole bool) {
	if len(list) == 0 && whole {
		b.add(Step{Kind: Gap, Name: "reply"})
	}
	for i := range list[:min(len(list), maxCalls)] {
		if b.left <= 0 {
			return
		}
		r := &list[i]
		var read []stretch
		if parts != nil && i < len(parts) {
			read = parts[i]
		} else {
			own := *r
			own.Segments = eventtext.SegmentsOf(r)
			t := eventtext.Text{Content: r.Raw, Reply: &own}
			read = t.Stretches()
		}
		b.reply(r, read, i, whole)
	}
}

// reply adds the pieces of a reply, in order.
func (b *Builder) reply(r *record.Reply, read []stretch, number int, whole bool) {
	path := fmt.Sprintf("replies.%d", number)
	first := len(b.Steps)
	beside := 0
	separate := func(at int) {
		for ; beside < len(r.Reasoning) && r.Reasoning[beside].At <= at; beside++ {
			b.thought(&r.Reasoning[beside], fmt.Sprintf("%s.reasoning.%d.text", path, beside), false)
		}
	}
	for i := 0; i < len(read); {
		separate(read[i].Start)
		n := 1
		for i+n < len(read) && together(&read[i], &read[i+n]) && (beside == len(r.Reasoning) || r.Reasoning[beside].At > read[i+n].Start) {
			n++
		}
		if read[i].Channel != sotto.ChannelTool || len(r.ToolCalls) == 0 {
			b.piece(read[i:i+n], path)
		}
		i += n
	}
	separate(max(r.Raw.Len(), 1<<62))
	thoughts := len(b.Steps)
	if r.Refusal.Len() > 0 {
		b.add(Step{Kind: Answer, Name: "refusal", Text: b.text(r.Refusal), Path: path + ".refusal"})
	}
	b.calls(r.ToolCalls, path, &record.Ref{Seq: b.event.Seq, Choice: r.Choice, Digest: r.Digest})
	if len(b.Steps) > thoughts && len(r.ToolCalls) > 0 {
		led := false
		for i := thoughts - 1; i >= first; i-- {
			s := &b.Steps[i]
			s.Leads = s.Kind == Answer || s.Kind == Thought && !led
			led = led || s.Kind == Thought
		}
	}
	b.unsaid(r, read, first, whole)
}

// together reports whether two neighbouring parts are of one step.
func together(a, c *stretch) bool {
	plain := func(k sotto.Channel) bool {
		return k == sotto.ChannelText || k == sotto.ChannelAside || k == sotto.ChannelMarkup
	}
	return a.Channel == c.Channel && a.Block == c.Block || plain(a.Channel) && plain(c.Channel) && a.Channel == sotto.ChannelText
}

// piece adds the step of parts on one channel.
func (b *Builder) piece(list []stretch, path string) {
	kind := map[sotto.Channel]Kind{sotto.ChannelText: Answer, sotto.ChannelReasoning: Thought, sotto.ChannelNarration: Narration, sotto.ChannelTool: Call}[list[0].Channel]
	if kind == "" {
		return
	}
	var parts []record.Part
	for _, p := range list {
		if p.Channel == list[0].Channel {
			parts = append(parts, p.Part)
		}
	}
	if kind == Answer {
		parts = trimmed(parts)
	}
	room := b.room
	t := b.parts(parts)
	if t.Empty() || kind == Answer && strings.TrimSpace(t.Plain()) == "" { // see unsaid
		b.room = room
		return
	}
	if kind == Answer && len(b.Steps) > 0 {
		if last := &b.Steps[len(b.Steps)-1]; last.Kind == Answer && last.Event == b.event.Seq && last.Path == path+".raw" { // a marker stood between them
			last.Text.Pieces, last.Text.Bytes, last.Text.Cut = append(last.Text.Pieces, t.Pieces...), last.Text.Bytes+t.Bytes, last.Text.Cut || t.Cut
			return
		}
	}
	s := Step{Kind: kind, Text: t, Path: path + ".raw", At: parts[0].Start}
	if kind == Call {
		s.State, s.Status = Unknown, "text" // the model wrote it into its text
	}
	b.add(s)
	if kind == Call {
		b.waiting = append(b.waiting, len(b.Steps)-1)
	}
}

// trimmed removes the white space around a text.
func trimmed(parts []record.Part) []record.Part {
	for len(parts) > 0 && parts[0].Why == "" {
		short := strings.TrimLeft(parts[0].Text, " \t\r\n")
		parts[0].Start += len(parts[0].Text) - len(short)
		if parts[0].Text = short; short != "" {
			break
		}
		parts = parts[1:]
	}
	return parts
}

// unsaid adds a step where a reply has no answer, and says why as far as the record does.
func (b *Builder) unsaid(r *record.Reply, read []stretch, first int, whole bool) {
	for _, s := range b.Steps[first:] {
		if s.Kind == Answer || s.Kind == Call {
			return
		}
	}
	for _, p := range read {
		if p.Why != "" && p.End == r.Raw.Len() {
			b.add(Step{Kind: Gap, Name: "end", Text: Text{Bytes: p.End - p.Start, Pieces: []Piece{{Bytes: p.End - p.Start, Why: p.Why}}}})
			return
		}
	}
	if whole { // otherwise the error below says why
		b.add(Step{Kind: Gap, Name: "answer", Status: r.Finish})
	}
}

// got adds what the client got of an exchange.
func (b *Builder) got(x *record.Exchange) {
	d := x.Delivered
	if d == nil {
		b.add(Step{Kind: Got, State: Unknown})
		return
	}
	s := Step{Kind: Got, Status: eventtext.ClientGot(d), State: Done, Name: x.Thought(-1)}
	var said []record.Part
	for _, t := range d.Texts {
		if t.Place == record.PlaceText {
			said = append(said, delivered(x, &t)...)
		}
	}
	room := b.room
	if s.Text = b.parts(trimmed(said)); b.said(strings.TrimSpace(s.Text.Plain())) && s.Text.Missing() == 0 {
		s.Text.Pieces, b.room = nil, room // it is the answer above
	}
	b.add(s)
}

// delivered is a text that the client got, as far as the record has it.
func delivered(x *record.Exchange, t *record.Delivered) (list []record.Part) {
	missing := func(n int, why string) {
		if n > 0 {
			list = append(list, record.Part{End: n, Why: why})
		}
	}
	for _, sp := range t.Spans {
		n := sp.End - sp.Start
		switch {
		case sp.Put != "":
			list = append(list, record.Part{End: len(sp.Put), Text: sp.Put})
		case sp.Unnamed > 0:
			missing(sp.Unnamed, "unnamed")
		case sp.Reply < 0 || sp.Reply >= len(x.Replies) || n < 0:
			missing(n, "unnamed")
		default:
			from := x.Replies[sp.Reply].Raw
			if sp.Thought > len(x.Replies[sp.Reply].Reasoning) || sp.Thought < 0 {
				missing(n, "unnamed")
				continue
			}
			if sp.Thought > 0 {
				from = x.Replies[sp.Reply].Reasoning[sp.Thought-1].Text
			}
			if text, ok := from.Span(sp.Start, sp.End); ok {
				list = append(list, record.Part{End: len(text), Text: text})
			} else {
				missing(n, "limit")
			}
		}
	}
	missing(t.More, "unnamed")
	return list
}
