package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/model"
)

// A Tool is what a model can call. It is safe for concurrent use.
type Tool interface {
	// Spec is what the model is told of it.
	Spec() model.Tool
	// Call uses the tool; the arguments fit the schema. The result goes to the
	// model. So does the text of the error. A [*Pause] ends the turn with a
	// question.
	Call(ctx context.Context, u Use) (string, error)
}

// A Repeater is a tool that says whether it may be called again, with the same
// [Use.Key], if a crash left it unknown whether it had been called. A tool that is
// not a Repeater is not called again: the model is told that the end is not known.
type Repeater interface{ Repeatable() bool }

// A Writer of prose is a tool with arguments that are texts for people, for memory
// or for other agents. Reasoning in them is removed before the call.
type proser interface{ prose() []string }

// A replayer is a tool whose only effects are those that the journal or a log of
// its own keeps. It is called in a replay too, and gives the same result again.
type replayer interface{ replays() }

// A Use is one call of a tool.
type Use struct {
	Run string
	// ID distinguishes the run, or the conversation, from every other one.
	ID     string
	Cycle  int
	Number int // counts the run's uses of tools, from 1
	Name   string
	// Arguments are a JSON object that fits the tool's schema.
	Arguments json.RawMessage
}

// Key identifies this use among all uses of all runs, and is the same after a
// crash. A tool needs it to do a thing only once.
func (u Use) Key() string {
	key := fmt.Sprintf("%s#%d", u.Run, u.Number)
	if u.ID != "" { // runs that an earlier version recorded have none
		key += "@" + u.ID
	}
	return key
}

// A Func is a Go function as a tool.
type Func struct {
	Name, Description string
	// Schema is the JSON Schema of the arguments, which are an object. If empty,
	// there are no arguments.
	Schema string
	// Prose names arguments that are texts for people or for memory. Reasoning in
	// them is removed before the call.
	Prose []string
	// Repeat says that it may be called again after a crash; see [Repeater].
	Repeat bool
	// Timeout, if set, replaces Limits.ToolTime.
	Timeout time.Duration
	// Foreign says that Description and Schema are another program's. A run records
	// them when it begins, and keeps them until it ends, so that the program cannot
	// change what the run's model is told, and a replay does not need the program.
	Foreign bool
	Do      func(ctx context.Context, u Use) (string, error)
}

// Spec is what the model is told of it.
func (f *Func) Spec() model.Tool {
	schema := f.Schema
	if schema == "" {
		schema = noArguments
	}
	return model.Tool{Name: f.Name, Description: f.Description, Schema: json.RawMessage(schema)}
}

// Call calls the function.
func (f *Func) Call(ctx context.Context, u Use) (string, error) { return f.Do(ctx, u) }

// Repeatable says whether it may be called again after a crash.
func (f *Func) Repeatable() bool { return f.Repeat }

func (f *Func) prose() []string { return f.Prose }

func (f *Func) time() time.Duration { return f.Timeout }

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// A Pause is the error of a tool that waits for an answer from outside. The turn
// ends as [Paused], and [Turn.Continue] resumes it with the answer as the result.
//
// If Consent is set, the tool asks for a person's consent to a call that it, or an agent
// that it reaches, wants to make. The question is passed on to [Turn.Confirmer], and the
// tool is called again with the answer and State: see [Resumed].
type Pause struct {
	Question string
	Consent  *consent.Question
	State    json.RawMessage

	passed bool // the question is that of a tool, and not about its call
}

func (p *Pause) Error() string { return "waiting for an answer to: " + p.Question }

// toolName matches the tool names that providers accept.
var toolName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
