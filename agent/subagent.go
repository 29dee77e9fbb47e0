package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Subagent is an agent as a tool. It gets a task and works on it with tools of
// its own. Its visible answer is the result. Its whole exchange is in the record,
// as a run whose parent is the caller's.
type Subagent struct {
	Name, Description string
	System            string
	Model             model.Model // if nil, the parent's
	API               string
	Grammar           *sotto.Grammar
	Start             sotto.Beginning
	Calls             CallMode
	Request           model.Request
	Limits            Limits
	// Tools names those of the parent's tools that it may use.
	Tools []string
	// Agents are the agents below it.
	Agents []Subagent

	// withhold is that of its turns.
	withhold bool
}

const (
	// childMark stands in a run's name between that of its parent and its own.
	childMark = "+"
	// maxDepth bounds agents under agents, and with them the names of their runs.
	maxDepth     = 3
	maxAgentName = 16
)

func (a *Subagent) check(depth int) error {
	if !toolName.MatchString(a.Name) || len(a.Name) > maxAgentName {
		return fmt.Errorf("agent %q: want a name of 1 to %d letters, digits, _ or -", a.Name, maxAgentName)
	}
	if depth > maxDepth {
		return fmt.Errorf("agent %q: agents nest deeper than %d levels", a.Name, maxDepth)
	}
	var list []error
	for i := range a.Agents {
		list = append(list, a.Agents[i].check(depth+1))
	}
	return errors.Join(list...)
}

// checkTools returns an error if the agent, or one below it, names a tool that its
// parent does not have.
func (a *Subagent) checkTools(given []Tool) error {
	var list []error
	for _, name := range a.Tools {
		if toolNamed(given, name) == nil {
			list = append(list, fmt.Errorf("agent %s: there is no tool %q to give to it", a.Name, name))
		}
	}
	for i := range a.Agents {
		list = append(list, a.Agents[i].checkTools(given))
	}
	return errors.Join(list...)
}

// A subagentTool is a tool whose effects are all in the journal.
type subagentTool struct {
	Subagent
	parent *Turn
	tools  []Tool // of the parent
	key    string // of the model that it is, in a file; see [ToolConfig]
}

func (*subagentTool) replays()        {}
func (*subagentTool) prose() []string { return []string{"task"} }

func (t *subagentTool) Spec() model.Tool {
	return model.Tool{Name: t.Name, Description: t.Description, Schema: json.RawMessage(
		`{"type":"object","properties":{"task":{"type":"string","description":"Everything that it needs to know: it does not know this conversation."}},"required":["task"],"additionalProperties":false}`)}
}

// within passes the calling turn to a tool that is an agent.
func within(ctx context.Context, t *turn) context.Context {
	return context.WithValue(ctx, callerKey{}, t)
}

type callerKey struct{}

// Call runs the agent until it answers.
func (t *subagentTool) Call(ctx context.Context, u Use) (string, error) {
	caller, ok := ctx.Value(callerKey{}).(*turn)
	if !ok {
		return "", errors.New("an agent can be called only within a turn")
	}
	child, err := t.open(caller, u)
	if err != nil {
		return "", err
	}
	first := invoke
	if r, ok := Resumed(ctx); ok {
		first, err = dispatch, child.resumeBelow(r)
	} else {
		err = t.begin(ctx, child, u)
	}
	if err != nil {
		return "", err
	}
	m := machine{turn: child}
	if err := m.from(ctx, first, finalize); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", &ownError{err}
	}
	o := child.outcome()
	if w := o.Waiting; w != nil && w.Asked != nil {
		return "", &Pause{Question: w.Question, Consent: w.Asked, State: encode(below{child.Run, *w})}
	}
	caller.child = &record.Child{Run: child.Run, Of: o.Of}
	caller.spendBelow(child.took)
	end := record.RunEnd{Status: string(o.Status), Bound: string(o.Bound), Cycles: 1, Millis: child.took.Time.Milliseconds(), Metrics: &o.Metrics, Result: record.Say(o.Answer)}
	if _, err := child.journal.put(ctx, child.Run, 0, end); err != nil {
		return "", &ownError{err}
	}
	if strings.TrimSpace(o.Answer) == "" {
		return "", fmt.Errorf("%s gave no answer (%s)", t.Name, o.Status)
	}
	return o.Answer, nil
}

// begin gives the agent its task.
func (t *subagentTool) begin(ctx context.Context, child *turn, u Use) error {
	task := textsOf(u)["task"]
	if strings.TrimSpace(task) == "" {
		return errors.New("the task is empty")
	}
	messages := []model.Message{{Role: model.User, Text: task}}
	if t.System != "" {
		messages = append([]model.Message{{Role: model.System, Text: t.System}}, messages...)
	}
	child.begin(child.taught(child, messages))
	start := record.RunStart{Agent: t.Name, Model: child.Model.Name(), Parent: u.Run, Goal: record.Say(task)}
	if _, err := child.journal.put(ctx, child.Run, 0, start); err != nil {
		return &ownError{err}
	}
	return nil
}

// below is an agent that waits for the consent of a person, and its run.
type below struct {
	Run     string  `json:"run"`
	Waiting Waiting `json:"waiting"`
}

// resumeBelow resumes an agent that waited.
func (t *turn) resumeBelow(r Resumption) error {
	var b below
	if err := json.Unmarshal(r.State, &b); err != nil {
		return &ownError{fmt.Errorf("the agent that waits cannot be parsed: %w", err)}
	}
	if b.Waiting.Asked == nil {
		return &ownError{errors.New("the agent below does not wait for consent")}
	}
	if err := t.takeUp(b.Waiting); err != nil {
		return &ownError{err}
	}
	t.Run = b.Run // that of the message to which the call belongs
	t.await(b.Waiting, r.Answer)
	return nil
}

// countOf distinguishes a call from the other calls of its run. A run counts its
// calls; in a conversation each message counts from 1 again, so its number comes first,
// from the second message on.
func countOf(caller *turn, u Use) string {
	if u.Cycle > 1 && caller.journal.cutOff() {
		return fmt.Sprintf("%d-%d", u.Cycle, u.Number)
	}
	return strconv.Itoa(u.Number)
}

// open makes the turn of the agent.
func (t *subagentTool) open(caller *turn, u Use) (*turn, error) {
	settings := Turn{
		Model: t.Model, API: t.API, Grammar: t.Grammar, Start: t.Start, Calls: t.Calls, Request: t.Request, Limits: t.Limits,
		Run:      fmt.Sprintf("%s%s%s.%s", u.Run, childMark, t.Name, countOf(caller, u)),
		Observer: Observer{OnDelta: caller.Observer.OnDelta},
		Secrets:  caller.Secrets, Confirm: caller.Confirm, Confirmer: caller.Confirmer,
		withhold: t.withhold,
		Price:    caller.Price, Currency: caller.Currency,
		Subject: caller.Subject, ConsentTime: caller.ConsentTime, Consents: caller.Consents,
	}
	if settings.Model == nil {
		settings.Model, settings.API, settings.Request = t.parent.Model, t.parent.API, t.parent.Request
		if settings.Grammar == nil {
			settings.Grammar, settings.Start = t.parent.Grammar, cmp.Or(t.Start, t.parent.Start)
		}
	}
	if settings.Calls == "" {
		settings.Calls = caller.Calls
	}
	for _, name := range t.Subagent.Tools {
		settings.Tools = append(settings.Tools, toolNamed(t.tools, name))
	}
	for _, a := range t.Subagent.Agents {
		settings.Tools = append(settings.Tools, &subagentTool{Subagent: a, parent: t.parent, tools: t.tools})
	}
	child, err := settings.prepare()
	if err != nil {
		return nil, &ownError{err}
	}
	child.journal, child.id, child.top, child.peers = caller.journal, caller.id, caller.top, caller.peers
	child.purpose = "subagent"
	if t.Model == nil { // it is the caller's
		child.window = caller.window
	}
	child.left = caller.left.below(caller, child.Limits)
	return child, nil
}

// time leaves the agent to its own limits, which replace those of a call.
func (t *subagentTool) time() time.Duration { return -1 }
