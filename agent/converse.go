package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Turn answers a message: it asks a model, calls the tools that the model asks
// for, and goes on until the model says something without calling one. It is
// safe for concurrent use once its fields are set.
type Turn struct {
	Model model.Model
	// Grammar reads the replies; if nil, that of the model's name.
	Grammar *sotto.Grammar
	// Start is where replies begin; if empty, outside where the dialect's
	// template opens no block, else auto, and then visible text only comes at a
	// reply's end.
	Start sotto.Start
	Tools []Tool
	// Calls says where calls of tools are looked for. If empty, [NativeCalls].
	Calls CallMode
	// API is the provider's, by its codec's name ("openai.chat"): what the
	// provider requires back of earlier reasoning depends on it.
	API string
	// Keep lets all reasoning go back to the model within the turn, and not only
	// what the provider requires.
	Keep   bool
	Limits Limits
	// Request holds the settings of each request; its messages and tools are not
	// looked at.
	Request  model.Request
	Observer Observer

	// Record, if set, gets the events, as those of a run and a cycle.
	Record *record.Writer
	Run    string
	Cycle  int
}

// A CallMode says where calls of tools are looked for.
type CallMode string

const (
	// NativeCalls are those that the API has a place for. A call in the text is
	// not made: the model is told so.
	NativeCalls CallMode = "native"
	// TextCalls are written into the text. The tools are described in the system
	// prompt, for models whose server knows of none.
	TextCalls CallMode = "text"
	// AnyCalls offers tools by the API, and makes calls in the text too.
	AnyCalls CallMode = "both"
)

// An Outcome is how a turn ended.
type Outcome struct {
	Status Status
	// Answer is visible text, and nothing else; empty but for a status of
	// Answered, or of Bounded where the last reply showed something.
	Answer string
	Bound  Bound
	// Messages are what the turn adds to the conversation, as it goes into the
	// next request: calls, results, and the answer, without reasoning but where
	// the provider requires it.
	Messages []model.Message
	// Reading is of the last reply; nil where none came.
	Reading *sotto.Reply
	Metrics record.Metrics
	// Waiting is what [Turn.Continue] needs where the status is Paused.
	Waiting *Waiting
}

// Waiting is a turn that waits for an answer. It can be kept as JSON.
type Waiting struct {
	Question string          `json:"question"`
	Messages []model.Message `json:"messages"` // the whole conversation
	Given    int             `json:"given"`    // how many of them the turn began with
	Calls    []model.Call    `json:"calls"`    // to be answered: first the one with the question
	FromText bool            `json:"from_text,omitempty"`
	Used     int             `json:"used"` // uses of tools so far
	Metrics  record.Metrics  `json:"metrics"`
}

// An Observer sees a turn as it happens; functions that are nil are not called.
// What it gets is visible text, narration and calls, never reasoning. Text of a
// reply that turns out to call tools, or to be asked for again, was no answer:
// OnReply says so. Narration that came in the same delta as text may come first.
type Observer struct {
	OnText      func(delta string)
	OnNarration func(text string)
	// OnReply ends the texts of a reply.
	OnReply     func(visible string, answer bool)
	OnToolStart func(Use)
	OnToolEnd   func(u Use, result string, failed bool)
	OnQuestion  func(question string)
	// OnCycle is called at the end of each cycle of a run.
	OnCycle func(CycleReport)
}

// Converse answers the last of the messages. The error is of the surroundings:
// ctx ended, the record cannot be written. What a model or a tool does wrong is
// in the outcome.
func (t *Turn) Converse(ctx context.Context, messages []model.Message) (Outcome, error) {
	u, err := t.open()
	if err != nil {
		return Outcome{}, err
	}
	u.begin(t.taught(u, messages))
	return u.converse(ctx, invoke)
}

// Continue goes on with a turn that waited, with the answer that it waited for.
func (t *Turn) Continue(ctx context.Context, w Waiting, answer string) (Outcome, error) {
	if len(w.Calls) == 0 || w.Given > len(w.Messages) {
		return Outcome{}, errors.New("nothing to go on with: the turn does not wait")
	}
	u, err := t.open()
	if err != nil {
		return Outcome{}, err
	}
	u.messages, u.given = whatWas(w.Messages), w.Given
	u.calls, u.fromText, u.metrics = notNull(w.Calls), w.FromText, w.Metrics
	*u.used = w.Used - 1 // the call that waited is begun again
	u.answer = &answer
	return u.converse(ctx, dispatch)
}

// whatWas returns messages as they were before they were JSON, in which nothing
// is null.
func whatWas(list []model.Message) []model.Message {
	list = slices.Clone(list)
	for i := range list {
		list[i].Calls = notNull(list[i].Calls)
		list[i].Thoughts = slices.Clone(list[i].Thoughts)
		for j, x := range list[i].Thoughts {
			if string(x.Raw) == "null" {
				list[i].Thoughts[j].Raw = nil
			}
		}
	}
	return list
}

func notNull(calls []model.Call) []model.Call {
	calls = slices.Clone(calls)
	for i, c := range calls {
		if string(c.Extra) == "null" {
			calls[i].Extra = nil
		}
	}
	return calls
}

// open makes a turn of one conversation.
func (t *Turn) open() (*turn, error) {
	u, err := t.prepare()
	if err != nil {
		return nil, err
	}
	if t.Record != nil {
		u.journal = &journal{w: t.Record}
	}
	return u, nil
}

func (u *turn) converse(ctx context.Context, s state) (Outcome, error) {
	m := machine{turn: u}
	if err := m.from(ctx, s, finalize); err != nil {
		return Outcome{}, err
	}
	return u.outcome(), nil
}

// taught appends to the system's message what the model must know of the
// dialect, and of the tools where calls are text.
func (t *Turn) taught(u *turn, messages []model.Message) []model.Message {
	text := u.lesson()
	if text == "" {
		return messages
	}
	if len(messages) > 0 && messages[0].Role == model.System {
		first := messages[0]
		first.Text += "\n\n" + text
		return append([]model.Message{first}, messages[1:]...)
	}
	return append([]model.Message{{Role: model.System, Text: text}}, messages...)
}

// prepare checks the settings and fills in what is left open.
func (t *Turn) prepare() (*turn, error) {
	if t.Model == nil {
		return nil, errors.New("a turn needs a model")
	}
	box, err := newToolbox(t.Tools)
	if err != nil {
		return nil, err
	}
	u := &turn{Turn: *t, box: box, used: new(int)}
	u.Limits = t.Limits.filled()
	u.Calls = cmp.Or(t.Calls, NativeCalls)
	if u.Grammar == nil {
		u.Grammar, _ = sotto.ForModel(t.Model.Name())
	}
	if u.Start == "" {
		u.Start = startOf(u.Grammar.Dialect())
	}
	if _, err := u.Grammar.NewSplitter(sotto.Options{Start: u.Start}); err != nil {
		return nil, err
	}
	u.rule = history.RuleFor(t.Model.Name(), t.API)
	return u, nil
}

// startOf is where replies of a dialect begin as long as nothing better is known.
func startOf(d sotto.Dialect) sotto.Start {
	switch {
	case d.Start != "" && d.Start != sotto.StartOutside:
		return d.Start
	case d.PreOpens == "no":
		return sotto.StartOutside
	}
	return sotto.StartAuto
}
