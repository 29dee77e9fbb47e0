package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// An Agent is what an agent's file describes. It answers conversations, and keeps
// nothing between them. It is safe for concurrent use.
type Agent struct {
	Name, Description, Version string
	Skills                     []Skill
	// System, if set, begins the system message.
	System string
	// Turn says how the agent answers. Its Observer, Record, Run and Cycle are not
	// used.
	Turn Turn
	// Memory names the tools of a memory that the agent has if a conversation has a
	// memory.
	Memory []string
	// Previews says that those who talk to it see the beginnings of what its tools get
	// and give. It is for servers; the events have them in any case.
	Previews bool
	// Schedules are tasks that it gets by the clock, where a server has one.
	Schedules []Schedule
	// Secrets are the keys and tokens that its models and tools use. A record of its
	// conversations must not hold them.
	Secrets []string

	closers []func() error
}

// Close ends the connections of the tools that a file describes, and the processes
// that it started for them. No conversation may be in progress.
func (a *Agent) Close() error { return closeAll(a.closers) }

// A Skill is something that an agent can do.
type Skill struct {
	Name, Description string
	Tags, Examples    []string
}

// A Conversation is what an agent answers: messages of a system, a user and the
// assistant, of which the last is the user's.
type Conversation struct {
	Messages []model.Message
	// Waiting, if set, is the turn that an earlier answer ended with as [Paused], and
	// Answer resumes it, or Consent if it waits for a person's consent. Messages are then
	// not used.
	Waiting *Waiting
	Answer  string
	Consent *consent.Answer
	// Memory, if set, is the memory of this conversation.
	Memory *Memory
	// Confirmer, if set, asks about the calls of the tools in [Turn.Confirm], and Subject is
	// for whom the agent works.
	Confirmer Confirmer
	Subject   string
	// Allowance is what the caller lets the agent take, within its own limits.
	Allowance Allowance
	// Extended, if set, returns by how much a person has raised the limits and the allowance so
	// far. It is asked whenever the answer reaches one, so it can say more each time.
	Extended func() Extension

	// Record, if set, gets what the agent thinks, asks and calls, as events of a run
	// and a cycle.
	Record *record.Writer
	Run    string
	Cycle  int
	// Log, if set, keeps the events too: see [Turn.Log].
	Log TurnLog
	// Start, if set, is recorded as the start of the run, and the message as a cycle
	// of it. Last says that the run ends with it, unless the turn waits. If Start is nil, the caller records
	// runs and cycles.
	Start *record.RunStart
	Last  bool
}

// Agent makes the agent that a file describes. The keys of an experiment are not
// used. If the file has faults, the error is a [*ConfigError] with all of them and
// their lines.
func (c *Config) Agent(s Dependencies) (*Agent, error) {
	s.Operator = nil
	b := c.builder(s)
	x := b.experiment()
	a := &Agent{
		Name: x.Name, Description: c.Description, Version: c.Version, Previews: c.Previews, System: x.System, Memory: x.Memory, Secrets: x.Secrets, closers: x.closers,
		Turn: Turn{
			Model: x.Model, API: x.API, Grammar: x.Grammar, Start: x.Start, Calls: x.Calls, Request: x.Request,
			Tools: x.Tools, Agents: x.Agents, Limits: x.Limits, Keep: x.Policy == Keep,
			Secrets: record.NewSecrets(x.Secrets...), Confirm: x.Confirm, Price: x.Price, Currency: x.Currency,
		},
	}
	a.Schedules, _ = c.Schedules() // the builder has their faults
	for i, s := range c.Skills {
		if strings.TrimSpace(s.Name) == "" {
			b.fault(fmt.Sprintf("skills[%d].name", i), "want the name of a skill")
		}
		a.Skills = append(a.Skills, Skill(s))
	}
	return a, b.err()
}

// Check reports what is wrong with the agent, for which it could answer no
// conversation. memory says whether conversations have one.
func (a *Agent) Check(memory bool) error {
	c := Conversation{}
	if memory {
		c.Memory = NewMemory()
	}
	t, err := a.turn(c)
	if err != nil {
		return err
	}
	return t.Check()
}

// turn returns the turn of a conversation.
func (a *Agent) turn(c Conversation) (Turn, error) {
	t := a.Turn
	t.Record, t.Run, t.Cycle, t.Log, t.Subject = c.Record, c.Run, c.Cycle, c.Log, c.Subject
	t.allowance, t.extended = c.Allowance, c.Extended
	if c.Confirmer != nil {
		t.Confirmer = c.Confirmer
	}
	if c.Memory == nil {
		return t, nil
	}
	tools, err := c.Memory.named(a.Memory)
	t.Tools = append(tools, t.Tools...)
	return t, err
}

// Answer answers the last message of a conversation, and reports what happens by
// calling on, from one goroutine at a time and in order. An error of on, or the end
// of ctx, ends the turn, its model's reply and its tools. The texts of [Visible],
// joined, are everything that the agent says: the answer, and before it what it says
// in replies that call tools. [Outcome.Answer] is the answer alone.
func (a *Agent) Answer(ctx context.Context, c Conversation, on func(Event) error) (Outcome, error) {
	t, err := a.turn(c)
	if err != nil {
		return Outcome{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &speaker{turn: &t, on: on, stop: stop}
	t.Observer = s.observer()
	ctx = tracecontext.Begun(ctx)
	if err := a.begin(ctx, c); err != nil {
		return Outcome{}, err
	}
	began := time.Now()
	t.withhold = true
	if t.Grammar == nil && t.Model != nil {
		t.Grammar, _ = sotto.ForModel(t.Model.Name())
	}
	var out Outcome
	switch {
	case c.Waiting != nil && c.Consent != nil:
		out, err = t.Consent(ctx, *c.Waiting, *c.Consent)
	case c.Waiting != nil:
		out, err = t.Continue(ctx, *c.Waiting, c.Answer)
	default:
		out, err = t.Converse(ctx, withSystem(a.System, c.Messages))
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return out, errors.Join(err, a.end(c, out, err, time.Since(began)))
}

// begin records that an answer begins.
func (a *Agent) begin(ctx context.Context, c Conversation) error {
	if c.Record == nil || c.Start == nil {
		return nil
	}
	goal := record.CycleStart{}
	if n := len(c.Messages); n > 0 {
		goal.Goal = record.Say(c.Messages[n-1].Text)
	}
	if c.Cycle == 1 {
		start := *c.Start
		start.Model, start.IDs = a.Turn.Model.Name(), TraceIDs(ctx, start.IDs)
		if err := put(c, 0, start); err != nil {
			return err
		}
	} else {
		goal.IDs = TraceIDs(ctx, nil)
	}
	return put(c, c.Cycle, goal)
}

// end records how an answer ended.
func (a *Agent) end(c Conversation, out Outcome, err error, took time.Duration) error {
	if c.Record == nil || c.Start == nil {
		return nil
	}
	status := string(out.Status)
	if err != nil {
		status = "aborted"
	}
	cycle := record.CycleEnd{Status: status, Bound: string(out.Bound), Millis: millis(took), Metrics: &out.Metrics, Of: out.Of, Summary: record.Say(out.Answer), Reasoning: CycleThoughts(out.Thoughts)}
	if failed := put(c, c.Cycle, cycle); failed != nil || !c.Last || out.Status == Paused {
		return failed
	}
	return put(c, 0, record.RunEnd{Status: status, Bound: string(out.Bound), Cycles: c.Cycle, Millis: millis(took), Metrics: &out.Metrics, Result: record.Say(out.Answer)})
}

func put(c Conversation, cycle int, p record.Payload) error {
	if _, err := c.Record.Append(context.Background(), record.Event{Run: c.Run, Cycle: cycle, Payload: p}); err != nil {
		return fmt.Errorf("record %s: %w", p.Type(), err)
	}
	return nil
}

// withSystem puts a system message first. What the messages have of their own
// follows it.
func withSystem(text string, messages []model.Message) []model.Message {
	var rest []model.Message
	for _, m := range messages {
		if m.Role == model.System {
			text = strings.TrimSpace(text + "\n\n" + m.Text)
			continue
		}
		rest = append(rest, m)
	}
	if text == "" {
		return rest
	}
	return slices.Insert(rest, 0, model.Message{Role: model.System, Text: text})
}

// A speaker turns what an observer sees into events, in their order.
type speaker struct {
	turn *Turn
	on   func(Event) error
	stop context.CancelCauseFunc

	mu     sync.Mutex // the model and the tools report from their own goroutines
	said   bool       // there was visible text in an earlier reply
	saying bool       // there is in this one
	thinks bool       // there was a thought
	apart  bool       // … in an earlier reply
	// held is text that may be a call that is written into the text. It is an answer
	// only if the reply turns out to be one.
	held    strings.Builder
	holding bool
}

func (s *speaker) observer() Observer {
	return Observer{
		OnText:      s.text,
		OnNarration: func(text string) { s.tell(Narration{text}) },
		OnReasoning: s.reasoning,
		OnDelta:     func() { s.tell(Alive{}) },
		OnReply:     s.reply,
		onCalls:     s.release,
		OnToolStart: func(u Use) { s.tell(ToolStart{strconv.Itoa(u.Number), s.nameOf(u), s.turn.shownArguments(u)}) },
		OnToolEnd: func(u Use, result string, failed bool) {
			s.tell(ToolEnd{strconv.Itoa(u.Number), s.nameOf(u), failed, s.turn.preview(result)})
		},
	}
}

func (s *speaker) tell(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(e)
}

func (s *speaker) send(e Event) {
	if err := s.on(e); err != nil {
		s.stop(err)
	}
}

// reasoning puts a blank line between the thoughts of two replies.
func (s *speaker) reasoning(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apart {
		text = "\n\n" + text
	}
	s.thinks, s.apart = true, false
	s.send(Reasoning{text})
}

// text takes visible text of a reply. Where calls can be written into the text, it
// waits until the reply is read; else only a reply that begins as such a call does.
func (s *speaker) text(delta string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.saying && !s.holding {
		if strings.TrimSpace(delta) == "" {
			s.held.WriteString(delta)
			return
		}
		s.holding = s.calls() && (cmp.Or(s.turn.Calls, NativeCalls) != NativeCalls || strings.ContainsAny(strings.TrimSpace(delta)[:1], "<{[`"))
	}
	s.held.WriteString(delta)
	if !s.holding {
		s.say()
	}
}

// calls reports whether the agent has anything to call.
func (s *speaker) calls() bool { return len(s.turn.Tools)+len(s.turn.Agents) > 0 }

// say passes on the text that is held. A blank line separates it from the text of an
// earlier reply.
func (s *speaker) say() {
	text := s.held.String()
	s.held.Reset()
	if !s.saying && s.said {
		text = "\n\n" + strings.TrimLeft(text, " \t\r\n")
	}
	s.saying = true
	s.send(Visible{text})
}

// release passes on text that is not a call after all.
func (s *speaker) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.TrimSpace(s.held.String()) != "" {
		s.say()
	}
}

// reply ends the text of a reply.
func (s *speaker) reply(visible string, answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.Len() > 0 && answer && strings.TrimSpace(visible) != "" {
		s.say()
	}
	s.held.Reset()
	s.said, s.saying, s.holding, s.apart = s.said || s.saying, false, false, s.thinks
}

// nameOf returns the name of a tool for users. A name that the model made up may
// hold anything, even its thoughts.
func (s *speaker) nameOf(u Use) string {
	if slices.ContainsFunc(s.turn.Tools, func(t Tool) bool { return t.Spec().Name == u.Name }) ||
		slices.ContainsFunc(s.turn.Agents, func(a Subagent) bool { return a.Name == u.Name }) {
		return u.Name
	}
	return "unknown tool"
}
