package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Turn answers a message. It asks a model, calls the tools that the model asks
// for, and repeats this until the model says something without calling a tool. It
// is safe for concurrent use once its fields are set.
type Turn struct {
	Model model.Model
	// Grammar reads the replies. If nil, the model's name chooses it.
	Grammar *sotto.Grammar
	// Start says where replies begin. If empty, they begin outside if the dialect's
	// template opens no block. Otherwise the start is auto, and visible text then
	// comes only at a reply's end.
	Start sotto.Beginning
	Tools []Tool
	// Agents are agents that the model can call as tools. They may use those of
	// Tools that they name.
	Agents []Subagent
	// Calls says where tool calls are looked for. If empty, [NativeCalls].
	Calls CallMode
	// API is the provider's API, by its codec's name ("openai.chat"). It decides
	// what earlier reasoning the provider requires back.
	API string
	// Keep sends all reasoning back to the model within the turn, not only what the
	// provider requires.
	Keep   bool
	Limits Limits
	// Request holds the settings of each request. Its messages and tools are
	// ignored.
	Request model.Request
	// Window is the model's context window in tokens; 0 if it is not known. A prompt that
	// would exceed it loses results of tools, and then the earliest messages; see
	// [Observer.OnWindow].
	Window   int
	Observer Observer
	// Price, if set, returns what tokens of a model cost, in billionths of a currency, and
	// whether the price is known. Currency is the name of that currency, or "".
	Price    func(model string, input, output int64) (cost int64, known bool)
	Currency string
	// Secrets are left out of what people see of the calls of tools.
	Secrets *record.Secrets
	// Confirm names the tools and agents that are called only if a person agrees, and
	// Confirmer asks the person. If Confirmer is nil, those calls are refused.
	Confirm   []string
	Confirmer Confirmer
	// Subject is the caller for whom the agent works: whoever answers a question about a
	// call must have this name.
	Subject string
	// ConsentTime is how long a question about a call is open; if zero, 24 h.
	ConsentTime time.Duration
	// Consents, if set, remembers the questions that were answered, so that no answer counts
	// twice.
	Consents *consent.Ledger

	// Record, if set, gets the events, as those of a run and a cycle, also those of
	// a reply that the end of the context cut off.
	Record *record.Writer
	Run    string
	Cycle  int
	// Log, if set, keeps the events too, and has those of a process that was killed while it
	// answered the same message.
	Log TurnLog

	// allowance is what whoever calls the agent lets it take, and extended returns by how much
	// that and the limits are raised.
	allowance Allowance
	extended  func() Extension
	// private are tools that no agent below gets.
	private []Tool
	// withhold says that a reply that was cut before it showed how it began is not an
	// answer: all of it may be reasoning.
	withhold bool
}

// A CallMode says where tool calls are looked for.
type CallMode string

const (
	// NativeCalls are calls in the API's own place for them. A call in the text is
	// not made, and the model is told so.
	NativeCalls CallMode = "native"
	// TextCalls are calls written into the text. The system prompt describes the
	// tools. This is for models whose server does not support tools.
	TextCalls CallMode = "text"
	// AnyCalls offers tools by the API, and also makes calls that are written into
	// the text.
	AnyCalls CallMode = "both"
)

// An Outcome says how a turn ended.
type Outcome struct {
	Status Status
	// Answer is visible text, and nothing else. It is empty unless the status is
	// Answered, or is Bounded and the last reply showed something.
	Answer string
	Bound  Bound
	// Messages are what the turn adds to the conversation, as they go into the next
	// request: calls, results, and the answer. They hold no reasoning except what
	// the provider requires.
	Messages []model.Message
	// Thoughts are what the model thought in the turn, in order. They are for the record.
	Thoughts []string
	// Reading is the reading of the last reply; nil if none came.
	Reading *sotto.Reply
	// Of is where the record has the last reply; nil without a record.
	Of      *record.Ref
	Metrics record.Metrics
	// Usage is what the turn took, also before it waited. Where a server does not count the
	// tokens of reasoning, they are estimated by their share of the bytes.
	Usage Usage
	// Waiting is what [Turn.Continue] needs if the status is Paused.
	Waiting *Waiting
}

// Waiting is a turn that waits for an answer. It can be kept as JSON.
type Waiting struct {
	Question string `json:"question"`
	// Confirm says that a person's consent is waited for, which [Turn.Consent] brings.
	// Otherwise the answer is the result of the first call.
	Confirm bool `json:"confirm,omitempty"`
	// Asked is what the person is asked. It is nil in what earlier versions kept: then the
	// person is asked again. Passed says that it is a question of the first call's tool,
	// which is called again with State and the answer.
	Asked    *consent.Question `json:"asked,omitempty"`
	Passed   bool              `json:"passed,omitempty"`
	State    json.RawMessage   `json:"state,omitempty"`
	Messages []model.Message   `json:"messages"` // the whole conversation
	Given    int               `json:"given"`    // how many of Messages the turn began with
	Calls    []model.Call      `json:"calls"`    // calls to be answered; the first is the one with the question
	FromText bool              `json:"from_text,omitempty"`
	ID       string            `json:"id,omitempty"` // of the conversation; see [Use.Key]
	Used     int               `json:"used"`         // uses of tools so far
	Metrics  record.Metrics    `json:"metrics"`
	// Usage is what the turn took so far, and Peers are what was counted of the tasks of
	// agents elsewhere. Earlier versions kept neither.
	Usage Usage            `json:"usage,omitzero"`
	Peers map[string]Usage `json:"peers,omitempty"`
}

// An Observer sees a turn as it happens. Functions that are nil are not called. Of
// the others, only OnReasoning gets reasoning. If a reply turns out to
// call tools, or to be asked for again, its text was not an answer: OnReply says
// so. Narration in the same delta as text may come before the text.
type Observer struct {
	OnText      func(delta string)
	OnNarration func(text string)
	// OnReasoning gets what the model thinks. It is the only function that does.
	OnReasoning func(text string)
	// OnDelta is called for each piece of a reply, before the others.
	OnDelta func()
	// OnReply is called after the texts of a reply.
	OnReply     func(visible string, answer bool)
	OnToolStart func(Use)
	OnToolEnd   func(u Use, result string, failed bool)
	OnQuestion  func(question string)
	// OnWindow is called when a prompt comes near the context window, and when it is cut to
	// fit it.
	OnWindow func(WindowReport)
	// OnOutage is called when a run waits for its model, before each wait, and when
	// the outage is over.
	OnOutage func(OutageReport)
	// OnCycle is called at the end of each cycle of a run.
	OnCycle func(CycleReport)

	// onCalls is called before OnReply if the reply calls tools by the API, so that
	// its text is not a call.
	onCalls func()
}

// Converse answers the last of the messages. An error means that the surroundings
// failed: ctx ended, or the record cannot be written. Faults of a model or a tool
// are in the outcome.
func (t *Turn) Converse(ctx context.Context, messages []model.Message) (Outcome, error) {
	u, err := t.open()
	if err != nil {
		return Outcome{}, err
	}
	u.begin(t.taught(u, messages))
	return u.converse(ctx, invoke)
}

// Continue resumes a turn that waited, with the answer that it waited for. A turn that waits
// for a person's consent asks again: a text is not consent.
func (t *Turn) Continue(ctx context.Context, w Waiting, answer string) (Outcome, error) {
	u, err := t.resume(w)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case !w.Confirm:
		u.answer = &answer
	case w.Passed && w.Asked != nil:
		u.passed = &passing{question: *w.Asked, state: w.State}
	default:
		u.unanswered = true
	}
	return u.converse(ctx, dispatch)
}

// Consent resumes a turn that waited for a person's consent. If the answer does not count,
// the turn asks again.
func (t *Turn) Consent(ctx context.Context, w Waiting, answer consent.Answer) (Outcome, error) {
	if w.Asked == nil {
		return t.Continue(ctx, w, "")
	}
	u, err := t.resume(w)
	if err != nil {
		return Outcome{}, err
	}
	u.await(w, answer)
	return u.converse(ctx, dispatch)
}

// await gives the turn the answer to the question that it waited for.
func (u *turn) await(w Waiting, answer consent.Answer) {
	if w.Passed {
		u.passed = &passing{*w.Asked, &answer, w.State}
	} else {
		u.agreement = &exchange{*w.Asked, answer}
	}
}

// resume makes the turn that waited.
func (t *Turn) resume(w Waiting) (*turn, error) {
	u, err := t.open()
	if err != nil {
		return nil, err
	}
	return u, u.takeUp(w)
}

// takeUp takes over the state of a turn that waited.
func (u *turn) takeUp(w Waiting) error {
	if len(w.Calls) == 0 || w.Given > len(w.Messages) {
		return errors.New("nothing to resume: the turn does not wait")
	}
	u.messages, u.given = withoutNulls(w.Messages), w.Given
	u.calls, u.fromText, u.metrics = notNull(w.Calls), w.FromText, w.Metrics
	*u.used = w.Used - 1 // the call that waited is begun again
	u.id, u.took = w.ID, w.Usage
	maps.Copy(u.peers, w.Peers)
	return nil
}

// withoutNulls returns messages as they were before they were written as JSON, with
// empty values in place of null.
func withoutNulls(list []model.Message) []model.Message {
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
	u.id, u.left = rand.Text(), &budget{limits: u.Limits}
	if u.extended != nil {
		u.left.more = &extending{ask: u.extended}
	}
	if t.Record != nil || t.Log != nil {
		u.journal = &journal{w: t.Record, log: t.Log, once: true}
	}
	if t.Log != nil {
		u.id = t.Log.ID()
		u.journal.past, err = t.Log.Past(context.Background())
	}
	return u, err
}

func (u *turn) converse(ctx context.Context, s state) (Outcome, error) {
	if u.allowance.Currency != u.Currency {
		u.allowance.Cost = 0
	}
	u.left = u.left.within(u, u.allowance)
	m := machine{turn: u}
	if err := m.from(traced(ctx, u.id), s, finalize); err != nil {
		return Outcome{Usage: u.took}, err
	}
	return u.outcome(), nil
}

// taught appends to the system's message what the model must know of the dialect,
// and of the tools if calls are text.
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

// Check reports what is wrong with the settings, for which Converse would fail.
func (t *Turn) Check() error {
	_, err := t.prepare()
	return err
}

// prepare checks the settings and fills in defaults.
func (t *Turn) prepare() (*turn, error) {
	if t.Model == nil {
		return nil, errors.New("a turn needs a model")
	}
	tools := slices.Concat(t.Tools, t.private)
	for _, a := range t.Agents {
		if err := errors.Join(a.check(1), a.checkTools(t.Tools)); err != nil {
			return nil, err
		}
		tools = append(tools, &subagentTool{Subagent: a, parent: t, tools: t.Tools})
	}
	box, err := newToolbox(tools)
	if err != nil {
		return nil, err
	}
	u := &turn{Turn: *t, box: box, used: new(int), peers: map[string]Usage{}}
	if t.Window > 0 {
		u.window = &window{size: t.Window, cuts: true}
	}
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

// startOf returns where replies of a dialect begin, as long as nothing better is
// known.
func startOf(d dialect.Dialect) sotto.Beginning {
	switch {
	case d.Start != "" && d.Start != "outside":
		return sotto.Beginning(d.Start)
	case d.PreOpens == "no":
		return sotto.BeginOutside
	}
	return sotto.BeginAuto
}
